/** Groups of hosts, which their provider drains with one signature. */

import { useState } from "preact/hooks";
import type { Host, Offer } from "../api/types.ts";
import { GROUPINGS, type Grouping, type HostGroup, hostGroups, MOST_AT_ONCE } from "../lib/host_groups.ts";
import { hostPhrase } from "../lib/states.ts";
import type { CallChoice } from "../wallet/calls.ts";
import { DataTable } from "./DataTable.tsx";
import { Address } from "./parts.tsx";

export function HostGroups(props: {
  hosts: readonly Host[];
  offers: readonly Offer[];
  account: string | null;
  onChoose: (title: string, call: CallChoice) => void;
}) {
  const [by, setBy] = useState<Grouping>("region");
  const groups = hostGroups(props.hosts, props.offers, by, props.account);
  const isOwner = groups.some((group) => group.drainable.length + group.undrainable.length > 0);
  return (
    <section class="stack">
      <h2>Groups of hosts</h2>
      <form class="filters no-print" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          Group by
          <select value={by} onChange={(event) => setBy(event.currentTarget.value as Grouping)}>
            {GROUPINGS.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      </form>
      <DataTable
        label="Groups of hosts"
        rows={groups}
        keyOf={(row) => row.name}
        columns={[
          {
            title: by[0]?.toUpperCase() + by.slice(1),
            cell: (row) => (by === "provider" ? <Address account={row.name} /> : row.name),
          },
          { title: "Hosts", right: true, cell: (row) => row.hosts.length },
          { title: "Status", cell: (row) => statuses(row) },
          { title: "GPUs free", right: true, cell: (row) => `${row.gpusFree} of ${row.gpus}` },
          ...(isOwner
            ? [{ title: "Actions", cell: (row: HostGroup) => <GroupActions group={row} onChoose={props.onChoose} /> }]
            : []),
        ]}
      />
    </section>
  );
}

function statuses(group: HostGroup): string {
  const counts = new Map<string, number>();
  for (const host of group.hosts) {
    const name = hostPhrase(host.status).text.split(":", 1)[0] ?? host.status;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, number]) => `${number} ${name}`).join(", ");
}

function GroupActions(props: { group: HostGroup; onChoose: (title: string, call: CallChoice) => void }) {
  const { name, drainable, undrainable } = props.group;
  const drained = drainable.slice(0, MOST_AT_ONCE);
  const undrained = undrainable.slice(0, MOST_AT_ONCE);
  return (
    <span class="row">
      {drained.length > 0 && (
        <button
          type="button"
          aria-label={`Drain ${drained.length} of group ${name}`}
          onClick={() => props.onChoose(`Drain hosts of ${name}`, { action: "hosts.drain", hosts: drained })}
        >
          Drain {drained.length}
        </button>
      )}
      {undrained.length > 0 && (
        <button
          type="button"
          aria-label={`Undrain ${undrained.length} of group ${name}`}
          onClick={() => props.onChoose(`Take leases again: ${name}`, { action: "hosts.undrain", hosts: undrained })}
        >
          Undrain {undrained.length}
        </button>
      )}
    </span>
  );
}
