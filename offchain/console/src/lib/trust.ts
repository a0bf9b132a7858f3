/** Evidence about a host in events of the chain: challenges, penalties, rejected results and ratings. */

import type { Event } from "../api/types.ts";

export interface TrustEvidence {
  /** Outcomes of the closed challenges, newest first. */
  outcomes: readonly string[];
  /** Lost bonds and results that did not count, newest first; amounts in base units. */
  penalties: readonly { id: string; reason: string; amount: string; timeMs: number }[];
  ratings: number;
  /** Mean stars of the ratings; null without one. */
  meanStars: number | null;
}

/** Kinds of events whose contents are shown, as pallet and name. */
export const TRUST_EVENTS = [
  ["Verification", "ChallengeClosed"],
  ["Verification", "ReplicaRejected"],
  ["Hosts", "Slashed"],
  ["Tasks", "Rated"],
] as const;

/** Whether an event is evidence, or changed the score. */
export function isTrustEvent(event: Event): boolean {
  if (event.pallet === "Reputation") return true;
  return TRUST_EVENTS.some(([pallet, name]) => event.pallet === pallet && event.name === name);
}

const OUTCOMES: Readonly<Record<string, string>> = {
  Passed: "passed",
  Failed: "failed",
  Missed: "missed, without a consequence",
  NotAnswered: "missed again, punished",
  NoVerdict: "without a verdict",
  TooFewVerifiers: "without a verdict: too few verifiers",
  HardwareChanged: "passed, but the hardware was changed meanwhile",
};

/** Counts outcomes in words, the most frequent first: "3 passed, 1 failed". */
export function outcomeCounts(outcomes: TrustEvidence["outcomes"]): string {
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([outcome, count]) => `${count} ${OUTCOMES[outcome] ?? outcome}`).join(", ") || "none yet";
}

/** `events`: of the kinds in TRUST_EVENTS, in any order. */
export function trustEvidence(events: readonly Event[]): TrustEvidence {
  const newestFirst = [...events].sort((a, b) => b.block - a.block || b.index - a.index);
  const named = (name: string): Event[] => newestFirst.filter((one) => one.name === name);
  const stars = named("Rated").map((one) => Number(one.fields["stars"]));
  return {
    outcomes: named("ChallengeClosed").map((one) => String(one.fields["outcome"])),
    penalties: newestFirst
      .filter((one) => one.name === "Slashed" || one.name === "ReplicaRejected")
      .map((one) => ({
        id: one.id,
        reason: String(one.fields["fault"] ?? one.fields["reason"]),
        amount: String(one.fields["amount"] ?? 0),
        timeMs: one.time_ms,
      })),
    ratings: stars.length,
    meanStars: stars.length === 0 ? null : stars.reduce((sum, one) => sum + one, 0) / stars.length,
  };
}
