// Gamepads on the channel "input", what the host answers, and rumble, as bytes: docs/wire-protocol.md has all three.
import { type Pair, viewOf } from "../input/message";

export const PADS = 4;
export const BUTTONS = 17;
const HEAD = 8;
const PAD = BUTTONS + 2 + 8;
const ANSWER = 8;
const RUMBLE = 10;
const MESSAGE_MAGIC = 0x4747;
const ANSWER_MAGIC = 0x4748;
const RUMBLE_MAGIC = 0x4752;
const VERSION = 1;
const WANTS_ANSWER = 0x80;

export type Axes = readonly [number, number, number, number];

export interface State {
  // How often each button has gone down or up in all, from 0 to 255; odd is held.
  changes: Uint8Array;
  // The left and the right one, from 0 to 255.
  triggers: Pair;
  // The left stick to the right and down, then the right one, from -32767 to 32767.
  axes: Axes;
}

// Why the host does nothing with gamepads: nothing is lacking, what is played takes none, it makes no devices.
export const LACKS = ["nothing", "use", "devices"] as const;
export type Lack = (typeof LACKS)[number];

export interface Answer {
  lack: Lack;
  message: number;
}

export interface Rumble {
  pad: number;
  strong: number;
  weak: number;
  millis: number;
}

export function gamepadBytes(number: number, pads: readonly (State | null)[], wantsAnswer: boolean): ArrayBuffer {
  const there = pads.filter((state) => state !== null);
  const flags = pads.reduce((all, state, pad) => (state ? all | (1 << pad) : all), wantsAnswer ? WANTS_ANSWER : 0);
  const buffer = new ArrayBuffer(HEAD + PAD * there.length);
  const view = new DataView(buffer);
  view.setUint16(0, MESSAGE_MAGIC);
  view.setUint8(2, VERSION);
  view.setUint8(3, flags);
  view.setUint32(4, number);
  there.forEach(({ changes, triggers, axes }, place) => {
    const from = HEAD + PAD * place;
    new Uint8Array(buffer).set([...changes, ...triggers], from);
    axes.forEach((axis, index) => {
      view.setInt16(from + BUTTONS + 2 + 2 * index, axis);
    });
  });
  return buffer;
}

// `null` if it is none.
export function answerOf(bytes: ArrayBuffer): Answer | null {
  const view = viewOf(bytes, ANSWER, ANSWER_MAGIC);
  const lack = view && LACKS[view.getUint8(3)];
  return view && lack ? { lack, message: view.getUint32(4) } : null;
}

// `null` if it is none.
export function rumbleOf(bytes: ArrayBuffer): Rumble | null {
  const view = viewOf(bytes, RUMBLE, RUMBLE_MAGIC);
  const pad = view?.getUint8(3) ?? PADS;
  if (!view || pad >= PADS) return null;
  return { pad, strong: view.getUint16(4), weak: view.getUint16(6), millis: view.getUint16(8) };
}
