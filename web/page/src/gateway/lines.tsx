import { useMemo } from "preact/hooks";
import { Chart, type Series } from "../charts/chart";
import { Legend } from "../charts/legend";
import { type Point, WINDOW } from "./state";

// Seconds that a figure shows: the least that has all.
const WINDOWS = [60, 120, WINDOW];

interface Line {
  name: string;
  // Colours that are told apart with any kind of colour vision (Okabe and Ito).
  colour: string;
  value: (point: Point) => number | null;
}

const WAITS: readonly Line[] = [
  { name: "longest of each second", colour: "#56b4e9", value: (point) => point.wait_ms },
  { name: "half of the last minute", colour: "#009e73", value: (point) => point.median_ms },
  { name: "99 % of the last minute", colour: "#d55e00", value: (point) => point.p99_ms },
];
const RATES: readonly Line[] = [
  { name: "to the home", colour: "#56b4e9", value: (point) => point.to_home_bps / 1e6 },
  { name: "from the home", colour: "#e69f00", value: (point) => point.from_home_bps / 1e6 },
];

function Lines({ points, lines, caption }: { points: readonly Point[]; lines: readonly Line[]; caption: string }) {
  const newest = points.at(-1)?.time_s ?? 0;
  const oldest = points[0]?.time_s ?? newest;
  const window = WINDOWS.find((one) => newest - oldest <= one) ?? WINDOW;
  const times = useMemo(() => points.map(({ time_s }) => time_s - newest), [points, newest]);
  const series: Series[] = useMemo(
    () => lines.map(({ name, colour, value }) => ({ name, colour, values: points.map(value) })),
    [points, lines],
  );
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <Chart times={times} series={series} window={window} />
      <Legend series={series} />
    </figure>
  );
}

export function Waits({ points }: { points: readonly Point[] }) {
  return (
    <section id="waits">
      <h2>What packets wait in front of the home</h2>
      <Lines points={points} lines={WAITS} caption="ms" />
    </section>
  );
}

export function Rates({ points }: { points: readonly Point[] }) {
  return (
    <section id="rates">
      <h2>What passes</h2>
      <Lines points={points} lines={RATES} caption="Mb/s" />
    </section>
  );
}
