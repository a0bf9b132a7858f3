/** The schedulers of a network, folded from their events. */

export interface SchedulerEvent {
  name: string;
  time_ms: number;
  fields: Readonly<Record<string, unknown>>;
}

export interface SchedulerState {
  account: string;
  state: "bonded" | "leaving" | "unbonded";
  sinceMs: number;
  punished: number;
}

/** Returns schedulers by the time of their last change, from events in the order of the chain. */
export function schedulersFrom(events: readonly SchedulerEvent[]): SchedulerState[] {
  const found = new Map<string, SchedulerState>();
  for (const event of events) {
    const account = event.fields["who"];
    if (typeof account !== "string") continue;
    const before = found.get(account) ?? { account, state: "bonded", sinceMs: event.time_ms, punished: 0 };
    if (event.name === "SchedulerPunished") found.set(account, { ...before, punished: before.punished + 1 });
    const state = STATES[event.name];
    if (state !== undefined) found.set(account, { ...before, state, sinceMs: event.time_ms });
  }
  return [...found.values()].sort((one, other) => other.sinceMs - one.sinceMs);
}

const STATES: Readonly<Record<string, SchedulerState["state"]>> = {
  SchedulerBonded: "bonded",
  SchedulerLeaving: "leaving",
  SchedulerUnbonded: "unbonded",
};
