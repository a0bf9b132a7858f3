/**
 * What the API answers, as in its OpenAPI document; tests/unit/gateway/test_console_types.py compares the fields.
 * Amounts are base units as decimal text.
 */

export interface BlockReference {
  number: number;
  hash: string;
  time_ms: number;
}

export interface ResourceAnswer<T> {
  as_of: BlockReference;
  data: T;
}

export interface Page<T> {
  as_of: BlockReference;
  data: T[];
  next: string | null;
}

export interface Network {
  genesis_hash: string;
  events_from_block: number;
  development: boolean;
  sign_in: boolean;
  signing: boolean;
  relay: string | null;
}

export interface Block {
  number: number;
  hash: string;
  parent_hash: string;
  time_ms: number;
  extrinsics: number;
  events: number;
}

export interface Extrinsic {
  block: number;
  index: number;
  hash: string;
  time_ms: number;
  call: string | null;
  signer: string | null;
  success: boolean;
  error: string | null;
  refused_items: number;
  payer: string | null;
  fee: string | null;
  tip: string | null;
}

export interface Event {
  id: string;
  block: number;
  index: number;
  time_ms: number;
  extrinsic: number | null;
  pallet: string;
  name: string;
  fields: Record<string, unknown>;
  error: string | null;
  documentation?: string | null;
}

export interface SearchMatch {
  kind: "block" | "extrinsic" | "event" | "task" | "lease" | "host" | "account" | "challenge" | "dispute";
  id: string;
  path: string;
  about: string;
  block: number | null;
}

export interface Documentation {
  pallet: string;
  kind: string;
  name: string;
  text: string;
  fields: Record<string, string>;
}

export interface Task {
  task: number;
  tenant: string;
  kind: string;
  state: string;
  manifest_digest: string;
  failures: number;
  submitted_block: number;
  submitted_ms: number;
  changed_block: number;
  changed_ms: number;
  paid: string;
  fee: string;
  refunded: string;
}

export interface TaskCount {
  state: string;
  tasks: number;
  more: boolean;
}

/** The billing terms of a task; `leases` has the last one of each pod. */
export interface TaskTerms {
  task: number;
  unit: "second" | "hour" | "day";
  min_charge_ms: number;
  leases: LeaseTerms[];
}

export interface LeaseTerms {
  lease: string;
  accrued: string;
  since_ms: number | null;
  until_ms: number | null;
  reclaim_ms: number | null;
  downtime_ms: number;
}

export interface ExtrinsicCall {
  block: number;
  index: number;
  hash: string;
  call: string;
  signer: string | null;
  args: Record<string, unknown>;
  runtime_known: boolean;
}

export interface StoredValue {
  pallet: string;
  item: string;
  keys: unknown[];
  storage_key: string;
  raw: string | null;
  value: unknown;
}

export interface State {
  block: BlockReference;
  state_root: string;
  values: StoredValue[];
  proof: string;
}

export interface Lease {
  lease: string;
  task: number;
  pod: number;
  generation: number;
  host: string;
  state: string;
  reason: string | null;
  rate_per_hour: string;
  deposited: string;
  paid: string;
  fee: string;
  scheduler_fee: string;
  settler_fee: string;
  refunded: string;
  assigned_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
  exit_code: number | null;
  result_digest: string | null;
  wall_ms: number | null;
  cpu_ms: number | null;
  memory_peak_mib: number | null;
  stars: number | null;
}

export interface Host {
  host: string;
  provider: string;
  status: string;
  generation: number;
  score_ppm: number | null;
  leases: number;
  earned: string;
  slashed: string;
  registered_ms: number;
  changed_ms: number;
}

export interface Bill {
  block: number;
  index: number;
  time_ms: number;
  lease: string;
  task: number;
  host: string;
  paid: string;
  fee: string;
  scheduler_fee: string;
  settler_fee: string;
  refunded: string;
}

export interface Movement {
  block: number;
  index: number;
  time_ms: number;
  category: string;
  kind: string;
  counterparty: string | null;
  amount: string;
  reason: string | null;
  free_change: string | null;
  held_change: string | null;
  free_total: string | null;
  held_total: string | null;
}

export interface Capacity {
  cpu_milli: number;
  memory_mib: number;
  disk_gib: number;
}

export interface GpuPrice {
  model: string;
  per_hour: string;
}

export interface Ask {
  gpu: GpuPrice[];
  gpu_per_hour: string;
  cpu_core_per_hour: string;
  memory_gib_per_hour: string;
  disk_gib_per_hour: string;
  network_gib: string;
  storage_gib_per_hour: string;
  second_ppm: number;
  hour_ppm: number;
  day_ppm: number;
}

export interface Offer {
  host: string;
  provider: string;
  status: string;
  region: string;
  tier: string;
  model: string | null;
  vendor: string | null;
  simulated: boolean;
  gpus: number;
  gpus_free: number;
  vram_mib: number;
  attested: number;
  price_per_hour: string;
  billing: string;
  reputation_ppm: number;
  bond: string;
  bond_required: string;
  total: Capacity;
  free: Capacity;
  network_mbps_down: number;
  network_mbps_up: number;
  latency_ms: number | null;
  capabilities: string[];
  live_leases: number;
  ask: Ask;
  read_block: number;
  outdated: boolean;
}

export interface Device {
  host: string;
  index: number;
  vendor: string;
  model: string;
  vram_mib: number;
  simulated: boolean;
  milli_free: number;
  shared_by: string | null;
  attested: boolean;
  healthy: boolean;
  challenged: boolean;
  read_block: number;
  outdated: boolean;
}

export interface Session {
  account: string;
  roles: string[];
  expires_ms: number;
}

export interface NewSession extends Session {
  token: string;
}

export interface SignInMessage {
  message: string;
  expires_ms: number;
}

export interface ApiKey {
  id: string;
  name: string;
  scopes: string[];
  created_ms: number;
  expires_ms: number;
}

export interface NewApiKey extends ApiKey {
  key: string;
}

export interface ApiKeyList {
  keys: ApiKey[];
}

export interface Refusal {
  code: string;
  message: string;
  hint: string;
}

export interface UnsignedExtrinsic {
  as_of: BlockReference;
  call_hex: string;
  payload: Record<string, unknown>;
  signing_payload_hex: string;
  expires_at_block: number;
  fee_estimate: string;
  summary: string;
  refusals: Refusal[];
}

export interface Submitted {
  hash: string;
  status_url: string;
}

export interface Hold {
  reason: string;
  amount: string;
}

export interface Balance {
  account: string;
  free: string;
  held: string;
  frozen: string;
  spendable: string;
  nonce: number;
  holds: Hold[];
}

export interface ManifestErrorLine {
  line: number;
  key: string;
  message: string;
  hint: string;
}

export interface TaskPrice {
  lowest_per_hour: string | null;
  highest_per_hour: string | null;
  deposit: string;
}

export interface ManifestCheck {
  as_of: BlockReference;
  valid: boolean;
  errors: ManifestErrorLine[];
  price: TaskPrice | null;
  expected_start_ms: number | null;
  earliest_start_ms: number | null;
  start: string;
  placement: string;
  refusals: Refusal[];
}

export interface Template {
  name: string;
  title: string;
  description: string;
  manifest: string;
  variables: TemplateVariable[];
}

export interface TemplateVariable {
  name: string;
  value: string | null;
}
