/** Problems of the network that its operator should know before users do, from what the API answers. */

import { formatDuration } from "./time.ts";

export interface HealthFacts {
  /** Unix ms of the browser, and of the last final block of the index. */
  nowMs: number;
  blockMs: number | null;
  hosts: readonly { status: string }[];
  devices: readonly { healthy: boolean; challenged: boolean }[];
  /** Tasks that wait for a host, with the time of their last change. */
  queued: readonly { changed_ms: number }[];
  disputed: number;
  schedulers: number | null;
}

export interface Finding {
  severity: "bad" | "warn";
  text: string;
}

/** Blocks come every two seconds and are final some seconds later; the index is half a second behind. */
export const MOST_BLOCK_AGE_MS = 30_000;
export const MOST_WAITING_MS = 300_000;

/** Returns what is wrong, the worst first; nothing if all is well. */
export function findings(facts: HealthFacts): Finding[] {
  const found: Finding[] = [];
  const bad = (text: string): void => void found.push({ severity: "bad", text });
  const warn = (text: string): void => void found.push({ severity: "warn", text });
  if (facts.blockMs !== null && facts.nowMs - facts.blockMs > MOST_BLOCK_AGE_MS) {
    bad(
      `The last final block of the index is ${formatDuration(facts.nowMs - facts.blockMs)} old: finality, the indexer or this machine's clock.`,
    );
  }
  if (facts.schedulers === 0) bad("No scheduler is bonded, so no task is assigned.");
  const offline = facts.hosts.filter((host) => host.status === "Offline").length;
  const online = facts.hosts.filter((host) => host.status === "Online").length;
  if (online === 0) bad("No host is online, so no task can start.");
  const waiting = facts.queued.filter(
    (task) => facts.blockMs !== null && facts.blockMs - task.changed_ms > MOST_WAITING_MS,
  ).length;
  if (waiting > 0)
    bad(`${count(waiting, "task waits", "tasks wait")} for a host for more than ${formatDuration(MOST_WAITING_MS)}.`);
  if (offline > 0) warn(`${count(offline, "host is", "hosts are")} offline.`);
  const suspended = facts.hosts.filter((host) => host.status.startsWith("Suspended")).length;
  if (suspended > 0) warn(`${count(suspended, "host is", "hosts are")} suspended.`);
  const unhealthy = facts.devices.filter((device) => !device.healthy).length;
  if (unhealthy > 0) warn(`${count(unhealthy, "GPU is", "GPUs are")} unhealthy.`);
  const challenged = facts.devices.filter((device) => device.challenged).length;
  if (challenged > 0) warn(`${count(challenged, "GPU has", "GPUs have")} an open challenge.`);
  if (facts.disputed > 0) warn(`${count(facts.disputed, "dispute is", "disputes are")} open.`);
  return found.sort((one, other) => Number(one.severity === "warn") - Number(other.severity === "warn"));
}

function count(number: number, one: string, several: string): string {
  return `${number} ${number === 1 ? one : several}`;
}
