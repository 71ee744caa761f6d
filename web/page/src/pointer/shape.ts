// A message of the channel "pointer": docs/wire-protocol.md has it, crates/core/input/src/shape.rs the other end, and
// crates/core/input/tests/vectors.json holds both to the same bytes.
const HEAD = 4;
const IMAGE_HEAD = 12;
const PIXEL = 4;
const MAX_SIDE = 127;
const MAGIC = 0x4750;
const VERSION = 1;

type Pair = readonly [number, number];

export interface Image {
  kind: "image";
  screen: Pair;
  size: Pair;
  hotspot: Pair;
  // Red, green, blue and opacity, row by row.
  pixels: Uint8ClampedArray<ArrayBuffer>;
}

export type Shape = { kind: "hidden" } | { kind: "own" } | Image;

function imageOf(bytes: ArrayBuffer): Image | null {
  if (bytes.byteLength < IMAGE_HEAD) return null;
  const view = new DataView(bytes);
  const screen: Pair = [view.getUint16(4), view.getUint16(6)];
  const size: Pair = [view.getUint8(8), view.getUint8(9)];
  const hotspot: Pair = [view.getUint8(10), view.getUint8(11)];
  const isWhole =
    screen.every((side) => side > 0) &&
    size.every((side) => side > 0 && side <= MAX_SIDE) &&
    hotspot[0] < size[0] &&
    hotspot[1] < size[1] &&
    bytes.byteLength === IMAGE_HEAD + PIXEL * size[0] * size[1];
  return isWhole ? { kind: "image", screen, size, hotspot, pixels: new Uint8ClampedArray(bytes, IMAGE_HEAD) } : null;
}

// `null` if it is none.
export function shapeOf(bytes: ArrayBuffer): Shape | null {
  const view = new DataView(bytes);
  if (view.byteLength < HEAD || view.getUint16(0) !== MAGIC || view.getUint8(2) !== VERSION) return null;
  const kind = view.getUint8(3);
  if (kind === 2) return imageOf(bytes);
  if (view.byteLength !== HEAD) return null;
  if (kind === 0) return { kind: "hidden" };
  return kind === 1 ? { kind: "own" } : null;
}
