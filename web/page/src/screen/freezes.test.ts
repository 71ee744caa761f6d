import { expect, test } from "vitest";
import { Freezes } from "./freezes";

// Whether the picture stood still, after so many of 60 a second and a last one that comes later.
function stoodStill(pictures: number, gap: number): boolean {
  const freezes = new Freezes();
  for (let picture = 0; picture < pictures; picture += 1) expect(freezes.on((picture * 1000) / 60)).toBe(false);
  return freezes.on(((pictures - 1) * 1000) / 60 + gap);
}

test("a picture that stands for 150 ms longer than usual is a freeze, a shorter one is none", () => {
  expect(stoodStill(60, 170)).toBe(true);
  expect(stoodStill(60, 160)).toBe(false);
});

test("at first nothing is usual yet", () => {
  expect(stoodStill(20, 1000)).toBe(false);
});

test("a slow stream is no freeze: three times the usual is the least", () => {
  const freezes = new Freezes();
  for (let picture = 0; picture < 60; picture += 1) freezes.on(picture * 100);
  expect(freezes.on(5900 + 290)).toBe(false);
  expect(freezes.on(6190 + 400)).toBe(true);
});
