/** Coins of an account on hold for leases, by lease. */

import type { Loaded } from "../api/hooks.ts";
import type { Escrow } from "../api/account_types.ts";
import type { Page } from "../api/types.ts";
import { leasePhrase } from "../lib/states.ts";
import { PageTable } from "./DataTable.tsx";
import { Address, Amount, Status } from "./parts.tsx";

export function EscrowTable(props: {
  of: Loaded<Page<Escrow>>;
  pageHref: (after: string) => string;
  isFirst: boolean;
}) {
  return (
    <section class="stack">
      <h2>Escrows</h2>
      <p class="muted">
        Coins on hold for leases. What is owed is paid from them when a lease is settled or ends; the rest is spendable
        again then.
      </p>
      <PageTable<Escrow>
        label="Escrows by lease"
        what="escrows"
        of={props.of}
        empty="No coins are on hold for a lease."
        keyOf={(row) => row.lease}
        pageHref={props.pageHref}
        isFirst={props.isFirst}
        columns={[
          { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
          { title: "Lease", cell: (row) => <a href={`/leases/${row.lease}`}>{row.lease}</a> },
          { title: "State", cell: (row) => <Status phrase={leasePhrase(row.state, row.reason)} /> },
          { title: "Host", minor: true, cell: (row) => <Address account={row.host} kind="host" /> },
          {
            title: "Rate per hour",
            right: true,
            minor: true,
            cell: (row) => <Amount value={row.rate_per_hour} digits={4} />,
          },
          { title: "Deposited", right: true, minor: true, cell: (row) => <Amount value={row.deposited} digits={4} /> },
          { title: "Paid", right: true, minor: true, cell: (row) => <Amount value={row.paid} digits={4} /> },
          { title: "On hold", right: true, cell: (row) => <Amount value={row.held} digits={6} /> },
        ]}
      />
    </section>
  );
}
