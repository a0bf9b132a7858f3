import { expect, it } from "vitest";
import { checkBill, type LeaseForBill, owedFor } from "../src/lib/bill.ts";
import escrow from "../../../tests/vectors/escrow.json";

const HOUR = 3_600_000;
const RATE = 7_200_000_000_000n;
const lease = (change: Partial<LeaseForBill>): LeaseForBill => ({
  state: "Ended",
  reason: "Completed",
  rate_per_hour: RATE.toString(),
  deposited: (10n * RATE).toString(),
  paid: "0",
  fee: "0",
  refunded: "0",
  assigned_ms: 1_000,
  started_ms: 10_000,
  ended_ms: 10_000 + 90_000,
  wall_ms: null,
  ...change,
});
const check = (change: Partial<LeaseForBill>, kind = "Job", now = 200_000) => checkBill(lease(change), kind, now);
const amount = (ms: number): string => ((RATE * BigInt(ms)) / 3_600_000n).toString();

it("agrees with a job that is billed by the second", () => {
  const found = check({ paid: amount(90_000), refunded: "1" });
  expect(found).toMatchObject({ verdict: "agrees", unit: "second", billedMs: 90_000 });
  expect(found.computed).toBe(found.recorded);
});

it("bills a completed job by its metered time, if that is less", () => {
  expect(check({ paid: amount(80_000), wall_ms: 80_000 }).verdict).toBe("agrees");
  expect(check({ paid: amount(90_000), wall_ms: 95_000 }).verdict).toBe("agrees");
});

it("agrees with started hours and days", () => {
  expect(check({ paid: RATE.toString() })).toMatchObject({ verdict: "agrees", unit: "hour" });
  expect(check({ paid: (24n * RATE).toString(), deposited: (30n * RATE).toString() })).toMatchObject({ unit: "day" });
});

it("never agrees with one base unit more or less", () => {
  for (const change of [-1n, 1n]) {
    expect(check({ paid: (BigInt(amount(90_000)) + change).toString() }).verdict).not.toBe("agrees");
  }
});

it("says that a job's amount above every rule differs", () => {
  expect(check({ paid: (9n * RATE).toString(), deposited: (8n * RATE).toString() }).verdict).toBe("differs");
});

it("is at most the deposit", () => {
  expect(check({ paid: "5", deposited: "5" })).toMatchObject({ verdict: "agrees", computed: 5n });
});

it("owes nothing where a job's host is at fault", () => {
  for (const reason of ["HostLost", "HostRefused(DriverError)", "GangAborted"])
    expect(check({ reason }).verdict).toBe("nothing");
  expect(check({ reason: "HostLost", paid: "7" }).verdict).toBe("unclear");
});

it("bills a service pro rata where its host is lost, never by the hour", () => {
  expect(check({ reason: "HostLost", paid: amount(90_000) }, "Service").verdict).toBe("agrees");
  expect(check({ reason: "HostLost", paid: RATE.toString() }, "Service").verdict).toBe("unclear");
});

it("tells what is owed of a running lease, and what is due of an ended one", () => {
  expect(check({ state: "Active", reason: null, ended_ms: null }, "Service", 10_000 + HOUR)).toMatchObject({
    verdict: "running",
    computed: RATE,
  });
  expect(check({})).toMatchObject({ verdict: "unpaid", computed: BigInt(amount(90_000)) });
});

it("knows leases that never started", () => {
  const never = { started_ms: null, ended_ms: 61_000 };
  expect(check({ ...never, reason: "StartTimeout" }).verdict).toBe("nothing");
  expect(check({ ...never, reason: "Cancelled", paid: amount(60_000) }).verdict).toBe("agrees");
  expect(check({ ...never, reason: "Cancelled", paid: amount(70_000) }).verdict).toBe("unclear");
  expect(check({ ...never, ended_ms: null, reason: null, state: "Pending" }).verdict).toBe("running");
});

it("does not judge a stopped rental", () => {
  expect(check({ state: "Suspended", reason: null, ended_ms: null }, "Rental").verdict).toBe("unclear");
});

// The cases that the chain and the workers run.
const started = escrow.escrow.filter((one) => one.escrow.since !== null);
it.each(started.map((one) => [one.name, one] as const))("owes what the chain owes: %s", (_, one) => {
  const { deposit, rate_per_hour, unit, accrued, paid } = one.escrow;
  const rest = BigInt(deposit) - BigInt(accrued);
  const running = owedFor(unit.toLowerCase() as "second" | "hour" | "day", rest, BigInt(rate_per_hour), one.billed_ms);
  const owed = BigInt(accrued) + running;
  expect(owed > BigInt(paid) ? owed : BigInt(paid)).toBe(BigInt(one.owed));
});
