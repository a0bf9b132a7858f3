/** Challenges, disputes, schedulers and reputation as phrases. */

import { type Phrase, spaced } from "./states.ts";

const CHALLENGE_PHASES: Readonly<Record<string, Phrase>> = {
  Waiting: { icon: "waiting", text: "waiting for its committee to be drawn", tone: "idle" },
  Answering: { icon: "progress", text: "waiting for the host's answer", tone: "busy" },
  Committing: { icon: "progress", text: "the committee commits its votes", tone: "busy" },
  Revealing: { icon: "progress", text: "the committee reveals its votes", tone: "busy" },
};

const CHALLENGE_OUTCOMES: Readonly<Record<string, Phrase>> = {
  Passed: { icon: "done", text: "passed: the device is what its provider says", tone: "good" },
  Failed: { icon: "failed", text: "failed: two committees found against the host", tone: "bad" },
  NotAnswered: { icon: "failed", text: "failed: the second one that the host did not answer", tone: "bad" },
  Missed: { icon: "flag", text: "missed: the host did not answer", tone: "warn" },
  NoVerdict: { icon: "ended", text: "ended without a verdict", tone: "idle" },
  TooFewVerifiers: { icon: "ended", text: "ended: there were too few verifiers", tone: "idle" },
  HardwareChanged: { icon: "ended", text: "ended: the hardware was changed meanwhile", tone: "idle" },
};

const DISPUTE_PHASES: Readonly<Record<string, Phrase>> = {
  Hearing: { icon: "reported", text: "hearing: the parties name evidence", tone: "busy" },
  Waiting: { icon: "waiting", text: "waiting for its jury to be drawn", tone: "idle" },
  Committing: { icon: "progress", text: "the jury commits its votes", tone: "busy" },
  Revealing: { icon: "progress", text: "the jury reveals its votes", tone: "busy" },
  Decided: { icon: "flag", text: "decided: the verdict can be appealed", tone: "warn" },
};

const DISPUTE_OUTCOMES: Readonly<Record<string, Phrase>> = {
  Upheld: { icon: "failed", text: "upheld: the accused results are wrong", tone: "bad" },
  Rejected: { icon: "done", text: "rejected: the results stand", tone: "good" },
  NoVerdict: { icon: "ended", text: "ended without a verdict: the results stand", tone: "idle" },
};

const SCHEDULERS: Readonly<Record<string, Phrase>> = {
  Bonded: { icon: "online", text: "bonded", tone: "good" },
  Leaving: { icon: "half", text: "leaving: its bond is still held", tone: "warn" },
  Unbonded: { icon: "gone", text: "unbonded", tone: "idle" },
};

const PARTS: Readonly<Record<string, string>> = {
  completed: "Pods completed",
  verified: "Results and challenges found right",
  uptime: "Time it was there",
  start_latency: "Pods started soon",
  rating: "Ratings by tenants",
  settled: "Tasks paid to their end",
  disputes: "Disputes won",
};

function phraseOf(table: Readonly<Record<string, Phrase>>, name: string): Phrase {
  return table[name] ?? { icon: "dot", text: spaced(name), tone: "idle" };
}

const MATTERS = {
  challenge: { phases: CHALLENGE_PHASES, outcomes: CHALLENGE_OUTCOMES },
  dispute: { phases: DISPUTE_PHASES, outcomes: DISPUTE_OUTCOMES },
} as const;

export type Matter = keyof typeof MATTERS;

/** Returns where a challenge or dispute stands: its outcome, or its phase while it is open. */
export function matterPhrase(kind: Matter, phase: string, outcome: string | null = null): Phrase {
  const { phases, outcomes } = MATTERS[kind];
  return phraseOf({ ...phases, ...outcomes }, outcome ?? phase);
}

export const schedulerPhrase = (state: string): Phrase => phraseOf(SCHEDULERS, state);

/** Returns the answer of a vote or verdict to the question of its matter. */
export function voteText(kind: Matter, vote: "Yes" | "No"): string {
  if (kind === "challenge") return vote === "Yes" ? "yes: the device is real" : "no: the device is not what is said";
  return vote === "Yes" ? "yes: the complaint is right" : "no: the result is right";
}

/** Returns a kind of evidence in words. */
export function scorePartName(name: string): string {
  return PARTS[name] ?? spaced(name);
}

/** Returns parts per million as a percentage. */
export function percent(ppm: number): string {
  return `${(ppm / 10_000).toFixed(1)} %`;
}

/** Returns the phases that a list can be filtered by. */
export function phasesOf(kind: Matter): string[] {
  return [...Object.keys(MATTERS[kind].phases), "Closed"];
}

/** Returns the outcomes that a list can be filtered by. */
export function outcomesOf(kind: Matter): string[] {
  return Object.keys(MATTERS[kind].outcomes);
}

/** Returns the name of a phase or outcome in a filter. */
export function filterText(kind: Matter, name: string): string {
  return name === "Closed" ? "closed" : (matterPhrase(kind, name).text.split(":", 1)[0] ?? name);
}
