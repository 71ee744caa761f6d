import { PARTS, type Spread, type Summary, type Where } from "./parts";

const PLACES: [Where, string][] = [
  ["network", "network"],
  ["host", "host"],
  ["program", "program and its screen"],
  ["browser", "browser"],
];
// A bar's own units: its column stretches it.
const [WIDTH, HEIGHT] = [1000, 10];

interface BarParts {
  from: number;
  spread: Spread;
  full: number;
  where: Where | "whole";
}

// As long as the median, from where the medians before it end; a thin line goes on to the 95th percentile.
function Bar({ from, spread, full, where }: BarParts) {
  const place = (time: number) => (WIDTH * Math.max(0, time)) / full;
  const { median, high } = spread;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" class={`bar-of ${where}`} aria-hidden="true">
      <rect x={place(from)} y={0} width={Math.max(2, place(median))} height={HEIGHT} />
      <rect x={place(from + median)} y={4} width={place(high - median)} height={2} />
    </svg>
  );
}

function Line({ name, meaning, ...bar }: BarParts & { name: string; meaning?: string }) {
  return (
    <tr class={bar.where}>
      <th scope="row" title={meaning}>
        {name}
      </th>
      <td class="bars">
        <Bar {...bar} />
      </td>
      <td>{bar.spread.median.toFixed(1)}</td>
      <td>{bar.spread.high.toFixed(1)}</td>
    </tr>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {PLACES.map(([where, name]) => (
        <li key={where}>
          <svg viewBox="0 0 10 10" class={`bar-of ${where}`} aria-hidden="true">
            <rect width={10} height={10} />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}

// A row for each part, where the one above it ends.
export function Waterfall({ summary }: { summary: Summary }) {
  const { parts, whole } = summary;
  const before = parts.map((_, at) => parts.slice(0, at).reduce((sum, { median }) => sum + median, 0));
  const full = Math.max(whole.high, ...parts.map(({ high }, at) => (before[at] ?? 0) + high));
  return (
    <>
      <table class="waterfall">
        <caption class="spoken">From a key to its picture, in milliseconds, part by part</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <td class="bars" />
            <th scope="col">Median</th>
            <th scope="col">95 %</th>
          </tr>
        </thead>
        <tbody>
          {PARTS.map(({ name, where, meaning }, at) => (
            <Line
              key={name}
              name={name}
              meaning={meaning}
              where={where}
              from={before[at] ?? 0}
              spread={parts[at] ?? whole}
              full={full}
            />
          ))}
          <Line name="Whole" where="whole" from={0} spread={whole} full={full} />
        </tbody>
      </table>
      <Legend />
    </>
  );
}
