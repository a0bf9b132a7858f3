import { describe, expect, it } from "vitest";
import type { Lease, TaskTerms } from "../src/api/types.ts";
import type { Candidate, SchedulerDecision, SchedulerExplanation } from "../src/api/placement_types.ts";
import { costSoFar, costText } from "../src/lib/cost.ts";
import { costParts, excludedText, hostsText, nowTexts, outcomeText, waitText } from "../src/lib/placement.ts";

const COIN = 10n ** 12n;
const HOUR = 3_600_000;

const LEASE: Lease = {
  lease: "1",
  task: 7,
  pod: 0,
  generation: 0,
  host: "5Host",
  state: "Active",
  reason: null,
  rate_per_hour: String(COIN),
  deposited: String(4n * COIN),
  paid: "0",
  fee: "0",
  scheduler_fee: "0",
  settler_fee: "0",
  refunded: "0",
  assigned_ms: 0,
  started_ms: 0,
  ended_ms: null,
  exit_code: null,
  result_digest: null,
  wall_ms: null,
  cpu_ms: null,
  memory_peak_mib: null,
  stars: null,
};
const ENDED: Lease = {
  ...LEASE,
  lease: "2",
  state: "Ended",
  reason: "HostLost",
  ended_ms: HOUR,
  deposited: String(2n * COIN),
  paid: String(COIN / 2n),
  refunded: String((3n * COIN) / 2n),
};

describe("the cost of a task", () => {
  it("adds what was paid and what is owed up to the block", () => {
    const found = costSoFar([LEASE, ENDED], "Service", 2 * HOUR, null);
    expect(found).toEqual({
      deposit: 6n * COIN,
      cost: (5n * COIN) / 2n,
      returned: (3n * COIN) / 2n,
      permille: 416,
      lastsUntilMs: null,
    });
    expect(costText(found)).toBe("2.5 of 6 GTY (41.6 %)");
  });

  it("takes what an ended lease owes until it is settled", () => {
    const reported = { ...LEASE, state: "Ended", reason: "Completed", ended_ms: HOUR, wall_ms: HOUR };
    expect(costSoFar([reported], "Job", 9 * HOUR, null).cost).toBe(COIN);
    expect(
      costSoFar([{ ...reported, paid: String(COIN), refunded: String(3n * COIN) }], "Job", 9 * HOUR, null),
    ).toEqual({ deposit: 4n * COIN, cost: COIN, returned: 3n * COIN, permille: 250, lastsUntilMs: null });
  });

  it("lasts until the first paid time of a running lease ends", () => {
    const own = { accrued: "0", reclaim_ms: null, downtime_ms: 0 };
    const terms: TaskTerms = {
      task: 7,
      unit: "second",
      min_charge_ms: 0,
      leases: [
        { ...own, lease: "1", since_ms: 0, until_ms: 4 * HOUR },
        { ...own, lease: "2", since_ms: 0, until_ms: HOUR },
        { ...own, lease: "3", since_ms: null, until_ms: null },
      ],
    };
    expect(costSoFar([LEASE, ENDED], "Service", 2 * HOUR, terms).lastsUntilMs).toBe(4 * HOUR);
    expect(costSoFar([], "Service", 2 * HOUR, terms)).toMatchObject({ deposit: 0n, permille: 0, lastsUntilMs: null });
  });
});

const SILENT: SchedulerExplanation = {
  scheduler: "5Dave",
  state: "unknown",
  limit: null,
  not_before_ms: null,
  starts_by_ms: null,
  is_others_turn: false,
  no_preemption: null,
  wait: null,
  decision: null,
};
const DECISION: SchedulerDecision = {
  at_ms: 0,
  attempt: 1,
  pods: [],
  outcome: null,
  reason: null,
  block: null,
  hosts: null,
  feasible: null,
  excluded: null,
  best: [],
};

describe("the placement of a task in words", () => {
  it("counts hosts, and what excludes them, the most first", () => {
    const found = { hosts: 1, candidates: 0, candidates_later: 0 };
    const none = {
      ...found,
      pods_needed: 1,
      pods_now: 0,
      lowest_rate_per_hour: null,
      highest_rate_per_hour: null,
      max_rate_per_hour: "1",
      excluded: [],
      start: "",
      earliest_start_ms: null,
      expected_start_ms: null,
    };
    expect(hostsText(none)).toBe("0 of 1 host can run it now");
    expect(hostsText({ ...none, hosts: 5, candidates_later: 2 })).toBe(
      "0 of 5 hosts can run it now, 2 more when running pods have ended",
    );
    expect(excludedText({ "GPUs in use": 1, "above the price limit": 4 })).toBe(
      "4 above the price limit, 1 GPUs in use",
    );
  });

  it("says what a scheduler does now", () => {
    expect(nowTexts(SILENT)).toEqual([]);
    expect(
      nowTexts({ ...SILENT, state: "waits", limit: "its queue is full", not_before_ms: 0, is_others_turn: true }),
    ).toEqual([
      "waits in its queue, or for free resources",
      "its queue is full",
      "tried again at 1970-01-01 00:00:00, after a refusal",
      "another scheduler is responsible for it now",
    ]);
    const wait = {
      since_ms: 0,
      at_ms: 1000,
      times: 1,
      hosts: 3,
      pods_fitting: 1,
      pods_needed: 2,
      reserved: 1,
      excluded: {},
    };
    expect(waitText(wait)).toBe(
      "tried once from 1970-01-01 00:00:00 to 1970-01-01 00:00:01: 1 of the 2 pods that start together would fit on " +
        "3 hosts, 1 feasible ones reserved for others",
    );
  });

  it("says what the chain answered, and names the parts of costs, the largest first", () => {
    expect(outcomeText(DECISION)).toBe("no answer known");
    expect(outcomeText({ ...DECISION, outcome: "assigned", block: 7 })).toBe("assigned in block 7");
    expect(outcomeText({ ...DECISION, outcome: "refused", reason: "HostBusy" })).toBe("refused: HostBusy");
    const host = { host: "5Host", devices: [], cost: 1, reserved: false };
    const best: Candidate[] = [
      { ...host, parts: { draw: 0.1, price: 0.2 } },
      { ...host, parts: { "worth lost": -0.9, price: 0.1 } },
    ];
    expect(costParts(best).map((part) => part.title)).toEqual(["fragmentation", "price", "random"]);
  });
});
