import { describe, expect, it } from "vitest";
import type { DeviceSeries } from "../src/api/monitoring_types.ts";
import { DEVICE_CHARTS, deviceLines } from "../src/lib/device_charts.ts";

const nothing = [null, null];
const device: DeviceSeries = {
  device: 2,
  utilisation_percent: [null, 80],
  temperature_celsius: nothing,
  power_watts: nothing,
  sm_clock_mhz: nothing,
  pcie_received_bytes_per_s: [1_500_000, null],
  pcie_sent_bytes_per_s: nothing,
  pcie_replays: [0, 0],
  nvlink_received_bytes_per_s: nothing,
  nvlink_sent_bytes_per_s: nothing,
  nvlink_errors: nothing,
};

function linesOf(label: string): { name: string; values: (number | null)[] }[] {
  const chart = DEVICE_CHARTS.find((one) => one.label === label);
  if (chart === undefined) throw new Error(`no chart ${label}`);
  return deviceLines([device], chart);
}

describe("charts of GPUs", () => {
  it("have a line for each GPU, in the unit of the chart", () => {
    expect(linesOf("Utilisation")).toEqual([{ name: "GPU 2", values: [null, 80] }]);
    expect(linesOf("Temperature")).toEqual([{ name: "GPU 2", values: nothing }]);
    expect(linesOf("PCIe traffic")).toEqual([{ name: "GPU 2 received", values: [1.5, null] }]);
  });

  it("show a counted 0, and nothing where a driver does not count", () => {
    expect(linesOf("PCIe and NVLink errors")).toEqual([{ name: "GPU 2 PCIe replays", values: [0, 0] }]);
    expect(linesOf("NVLink traffic")).toEqual([]);
  });
});
