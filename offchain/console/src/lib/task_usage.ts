/** Series of a task's pods as lines of charts. */

import type { PodSeries } from "../api/monitoring_types.ts";

export interface UsageChart {
  name: Exclude<keyof PodSeries, "pod">;
  label: string;
  unit: string;
  /** How many of the API's units are one of the chart's. */
  size: number;
  digits: number;
}

const MIB = 1 << 20;

export const USAGE_CHARTS: readonly UsageChart[] = [
  { name: "cpu_cores", label: "Processors", unit: "cores", size: 1, digits: 2 },
  { name: "memory_bytes", label: "Memory", unit: "MiB", size: MIB, digits: 0 },
  { name: "gpu_utilisation_percent", label: "GPU utilisation", unit: "%", size: 1, digits: 0 },
  { name: "gpu_memory_bytes", label: "GPU memory", unit: "MiB", size: MIB, digits: 0 },
];

/** Returns a line for each pod that has a value; the chart of GPUs has none for a task without GPUs. */
export function usageLines(
  pods: readonly PodSeries[],
  chart: UsageChart,
): { name: string; values: (number | null)[] }[] {
  return pods
    .filter((pod) => pod[chart.name].some((value) => value !== null))
    .map((pod) => ({
      name: `pod ${pod.pod}`,
      values: pod[chart.name].map((value) => (value === null ? null : value / chart.size)),
    }));
}
