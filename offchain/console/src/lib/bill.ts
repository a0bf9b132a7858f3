/**
 * The bill of a lease, computed again from its rate and times by the rules of docs/protocol.md, section 1.
 *
 * The API does not tell the billing unit of a task, downtime of the host, and parameters of the pallets. Where the
 * amount depends on them, the check is "unclear" and never "agrees"; `gantry audit prove` has the whole record.
 */

import { rateForTime } from "./money.ts";
import { variantName } from "./states.ts";

export interface LeaseForBill {
  state: string;
  reason: string | null;
  rate_per_hour: string;
  deposited: string;
  paid: string;
  fee: string;
  refunded: string;
  assigned_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
  wall_ms: number | null;
}

export type BillingUnit = "second" | "hour" | "day";
const UNIT_MS: Readonly<Record<BillingUnit, number>> = { second: 1, hour: 3_600_000, day: 86_400_000 };

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

/** Checks the bill of a lease of a task of this kind at a time of the chain. */
export function checkBill(lease: LeaseForBill, kind: string, nowMs: number): BillCheck {
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

  if (lease.started_ms === null) return neverStarted(lease, made, rate, deposit, recorded);
  const reason = lease.reason === null ? "" : variantName(lease.reason);
  if (lease.ended_ms === null) {
    const elapsed = Math.max(0, nowMs - lease.started_ms);
    if (lease.state === "Suspended") {
      return made("unclear", recorded, null, "A stopped rental pays for its disk only, at another rate.");
    }
    return made("running", owedFor("second", deposit, rate, elapsed), elapsed, "Owed up to this block, pro rata.");
  }
  const elapsed = Math.max(0, lease.ended_ms - lease.started_ms);
  if (FORFEITED.has(reason) && kind === "Job") {
    return recorded === 0n
      ? made("nothing", 0n, 0, "The host is at fault, so nothing is owed for this lease.")
      : made("unclear", 0n, null, "Paid before the host failed.");
  }
  if (reason === "DisputeLost") {
    return made(recorded === 0n ? "nothing" : "unclear", 0n, null, "A dispute was decided against the host.");
  }
  const billed = reason === "Completed" && lease.wall_ms !== null ? Math.min(elapsed, lease.wall_ms) : elapsed;
  const units: BillingUnit[] = BY_UNIT.has(reason) ? ["second", "hour", "day"] : ["second"];
  for (const unit of units) {
    const amount = owedFor(unit, deposit, rate, billed);
    if (amount === recorded && (amount > 0n || BigInt(lease.refunded) === deposit)) {
      const size = UNIT_MS[unit];
      const time = unit === "second" ? billed : Math.max(1, Math.ceil(billed / size)) * size;
      return made("agrees", amount, time, AGREES[unit], unit);
    }
  }
  const bySecond = owedFor("second", deposit, rate, billed);
  if (recorded === 0n && BigInt(lease.refunded) === 0n) {
    return made("unpaid", bySecond, billed, "The payment is due when the task is settled.");
  }
  const most = owedFor(units.at(-1) ?? "second", deposit, rate, billed);
  if (recorded > deposit || (kind === "Job" && recorded > most)) {
    return made("differs", bySecond, billed, "The chain's amount is more than any rule gives, by started days too.");
  }
  return made(
    "unclear",
    bySecond,
    billed,
    "The amount depends on more than rate and time: downtime of the host, a retained or stopped rental, payments in " +
      "between, or time that was held back.",
  );
}

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
): BillCheck {
  if (lease.ended_ms === null) return made("running", 0n, 0, "The pod has not started, so nothing is owed yet.");
  if (recorded === 0n) return made("nothing", 0n, 0, "The pod never started, so nothing is owed.");
  const waited = Math.max(0, lease.ended_ms - lease.assigned_ms);
  const product = rateForTime(rate, BigInt(waited));
  const charge = product < deposit ? product : deposit;
  if (charge === recorded)
    return made("agrees", charge, waited, "Charge for the reserved place, from assignment to end.");
  return made(
    "unclear",
    charge,
    waited,
    "Charge for the reserved place; the network's shortest billed time applies, which the API does not tell.",
  );
}
