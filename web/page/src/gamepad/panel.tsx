import { useStore } from "../store";
import { nameWithNumber, seenGamepads, troubles } from "./seen";

// The gamepads that the page sees, in the settings.
export function GamepadsSeen() {
  const seen = useStore(seenGamepads);
  const names = seen.told.flatMap((name, number) => (name === null ? [] : [nameWithNumber(name, number)]));
  const lines = [...names, ...troubles(seen)];
  return (
    <section id="gamepads" aria-label="Gamepads">
      <h3>Gamepads</h3>
      {lines.length === 0 ? <p>none: press a button of one</p> : null}
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}
