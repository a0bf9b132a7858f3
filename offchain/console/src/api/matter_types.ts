/** What the API answers about challenges, disputes, schedulers and reputation; compared as types.ts is. */

import type { Event } from "./types.ts";

export interface Vote {
  account: string;
  commitment: string | null;
  committed_ms: number | null;
  vote: "Yes" | "No" | null;
  revealed_ms: number | null;
  rewarded: string;
  penalised: string;
  reason: string | null;
}

export interface Committee {
  round: number;
  level: number;
  confirming: boolean;
  drawn: boolean;
  seed: string | null;
  seed_block: number | null;
  drawn_block: number;
  drawn_ms: number;
  verdict: "Yes" | "No" | null;
  closed_ms: number | null;
  votes: Vote[];
}

export interface DeviceClaim {
  vendor: string;
  model: string;
  vram_mib: number;
  simulated: boolean;
}

export interface Challenge {
  challenge: number;
  host: string;
  device: number;
  claim: DeviceClaim | null;
  opener: string | null;
  fee: string;
  returned: string | null;
  state: string;
  until_ms: number | null;
  round: number;
  answer_digest: string | null;
  answered_ms: number | null;
  outcome: string | null;
  opened_block: number;
  opened_ms: number;
  changed_block: number;
  changed_ms: number;
}

export interface ChallengeDetail extends Challenge {
  committees: Committee[];
}

export interface Dispute {
  task: number;
  opener: string;
  tenant: string | null;
  accused: string[];
  state: string;
  until_ms: number | null;
  level: number;
  verdict: "Yes" | "No" | null;
  outcome: string | null;
  opened_block: number;
  opened_ms: number;
  changed_block: number;
  changed_ms: number;
}

export interface DisputeEvidence {
  account: string;
  digest: string;
  level: number;
  block: number;
  index: number;
  time_ms: number;
}

export interface Stake {
  account: string;
  staked: string;
  returned: string;
  lost: string;
  refunded: string;
}

export interface DisputeDetail extends Dispute {
  committees: Committee[];
  evidence: DisputeEvidence[];
  stakes: Stake[];
}

export interface Scheduler {
  account: string;
  state: string;
  bond: string | null;
  bonded_ms: number | null;
  until_ms: number | null;
  queues: string | null;
  queues_ms: number | null;
  placed: number;
  placed_ms: number | null;
  penalties: number;
  lost: string;
  changed_block: number;
  changed_ms: number;
}

export interface QueueDefinitions {
  digest: string;
  schedulers: number;
  published_ms: number;
  placed: number;
}

export interface ScorePart {
  name: string;
  weight_percent: number;
  positive: number;
  negative: number;
  score_ppm: number;
}

export interface HostReputation {
  score_ppm: number;
  parts: ScorePart[];
  promised_ms: number;
  met_ms: number;
  settled_leases: number;
  updated_ms: number;
}

export interface TenantReputation {
  score_ppm: number;
  parts: ScorePart[];
  updated_ms: number;
}

export interface ProviderFaults {
  weight_ppm: number;
  updated_ms: number;
}

export interface Reputation {
  account: string;
  host: HostReputation | null;
  tenant: TenantReputation | null;
  provider: ProviderFaults | null;
}

export interface ScoreChange {
  id: string;
  block: number;
  index: number;
  time_ms: number;
  extrinsic: number | null;
  role: "host" | "tenant";
  score_ppm: number;
  causes: Event[];
}
