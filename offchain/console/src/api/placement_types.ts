/** What the API answers about the placement of a task; compared with the OpenAPI document like types.ts. */

export interface PodOnHost {
  pod: number;
  host: string;
  at_risk: string | null;
}

export interface Exclusion {
  reason: string;
  text: string;
  hosts_now: number;
  hosts_always: number;
}

export interface Feasibility {
  hosts: number;
  candidates: number;
  candidates_later: number;
  pods_needed: number;
  pods_now: number;
  lowest_rate_per_hour: string | null;
  highest_rate_per_hour: string | null;
  max_rate_per_hour: string;
  excluded: Exclusion[];
  start: string;
  earliest_start_ms: number | null;
  expected_start_ms: number | null;
}

export interface Candidate {
  host: string;
  devices: number[];
  cost: number;
  parts: Record<string, number>;
  reserved: boolean;
}

export interface SchedulerWait {
  since_ms: number;
  at_ms: number;
  times: number;
  hosts: number;
  pods_fitting: number;
  pods_needed: number;
  reserved: number;
  excluded: Record<string, number>;
}

export interface ScheduledPod {
  pod: number;
  host: string;
  devices: number[];
}

export interface SchedulerDecision {
  at_ms: number;
  attempt: number;
  pods: ScheduledPod[];
  outcome: string | null;
  reason: string | null;
  block: number | null;
  hosts: number | null;
  feasible: number | null;
  excluded: Record<string, number> | null;
  best: Candidate[];
}

export interface SchedulerExplanation {
  scheduler: string;
  state: "waits" | "placed" | "unknown";
  limit: string | null;
  not_before_ms: number | null;
  starts_by_ms: number | null;
  is_others_turn: boolean;
  no_preemption: string | null;
  wait: SchedulerWait | null;
  decision: SchedulerDecision | null;
}

export interface TaskPlacement {
  task: number;
  state: string | null;
  waits: boolean;
  summary: string;
  pods: PodOnHost[];
  feasibility: Feasibility | null;
  schedulers: SchedulerExplanation[];
  unanswered: number;
}
