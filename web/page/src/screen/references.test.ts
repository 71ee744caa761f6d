import { expect, test } from "vitest";
import { References } from "./references";

test("a frame can be decoded if those can to which it refers, whatever else is missing", () => {
  const references = new References();
  expect(references.take(4, [3], false)).toBe(false);
  expect(references.take(5, [], true)).toBe(true);
  expect(references.take(6, [5], false)).toBe(true);
  expect([8, 9].map((frame) => references.take(frame, [frame - 1], false))).toEqual([false, false]);
  expect(references.take(10, [6], false)).toBe(true);
  expect(references.take(11, [10], false)).toBe(true);
});

test("nothing before a key frame is referred to", () => {
  const references = new References();
  references.take(5, [], true);
  references.take(6, [], true);
  expect(references.take(7, [5], false)).toBe(false);
});
