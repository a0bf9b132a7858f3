import { expect, it } from "vitest";
import { priceLines } from "../src/lib/price_history.ts";

const COIN = "000000000000";

it("breaks the lines where the index has no price", () => {
  const point = { lowest_price: `1${COIN}`, median_price: `2${COIN}`, paid_price: null, gpus: 4, gpus_free: 1 };
  const prices = {
    model: "H100",
    simulated: false,
    period_ms: 100,
    points: [
      { ...point, begin_ms: 0 },
      { ...point, begin_ms: 100, paid_price: `3${COIN}` },
      { ...point, begin_ms: 500 },
    ],
  };
  expect(priceLines(prices)).toEqual({
    timesMs: [50, 150, 250, 550],
    lines: [
      { name: "lowest price", values: [1, 1, null, 1] },
      { name: "median price", values: [2, 2, null, 2] },
      { name: "mean paid", values: [null, 3, null, null] },
    ],
  });
  expect(priceLines({ ...prices, points: [] }).timesMs).toEqual([]);
});
