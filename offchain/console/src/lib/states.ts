/** States, reasons and kinds of the chain as phrases, each with an icon and a tone. Never colour alone. */

import type { IconName } from "./icons.ts";

export type Tone = "good" | "busy" | "warn" | "bad" | "idle";

export interface Phrase {
  icon: IconName;
  text: string;
  tone: Tone;
}

const TASKS: Readonly<Record<string, Phrase>> = {
  Queued: { icon: "waiting", text: "queued: waiting for a host", tone: "idle" },
  Assigned: { icon: "progress", text: "assigned: the host prepares it", tone: "busy" },
  Running: { icon: "running", text: "running", tone: "good" },
  Reported: { icon: "reported", text: "reported: the result can be accepted or disputed", tone: "busy" },
  Verified: { icon: "done", text: "verified: waiting for settlement", tone: "busy" },
  Settled: { icon: "done", text: "settled: everybody is paid", tone: "good" },
  Disputed: { icon: "flag", text: "disputed: a jury decides", tone: "warn" },
  Expired: { icon: "expired", text: "expired: no host before the deadline", tone: "warn" },
  Cancelled: { icon: "cancelled", text: "cancelled by its tenant", tone: "idle" },
  Failed: { icon: "failed", text: "failed", tone: "bad" },
};

const LEASES: Readonly<Record<string, Phrase>> = {
  Pending: { icon: "progress", text: "pending: the pod is being started", tone: "busy" },
  Active: { icon: "running", text: "active", tone: "good" },
  Suspended: { icon: "paused", text: "stopped: only the disk is billed", tone: "idle" },
  Ended: { icon: "ended", text: "ended", tone: "idle" },
  Retained: { icon: "data", text: "data retained", tone: "idle" },
  Purged: { icon: "gone", text: "data purged", tone: "idle" },
};

const HOSTS: Readonly<Record<string, Phrase>> = {
  Unverified: { icon: "waiting", text: "not verified yet", tone: "idle" },
  Verified: { icon: "progress", text: "verified: waiting for its first heartbeat", tone: "busy" },
  Online: { icon: "online", text: "online", tone: "good" },
  Offline: { icon: "failed", text: "offline: no heartbeats", tone: "bad" },
  Draining: { icon: "half", text: "draining: takes no new leases", tone: "warn" },
  Suspended: { icon: "flag", text: "suspended", tone: "bad" },
  Retiring: { icon: "half", text: "retiring: its bond is unlocked later", tone: "warn" },
  Retired: { icon: "gone", text: "retired", tone: "idle" },
};

/** Why something ended or failed, by variant; the argument of a variant follows in brackets. */
const REASONS: Readonly<Record<string, string>> = {
  AttemptsExhausted: "all attempts on hosts failed",
  DurationExceeded: "it ran longer than its duration",
  DisputeLost: "a dispute was decided against the host",
  NoAgreement: "the replicas' results do not agree",
  HostRefused: "the host could not run it",
  StartTimeout: "the host did not start it in time",
  HostLost: "the host was lost",
  Reclaimed: "the provider took the host back",
  NoResult: "there was no result in time",
  Completed: "completed",
  Cancelled: "the tenant cancelled the task",
  TenantEnded: "the tenant ended it",
  Expired: "its paid time is over",
  ScaledDown: "the service was scaled down",
  Depleted: "its deposit is used up",
  Moved: "the pod moved to another host",
  DataMoved: "another rental took the data over",
  Preempted: "a task of higher priority took its place",
  GangAborted: "another pod of the job failed",
  ImageUnavailable: "the image could not be pulled",
  ImageInvalid: "the image is not valid",
  ManifestInvalid: "the manifest is not valid",
  ResourcesUnavailable: "the host lacked the resources",
  DriverError: "an error of the host's container engine",
  InputMissing: "an input was missing",
  ImageCannotRun: "the image cannot run",
  ImageTooSlow: "the image could not be pulled in time",
  ByRoot: "by the council",
  FailedChallenge: "failed a challenge of its GPU",
  Slashed: "its bond is too low after a slash",
  HardwareChanged: "its hardware changed",
};

/** Returns a reason of the chain, such as "HostRefused(ImageUnavailable)", in words. */
export function reasonText(reason: string): string {
  const found = /^(\w+)(?:\((.*)\))?$/s.exec(reason);
  if (!found) return reason;
  const text = REASONS[found[1] ?? ""] ?? spaced(found[1] ?? "");
  return found[2] === undefined || /^\d+$/.test(found[2]) ? text : `${text}: ${reasonText(found[2])}`;
}

/** Returns a name of the chain in words: "ReclaimNoticed" becomes "reclaim noticed". */
export function spaced(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}

function phraseOf(table: Readonly<Record<string, Phrase>>, state: string): Phrase {
  const found = /^(\w+)(?:\((.*)\))?$/s.exec(state);
  const name = found?.[1] ?? state;
  const phrase = table[name] ?? { icon: "dot", text: spaced(name), tone: "idle" as const };
  const argument = found?.[2];
  if (argument === undefined || /^\d+$/.test(argument)) return phrase;
  return { ...phrase, text: `${phrase.text}: ${reasonText(argument)}` };
}

export const taskPhrase = (state: string): Phrase => phraseOf(TASKS, state);
export const hostPhrase = (status: string): Phrase => phraseOf(HOSTS, status);

/** Returns the state of a lease with the reason for which it ended. */
export function leasePhrase(state: string, reason: string | null): Phrase {
  const phrase = phraseOf(LEASES, state);
  if (reason === null) return phrase;
  const isFault = /^(HostRefused|StartTimeout|HostLost|DisputeLost|DurationExceeded|NoAgreement)/.test(reason);
  return { ...phrase, text: `${phrase.text}: ${reasonText(reason)}`, tone: isFault ? "bad" : phrase.tone };
}

const FINAL = new Set(["Settled", "Expired", "Cancelled", "Failed"]);

/** Returns the variant of a state or reason: "Failed" of "Failed(AttemptsExhausted)". */
export function variantName(text: string): string {
  return text.split("(", 1)[0] ?? text;
}

/** Returns whether a task changes no more. */
export function isFinal(state: string): boolean {
  return FINAL.has(variantName(state));
}

const FAILURES = ["AttemptsExhausted", "DurationExceeded", "DisputeLost", "NoAgreement"] as const;
/** The states of tasks as the API has them. */
export const TASK_STATES: readonly string[] = Object.keys(TASKS).flatMap((state) =>
  state === "Failed" ? FAILURES.map((reason) => `Failed(${reason})`) : [state],
);
export const HOST_STATUSES: readonly string[] = Object.keys(HOSTS);
