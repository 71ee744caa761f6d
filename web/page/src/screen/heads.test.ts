import { expect, test } from "vitest";
import { H264Heads } from "./h264";
import { H265Heads } from "./h265";

const START = [0, 0, 0, 1];
const frame = (...units: number[][]) => Uint8Array.from(units.flatMap((unit) => [...START, ...unit]));

// Of x264, as the host sends them: numbers of five bits.
const PARAMETERS = [103, 66, 192, 31, 166, 17, 2, 128];
const KEY = frame(PARAMETERS, [104, 206, 60, 128], [6, 5, 1, 0], [101, 136, 130, 5, 209]);
const delta = (number: number) => frame([65, 0x9a | (number >> 4), (number << 4) & 255, 25, 64]);

test("a key frame says what decodes it", () => {
  expect(new H264Heads().read(KEY)).toEqual({ codec: "avc1.42c01f", follows: true });
});

test("frames in their order follow, over the largest number, too", () => {
  const heads = new H264Heads();
  expect(heads.read(delta(9)).follows).toBe(true);
  heads.read(KEY);
  for (let number = 1; number < 100; number += 1) expect(heads.read(delta(number % 32))).toEqual({ follows: true });
  expect(heads.read(KEY).follows).toBe(true);
  expect(heads.read(delta(1)).follows).toBe(true);
});

test("a frame behind one that is missing does not", () => {
  const heads = new H264Heads();
  heads.read(KEY);
  heads.read(delta(1));
  expect(heads.read(delta(3)).follows).toBe(false);
  expect(heads.read(delta(4)).follows).toBe(true);
});

test("profiles with chroma and numbers of four bits are read", () => {
  // High profile, level 3.1: one bit for each of sections' values of zero, then numbers of four bits.
  const high = [103, 100, 0, 31, 0b1_010_1_1_0_0, 0b1_1_000000];
  const heads = new H264Heads();
  expect(heads.read(frame(high, [101, 136, 130, 5])).codec).toBe("avc1.64001f");
  expect(heads.read(frame([65, 0b1_00110_1_0, 0b001_00000])).follows).toBe(true);
  expect(heads.read(frame([65, 0b1_00110_1_0, 0b011_00000])).follows).toBe(false);
});

test("the string of H.265 has profile, tier, level and constraints", () => {
  const parameters = [0x42, 1, 1, 1, 0x60, 0, 0, 3, 0, 0x90, 0, 0, 3, 0, 0, 3, 0, 0x5d, 0xa0];
  expect(new H265Heads().read(frame([0x40, 1, 12], parameters, [0x26, 1, 9])).codec).toBe("hev1.1.6.L93.90");
  expect(new H265Heads().read(frame([2, 1, 9]))).toEqual({ follows: true });
});
