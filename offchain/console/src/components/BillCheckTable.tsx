/** The bill of each lease, computed again in the browser, beside the chain's. */

import type { Lease } from "../api/types.ts";
import { type BillVerdict, checkBill } from "../lib/bill.ts";
import type { Phrase } from "../lib/states.ts";
import { formatDuration } from "../lib/time.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty } from "./loading.tsx";
import { Amount, Status } from "./parts.tsx";

const VERDICTS: Readonly<Record<BillVerdict, Phrase>> = {
  agrees: { icon: "done", text: "agrees", tone: "good" },
  running: { icon: "running", text: "running", tone: "busy" },
  unpaid: { icon: "progress", text: "due at settlement", tone: "busy" },
  nothing: { icon: "done", text: "nothing owed", tone: "good" },
  unclear: { icon: "question", text: "needs the full record", tone: "warn" },
  differs: { icon: "failed", text: "differs", tone: "bad" },
};

export function BillCheckTable(props: { leases: readonly Lease[]; kind: string; nowMs: number }) {
  if (props.leases.length === 0) return <Empty>Nothing is billed before a pod is placed on a host.</Empty>;
  const rows = props.leases.map((lease) => ({ lease, check: checkBill(lease, props.kind, props.nowMs) }));
  return (
    <>
      <p class="muted">
        This page computes each lease again from its rate and times (<code>rate × ms / 3,600,000</code>, rounded down,
        at most the deposit) and compares the amount with the chain's.
      </p>
      <DataTable
        label="Bill by lease, computed again"
        rows={rows}
        keyOf={(row) => row.lease.lease}
        columns={[
          {
            title: "Lease",
            cell: ({ lease }) => (
              <a href={`/leases/${lease.lease}`}>
                pod {lease.pod}, attempt {lease.generation + 1}
              </a>
            ),
          },
          {
            title: "Rate per hour",
            right: true,
            cell: ({ lease }) => <Amount value={lease.rate_per_hour} digits={6} />,
          },
          {
            title: "Billed time",
            right: true,
            cell: ({ check }) =>
              check.billedMs === null ? (
                ""
              ) : (
                <span title={`${check.billedMs} ms`}>{formatDuration(check.billedMs)}</span>
              ),
          },
          { title: "Computed", right: true, cell: ({ check }) => <Amount value={check.computed} /> },
          { title: "On the chain", right: true, cell: ({ check }) => <Amount value={check.recorded} /> },
          { title: "Check", cell: ({ check }) => <Status phrase={VERDICTS[check.verdict]} /> },
          { title: "Why", minor: true, cell: ({ check }) => <span class="muted">{check.explanation}</span> },
        ]}
      />
    </>
  );
}
