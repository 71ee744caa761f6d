// The messages of the channel "clipboard": docs/wire-protocol.md has them, crates/core/input/src/clipboard.rs the other end.
const MAGIC = 0x4743;
const VERSION = 1;
const HEAD = 4;
const PART_HEAD = 12;
const PART = 16384;
export const MAX_TEXT = 1 << 20;

const [OFFER, ASK, TEXT, OUTCOME] = [0, 1, 2, 3] as const;
const OUTCOMES = ["taken", "nothing", "too long", "no text", "no answer", "gone"] as const;

export type Outcome = (typeof OUTCOMES)[number];
export type Part = { total: number; offset: number; bytes: Uint8Array };
export type Message = { kind: "offer" } | { kind: "part"; part: Part } | { kind: "outcome"; outcome: Outcome };

function head(length: number, kind: number): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(length));
  view.setUint16(0, MAGIC);
  view.setUint8(2, VERSION);
  view.setUint8(3, kind);
  return view;
}

export const askBytes = () => head(HEAD, ASK).buffer;

// A text in its parts; none if it is too long.
export function partsOf(text: string): ArrayBuffer[] {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_TEXT) return [];
  const starts = Array.from({ length: Math.max(1, Math.ceil(bytes.length / PART)) }, (_, index) => index * PART);
  return starts.map((offset) => {
    const piece = bytes.subarray(offset, offset + PART);
    const view = head(PART_HEAD + piece.length, TEXT);
    view.setUint32(4, bytes.length);
    view.setUint32(8, offset);
    new Uint8Array(view.buffer).set(piece, PART_HEAD);
    return view.buffer;
  });
}

// `null` if it is none.
export function messageOf(bytes: ArrayBuffer): Message | null {
  const view = new DataView(bytes);
  if (bytes.byteLength < HEAD || view.getUint16(0) !== MAGIC || view.getUint8(2) !== VERSION) return null;
  const kind = view.getUint8(3);
  if (kind === OFFER && bytes.byteLength === HEAD) return { kind: "offer" };
  if (kind === OUTCOME && bytes.byteLength === HEAD + 1) {
    const outcome = OUTCOMES[view.getUint8(HEAD)];
    return outcome ? { kind: "outcome", outcome } : null;
  }
  if (kind !== TEXT || bytes.byteLength < PART_HEAD) return null;
  const part = { total: view.getUint32(4), offset: view.getUint32(8), bytes: new Uint8Array(bytes, PART_HEAD) };
  return part.offset + part.bytes.length <= part.total && part.total <= MAX_TEXT ? { kind: "part", part } : null;
}

// Puts a text together again.
export class Assembly {
  #bytes = new Uint8Array();
  #kept = 0;

  // The text, once it is whole.
  on({ total, offset, bytes }: Part): string | null {
    if (offset === 0) [this.#bytes, this.#kept] = [new Uint8Array(total), 0];
    if (offset !== this.#kept || total !== this.#bytes.length) return null;
    this.#bytes.set(bytes, offset);
    this.#kept += bytes.length;
    return this.#kept === total ? new TextDecoder().decode(this.#bytes) : null;
  }
}
