/** Events of the chain as sentences. What has no sentence of its own is told by its name and fields. */

import { percent } from "./matters.ts";
import { formatCoins } from "./money.ts";
import { reasonText, spaced } from "./states.ts";
import { shortAddress } from "./address.ts";

export interface EventForText {
  pallet: string;
  name: string;
  fields: Readonly<Record<string, unknown>>;
  error: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns a value of an event as text: {"HostRefused": "DriverError"} becomes HostRefused(DriverError). */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (typeof value === "object") {
    const entries = Object.entries(value);
    const only = entries[0];
    if (entries.length === 1 && only !== undefined && /^[A-Z]/.test(only[0]))
      return `${only[0]}(${valueText(only[1])})`;
    return entries.map(([name, one]) => `${name}: ${valueText(one)}`).join(", ");
  }
  return String(value);
}

const coins = (value: unknown): string => {
  try {
    return formatCoins(String(value));
  } catch {
    return String(value);
  }
};
const reason = (value: unknown): string => reasonText(valueText(value));
const who = (value: unknown): string => shortAddress(String(value));
/** Who judges the matter of an event. */
const judges = (fields: Fields): string =>
  valueText(fields["matter"]).startsWith("Dispute") ? "The jury" : "The committee";

const SENTENCES: Readonly<Record<string, (fields: Fields) => string>> = {
  "Tasks.Submitted": (f) =>
    Number(f["count"]) > 1 ? `Submitted with ${Number(f["count"]) - 1} more tasks` : "Submitted",
  "Tasks.Assigned": (f) => {
    const leases = Array.isArray(f["leases"]) ? f["leases"] : [];
    const hosts = leases.map((one: unknown) => (Array.isArray(one) ? who(one[1]) : "a host"));
    return `Assigned: ${leases.length === 1 ? "1 pod" : `${leases.length} pods`} on ${hosts.join(", ")}`;
  },
  "Tasks.PodStarted": () => "A pod started",
  "Tasks.PodReported": (f) => {
    const result = (f["result"] ?? {}) as Fields;
    return result["exit_code"] === undefined
      ? "A pod reported its result"
      : `A pod ended with exit code ${valueText(result["exit_code"])}`;
  },
  "Tasks.Requeued": (f) => `Queued again: ${reason(f["reason"])}`,
  "Tasks.PodLost": (f) => `A pod was lost: ${reason(f["reason"])}`,
  "Tasks.LeaseEnded": (f) => `A lease ended: ${reason(f["reason"])}`,
  "Tasks.LeaseMoved": (f) => `A pod moved to ${who(f["host"])}: ${reason(f["reason"])}`,
  "Tasks.Settled": () => "Settled: the bills are paid",
  "Tasks.Cancelled": () => "Cancelled by the tenant",
  "Tasks.Expired": () => "Expired before it was assigned",
  "Tasks.Stopped": () => "Ended by the tenant",
  "Tasks.Scaled": (f) => `Scaled to ${valueText(f["pods"])} pods`,
  "Tasks.ResultAccepted": () => "The tenant accepted the result",
  "Tasks.Verified": () => "The result was verified",
  "Tasks.NotVerified": () => "The replicas' results do not agree",
  "Tasks.Disputed": () => "The tenant disputed the result",
  "Tasks.DisputeResolved": (f) => `The dispute was ${f["upheld"] === true ? "upheld" : "rejected"}`,
  "Tasks.Rated": (f) => `The tenant rated a lease with ${valueText(f["stars"])} of 5 stars`,
  "Tasks.Purged": () => "The host deleted the data",
  "Tasks.DataLost": () => "The host lost the data",
  "Tasks.Pruned": () => "Removed from the state; events and bills stay in the index",
  "Tasks.PreemptionNoticed": (f) => `Task ${valueText(f["wanting"])} is to take its place`,
  "Tasks.Preempted": (f) => `Task ${valueText(f["wanting"])} took its place`,
  "Tasks.Checkpointed": (f) => `A checkpoint of ${valueText(f["bytes"])} bytes was stored`,
  "Tasks.StandbyNamed": (f) => `${who(f["host"])} stands by for a pod`,
  "Leases.Extended": (f) => `Extended for ${coins(f["amount"])}`,
  "Leases.ToppedUp": (f) => `Topped up by ${coins(f["amount"])}`,
  "Leases.Suspended": () => "The rental was stopped",
  "Leases.Resumed": () => "The rental was started again",
  "Leases.Paid": (f) => `Paid meanwhile: ${coins(f["share"])} and a fee of ${coins(f["fee"])}`,
  "Leases.ReclaimNoticed": () => "The provider takes the host back after the notice",
  "Hosts.Registered": () => "Registered",
  "Hosts.StatusChanged": (f) => `Status changed from ${spaced(valueText(f["from"]))} to ${spaced(valueText(f["to"]))}`,
  "Hosts.Slashed": (f) => `Slashed by ${coins(f["amount"])}: ${spaced(valueText(f["fault"]))}`,
  "Hosts.AskChanged": () => "The price list changed",
  "Reputation.Scored": (f) => `Its score is now ${percent(Number(f["score_ppm"]))}`,
  "Reputation.TenantScored": (f) => `Its score as a tenant is now ${percent(Number(f["score_ppm"]))}`,
  "Verification.ChallengeOpened": (f) =>
    `Challenge ${valueText(f["challenge"])} of device ${valueText(f["device"])} opened`,
  "Verification.CommitteeDrawn": (f) =>
    `${judges(f)} was drawn, with ${Array.isArray(f["members"]) ? f["members"].length : "some"} members`,
  "Verification.CommitteeNotDrawn": (f) => `${judges(f)} was not drawn: there are too few verifiers`,
  "Verification.AnswerAwaited": () => "The host has to answer",
  "Verification.Answered": () => "The host answered",
  "Verification.ConfirmationAwaited": () => "A second committee has to confirm the verdict against the host",
  "Verification.VoteCommitted": (f) => `${who(f["who"])} committed a vote`,
  "Verification.RevealsOpened": () => "Votes can be revealed",
  "Verification.VoteRevealed": (f) => `${who(f["who"])} voted ${valueText(f["vote"]).toLowerCase()}`,
  "Verification.VerifierRewarded": (f) => `${who(f["who"])} was paid ${coins(f["amount"])}`,
  "Verification.VerifierPenalised": (f) =>
    `${who(f["who"])} lost ${coins(f["amount"])}: ${spaced(valueText(f["reason"]))}`,
  "Verification.BallotClosed": (f) =>
    f["verdict"] === null || f["verdict"] === undefined
      ? `${judges(f)} came to no verdict`
      : `${judges(f)} decided ${valueText(f["verdict"]).toLowerCase()}`,
  "Verification.ChallengeClosed": (f) =>
    `Challenge ${valueText(f["challenge"])} closed: ${spaced(valueText(f["outcome"]))}`,
  "Verification.DisputeOpened": (f) => `${who(f["by"])} opened a dispute with a stake of ${coins(f["stake"])}`,
  "Verification.EvidenceAdded": (f) => `${who(f["by"])} named evidence`,
  "Verification.JuryAwaited": () => "A jury has to be drawn",
  "Verification.JuryCommits": () => "The jury commits its votes",
  "Verification.DisputeDecided": (f) =>
    `The jury decided that the complaint is ${valueText(f["verdict"]) === "Yes" ? "right" : "wrong"}`,
  "Verification.Appealed": (f) => `${who(f["by"])} appealed with a stake of ${coins(f["stake"])}`,
  "Verification.StakeReturned": (f) => `${who(f["who"])} got a stake of ${coins(f["amount"])} back`,
  "Verification.StakeLost": (f) => `${who(f["who"])} lost a stake of ${coins(f["amount"])}`,
  "Verification.FeeRefunded": (f) => `${who(f["who"])} got fees of ${coins(f["amount"])} back`,
  "Verification.DisputeClosed": (f) => `The dispute is closed: ${spaced(valueText(f["outcome"]))}`,
  "Balances.Transfer": (f) => `${who(f["from"])} sent ${coins(f["amount"])} to ${who(f["to"])}`,
};

/** Returns an event as a sentence without a full stop. */
export function eventText(event: EventForText): string {
  const sentence = SENTENCES[`${event.pallet}.${event.name}`];
  const text = sentence === undefined ? capitalised(spaced(event.name)) : sentence(event.fields);
  return event.error === null ? text : `${text} (error ${event.error})`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
