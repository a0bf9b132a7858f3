/** Explanations of placements in words, as `gantry task why` has them. */

import type {
  Candidate,
  Feasibility,
  SchedulerDecision,
  SchedulerExplanation,
  SchedulerWait,
} from "../api/placement_types.ts";
import { formatTime } from "./time.ts";

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Returns how many hosts can run a task now, and how many later. */
export function hostsText(found: Feasibility): string {
  const later = found.candidates_later === 0 ? "" : `, ${found.candidates_later} more when running pods have ended`;
  return `${found.candidates} of ${counted(found.hosts, "host")} can run it now${later}`;
}

/** Returns number of hosts by reason, the most first. */
export function excludedText(excluded: Readonly<Record<string, number>>): string {
  return Object.entries(excluded)
    .toSorted(([, one], [, other]) => other - one)
    .map(([reason, hosts]) => `${hosts} ${reason}`)
    .join(", ");
}

/** Returns what a scheduler does with a task now, one sentence each. */
export function nowTexts(found: SchedulerExplanation): string[] {
  const states = { waits: "waits in its queue, or for free resources", placed: "its placement is being submitted" };
  return [
    found.state === "unknown" ? null : states[found.state],
    found.limit,
    found.not_before_ms === null ? null : `tried again at ${formatTime(found.not_before_ms)}, after a refusal`,
    found.starts_by_ms === null ? null : `reserved: starts at ${formatTime(found.starts_by_ms)} at the latest`,
    found.no_preemption === null ? null : `no preemption: ${found.no_preemption}`,
    found.is_others_turn ? "another scheduler is responsible for it now" : null,
  ].filter((text) => text !== null);
}

/** Returns why a scheduler found no place for a task. */
export function waitText(wait: SchedulerWait): string {
  const times = wait.times === 1 ? "once" : `${wait.times} times`;
  const reserved = wait.reserved === 0 ? "" : `, ${wait.reserved} feasible ones reserved for others`;
  return (
    `tried ${times} from ${formatTime(wait.since_ms)} to ${formatTime(wait.at_ms)}: ${wait.pods_fitting} of the ` +
    `${counted(wait.pods_needed, "pod")} that start together would fit on ${counted(wait.hosts, "host")}${reserved}`
  );
}

/** Returns the chain's answer to a placement. */
export function outcomeText(decision: SchedulerDecision): string {
  if (decision.outcome === null) return "no answer known";
  const block = decision.block === null ? "" : ` in block ${decision.block}`;
  return `${decision.outcome}${block}${decision.reason === null ? "" : `: ${decision.reason}`}`;
}

/** Parts of the cost that have another name in records. */
const PART_NAMES: Readonly<Record<string, string>> = { "worth lost": "fragmentation", draw: "random" };

export interface CostPart {
  key: string;
  title: string;
}

/** Returns the parts of the costs of hosts, the largest first. */
export function costParts(best: readonly Candidate[]): CostPart[] {
  const weights = new Map<string, number>();
  for (const { parts } of best) {
    for (const [key, value] of Object.entries(parts)) {
      weights.set(key, Math.max(weights.get(key) ?? 0, Math.abs(value)));
    }
  }
  return [...weights]
    .toSorted(([key, one], [other, another]) => another - one || (key < other ? -1 : 1))
    .map(([key]) => ({ key, title: PART_NAMES[key] ?? key }));
}
