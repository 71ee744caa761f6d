import { useState } from "preact/hooks";
import type { Lab } from "./client";
import { type Knobs, type Open, placesOf } from "./state";

const SLIDERS = [
  ["capacity", "Capacity"],
  ["rtt", "Round trip"],
  ["loss", "Loss"],
  ["jitter", "Jitter"],
  ["size", "Queue size"],
] as const;

const SELECTS = [
  ["queue", "Queue"],
  ["gateway", "Gateway"],
  ["controller", "Controller"],
] as const;

interface KnobParts {
  name: Exclude<keyof Knobs, "downloads">;
  label: string;
  value: string;
  choices: readonly string[];
  set(value: string): void;
}

// While it is dragged its value is the finger's; it is told once it is let go.
function Slider({ name, label, value, choices, set }: KnobParts) {
  const places = placesOf(choices, value);
  const [dragged, setDragged] = useState<number | null>(null);
  const place = dragged ?? places.indexOf(value);
  return (
    <label>
      {label}
      <output>{places[place]}</output>
      <input
        id={`knob-${name}`}
        type="range"
        min={0}
        max={places.length - 1}
        value={place}
        aria-valuetext={places[place]}
        onInput={({ currentTarget }) => setDragged(Number(currentTarget.value))}
        onChange={({ currentTarget }) => {
          setDragged(null);
          set(places[Number(currentTarget.value)] ?? value);
        }}
      />
    </label>
  );
}

function Select({ name, label, value, choices, set }: KnobParts) {
  return (
    <label>
      {label}
      <select id={`knob-${name}`} value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        {placesOf(choices, value).map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    </label>
  );
}

// What is wished until the lab has answered: then it is set, or goes back with the reason beside it.
function useKnob<Name extends keyof Knobs>(lab: Lab, name: Name, set: Knobs[Name]) {
  const [wished, setWished] = useState<Knobs[Name] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const wish = async (value: Knobs[Name]) => {
    setWished(value);
    setError(await lab.tell({ knobs: { [name]: value } }));
    setWished(null);
  };
  return { value: wished ?? set, error, wish };
}

function Wrong({ error }: { error: string | null }) {
  return (
    <p class="wrong" role="alert">
      {error}
    </p>
  );
}

interface OfLab {
  lab: Lab;
  state: Open;
}

type Kind = (parts: KnobParts) => preact.JSX.Element;

function Knob({ lab, state, name, label, kind: Shape }: OfLab & Pick<KnobParts, "name" | "label"> & { kind: Kind }) {
  const { value, error, wish } = useKnob(lab, name, state.knobs[name]);
  return (
    <div class="knob">
      <Shape name={name} label={label} value={value} choices={state.choices[name]} set={wish} />
      <Wrong error={error} />
    </div>
  );
}

function Downloads({ lab, state }: OfLab) {
  const { value, error, wish } = useKnob(lab, "downloads", state.knobs.downloads);
  const toggle = (kind: string) => wish(value.includes(kind) ? value.filter((one) => one !== kind) : [...value, kind]);
  return (
    <fieldset class="knob">
      <legend>Downloads</legend>
      {state.choices.downloads.map((kind) => (
        <div key={kind} class="download">
          <label>
            <input
              type="checkbox"
              name="downloads"
              checked={value.includes(kind)}
              aria-describedby={`remark-${kind}`}
              onChange={() => toggle(kind)}
            />
            {kind}
          </label>
          <p id={`remark-${kind}`} role="status">
            {state.remarks[kind]}
          </p>
        </div>
      ))}
      {Object.entries(state.lacking).map(([kind, why]) => (
        <div key={kind} class="download">
          <label>
            <input type="checkbox" disabled aria-describedby={`lacking-${kind}`} />
            {kind}
          </label>
          <p id={`lacking-${kind}`}>{why}</p>
        </div>
      ))}
      <Wrong error={error} />
    </fieldset>
  );
}

export function KnobList(parts: OfLab) {
  return (
    <>
      {SLIDERS.map(([name, label]) => (
        <Knob key={name} {...parts} name={name} label={label} kind={Slider} />
      ))}
      {SELECTS.map(([name, label]) => (
        <Knob key={name} {...parts} name={name} label={label} kind={Select} />
      ))}
      <Downloads {...parts} />
    </>
  );
}
