/** A chart of uPlot in an element, made anew with its data, with the colours of the theme, as wide as its place. */

import { useEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** The computed colour of a variable of the style sheet. */
function colour(name: string): string {
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
  return Math.max(60, 24 + CHARACTER * Math.max(0, ...(texts ?? []).map((text) => text.length)));
}

/** How a series looks. `stroke`, `fill`: variables of the style sheet. */
export interface PlotSeries {
  stroke: string;
  fill?: string;
  dash?: number[];
  isBars?: boolean;
}

export interface Plot {
  height: number;
  /** Seconds of Unix time, and then the values of each series. */
  data: uPlot.AlignedData;
  /** The series without the times. */
  series: readonly PlotSeries[];
  /** The first and last time that are shown, of those of the data. */
  times?: (first: number, last: number) => [number, number];
  /** The texts of the ticks of the y axis. */
  texts?: (ticks: readonly number[]) => string[];
}

function drawn(series: PlotSeries): uPlot.Series {
  const bars = series.isBars === true ? uPlot.paths.bars?.({ size: [0.7, 60] }) : undefined;
  return {
    stroke: colour(series.stroke),
    width: 2,
    points: { show: false },
    ...(series.fill !== undefined && { fill: colour(series.fill) }),
    ...(series.dash && { dash: series.dash }),
    ...(bars && { paths: bars }),
  };
}

/** Draws a plot into the element with the ref that it returns. `plot`: must be the same object while nothing changes. */
export function usePlot(plot: Plot): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const { height, data, series, times, texts } = plot;
    const line = { stroke: colour("--line"), width: 1 };
    const axis = { stroke: colour("--muted"), grid: line, ticks: line };
    const chart = new uPlot(
      {
        width: element.clientWidth || 600,
        height,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        legend: { show: false },
        cursor: { show: false },
        scales: {
          ...(times && { x: { range: (_chart: uPlot, first: number, last: number) => times(first, last) } }),
          y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
        },
        axes: [
          axis,
          { ...axis, size: axisSize, ...(texts && { values: (_chart: uPlot, ticks: number[]) => texts(ticks) }) },
        ],
        series: [{}, ...series.map(drawn)],
      },
      data,
      element,
    );
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      chart.destroy();
    };
  }, [plot]);
  return place;
}
