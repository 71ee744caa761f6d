// Fields of H.264 and H.265 headers: bits and Exp-Golomb codes (ITU-T H.264 section 9.1).

// Without the bytes that keep a start code from arising (section 7.4.1), the first so many.
export function payloadOf(unit: Uint8Array, most: number): Uint8Array {
  const bytes: number[] = [];
  let zeros = 0;
  for (const byte of unit) {
    if (bytes.length === most) break;
    if (zeros >= 2 && byte === 3) {
      zeros = 0;
      continue;
    }
    zeros = byte === 0 ? zeros + 1 : 0;
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

export class Bits {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  // Beyond the end there are zeros.
  read(count: number): number {
    let value = 0;
    for (let index = 0; index < count; index += 1) {
      const byte = this.#bytes[this.#at >> 3] ?? 0;
      value = value * 2 + ((byte >> (7 - (this.#at & 7))) & 1);
      this.#at += 1;
    }
    return value;
  }

  unsigned(): number {
    let zeros = 0;
    while (zeros < 32 && this.read(1) === 0) zeros += 1;
    return 2 ** zeros - 1 + this.read(zeros);
  }
}

// The units of a frame in Annex B, each without its start code, one after the other as they are asked for.
export function* unitsOf(frame: Uint8Array): Generator<Uint8Array> {
  let begin = -1;
  for (let at = frame.indexOf(1, 2); at >= 0; at = frame.indexOf(1, at + 1)) {
    if (frame[at - 1] !== 0 || frame[at - 2] !== 0) continue;
    if (begin >= 0) yield frame.subarray(begin, at - 2);
    begin = at + 1;
  }
  if (begin >= 0) yield frame.subarray(begin);
}
