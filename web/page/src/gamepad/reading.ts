// What a browser says of a gamepad, as it is told (Gamepad, W3C: the standard mapping).
import { BUTTONS } from "./message";
import type { Reading } from "./player";

const TRIGGERS = [6, 7] as const;

export type Source = Pick<Gamepad, "buttons" | "axes">;

export const isStandard = ({ mapping }: Pick<Gamepad, "mapping">) => mapping === "standard";

// "Xbox 360 Controller (STANDARD GAMEPAD Vendor: 045e Product: 028e)" is "Xbox 360 Controller".
export const nameOf = ({ id }: Pick<Gamepad, "id">) => id.replace(/ *\(.*$/, "") || "a gamepad";

export function readingOf({ buttons, axes }: Source): Reading {
  const pressed = buttons.slice(0, BUTTONS).reduce((bits, button, at) => (button.pressed ? bits | (1 << at) : bits), 0);
  const part = (value: number | undefined, least: number) => Math.min(1, Math.max(least, value ?? 0));
  const trigger = (at: number) => Math.round(255 * part(buttons[at]?.value, 0));
  const axis = (at: number) => Math.round(32767 * part(axes[at], -1));
  return {
    pressed,
    triggers: [trigger(TRIGGERS[0]), trigger(TRIGGERS[1])],
    axes: [axis(0), axis(1), axis(2), axis(3)],
  };
}
