import { expect, test } from "vitest";
import { USAGES } from "../input/keys";
import { meantBy, placeOf } from "./meaning";

const NOTHING = { ctrlKey: false, altKey: false, metaKey: false, isComposing: false, keyCode: 0 };
const key = (code: string, name: string, held: object = {}, states: string[] = []) => ({
  ...NOTHING,
  code,
  key: name,
  ...held,
  getModifierState: (state: string) => states.includes(state),
});

test.each([
  ["a letter", key("KeyY", "z")],
  ["a space", key("Space", " ")],
  ["one of two halves (UTF-16)", key("KeyA", "𝒜")],
  ["an accent that waits", key("Equal", "Dead")],
  ["what AltGr writes", key("KeyQ", "@", { ctrlKey: true, altKey: true }, ["AltGraph"])],
  ["AltGr itself", key("AltRight", "AltGraph")],
  ["Caps Lock", key("CapsLock", "CapsLock")],
  ["a key of a composition", key("Enter", "Enter", { isComposing: true })],
  ["a key of an input method", key("Backspace", "Backspace", { keyCode: 229 })],
  ["a key that nobody knows", key("", "Unidentified")],
])("%s is the browser's", (_, event) => {
  expect(placeOf(event, false)).toBeNull();
});

test.each([
  ["Backspace", key("Backspace", "Backspace"), "Backspace"],
  ["Enter of a phone", key("", "Enter"), "Enter"],
  ["an arrow with Shift", key("ArrowLeft", "ArrowLeft", { shiftKey: true }), "ArrowLeft"],
  ["Shift itself", key("ShiftLeft", "Shift"), "ShiftLeft"],
  ["a command, by its place", key("KeyY", "z", { ctrlKey: true }), "KeyY"],
  ["a command with Alt", key("KeyF", "f", { altKey: true }), "KeyF"],
])("%s goes by its place", (_, event, code) => {
  expect(placeOf(event, false)).toBe(USAGES.get(code));
});

test("Option writes on a Mac, Command commands", () => {
  expect(placeOf(key("KeyL", "@", { altKey: true }), true)).toBeNull();
  expect(placeOf(key("KeyC", "c", { metaKey: true }), true)).toBe(USAGES.get("KeyC"));
});

test.each([
  ["insertText", "ž", { text: "ž" }],
  ["insertReplacementText", "Grüße", { text: "Grüße" }],
  ["insertFromPaste", "猫", { text: "猫" }],
  ["insertText", null, null],
  ["insertCompositionText", "ね", null],
  ["insertFromComposition", "猫", null],
  ["insertLineBreak", null, { key: "Enter" }],
  ["insertParagraph", null, { key: "Enter" }],
  ["deleteContentBackward", null, { key: "Backspace" }],
  ["deleteWordBackward", null, { key: "Backspace" }],
  ["deleteContentForward", null, { key: "Delete" }],
  ["historyUndo", null, null],
])("%s of %o means %o", (inputType, data, meant) => {
  expect(meantBy(inputType, data)).toEqual(meant);
});
