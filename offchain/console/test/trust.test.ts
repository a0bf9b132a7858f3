import { describe, expect, it } from "vitest";
import type { Event } from "../src/api/types.ts";
import { isTrustEvent, outcomeCounts, trustEvidence } from "../src/lib/trust.ts";

let index = 0;
const event = (pallet: string, name: string, block: number, fields: Record<string, unknown>): Event => {
  index += 1;
  const id = `${block}.${index}`;
  return { id, block, index, time_ms: block * 2_000, extrinsic: 1, pallet, name, fields, error: null };
};
const closed = (challenge: number, outcome: string, block: number): Event =>
  event("Verification", "ChallengeClosed", block, { challenge, device: 0, outcome, returned: 0 });

describe("evidence about a host", () => {
  const found = trustEvidence([
    closed(1, "Passed", 10),
    closed(3, "Passed", 30),
    closed(2, "Failed", 20),
    event("Hosts", "Slashed", 20, { fault: "FailedChallenge", amount: "10000000000000" }),
    event("Verification", "ReplicaRejected", 25, { task: 4, lease: "262144", reason: "WrongResult" }),
    event("Tasks", "Rated", 26, { task: 4, lease: "262144", stars: 4 }),
    event("Tasks", "Rated", 27, { task: 5, lease: "327680", stars: 5 }),
  ]);
  it("lists challenges and penalties, newest first", () => {
    expect(found.outcomes).toEqual(["Passed", "Failed", "Passed"]);
    expect(found.penalties.map((one) => [one.reason, one.amount])).toEqual([
      ["WrongResult", "0"],
      ["FailedChallenge", "10000000000000"],
    ]);
  });
  it("counts outcomes, and averages the stars of ratings", () => {
    expect(outcomeCounts(found.outcomes)).toBe("2 passed, 1 failed");
    expect([found.ratings, found.meanStars]).toEqual([2, 4.5]);
  });
  it("says that there is none", () => {
    const nothing = trustEvidence([]);
    expect(outcomeCounts(nothing.outcomes)).toBe("none yet");
    expect(nothing.meanStars).toBeNull();
  });
  it("shows an outcome that it does not know as it is", () => {
    expect(outcomeCounts(["Postponed"])).toBe("1 Postponed");
  });
  it("recognises evidence by pallet and name, and changes of the score", () => {
    expect(isTrustEvent(closed(1, "Passed", 1))).toBe(true);
    expect(isTrustEvent(event("Reputation", "Scored", 1, { score_ppm: 1 }))).toBe(true);
    expect(isTrustEvent(event("Billing", "Rated", 1, {}))).toBe(false);
  });
});
