/** What the API answers about monitoring; compared with the OpenAPI document like types.ts. */

export interface Alert {
  name: string;
  state: "pending" | "firing";
  severity: string;
  summary: string;
  runbook: string;
  since_ms: number;
  job: string | null;
  instance: string | null;
  host: string | null;
}

export interface MonitoredProcess {
  job: string;
  instance: string;
  host: string | null;
  up: boolean;
  waiting_calls: number | null;
  dead_letters: number | null;
}

export interface Monitoring {
  alerts: Alert[];
  processes: MonitoredProcess[];
}

/** The text that an operator signs. */
export interface RestartMessage {
  message: string;
  program: string;
  expires_ms: number;
}

export interface DeviceSeries {
  device: number;
  utilisation_percent: (number | null)[];
  temperature_celsius: (number | null)[];
  power_watts: (number | null)[];
  sm_clock_mhz: (number | null)[];
  pcie_received_bytes_per_s: (number | null)[];
  pcie_sent_bytes_per_s: (number | null)[];
  pcie_replays: (number | null)[];
  nvlink_received_bytes_per_s: (number | null)[];
  nvlink_sent_bytes_per_s: (number | null)[];
  nvlink_errors: (number | null)[];
}

export interface DeviceHistory {
  times_ms: number[];
  devices: DeviceSeries[];
}

export interface PodSeries {
  pod: number;
  cpu_cores: (number | null)[];
  memory_bytes: (number | null)[];
  gpu_utilisation_percent: (number | null)[];
  gpu_memory_bytes: (number | null)[];
}

export interface TaskUsage {
  times_ms: number[];
  pods: PodSeries[];
}

export interface Validator {
  account: string;
  disabled: boolean;
}

export interface ValidatorList {
  session: number;
  validators: Validator[];
}
