// What a decoder is to be told of an H.264 stream, and whether a frame follows the one before: ITU-T H.264 sections 7.3.2.1.1 and
// 7.3.3 (fields), 7.4.3 (`frame_num`). Codec string: RFC 6381 section 3.3.
import { Bits, payloadOf, unitsOf } from "./bits";

const SLICE = 1;
const KEY_SLICE = 5;
const PARAMETERS = 7;
// Profiles whose parameters tell of chroma.
const HIGH = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);
// Bytes of a header that are looked at.
const HEAD = 40;

const kindOf = (unit: Uint8Array) => (unit[0] ?? 0) & 31;
const hex = (byte: number | undefined) => (byte ?? 0).toString(16).padStart(2, "0");

interface Numbering {
  // Bits of a frame's number.
  bits: number;
  hasPlanes: boolean;
}

// Undefined where scaling lists stand before the number.
function numberingOf(parameters: Uint8Array): Numbering | undefined {
  const bits = new Bits(payloadOf(parameters.subarray(1), HEAD));
  const profile = bits.read(8);
  bits.read(16);
  bits.unsigned();
  let hasPlanes = false;
  if (HIGH.has(profile)) {
    hasPlanes = bits.unsigned() === 3 && bits.read(1) === 1;
    bits.unsigned();
    bits.unsigned();
    bits.read(1);
    if (bits.read(1) === 1) return undefined;
  }
  return { bits: bits.unsigned() + 4, hasPlanes };
}

export interface Head {
  // Of a key frame that brings its parameters.
  codec?: string;
  // Whether no frame is missing before it, as far as that can be told.
  follows: boolean;
}

// Reads frames in the order of decoding.
export class H264Heads {
  #numbering: Numbering | undefined;
  #before: number | undefined;

  read(frame: Uint8Array): Head {
    let codec: string | undefined;
    let follows = true;
    for (const unit of unitsOf(frame)) {
      const kind = kindOf(unit);
      if (kind === PARAMETERS) {
        codec = `avc1.${hex(unit[1])}${hex(unit[2])}${hex(unit[3])}`;
        this.#numbering = numberingOf(unit);
      }
      if (kind !== SLICE && kind !== KEY_SLICE) continue;
      follows = this.#follows(unit, kind === KEY_SLICE);
      break;
    }
    return codec === undefined ? { follows } : { codec, follows };
  }

  // A frame's number is that of the newest frame that others refer to, or one more.
  #follows(slice: Uint8Array, isKey: boolean): boolean {
    if (this.#numbering === undefined) return true;
    const bits = new Bits(payloadOf(slice.subarray(1), HEAD));
    for (let field = 0; field < 3; field += 1) bits.unsigned();
    if (this.#numbering.hasPlanes) bits.read(2);
    const number = bits.read(this.#numbering.bits);
    const before = this.#before;
    const isReferredTo = ((slice[0] ?? 0) >> 5) % 4 > 0;
    if (isReferredTo) this.#before = number;
    if (isKey || before === undefined) return true;
    return number === before || number === (before + 1) % 2 ** this.#numbering.bits;
  }
}
