import { useEffect, useState } from "preact/hooks";
import { useStore } from "../store";
import type { Lab } from "./client";
import { KnobList } from "./knobs";
import { LabLines } from "./lines";
import type { LabState } from "./state";
import "./lab.css";

function Record({ lab, keep }: { lab: Lab; keep: boolean }) {
  const [error, setError] = useState<string | null>(null);
  return (
    <div class="knob">
      <label>
        <input
          id="record"
          type="checkbox"
          checked={keep}
          onChange={async ({ currentTarget }) => {
            const wished = currentTarget.checked;
            const why = await lab.tell({ keep: wished });
            if (why !== null) currentTarget.checked = !wished;
            setError(why);
          }}
        />
        Record
      </label>
      <p class="wrong" role="alert">
        {error}
      </p>
    </div>
  );
}

function Scenario({ scenario, blind }: Pick<LabState, "scenario" | "blind">) {
  if (scenario === null) return null;
  const { name, seconds, of } = scenario;
  return (
    <div class="knob">
      <label for="scenario">{blind ? "Scenario" : `Scenario “${name}”`}</label>
      <progress id="scenario" max={of} value={seconds} />
      <output>
        {seconds.toFixed(0)} of {of.toFixed(0)} s
      </output>
    </div>
  );
}

export function LabPanel({ lab }: { lab: Lab }) {
  const state = useStore(lab.state);
  // Its lines are to move from now on.
  useEffect(() => {
    lab.look();
  }, [lab]);
  if (state === null) return null;
  return (
    <section id="lab" class="panel" aria-label="Lab">
      <h2>Lab</h2>
      {state.blind ? <p>The conditions are hidden while you judge them.</p> : <LabLines history={lab.history} />}
      <Scenario {...state} />
      {state.blind ? null : <KnobList lab={lab} state={state} />}
      <Record lab={lab} keep={state.keep} />
    </section>
  );
}
