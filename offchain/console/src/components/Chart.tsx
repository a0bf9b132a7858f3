/** A chart of days, drawn by uPlot, with the same numbers as a table for everybody who does not see it. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { axisTexts, formatAmount, SYMBOL } from "../lib/money.ts";

const HEIGHT = 220;
const HALF_DAY_S = 43_200;

export function colour(name: string): string {
  // A canvas takes no variables, so the colour is read from an element that has it.
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const CHARACTER = 8;

/** The width of the y axis for its longest label, in pixels. */
function axisSize(_chart: uPlot, texts: readonly string[] | null): number {
  return Math.max(70, 24 + CHARACTER * Math.max(0, ...(texts ?? []).map((text) => text.length)));
}

export interface DayAmount {
  day: string;
  amount: bigint;
}

export function DayChart(props: { label: string; days: readonly DayAmount[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const times = props.days.map((one) => Date.parse(`${one.day}T00:00:00Z`) / 1000);
    // Pixels need no exact amounts; the table below has them.
    const amounts = props.days.map((one) => Number(one.amount) / 1e12);
    const text = colour("--muted");
    const axis = {
      stroke: text,
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
    };
    const bars = uPlot.paths.bars?.({ size: [0.7, 60] });
    const chart = new uPlot(
      {
        width: element.clientWidth || 600,
        height: HEIGHT,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { range: (_chart, first, last) => [first - HALF_DAY_S, last + HALF_DAY_S] },
          y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
        },
        axes: [axis, { ...axis, size: axisSize, values: (_chart, ticks) => axisTexts(ticks) }],
        series: [
          {},
          {
            stroke: colour("--accent"),
            fill: colour("--busy-back"),
            width: 2,
            points: { show: false },
            ...(bars && { paths: bars }),
          },
        ],
      },
      [times, amounts],
      element,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [props.days]);
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
