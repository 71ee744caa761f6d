import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Line } from "../charts/line";
import { SHOWN } from "../figures/figures";
import { KEPT, type Sampler } from "../figures/sampler";
import { wrongOf } from "../figures/words";
import type { Lab } from "../lab/client";
import type { LabState } from "../lab/state";
import type { Choice } from "../screen/choice";
import { change, settings } from "../settings/settings";
import { Store, useStore } from "../store";
import "./overlay.css";

export const toggleOverlay = () => change({ figures: !settings.value.figures });

function ShownBy({ choice }: { choice: Store<Choice> }) {
  const { way, why } = useStore(choice);
  return (
    <p id="shown-by">
      Pictures by {way}: {why}
    </p>
  );
}

interface RowParts {
  unit: string;
  digits: number;
  values: readonly (number | null)[];
}

function Row({ unit, digits, values }: RowParts) {
  return (
    <tr>
      <td>{values.at(-1)?.toFixed(digits) ?? (values.length > 0 ? "–" : "")}</td>
      <th scope="row">{unit}</th>
      <td>
        <Line values={values} kept={KEPT} />
      </td>
    </tr>
  );
}

function LabRow({ lab }: { lab: Lab }) {
  const history = useStore(lab.history);
  const state = useStore(lab.state);
  useEffect(() => {
    lab.look();
  }, [lab]);
  if (state === null || state.blind) return null;
  return <Row unit="ms of queue at the link" digits={1} values={history.map((now) => now.queue_ms)} />;
}

function Rows({ sampler, children }: { sampler: Sampler; children: ComponentChildren }) {
  const history = useStore(sampler.history);
  const newest = history.at(-1);
  useEffect(() => {
    sampler.start();
    return () => sampler.stop();
  }, [sampler]);
  return (
    <>
      <p role="status">{newest ? wrongOf(newest, sampler.opinion) : ""}</p>
      <table>
        <tbody>
          {SHOWN.map(({ name, unit, digits }) => (
            <Row key={name} unit={unit} digits={digits} values={history.map((figures) => figures[name])} />
          ))}
          {children}
        </tbody>
      </table>
    </>
  );
}

const NO_LAB = new Store<LabState | null>(null);

// Figures over the picture, but for who must not see the condition: each as a number and as a line of the last minute, from what the browser counts.
interface OverlayParts {
  sampler: Sampler | null;
  lab: Lab | null;
  shownBy: Store<Choice> | null;
}

export function Overlay({ sampler, lab, shownBy }: OverlayParts) {
  const { figures: isWished } = useStore(settings);
  const figures = isWished && !useStore(lab?.state ?? NO_LAB)?.blind;
  return (
    <section id="figures" aria-label="Figures of the stream" hidden={!figures}>
      {figures && shownBy ? <ShownBy choice={shownBy} /> : null}
      {figures && sampler ? <Rows sampler={sampler}>{lab ? <LabRow lab={lab} /> : null}</Rows> : null}
    </section>
  );
}
