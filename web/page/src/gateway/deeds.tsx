import type { Deed } from "./state";
import { counted, size, span } from "./words";

const SHOWN = 10;

function wordsOf(deed: Deed): string {
  switch (deed.deed) {
    case "limited":
      return `${deed.sender} to ${deed.receiver}: limited to ${size(deed.limit_bytes)}`;
    case "released":
      return `${deed.sender} to ${deed.receiver}: limited no more, after ${span(deed.limited_s)}`;
    case "lost-records":
      return `${counted(deed.segments, "segment")} passed unseen`;
  }
}

function clock(ago: number): string {
  return new Date(Date.now() - ago * 1000).toLocaleTimeString();
}

function List({ deeds, now }: { deeds: readonly Deed[]; now: number }) {
  return (
    <ol>
      {deeds.map((deed) => (
        <li key={JSON.stringify(deed)}>
          <time>{clock(now - deed.time_s)}</time> {wordsOf(deed)}
        </li>
      ))}
    </ol>
  );
}

// `now` in seconds since the start.
export function Deeds({ deeds, now }: { deeds: readonly Deed[]; now: number }) {
  const newest = deeds.toReversed();
  const older = newest.slice(SHOWN);
  return (
    <section id="deeds">
      <h2>What was done</h2>
      {deeds.length === 0 && <p>Nothing yet.</p>}
      <List deeds={newest.slice(0, SHOWN)} now={now} />
      {older.length > 0 && (
        <details>
          <summary>{older.length} before</summary>
          <List deeds={older} now={now} />
        </details>
      )}
    </section>
  );
}
