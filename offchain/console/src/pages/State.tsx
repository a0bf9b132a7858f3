/** The state at a block: what the chain had stored about something, with a proof to save. */

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import type { Network, ResourceAnswer, State } from "../api/types.ts";
import { Load } from "../components/loading.tsx";
import { Heading } from "../components/parts.tsx";
import { StoredValues } from "../components/StoredValues.tsx";
import { storageKeys } from "../lib/storage_keys.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { kind: "task", id: "", pallet: "", item: "", keys: "", block: "" };
const KINDS = [
  { id: "task", name: "Task", label: "Number of the task" },
  { id: "lease", name: "Lease", label: "Number of the lease" },
  { id: "account", name: "Account", label: "Address of the account" },
  { id: "host", name: "Host", label: "Address of the host" },
] as const;
const STORAGE = "storage";

export function StatePage() {
  const { query, route } = useLocation();
  const chosen = stateOf(query, DEFAULTS);
  const path = apiPath(chosen);
  const state = useResource<ResourceAnswer<State>>(path);
  const network = useResource<ResourceAnswer<Network>>("/v1/network");
  return (
    <>
      <Heading title="State at a block">
        What the chain has stored about a task, lease, account, host, or any storage item, at a final block.
      </Heading>
      <Choice
        key={urlWith("", chosen)}
        chosen={chosen}
        choose={(choice) => route(urlWith("/state", choice, DEFAULTS))}
      />
      {path !== null && (
        <Load of={state} what="the state">
          {({ data }) => (
            <StoredValues state={data} name={chosen.kind} genesis={network.data?.data.genesis_hash ?? "GENESIS_HASH"} />
          )}
        </Load>
      )}
    </>
  );
}

function apiPath(chosen: typeof DEFAULTS): string | null {
  const { kind, id, pallet, item, block } = chosen;
  if (kind === STORAGE)
    return pallet === "" || item === ""
      ? null
      : `/v1/state${apiQuery({ pallet, item, keys: storageKeys(chosen.keys), block })}`;
  return id === "" || !KINDS.some((one) => one.id === kind) ? null : `/v1/state${apiQuery({ [kind]: id, block })}`;
}

function Choice(props: { chosen: typeof DEFAULTS; choose: (choice: typeof DEFAULTS) => void }) {
  const { chosen } = props;
  const [kind, setKind] = useState(chosen.kind);
  const of = KINDS.find((one) => one.id === kind);
  const show = (event: Event & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string): string => String(fields.get(name) ?? "").trim();
    const names = kind === STORAGE ? ["pallet", "item", "keys", "block"] : ["id", "block"];
    const given = Object.fromEntries(names.map((name) => [name, text(name)]));
    props.choose({ ...DEFAULTS, ...given, kind });
  };
  return (
    <form class="filters" onSubmit={show}>
      <label class="field">
        Of
        <select name="kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          {KINDS.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
          <option value={STORAGE}>Storage item</option>
        </select>
      </label>
      {of !== undefined ? (
        <label class="field">
          {of.label}
          <input name="id" defaultValue={chosen.kind === kind ? chosen.id : ""} required />
        </label>
      ) : (
        <>
          <label class="field">
            Pallet
            <input name="pallet" defaultValue={chosen.pallet} placeholder="System" required />
          </label>
          <label class="field">
            Item
            <input name="item" defaultValue={chosen.item} placeholder="Account" required />
          </label>
          <label class="field">
            Keys, one value a line; none for an item that is no map
            <textarea name="keys" rows={2} defaultValue={chosen.keys} />
          </label>
        </>
      )}
      <label class="field">
        Block: number or hash; empty for the newest
        <input name="block" defaultValue={chosen.block} />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}
