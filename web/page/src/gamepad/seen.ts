// Which gamepads the page sees, and what is said of them.
import { Store } from "../store";
import type { Lack } from "./message";

export interface Seen {
  // Names of those that are told, by their number from 0.
  told: readonly (string | null)[];
  // Names of those whose buttons nobody knows.
  strange: readonly string[];
  lack: Lack;
}

export const NONE: Seen = { told: [], strange: [], lack: "nothing" };
export const seenGamepads = new Store<Seen>(NONE);

const LACKING: Record<Lack, string | null> = {
  nothing: null,
  use: "what is played takes no gamepads",
  devices: "the host has no gamepads: gameway doctor there says why",
};

export const nameWithNumber = (name: string, number: number) => `gamepad ${number + 1}: ${name}`;

// What is wrong, if there is a gamepad.
export function troubles({ told, strange, lack }: Seen): string[] {
  const lacking = told.some((name) => name !== null) ? LACKING[lack] : null;
  const unknown = strange.map((name) => `${name} is not understood: the browser does not know its buttons`);
  return lacking === null ? unknown : [...unknown, lacking];
}
