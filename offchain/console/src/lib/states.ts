/** States, reasons and kinds of the chain as phrases, each with an icon and a tone. Never colour alone. */

export type Tone = "good" | "busy" | "warn" | "bad" | "idle";

export interface Phrase {
  icon: string;
  text: string;
  tone: Tone;
}

const TASKS: Readonly<Record<string, Phrase>> = {
  Queued: { icon: "◌", text: "queued: waiting for a host", tone: "idle" },
  Assigned: { icon: "◔", text: "assigned: the host prepares it", tone: "busy" },
  Running: { icon: "▶", text: "running", tone: "good" },
  Reported: { icon: "◕", text: "reported: the result can be accepted or disputed", tone: "busy" },
  Verified: { icon: "✓", text: "verified: waiting for settlement", tone: "busy" },
  Settled: { icon: "✓", text: "settled: everybody is paid", tone: "good" },
  Disputed: { icon: "⚑", text: "disputed: a jury decides", tone: "warn" },
  Expired: { icon: "⌛", text: "expired: no host before the deadline", tone: "warn" },
  Cancelled: { icon: "⊘", text: "cancelled by its tenant", tone: "idle" },
  Failed: { icon: "✕", text: "failed", tone: "bad" },
};

const LEASES: Readonly<Record<string, Phrase>> = {
  Pending: { icon: "◔", text: "pending: the pod is being started", tone: "busy" },
  Active: { icon: "▶", text: "active", tone: "good" },
  Suspended: { icon: "⏸", text: "stopped: only the disk is billed", tone: "idle" },
  Ended: { icon: "■", text: "ended", tone: "idle" },
  Retained: { icon: "▤", text: "data retained", tone: "idle" },
  Purged: { icon: "□", text: "data purged", tone: "idle" },
};

const HOSTS: Readonly<Record<string, Phrase>> = {
  Unverified: { icon: "◌", text: "not verified yet", tone: "idle" },
  Verified: { icon: "◔", text: "verified: waiting for its first heartbeat", tone: "busy" },
  Online: { icon: "●", text: "online", tone: "good" },
  Offline: { icon: "✕", text: "offline: no heartbeats", tone: "bad" },
  Draining: { icon: "◑", text: "draining: takes no new leases", tone: "warn" },
  Suspended: { icon: "⚑", text: "suspended", tone: "bad" },
  Retiring: { icon: "◑", text: "retiring: its bond is unlocked later", tone: "warn" },
  Retired: { icon: "□", text: "retired", tone: "idle" },
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
  const phrase = table[name] ?? { icon: "•", text: spaced(name), tone: "idle" as const };
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

/** Returns whether a task changes no more. */
export function isFinal(state: string): boolean {
  return FINAL.has(state.split("(", 1)[0] ?? state);
}

export const TASK_STATES: readonly string[] = Object.keys(TASKS);
export const HOST_STATUSES: readonly string[] = Object.keys(HOSTS);
