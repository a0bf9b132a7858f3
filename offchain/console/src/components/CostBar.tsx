/** The cost of a task so far against its deposit: a bar, and the same as text. */

import type { Lease, Task, TaskTerms } from "../api/types.ts";
import { costSoFar, costText } from "../lib/cost.ts";
import { Empty } from "./loading.tsx";
import { Amount, Facts, Time } from "./parts.tsx";

/** `terms`: the record of the task at a node; null where the chain has pruned it, or the gateway has no node. */
export function CostBar(props: { task: Task; leases: readonly Lease[]; nowMs: number; terms: TaskTerms | null }) {
  if (props.leases.length === 0) return <Empty>No coins are deposited for a pod before it is placed on a host.</Empty>;
  const cost = costSoFar(props.leases, props.task.kind, props.nowMs, props.terms);
  const left = cost.deposit - cost.cost - cost.returned;
  return (
    <div class="card stack">
      <meter
        class="cost-bar"
        min={0}
        max={1000}
        high={900}
        optimum={0}
        value={cost.permille}
        aria-label="Cost against deposit"
        aria-valuetext={costText(cost)}
      />
      <Facts
        facts={[
          ["Cost so far", costText(cost)],
          ["Left of the deposit", <Amount value={left > 0n ? left : 0n} />],
          ["Returned", <Amount value={cost.returned} />],
          ["Lasts until", cost.lastsUntilMs === null ? undefined : <Time ms={cost.lastsUntilMs} />],
        ]}
      />
      <p class="muted small">
        What is owed up to this block, by rate and time, is part of the cost. The rest of a deposit returns to the
        tenant.
      </p>
    </div>
  );
}
