/** What is known for and against a host: score, proven GPUs, counts of challenges, penalties and ratings. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { useResource, type Loaded } from "../api/hooks.ts";
import type { Device, Event, Host, Page } from "../api/types.ts";
import { isTrustEvent, outcomeCounts, TRUST_EVENTS, trustEvidence } from "../lib/trust.ts";
import { DataTable } from "./DataTable.tsx";
import { ProblemNotice } from "./loading.tsx";
import { Amount, Facts, Time } from "./parts.tsx";

const MOST = 100;

/** `latest`: the newest events about the host; evidence is read again when one of them is evidence. */
export function HostTrust(props: { host: Host; devices: readonly Device[] | undefined; latest: readonly Event[] }) {
  const { host, devices } = props;
  const pages = TRUST_EVENTS.map(([pallet, name]) => useEvents(host.host, pallet, name));
  const newest = props.latest.find(isTrustEvent)?.id;
  const read = useRef(newest);
  useEffect(() => {
    if (read.current === newest) return;
    read.current = newest;
    for (const one of pages) one.reload();
  }, [newest]);
  const problem = pages.find((one) => one.problem !== null)?.problem ?? null;
  const events = pages.flatMap((one) => one.data?.data ?? []);
  const found = useMemo(() => trustEvidence(events), [events.map((one) => one.id).join()]);
  const isComplete = pages.every((one) => one.data !== null && one.data.next === null);
  const proven = devices?.filter((one) => one.attested).length;
  return (
    <section class="stack">
      <h2>Trust</h2>
      {problem !== null && <ProblemNotice problem={problem} />}
      <div class="card">
        <Facts
          facts={[
            ["Score", host.score_ppm === null ? "no evidence yet" : `${(host.score_ppm / 10_000).toFixed(1)} %`],
            ["GPUs proven by a challenge", devices && `${proven} of ${devices.length}`],
            ["Challenges", outcomeCounts(found.outcomes)],
            ["Penalties", found.penalties.length === 0 ? "none" : found.penalties.length],
            ["Slashed", <Amount value={host.slashed} />],
            [
              "Ratings",
              found.meanStars === null ? "none yet" : `${found.meanStars.toFixed(1)} of 5 stars from ${found.ratings}`,
            ],
          ]}
        />
      </div>
      {found.penalties.length > 0 && (
        <DataTable
          label="Penalties"
          rows={found.penalties}
          keyOf={(row) => row.id}
          columns={[
            { title: "Reason", cell: (row) => row.reason },
            { title: "Lost of its bond", right: true, cell: (row) => <Amount value={row.amount} /> },
            { title: "Time", cell: (row) => <Time ms={row.timeMs} /> },
          ]}
        />
      )}
      {!isComplete && problem === null && <p class="muted small">The newest {MOST} events of each kind are shown.</p>}
    </section>
  );
}

function useEvents(host: string, pallet: string, name: string): Loaded<Page<Event>> {
  const query = new URLSearchParams({ subject: host, pallet, name, limit: String(MOST) });
  return useResource<Page<Event>>(`/v1/events?${query}`);
}
