/**
 * The bill of a lease, computed again from its rate and times by the rules of docs/protocol.md, section 1.
 *
 * The billing unit, downtime of the host and what is owed for earlier segments are in the record of the task on the
 * chain (`BillTerms`). Where the chain has pruned it, or it does not explain the amount, the check is "unclear" and
 * never "agrees"; `gantry audit prove` has the whole record.
 */

import type { Lease } from "../api/types.ts";
import { rateForTime } from "./money.ts";
import { variantName } from "./states.ts";

export type LeaseForBill = Pick<
  Lease,
  | "state"
  | "reason"
  | "rate_per_hour"
  | "deposited"
  | "paid"
  | "fee"
  | "refunded"
  | "assigned_ms"
  | "started_ms"
  | "ended_ms"
  | "wall_ms"
>;

export type BillingUnit = "second" | "hour" | "day";
const UNIT_MS: Readonly<Record<BillingUnit, number>> = { second: 1, hour: 3_600_000, day: 86_400_000 };

export interface LeaseTermsForBill {
  accrued: string;
  since_ms: number | null;
  until_ms: number | null;
  reclaim_ms: number | null;
  downtime_ms: number;
}

/** What the record of a task has besides rates and times; `lease`: of this lease, undefined for an earlier one. */
export interface BillTerms {
  unit: BillingUnit;
  minChargeMs: number;
  lease?: LeaseTermsForBill;
}

export type BillVerdict =
  /** The chain's amount follows from rate and times. */
  | "agrees"
  /** The lease has not ended: the amount is what is owed up to the block. */
  | "running"
  /** The lease has ended; its payment is due when the task is settled. */
  | "unpaid"
  /** Nothing is owed, and nothing was paid. */
  | "nothing"
  /** The amount depends on more than the API tells. */
  | "unclear"
  /** No rule gives an amount as high as the chain's. */
  | "differs";

export interface BillCheck {
  verdict: BillVerdict;
  /** Billed time in ms; null where no time explains the amount. */
  billedMs: number | null;
  unit: BillingUnit | null;
  /** What the rules give, in base units. */
  computed: bigint;
  recorded: bigint;
  /** Why, as a sentence. */
  explanation: string;
}

/** Returns the terms of a lease in those of its task. */
export function billTerms(
  task: { unit: BillingUnit; min_charge_ms: number; leases: readonly ({ lease: string } & LeaseTermsForBill)[] } | null,
  lease: string,
): BillTerms | null {
  if (task === null) return null;
  const own = task.leases.find((one) => one.lease === lease);
  return { unit: task.unit, minChargeMs: task.min_charge_ms, ...(own && { lease: own }) };
}

/** Ends of a lease that are billed by the task's unit. */
const BY_UNIT = new Set(["Completed", "Cancelled", "TenantEnded", "Expired", "ScaledDown", "Depleted", "DataMoved"]);
/** Ends of a job's lease for which nothing is owed; services and rentals pay pro rata for the first three. */
const FORFEITED = new Set([
  "HostRefused",
  "StartTimeout",
  "HostLost",
  "DurationExceeded",
  "GangAborted",
  "NoAgreement",
]);

/** Returns the amount for a time by a unit, at most the deposit: whole started units in advance, or pro rata. */
export function owedFor(unit: BillingUnit, deposit: bigint, rate: bigint, elapsedMs: number): bigint {
  const size = UNIT_MS[unit];
  const billed = unit === "second" ? elapsedMs : Math.max(1, Math.ceil(elapsedMs / size)) * size;
  const amount = rateForTime(rate, BigInt(billed));
  return amount < deposit ? amount : deposit;
}

