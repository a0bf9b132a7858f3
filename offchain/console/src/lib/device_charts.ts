/** Series of a host's GPUs as lines of charts. */

import type { DeviceSeries } from "../api/monitoring_types.ts";

type Measure = Exclude<keyof DeviceSeries, "device">;

export interface DeviceChart {
  label: string;
  unit: string;
  /** The series of each GPU, with what follows its name. */
  series: readonly (readonly [Measure, string])[];
  /** How many of the API's units are one of the chart's. */
  size: number;
  digits: number;
  /** Left out where no driver has a value: not all GPUs have NVLink, and not all drivers count. */
  isOptional: boolean;
}

const MB = 1e6;
const always = (label: string, unit: string, name: Measure): DeviceChart => {
  return { label, unit, series: [[name, ""]], size: 1, digits: 0, isOptional: false };
};
const traffic = (link: "pcie" | "nvlink", label: string): DeviceChart => ({
  label,
  unit: "MB/s",
  series: [
    [`${link}_received_bytes_per_s`, "received"],
    [`${link}_sent_bytes_per_s`, "sent"],
  ],
  size: MB,
  digits: 1,
  isOptional: true,
});

export const DEVICE_CHARTS: readonly DeviceChart[] = [
  always("Utilisation", "%", "utilisation_percent"),
  always("Temperature", "°C", "temperature_celsius"),
  always("Power", "W", "power_watts"),
  always("Clock", "MHz", "sm_clock_mhz"),
  traffic("pcie", "PCIe traffic"),
  traffic("nvlink", "NVLink traffic"),
  {
    label: "PCIe and NVLink errors",
    unit: "count",
    series: [
      ["pcie_replays", "PCIe replays"],
      ["nvlink_errors", "NVLink errors"],
    ],
    size: 1,
    digits: 0,
    isOptional: true,
  },
];

/** Returns the lines of a chart: of an optional one only those that have a value. */
export function deviceLines(
  devices: readonly DeviceSeries[],
  chart: DeviceChart,
): { name: string; values: (number | null)[] }[] {
  return devices
    .flatMap((device) =>
      chart.series.map(([name, about]) => ({
        name: `GPU ${device.device} ${about}`.trim(),
        values: device[name].map((value) => (value === null ? null : value / chart.size)),
      })),
    )
    .filter((line) => !chart.isOptional || line.values.some((value) => value !== null));
}
