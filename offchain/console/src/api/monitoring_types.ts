/** What GET /v1/monitoring answers; compared with the OpenAPI document like types.ts. */

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
