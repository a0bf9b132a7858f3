/** Prices of a GPU model over time: the lowest and the median that hosts asked for, and what was paid. */

import { lazy } from "preact-iso";
import { useMemo, useState } from "preact/hooks";
import { useResource } from "../api/hooks.ts";
import type { PriceHistory as Prices } from "../api/market_types.ts";
import type { ResourceAnswer } from "../api/types.ts";
import { SYMBOL } from "../lib/money.ts";
import { priceLines } from "../lib/price_history.ts";
import { Empty, Load } from "./loading.tsx";
import { TimeSpan } from "./TimeSpan.tsx";

const TimeChart = lazy(() => import("./TimeChart.tsx").then((module) => module.TimeChart));
const SPANS = [
  [2, "2 days"],
  [14, "14 days"],
  [90, "90 days"],
  [400, "400 days"],
] as const;

export function PriceHistory(props: { model: string; simulated: boolean }) {
  const [days, setDays] = useState(14);
  const asked = new URLSearchParams({
    model: props.model,
    simulated: String(props.simulated),
    days: String(days),
  }).toString();
  const found = useResource<ResourceAnswer<Prices>>(`/v1/market/prices?${asked}`);
  return (
    <section class="stack" aria-label="Price history">
      <h2>Price history of {props.model}</h2>
      <TimeSpan spans={SPANS} value={days} onChange={setDays} />
      <Load of={found} what="prices">
        {({ data }) => <PriceChart prices={data} />}
      </Load>
    </section>
  );
}

function PriceChart(props: { prices: Prices }) {
  const { prices } = props;
  const { timesMs, lines } = useMemo(() => priceLines(prices), [prices]);
  if (prices.points.length === 0) {
    return (
      <Empty>The index has no prices of this model in this time. It samples them while it follows the chain.</Empty>
    );
  }
  return <TimeChart label="One GPU for an hour" unit={SYMBOL} digits={6} timesMs={timesMs} lines={lines} />;
}
