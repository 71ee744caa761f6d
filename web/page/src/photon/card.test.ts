import { expect, test } from "vitest";
import { numberOf } from "./card";

// 0, 1 and 200 as crates/product/desktop/src/card.rs draws them.
const SHOWN: [string, number][] = [
  ["1000000000010101", 0],
  ["1000000001010001", 1],
  ["1010101100001101", 200],
];

const cells = (bits: string, dark = 0, bright = 255) => [...bits].map((bit) => (bit === "1" ? bright : dark));

test.each(SHOWN)("%s is %s, on a picture that lost contrast, too", (bits, number) => {
  expect(numberOf(cells(bits))).toBe(number);
  expect(numberOf(cells(bits, 70, 190))).toBe(number);
});

test("a wrong cell, a grey one or another picture has no number", () => {
  for (const [bits] of SHOWN) {
    for (let wrong = 0; wrong < bits.length; wrong += 1) {
      const damaged = cells(bits);
      damaged[wrong] = 255 - (damaged[wrong] ?? 0);
      expect(numberOf(damaged)).toBeNull();
      damaged[wrong] = 128;
      expect(numberOf(damaged)).toBeNull();
    }
  }
  expect(numberOf([])).toBeNull();
  expect(numberOf(Array(16).fill(0))).toBeNull();
});
