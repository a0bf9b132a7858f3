import { expect, it } from "vitest";
import { USAGE_CHARTS, usageLines } from "../src/lib/task_usage.ts";

const POD = {
  pod: 2,
  cpu_cores: [null, 0.5],
  memory_bytes: [1 << 20, 3 << 20],
  gpu_utilisation_percent: [null, null],
  gpu_memory_bytes: [null, null],
};

it("draws a line for each pod with a value, in the unit of the chart", () => {
  const found = USAGE_CHARTS.map((chart) => usageLines([POD], chart));
  expect(found).toEqual([[{ name: "pod 2", values: [null, 0.5] }], [{ name: "pod 2", values: [1, 3] }], [], []]);
});