/** Checks the bill of a lease of a task of this kind at a time of the chain; `terms` null: the record is not known. */
export function checkBill(lease: LeaseForBill, kind: string, nowMs: number, terms: BillTerms | null = null): BillCheck {
  const recorded = BigInt(lease.paid);
  const rate = BigInt(lease.rate_per_hour);
  const deposit = BigInt(lease.deposited);
  const made = (
    verdict: BillVerdict,
    computed: bigint,
    billedMs: number | null,
    explanation: string,
    unit: BillingUnit | null = null,
  ): BillCheck => ({ verdict, computed, recorded, billedMs, explanation, unit });

  if (lease.started_ms === null) return neverStarted(lease, made, rate, deposit, recorded, terms);
  const reason = lease.reason === null ? "" : variantName(lease.reason);
  if (lease.ended_ms === null && terms?.lease !== undefined) {
    const { accrued, since_ms, until_ms, reclaim_ms, downtime_ms } = terms.lease;
    const end = Math.min(nowMs, until_ms ?? nowMs, reclaim_ms ?? nowMs);
    const billed = since_ms === null ? 0 : Math.max(0, Math.max(0, end - since_ms) - downtime_ms);
    const segment = since_ms === null ? 0n : owedFor(terms.unit, deposit - BigInt(accrued), rate, billed);
    return made("running", BigInt(accrued) + segment, billed, RUNNING[terms.unit], terms.unit);
  }
  if (lease.ended_ms === null) {
    const elapsed = Math.max(0, nowMs - lease.started_ms);
    if (lease.state === "Suspended") {
      return made("unclear", recorded, null, "A stopped rental pays for its disk only, at another rate.");
    }
    return made("running", owedFor("second", deposit, rate, elapsed), elapsed, "Owed up to this block, pro rata.");
  }
  const elapsed = Math.max(0, Math.min(lease.ended_ms, terms?.lease?.reclaim_ms ?? lease.ended_ms) - lease.started_ms);
  if (FORFEITED.has(reason) && kind === "Job") {
    return recorded === 0n
      ? made("nothing", 0n, 0, "The host is at fault, so nothing is owed for this lease.")
      : made("unclear", 0n, null, "Paid before the host failed.");
  }
  if (reason === "DisputeLost") {
    return made(recorded === 0n ? "nothing" : "unclear", 0n, null, "A dispute was decided against the host.");
  }
  const billed = reason === "Completed" && lease.wall_ms !== null ? Math.min(elapsed, lease.wall_ms) : elapsed;
  const known: BillingUnit[] = terms === null ? ["second", "hour", "day"] : [terms.unit];
  const units: BillingUnit[] = BY_UNIT.has(reason) ? known : reason === "Moved" ? ["second", ...known] : ["second"];
  const downtime = lease.wall_ms === null ? (terms?.lease?.downtime_ms ?? 0) : 0;
  for (const [unit, time] of units.flatMap((one) => [
    [one, billed] as const,
    [one, Math.max(0, billed - downtime)] as const,
  ])) {
    const amount = owedFor(unit, deposit, rate, time);
    if (amount === recorded && (amount > 0n || BigInt(lease.refunded) === deposit)) {
      const size = UNIT_MS[unit];
      const whole = unit === "second" ? time : Math.max(1, Math.ceil(time / size)) * size;
      const without = time < billed ? " Downtime of the host is not billed." : "";
      return made("agrees", amount, whole, AGREES[unit] + without, unit);
    }
  }
  const bySecond = owedFor(units[0] ?? "second", deposit, rate, billed);
  if (recorded === 0n && BigInt(lease.refunded) === 0n) {
    const due = terms?.lease === undefined ? bySecond : BigInt(terms.lease.accrued);
    return made("unpaid", due, billed, "The payment is due when the task is settled.");
  }
  const most = owedFor(units.at(-1) ?? "second", deposit, rate, billed);
  if (recorded > deposit || (kind === "Job" && recorded > most)) {
    return made("differs", bySecond, billed, "The chain's amount is more than any rule gives.");
  }
  return made(
    "unclear",
    bySecond,
    billed,
    "The amount depends on more than rate and time: downtime of the host, a retained or stopped rental, payments in " +
      "between, or time that was held back.",
  );
}

const RUNNING: Readonly<Record<BillingUnit, string>> = {
  second: "Owed up to this block, pro rata, by the record of the lease.",
  hour: "Owed up to this block: started hours, by the record of the lease.",
  day: "Owed up to this block: started days, by the record of the lease.",
};

const AGREES: Readonly<Record<BillingUnit, string>> = {
  second: "Rate × billed time, by the millisecond, rounded down.",
  hour: "Rate × started hours.",
  day: "Rate × started days.",
};

function neverStarted(
  lease: LeaseForBill,
  made: (verdict: BillVerdict, computed: bigint, billedMs: number | null, explanation: string) => BillCheck,
  rate: bigint,
  deposit: bigint,
  recorded: bigint,
  terms: BillTerms | null,
): BillCheck {
  if (lease.ended_ms === null) return made("running", 0n, 0, "The pod has not started, so nothing is owed yet.");
  if (recorded === 0n) return made("nothing", 0n, 0, "The pod never started, so nothing is owed.");
  const waited = Math.max(terms?.minChargeMs ?? 0, lease.ended_ms - lease.assigned_ms);
  const product = rateForTime(rate, BigInt(waited));
  const charge = product < deposit ? product : deposit;
  if (charge === recorded)
    return made("agrees", charge, waited, "Charge for the reserved place, from assignment to end.");
  if (terms !== null && recorded > charge)
    return made("differs", charge, waited, "The chain's amount is more than the charge for the reserved place.");
  return made("unclear", charge, waited, "Charge for the reserved place, of at least the network's shortest time.");
}
