// Lines over time with axes, by uPlot.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useColours } from "./colours";
import "./charts.css";

export interface Series {
  name: string;
  colour: string;
  values: readonly (number | null)[];
}

const HEIGHT = 110;
const FONT = "11px system-ui, sans-serif";

function optionsOf(
  series: readonly Series[],
  width: number,
  window: number,
  text: string,
  grid: string,
): uPlot.Options {
  const axis = { stroke: text, font: FONT, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    padding: [6, 14, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    axes: [
      { ...axis, size: 18, values: (_plot, ages) => ages.map((age) => `${age} s`) },
      { ...axis, size: 34 },
    ],
    scales: {
      x: { time: false, range: [-window, 0] },
      y: { range: (_plot, _least, most) => [0, Math.max(1.1 * most, 1)] },
    },
    series: [{}, ...series.map(({ colour }) => ({ stroke: colour, width: 1.5, points: { show: false } }))],
  };
}

// `times` in seconds before the newest, the last is 0.
export function Chart({
  times,
  series,
  window,
}: {
  times: readonly number[];
  series: readonly Series[];
  window: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { text, grid } = useColours();
  const names = series.map(({ name }) => name).join("\n");
  // New values need no new plot, other lines do
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const made = new uPlot(optionsOf(series, box.clientWidth, window, text, grid), [[]], box);
    plot.current = made;
    // A telephone is turned.
    const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: HEIGHT }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [names, window, text, grid]);
  useEffect(() => {
    plot.current?.setData([[...times], ...series.map(({ values }) => [...values])]);
  }, [times, series]);
  return <div ref={place} class="chart" aria-hidden="true" />;
}
