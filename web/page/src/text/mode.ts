// Whether text is typed as text, by the layout of the player's own device; else keys go by their place, as games want them.
import { Store } from "../store";

export const isTextOn = new Store(false);

export const FIELD = "text";

const field = () => document.getElementById(FIELD);

// Keys go to the program again, from wherever they went.
export function giveBack(): void {
  if (isTextOn.value) field()?.focus({ preventScroll: true });
  else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}

// The focus comes within what the person does: no browser opens a phone's keyboard otherwise.
export function toggleText(): void {
  if (!field()) return;
  isTextOn.set(!isTextOn.value);
  giveBack();
}
