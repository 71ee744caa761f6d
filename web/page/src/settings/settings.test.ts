import { expect, test } from "vitest";
import { DEFAULTS, parseSettings } from "./settings";

test("what was set comes back", () => {
  const set = { figures: true, mouseLook: true, volume: 0.25, touch: "on", pad: "letters", screen: "canvas" } as const;
  expect(parseSettings(JSON.stringify(set))).toEqual(set);
});

test.each([
  null,
  "",
  "no JSON",
  "null",
  "[]",
  '"text"',
  '{"volume":2,"touch":"maybe","figures":1,"pad":0,"screen":"both"}',
])("what cannot be read is as if it was never set: %s", (text) => {
  expect(parseSettings(text)).toEqual(DEFAULTS);
});
