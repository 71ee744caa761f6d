import { expect, test } from "vitest";
import { boxOf, notches } from "./picture";

const ELEMENT = { x: 10, y: 20, width: 800, height: 600 };

test("a wide picture has margins above and below", () => {
  expect(boxOf(ELEMENT, { width: 1600, height: 900 })).toEqual({ x: 10, y: 95, width: 800, height: 450 });
});

test("a high picture has margins at the sides", () => {
  expect(boxOf(ELEMENT, { width: 300, height: 600 })).toEqual({ x: 260, y: 20, width: 300, height: 600 });
});

test("before the first picture its box is the element", () => {
  expect(boxOf(ELEMENT, { width: 0, height: 0 })).toEqual(ELEMENT);
});

test.each([
  ["Chromium's notch", { deltaX: 0, deltaY: 100, deltaMode: 0, wheelDeltaX: 0, wheelDeltaY: -120 }, [0, 120]],
  ["three lines", { deltaX: 0, deltaY: 3, deltaMode: 1 }, [0, 120]],
  ["pixels", { deltaX: -50, deltaY: 100, deltaMode: 0 }, [-60, 120]],
])("a turn of the wheel is told in notches of 120: %s", (_name, wheel, turned) => {
  expect(notches(wheel).map((part) => part + 0)).toEqual(turned);
});
