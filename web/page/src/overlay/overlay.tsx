import { useEffect } from "preact/hooks";
import { type Figures, SHOWN, type Shown } from "../figures/figures";
import { KEPT, type Sampler } from "../figures/sampler";
import { wrongOf } from "../figures/words";
import { Store, useStore } from "../store";
import { Line } from "./line";

export const isOverlayShown = new Store(false);

export const toggleOverlay = () => isOverlayShown.set(!isOverlayShown.value);

// Figures are shown by a button, or by keys that no game has, and which the program is not told.
export function listenForOverlay(): void {
  const onKey = (event: KeyboardEvent) => {
    if (event.code !== "KeyS" || !event.ctrlKey || !event.altKey || !event.shiftKey || event.repeat) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    toggleOverlay();
  };
  addEventListener("keydown", onKey, { capture: true });
}

function Row({ shown, history }: { shown: Shown; history: readonly Figures[] }) {
  const values = history.map((figures) => figures[shown.name]);
  return (
    <tr>
      <td>{values.at(-1)?.toFixed(shown.digits)}</td>
      <th scope="row">{shown.unit}</th>
      <td>
        <Line values={values} kept={KEPT} />
      </td>
    </tr>
  );
}

function Rows({ sampler }: { sampler: Sampler }) {
  const history = useStore(sampler.history);
  const newest = history.at(-1);
  useEffect(() => {
    sampler.start();
    return () => sampler.stop();
  }, [sampler]);
  return (
    <>
      <p role="status">{newest ? wrongOf(newest) : ""}</p>
      <table>
        <tbody>
          {SHOWN.map((shown) => (
            <Row key={shown.name} shown={shown} history={history} />
          ))}
        </tbody>
      </table>
    </>
  );
}

// Figures over the picture: each as a number and as a line of the last minute, from what the browser counts.
export function Overlay({ sampler }: { sampler: Sampler | null }) {
  const isShown = useStore(isOverlayShown);
  return (
    <section id="figures" aria-label="Figures of the stream" hidden={!isShown}>
      {isShown && sampler ? <Rows sampler={sampler} /> : null}
    </section>
  );
}
