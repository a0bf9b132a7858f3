/** Hosts in groups by a property, with what their provider can do for a whole group at once. */

import type { Host, Offer } from "../api/types.ts";

export const GROUPINGS = ["provider", "region", "model", "status"] as const;
export type Grouping = (typeof GROUPINGS)[number];
/** Hosts that one extrinsic drains: the limit of the API. */
export const MOST_AT_ONCE = 50;

export interface HostGroup {
  name: string;
  hosts: readonly Host[];
  gpus: number;
  gpusFree: number;
  /** Hosts of the account that can be drained, and those that can take leases again. */
  drainable: readonly string[];
  undrainable: readonly string[];
}

/** Returns the groups in the order of their names. A host with several models is in the group of each. */
export function hostGroups(
  hosts: readonly Host[],
  offers: readonly Offer[],
  by: Grouping,
  account: string | null,
): HostGroup[] {
  const offersOf = new Map<string, Offer[]>();
  for (const offer of offers) offersOf.set(offer.host, [...(offersOf.get(offer.host) ?? []), offer]);
  const groups = new Map<string, Host[]>();
  for (const host of hosts) {
    for (const name of new Set(namesOf(host, offersOf.get(host.host) ?? [], by))) {
      groups.set(name, [...(groups.get(name) ?? []), host]);
    }
  }
  const ownWith = (of: readonly Host[], status: string): string[] =>
    of.filter((host) => host.provider === account && host.status === status).map((host) => host.host);
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, of]) => {
      const counted = of
        .flatMap((host) => offersOf.get(host.host) ?? [])
        .filter((offer) => by !== "model" || modelOf(offer) === name);
      return {
        name,
        hosts: of,
        gpus: counted.reduce((total, offer) => total + offer.gpus, 0),
        gpusFree: counted.reduce((total, offer) => total + offer.gpus_free, 0),
        drainable: ownWith(of, "Online"),
        undrainable: ownWith(of, "Draining"),
      };
    });
}

function modelOf(offer: Offer): string {
  return offer.model ?? "no GPU";
}

function namesOf(host: Host, offers: readonly Offer[], by: Grouping): string[] {
  if (by === "provider") return [host.provider];
  if (by === "status") return [host.status.split("(", 1)[0] ?? host.status];
  if (offers.length === 0) return ["not in the index yet"];
  return by === "region" ? offers.map((offer) => offer.region || "not given") : offers.map(modelOf);
}
