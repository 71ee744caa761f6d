import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

const [WIDTH, HEIGHT] = [120, 18];

const OPTIONS: uPlot.Options = {
  width: WIDTH,
  height: HEIGHT,
  padding: [2, 0, 2, 0],
  cursor: { show: false },
  legend: { show: false },
  axes: [{ show: false }, { show: false }],
  scales: {
    x: { time: false },
    // From nothing to the most.
    y: { range: (_plot, _least, most) => [0, Math.max(most, 1e-9)] },
  },
  series: [{}, { stroke: "#6af", width: 1, points: { show: false } }],
};

// The last values of one figure, the newest at the right; `kept` of them fill the line.
export function Line({ values, kept }: { values: readonly (number | null)[]; kept: number }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    if (place.current) plot.current = new uPlot(OPTIONS, [[], []], place.current);
    return () => plot.current?.destroy();
  }, []);
  useEffect(() => {
    const ages = values.map((_, at) => at - values.length + 1);
    plot.current?.batch(() => {
      plot.current?.setData([ages, [...values]], false);
      plot.current?.setScale("x", { min: 1 - kept, max: 0 });
    });
  }, [values, kept]);
  return <div ref={place} class="line" aria-hidden="true" />;
}
