/** The cost of a task so far against its deposit. */

import type { Lease, TaskTerms } from "../api/types.ts";
import { billTerms, checkBill } from "./bill.ts";
import { formatAmount, SYMBOL } from "./money.ts";

export interface TaskCost {
  /** Deposited for all leases. */
  deposit: bigint;
  /** Paid, and owed up to the block. */
  cost: bigint;
  /** Returned to the tenant. */
  returned: bigint;
  /** In thousandths of the deposit, rounded down; 0 without a deposit. */
  permille: number;
  /** The first time at which the paid time of a running lease ends; null: none runs, or the record is not known. */
  lastsUntilMs: number | null;
}

/** Returns the cost of a task at a time of the chain. `terms` null: the record of the task is not known. */
export function costSoFar(leases: readonly Lease[], kind: string, nowMs: number, terms: TaskTerms | null): TaskCost {
  let deposit = 0n;
  let cost = 0n;
  let returned = 0n;
  for (const lease of leases) {
    const check = checkBill(lease, kind, nowMs, billTerms(terms, lease.lease));
    const isDue = check.verdict === "running" || check.verdict === "unpaid";
    deposit += BigInt(lease.deposited);
    cost += isDue && check.computed > check.recorded ? check.computed : check.recorded;
    returned += BigInt(lease.refunded);
  }
  const live = new Set(leases.filter((lease) => lease.ended_ms === null).map((lease) => lease.lease));
  const ends = (terms?.leases ?? [])
    .filter((lease) => live.has(lease.lease) && lease.since_ms !== null)
    .map((lease) => lease.until_ms)
    .filter((end) => end !== null);
  return {
    deposit,
    cost,
    returned,
    permille: deposit === 0n ? 0 : Number((cost * 1000n) / deposit),
    lastsUntilMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

/** Returns the cost as a sentence without an end, for the bar and for who does not see it. */
export function costText(cost: TaskCost): string {
  const share = `${(cost.permille / 10).toFixed(1)} %`;
  return `${formatAmount(cost.cost, 6)} of ${formatAmount(cost.deposit, 6)} ${SYMBOL} (${share})`;
}
