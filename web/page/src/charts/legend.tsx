import type { Series } from "./chart";

export function Legend({ series }: { series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name, colour, values }) => (
        <li key={name}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect width="10" height="10" fill={colour} />
          </svg>
          {name} {values.at(-1)?.toFixed(1) ?? "–"}
        </li>
      ))}
    </ul>
  );
}
