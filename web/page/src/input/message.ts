// A message of the channel "input" as bytes, and its acknowledgement: docs/wire-protocol.md has both.
const HEAD = 66;
const CHANGE = 3;
const ACKNOWLEDGEMENT = 11;
const HAS_PLACE = 1;
const WANTS_ANSWER = 2;
const MESSAGE_MAGIC = 0x4749;
const ACKNOWLEDGEMENT_MAGIC = 0x4741;
const VERSION = 1;

export const KEY = 0;
export const BUTTON = 1;
const PLANE = 16;

// Key or button, its number, 1 for down and 0 for up; or the plane of a character behind all kinds, and its code point there.
export type Change = readonly [kind: number, number: number, held: number];
export type Pair = readonly [number, number];

export interface Message {
  number: number;
  firstChange: number;
  changes: readonly Change[];
  keys: Uint8Array;
  buttons: number;
  place: Pair | null;
  moved: Pair;
  turned: Pair;
  wantsAnswer: boolean;
}

export interface Acknowledgement {
  nextChange: number;
  message: number;
}

export function messageBytes(said: Message): ArrayBuffer {
  const buffer = new ArrayBuffer(HEAD + CHANGE * said.changes.length);
  const view = new DataView(buffer);
  view.setUint16(0, MESSAGE_MAGIC);
  view.setUint8(2, VERSION);
  view.setUint8(3, said.changes.length);
  view.setUint32(4, said.number);
  view.setUint32(8, said.firstChange);
  new Uint8Array(buffer).set(said.keys, 12);
  view.setUint8(44, said.buttons);
  view.setUint8(45, (said.place ? HAS_PLACE : 0) | (said.wantsAnswer ? WANTS_ANSWER : 0));
  [...(said.place ?? [0, 0])].forEach((side, index) => {
    view.setUint16(46 + 2 * index, side);
  });
  [...said.moved, ...said.turned].forEach((sum, index) => {
    view.setInt32(50 + 4 * index, sum);
  });
  new Uint8Array(buffer).set(said.changes.flat(), HEAD);
  return buffer;
}

export function characterChange(character: string): Change {
  const code = character.codePointAt(0) ?? 0;
  return [PLANE + (code >> 16), (code >> 8) & 255, code & 255];
}

export const isCharacter = ([kind]: Change) => kind >= PLANE;

// A message of the host; `null` if it is not of this kind.
export function viewOf(bytes: ArrayBuffer, length: number, magic: number): DataView | null {
  const view = new DataView(bytes);
  const fits = view.byteLength === length && view.getUint16(0) === magic && view.getUint8(2) === VERSION;
  return fits ? view : null;
}

// `null` if it is none.
export function acknowledgementOf(bytes: ArrayBuffer): Acknowledgement | null {
  const view = viewOf(bytes, ACKNOWLEDGEMENT, ACKNOWLEDGEMENT_MAGIC);
  return view && { nextChange: view.getUint32(3), message: view.getUint32(7) };
}
