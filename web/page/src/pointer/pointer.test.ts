import { expect, test } from "vitest";
import vectors from "../../../../crates/core/input/tests/vectors.json";
import { scaled } from "./scale";
import { shapeOf } from "./shape";

const bytesOf = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16));

test.each(vectors.shapes)("the same shape as in Rust: $bytes", ({ bytes, kind, screen, size, hotspot, pixels }) => {
  const wanted =
    kind === "image" ? { kind, screen, size, hotspot, pixels: new Uint8ClampedArray(bytesOf(pixels ?? "")) } : { kind };
  expect(shapeOf(bytesOf(bytes).buffer)).toEqual(kind === null ? null : wanted);
});

test("a shape is as large on the page as on the picture, and points at the same place", () => {
  expect(scaled([24, 32], [4, 31], 1)).toEqual({ size: [24, 32], hotspot: [4, 31] });
  expect(scaled([24, 32], [4, 31], 0.5)).toEqual({ size: [12, 16], hotspot: [2, 15] });
  expect(scaled([24, 32], [4, 31], 2)).toEqual({ size: [48, 64], hotspot: [9, 63] });
});

test("no shape is larger than browsers show, or nothing", () => {
  expect(scaled([64, 32], [63, 0], 4)).toEqual({ size: [128, 64], hotspot: [127, 1] });
  expect(scaled([24, 3], [12, 2], 0.1)).toEqual({ size: [2, 1], hotspot: [1, 0] });
  expect(scaled([1, 1], [0, 0], 1000)).toEqual({ size: [128, 128], hotspot: [64, 64] });
});
