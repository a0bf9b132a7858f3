import { expect, it } from "vitest";
import { extremes } from "../src/lib/extremes.ts";

it("leaves out what was not measured", () => {
  expect(extremes([null, 10, 0, null, 4.6, null])).toEqual([0, 5, 10, 5]);
  expect(extremes([null, null])).toEqual([null, null, null, null]);
  expect(extremes([])).toEqual([null, null, null, null]);
});

it("rounds to the decimals that are asked for", () => {
  expect(extremes([0.125, 0.2, 0.05], 2)).toEqual([0.05, 0.13, 0.2, 0.05]);
});
