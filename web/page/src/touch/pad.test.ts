import { expect, test } from "vitest";
import { keysOfPad } from "./pad";

test.each<[number, string[]]>([
  [0, ["ArrowRight"]],
  [20, ["ArrowRight"]],
  [45, ["ArrowRight", "ArrowDown"]],
  [90, ["ArrowDown"]],
  [135, ["ArrowDown", "ArrowLeft"]],
  [180, ["ArrowLeft"]],
  [-90, ["ArrowUp"]],
  [-45, ["ArrowRight", "ArrowUp"]],
])("a finger at %s degrees holds %o", (degrees, keys) => {
  const angle = (degrees * Math.PI) / 180;
  expect(keysOfPad(Math.cos(angle), Math.sin(angle), "arrows")).toEqual(keys);
});

test("in the middle nothing is held, and beyond the edge as much as at it", () => {
  expect(keysOfPad(0, 0, "arrows")).toEqual([]);
  expect(keysOfPad(0.1, 0.2, "arrows")).toEqual([]);
  expect(keysOfPad(0, -3, "letters")).toEqual(["KeyW"]);
});
