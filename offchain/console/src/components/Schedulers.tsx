/** Schedulers of the network, and the queue definitions by which they order tasks. */

import type { Loaded } from "../api/hooks.ts";
import type { QueueDefinitions, Scheduler } from "../api/matter_types.ts";
import { schedulerPhrase } from "../lib/matters.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Address, Amount, Hash, Status, Time } from "./parts.tsx";

export function Schedulers(props: { of: Loaded<Scheduler[]> }) {
  return (
    <Load of={props.of} what="schedulers">
      {(rows) =>
        rows.length === 0 ? (
          <Empty>The index has no event of a scheduler.</Empty>
        ) : (
          <DataTable
            label="Schedulers"
            rows={rows}
            keyOf={(row) => row.account}
            columns={[
              { title: "Account", cell: (row) => <Address account={row.account} /> },
              { title: "State", cell: (row) => <Status phrase={schedulerPhrase(row.state)} /> },
              {
                title: "Bond",
                right: true,
                cell: (row) => (row.bond === null ? "of the genesis block" : <Amount value={row.bond} digits={4} />),
              },
              {
                title: "Bond free from",
                minor: true,
                cell: (row) => (row.until_ms === null ? "" : <Time ms={row.until_ms} />),
              },
              { title: "Leases placed", right: true, cell: (row) => row.placed },
              { title: "Last placed", minor: true, cell: (row) => <Time ms={row.placed_ms} /> },
              { title: "Penalties", right: true, cell: (row) => row.penalties },
              { title: "Lost", right: true, minor: true, cell: (row) => <Amount value={row.lost} digits={4} /> },
            ]}
          />
        )
      }
    </Load>
  );
}

export function Queues(props: { of: Loaded<QueueDefinitions[]> }) {
  return (
    <Load of={props.of} what="queue definitions">
      {(rows) => (
        <>
          {rows.length > 1 && (
            <p class="notice notice-warn">
              {`The schedulers use ${rows.length} different definitions, so they order the same tasks differently.`}
            </p>
          )}
          {rows.length === 0 ? (
            <Empty>No scheduler has published its queue definitions.</Empty>
          ) : (
            <DataTable
              label="Queue definitions"
              rows={rows}
              keyOf={(row) => row.digest}
              columns={[
                { title: "SHA-256", cell: (row) => <Hash hash={row.digest} what="digest" /> },
                { title: "Schedulers", right: true, cell: (row) => row.schedulers },
                { title: "Published", cell: (row) => <Time ms={row.published_ms} /> },
                { title: "Leases placed", right: true, minor: true, cell: (row) => row.placed },
              ]}
            />
          )}
        </>
      )}
    </Load>
  );
}
