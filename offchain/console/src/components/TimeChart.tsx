/** Lines over time, drawn by uPlot, with their extremes as a table for everybody who does not see them. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { extremes } from "../lib/extremes.ts";
import { colour } from "./Chart.tsx";

const HEIGHT = 180;
const COLOURS = ["--accent", "--good", "--warn", "--bad"] as const;
const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

export interface Line {
  name: string;
  values: readonly (number | null)[];
}

export function TimeChart(props: { label: string; unit: string; timesMs: readonly number[]; lines: readonly Line[] }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
    };
    const chart = new uPlot(
      {
        width: element.clientWidth || 600,
        height: HEIGHT,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [axis, { ...axis, size: 60 }],
        series: [
          {},
          ...props.lines.map((line, number) => ({
            label: line.name,
            stroke: colour(COLOURS[number % COLOURS.length] ?? "--accent"),
            dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length] ?? [],
            width: 2,
            points: { show: false },
          })),
        ],
      },
      [props.timesMs.map((ms) => ms / 1000), ...props.lines.map((line) => [...line.values])],
      element,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [props.timesMs, props.lines]);
  return (
    <figure class="card stack">
      <figcaption>
        {props.label}, {props.unit}
      </figcaption>
      <div class="chart" ref={place} aria-hidden="true" />
      <details>
        <summary>Lowest, mean, highest and last</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Line</th>
              {["Lowest", "Mean", "Highest", "Last"].map((title) => (
                <th scope="col" class="right" key={title}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {props.lines.map((line) => (
              <tr key={line.name}>
                <td>{line.name}</td>
                {extremes(line.values).map((value, column) => (
                  <td class="right number" key={column}>
                    {value === null ? "none" : `${value} ${props.unit}`}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
