import { useEffect, useRef, useState } from "preact/hooks";
import { isPhotonOpen } from "../panels";
import { useStore } from "../store";
import type { Progress } from "./measure";
import { csvOf, type Summary } from "./parts";
import type { Photon } from "./photon";
import { Waterfall } from "./waterfall";
import "./photon.css";

const PRESSES = 60;
const MAX_PRESSES = 1000;

function save({ rows }: Summary): void {
  const url = URL.createObjectURL(new Blob([csvOf(rows)], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "gameway-delay.csv";
  link.click();
  URL.revokeObjectURL(url);
}

// What a reader must know of the figures: how many, how sure, and what is wrong with them.
function told({ rows, lost, error, impossible, late, early, parts, whole }: Summary): string[] {
  const sum = parts.reduce((all, { median }) => all + median, 0);
  const all = [
    `Median ${whole.median.toFixed(1)} ms, 95 % within ${whole.high.toFixed(1)} ms, of ${rows.length} presses.`,
    `The parts of each press add up to its whole; their medians add up to ${sum.toFixed(1)} ms.`,
    `The clocks are put together to ${error.toFixed(1)} ms, which may be in the one way over the network and not in the other.`,
  ];
  if (lost > 0) all.push(`Of ${lost} presses no picture or no times were found.`);
  if (late > 0) all.push(`Of ${late} the first picture was not displayed, but a later one.`);
  if (early > 0) {
    all.push(`Of ${early} the browser expects the display before it composes the page: they count as displayed then.`);
  }
  if (impossible > 0)
    all.push(`${impossible} have a part below zero by more than the clocks explain: do not rely on parts.`);
  return all;
}

function Found({ summary }: { summary: Summary }) {
  if (summary.rows.length === 0) return <p role="status">No press was answered by a picture.</p>;
  return (
    <>
      <Waterfall summary={summary} />
      <div role="status">
        {told(summary).map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
    </>
  );
}

function Choices({ photon, summary }: { photon: Photon; summary: Summary | null }) {
  const [count, setCount] = useState(PRESSES);
  const [isByPerson, setByPerson] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  // Who came by keys goes on here.
  useEffect(() => first.current?.focus(), []);
  return (
    <>
      <label>
        Presses
        <input
          id="photon-count"
          ref={first}
          type="number"
          min={1}
          max={MAX_PRESSES}
          value={count}
          onInput={({ currentTarget }) => setCount(Math.round(currentTarget.valueAsNumber))}
        />
      </label>
      <label class="check">
        <input
          id="photon-person"
          type="checkbox"
          checked={isByPerson}
          onChange={({ currentTarget }) => setByPerson(currentTarget.checked)}
        />
        I press the keys
      </label>
      <div class="photon-acts">
        <button
          id="photon-start"
          type="button"
          disabled={!(count >= 1 && count <= MAX_PRESSES)}
          onClick={() => photon.start(count, isByPerson)}
        >
          Measure
        </button>
        {summary && summary.rows.length > 0 ? (
          <button id="photon-save" type="button" onClick={() => save(summary)}>
            Save
          </button>
        ) : null}
        <button id="photon-close" type="button" onClick={() => isPhotonOpen.set(false)}>
          Close
        </button>
      </div>
    </>
  );
}

// Keys that a person presses go to the program meanwhile: no button has the focus.
function Running({ photon, progress }: { photon: Photon; progress: Progress }) {
  return (
    <>
      <label for="photon-progress">
        Press {progress.done + 1} of {progress.of}
      </label>
      <progress id="photon-progress" max={progress.of} value={progress.done} />
      <button id="photon-stop" type="button" onClick={() => photon.stop()}>
        Stop
      </button>
    </>
  );
}

export function PhotonPanel({ photon }: { photon: Photon }) {
  const progress = useStore(photon.progress);
  const summary = useStore(photon.summary);
  const failure = useStore(photon.failure);
  return (
    <section id="photon" class="panel" aria-label="From a key to its picture">
      <h2>From a key to its picture</h2>
      {progress === null ? (
        <Choices photon={photon} summary={summary} />
      ) : (
        <Running photon={photon} progress={progress} />
      )}
      <p class="wrong" role="alert">
        {failure}
      </p>
      {summary ? <Found summary={summary} /> : null}
    </section>
  );
}
