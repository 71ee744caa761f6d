// What a decoder is to be told of an H.265 stream: profile, tier and level of its parameters (ITU-T H.265 section 7.3.3), as
// ISO/IEC 14496-15 annex E writes them.
import { payloadOf, unitsOf } from "./bits";
import type { Head } from "./h264";

const PARAMETERS = 33;
const LAST_SLICE = 31;
// Two bytes of header, and one before profile, tier and level.
const AT = 3;
const LENGTH = 12;

function codecOf(unit: Uint8Array): string {
  const [first = 0, ...rest] = payloadOf(unit, AT + LENGTH).subarray(AT);
  const [space, tier, profile] = [first >> 6, (first >> 5) & 1, first & 31];
  const flags = rest.slice(0, 4).reduce((all, byte) => all * 256 + byte, 0);
  // The first flag is the lowest bit.
  const reversed = [...flags.toString(2).padStart(32, "0")].reverse().join("");
  const constraints = rest.slice(4, 10).map((byte) => byte.toString(16).toUpperCase());
  while (constraints.at(-1) === "0") constraints.pop();
  const level = rest[10] ?? 0;
  const name = `${["", "A", "B", "C"][space]}${profile}.${Number.parseInt(reversed, 2).toString(16).toUpperCase()}`;
  return ["hev1", name, `${tier ? "H" : "L"}${level}`, ...constraints].join(".");
}

// Whether frames are missing is not told: libwebrtc gives none after one that is missing.
export class H265Heads {
  read(frame: Uint8Array): Head {
    for (const unit of unitsOf(frame)) {
      const kind = ((unit[0] ?? 0) >> 1) & 63;
      if (kind === PARAMETERS) return { codec: codecOf(unit), follows: true };
      if (kind <= LAST_SLICE) break;
    }
    return { follows: true };
  }
}
