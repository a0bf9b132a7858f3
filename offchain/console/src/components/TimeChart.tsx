/** Lines over time, drawn by uPlot, with their extremes as a table for everybody who does not see them. */

import { useMemo } from "preact/hooks";
import { extremes } from "../lib/extremes.ts";
import { usePlot, type Plot } from "./plot.ts";

const HEIGHT = 180;
const COLOURS = ["--accent", "--good", "--warn", "--bad"] as const;
const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

export interface Line {
  name: string;
  values: readonly (number | null)[];
}

interface TimeChartProps {
  label: string;
  unit: string;
  timesMs: readonly number[];
  lines: readonly Line[];
  /** The decimals of values; 0 if it is left out. */
  digits?: number;
}

function plotOf(timesMs: readonly number[], lines: readonly Line[]): Plot {
  return {
    height: HEIGHT,
    series: lines.map((_, number) => ({
      stroke: COLOURS[number % COLOURS.length] ?? "--accent",
      dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length] ?? [],
    })),
    data: [timesMs.map((ms) => ms / 1000), ...lines.map((line) => [...line.values])],
  };
}

export function TimeChart(props: TimeChartProps) {
  const { timesMs, lines } = props;
  const place = usePlot(useMemo(() => plotOf(timesMs, lines), [timesMs, lines]));
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
                {extremes(line.values, props.digits).map((value, column) => (
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
