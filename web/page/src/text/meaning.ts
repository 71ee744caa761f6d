// What a key, and what a browser makes of keys, means where text is typed.
import { USAGES } from "../input/keys";

type Key = Pick<KeyboardEvent, "code" | "key" | "ctrlKey" | "altKey" | "metaKey" | "isComposing" | "keyCode"> & {
  getModifierState(name: string): boolean;
};

// An input method has the key (UI Events, section 7.3.1).
const IN_METHOD = 229;
// What the layout of this device makes of keys: the host's has no part in it.
const OWN_LAYOUT = new Set(["AltGraph", "CapsLock", "Dead", "Process", "Unidentified"]);

// A key that writes nothing goes by its place, and so does one that commands. `null` if the browser makes text of it.
export function placeOf(event: Key, isMac: boolean): number | null {
  if (event.isComposing || event.keyCode === IN_METHOD || OWN_LAYOUT.has(event.key)) return null;
  // Option writes on a Mac.
  const commands = event.ctrlKey || event.metaKey || (event.altKey && !isMac);
  const writes = [...event.key].length === 1 && (!commands || event.getModifierState("AltGraph"));
  // A phone's keyboard has no places: its names of such keys are the same.
  return writes ? null : (USAGES.get(event.code) ?? USAGES.get(event.key) ?? null);
}

export type Meant = { text: string } | { key: "Backspace" | "Delete" | "Enter" };

// What of the Input Events (section 5.1.2) happens outside a composition.
export function meantBy(inputType: string, data: string | null): Meant | null {
  if (inputType === "insertLineBreak" || inputType === "insertParagraph") return { key: "Enter" };
  if (/^delete\w*Backward$/.test(inputType)) return { key: "Backspace" };
  if (/^delete\w*Forward$/.test(inputType)) return { key: "Delete" };
  // Its end tells the whole of it.
  const isComposed = inputType === "insertCompositionText" || inputType === "insertFromComposition";
  return inputType.startsWith("insert") && !isComposed && data ? { text: data } : null;
}
