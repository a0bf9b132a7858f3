/** What a webhook can be notified of, in words. tests/unit/gateway/test_console_types.py compares the topics. */

export const TOPICS: Readonly<Record<string, string>> = {
  lease_ending: "a lease ends in a few hours",
  lease_ended: "a lease has ended",
  pod_moved: "a pod goes on at another host",
  host_degraded: "a host is offline, suspended or loses bond",
  host_anomaly: "a host starts pods slowly, or its score falls",
  host_alert: "an alert about a host",
  data_purge: "kept data will be removed",
  lease_disputed: "a dispute about a lease",
  challenge_failed: "a host failed a challenge of its GPU",
};

/** Returns a topic in words; one of a newer gateway as it is, with spaces. */
export function topicText(topic: string): string {
  return TOPICS[topic] ?? topic.replaceAll("_", " ");
}

/** What a webhook says about its notices: what waits, and why it was not delivered. */
export interface Waiting {
  waiting: number;
  failed_attempts: number;
  failure: string | null;
}

/** Returns the state of a webhook's notices in words. */
export function waitingText(of: Waiting): string {
  if (of.waiting === 0) return "nothing waits";
  const notices = of.waiting === 1 ? "1 notice waits" : `${of.waiting} notices wait`;
  if (of.failed_attempts === 0) return notices;
  const attempts = of.failed_attempts === 1 ? "1 attempt" : `${of.failed_attempts} attempts`;
  return `${notices}; ${attempts} failed${of.failure === null ? "" : `: ${of.failure}`}`;
}
