// What is said on the channel "photon": docs/wire-protocol.md has the bytes, crates/product/stream/tests/photon.json some that hold
// page and host to the same.
export const CHANNEL = "photon";

const QUESTION = 0x4751;
const ANSWER = 0x4754;
const VERSION = 1;
const HEAD = 28;
const HAS_TIMES = 1;
const IS_FIRST = 2;

// When what happened at the host, in its milliseconds, in this order; a capture may have begun before the program's answer was drawn.
export const TIMES = [
  "arrived",
  "injected",
  "got",
  "drawn",
  "began",
  "captured",
  "encoded",
  "firstSent",
  "sent",
] as const;

export type Times = Record<(typeof TIMES)[number], number>;

export interface Question {
  // Milliseconds of the page's clock, which come back.
  time: number;
  // Of an input; zero is none.
  change: number;
  // Of a picture, as it is on the wire.
  timestamp: number;
}

export interface Answer extends Question {
  hostTime: number;
  times: Times | null;
  isFirst: boolean;
}

export function questionBytes({ time, change, timestamp }: Question): ArrayBuffer {
  const message = new DataView(new ArrayBuffer(20));
  message.setUint16(0, QUESTION);
  message.setUint8(2, VERSION);
  message.setBigUint64(4, BigInt(Math.max(0, Math.round(1000 * time))));
  message.setUint32(12, change);
  message.setUint32(16, timestamp);
  return message.buffer as ArrayBuffer;
}

// `null` if it is none.
export function answerOf(bytes: ArrayBuffer): Answer | null {
  const view = new DataView(bytes);
  if (view.byteLength < HEAD || view.getUint16(0) !== ANSWER || view.getUint8(2) !== VERSION) return null;
  const flags = view.getUint8(3);
  const hasTimes = (flags & HAS_TIMES) !== 0;
  if (view.byteLength !== HEAD + (hasTimes ? 8 * TIMES.length : 0)) return null;
  const milliseconds = (at: number) => Number(view.getBigInt64(at)) / 1000;
  const times = TIMES.map((name, index) => [name, hasTimes ? milliseconds(HEAD + 8 * index) : 0]);
  return {
    time: Number(view.getBigUint64(4)) / 1000,
    hostTime: milliseconds(12),
    change: view.getUint32(20),
    timestamp: view.getUint32(24),
    times: hasTimes ? (Object.fromEntries(times) as Times) : null,
    isFirst: (flags & IS_FIRST) !== 0,
  };
}
