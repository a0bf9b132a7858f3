/** Prices of a GPU model over time as lines of a chart. */

import type { PriceHistory, PricePoint } from "../api/market_types.ts";
import { DECIMALS } from "./money.ts";

interface PriceLine {
  name: string;
  values: (number | null)[];
}

const LINES = [
  ["lowest_price", "lowest price"],
  ["median_price", "median price"],
  ["paid_price", "mean paid"],
] as const;

/** Pixels, and six decimals, need no exact amounts. */
function coins(amount: string | null): number | null {
  return amount === null ? null : Number(amount) / 10 ** DECIMALS;
}

/** Returns the middle of each period and a line for each price, which are broken where the index has no price. */
export function priceLines(prices: PriceHistory): { timesMs: number[]; lines: PriceLine[] } {
  const { period_ms: period } = prices;
  const places: { ms: number; point: PricePoint | null }[] = [];
  for (const point of prices.points) {
    const ms = point.begin_ms + period / 2;
    const last = places.at(-1);
    if (last !== undefined && ms - last.ms > period) places.push({ ms: last.ms + period, point: null });
    places.push({ ms, point });
  }
  return {
    timesMs: places.map((place) => place.ms),
    lines: LINES.map(([name, title]) => ({
      name: title,
      values: places.map(({ point }) => coins(point === null ? null : point[name])),
    })),
  };
}
