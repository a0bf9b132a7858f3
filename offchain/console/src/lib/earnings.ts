/** Earnings of a provider by day, from the movements of its account. */

import { dayOf, lastDays } from "./time.ts";

export interface MovementForEarnings {
  time_ms: number;
  category: string;
  free_change: string | null;
}

/** Returns what payments of leases brought on each of the last days, oldest first; days without any are 0. */
export function earningsByDay(
  movements: readonly MovementForEarnings[],
  nowMs: number,
  days: number,
): { day: string; amount: bigint }[] {
  const found = new Map(lastDays(nowMs, days).map((day) => [day, 0n]));
  for (const one of movements) {
    const change = BigInt(one.free_change ?? "0");
    const before = found.get(dayOf(one.time_ms));
    if (one.category === "payment" && change > 0n && before !== undefined)
      found.set(dayOf(one.time_ms), before + change);
  }
  return [...found].map(([day, amount]) => ({ day, amount }));
}
