/** A chart of days, drawn by uPlot, with the same numbers as a table for everybody who does not see it. */

import { useMemo } from "preact/hooks";
import { axisTexts, formatAmount, SYMBOL } from "../lib/money.ts";
import { usePlot, type Plot } from "./plot.ts";

const HEIGHT = 220;
const HALF_DAY_S = 43_200;

export interface DayAmount {
  day: string;
  amount: bigint;
}

function plotOf(days: readonly DayAmount[]): Plot {
  return {
    height: HEIGHT,
    times: (first, last) => [first - HALF_DAY_S, last + HALF_DAY_S],
    texts: axisTexts,
    series: [{ stroke: "--accent", fill: "--busy-back", isBars: true }],
    data: [
      days.map((one) => Date.parse(`${one.day}T00:00:00Z`) / 1000),
      // Pixels need no exact amounts; the table below has them.
      days.map((one) => Number(one.amount) / 1e12),
    ],
  };
}

export function DayChart(props: { label: string; days: readonly DayAmount[] }) {
  const place = usePlot(useMemo(() => plotOf(props.days), [props.days]));
  return (
    <figure class="card stack">
      <figcaption>{props.label}</figcaption>
      <div class="chart" ref={place} aria-hidden="true" />
      <details>
        <summary>The same as a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" class="right">
                Amount
              </th>
            </tr>
          </thead>
          <tbody>
            {props.days.map((one) => (
              <tr key={one.day}>
                <td>{one.day}</td>
                <td class="right number">
                  {formatAmount(one.amount)} {SYMBOL}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
