import { expect, test } from "vitest";
import { Assembly, askBytes, MAX_TEXT, messageOf, partsOf } from "./message";

const bytesOf = (...bytes: number[]) => Uint8Array.from(bytes).buffer;

function sent(text: string): string | null {
  const assembly = new Assembly();
  let whole: string | null = null;
  for (const bytes of partsOf(text)) {
    const message = messageOf(bytes);
    expect(whole).toBeNull();
    whole = message?.kind === "part" ? assembly.on(message.part) : null;
  }
  return whole;
}

test("the bytes of docs/wire-protocol.md", () => {
  expect(askBytes()).toEqual(bytesOf(0x47, 0x43, 1, 1));
  expect(partsOf("ž")).toEqual([bytesOf(0x47, 0x43, 1, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0xc5, 0xbe)]);
  expect(messageOf(bytesOf(0x47, 0x43, 1, 0))).toEqual({ kind: "offer" });
  expect(messageOf(bytesOf(0x47, 0x43, 1, 3, 2))).toEqual({ kind: "outcome", outcome: "too long" });
});

test.each(["", "a", "žluťoučký 猫 🎮".repeat(5_000), "a".repeat(MAX_TEXT)])("a text comes back", (text) => {
  expect(sent(text) === text).toBe(true);
});

test("a longer text has no parts", () => {
  expect(partsOf("a".repeat(MAX_TEXT + 1))).toEqual([]);
  expect(partsOf("ž".repeat(MAX_TEXT / 2 + 1))).toEqual([]);
});

test.each([
  [],
  [0x47, 0x43, 1],
  [0x47, 0x43, 2, 0],
  [0x47, 0x41, 1, 0],
  [0x47, 0x43, 1, 0, 0],
  [0x47, 0x43, 1, 3],
  [0x47, 0x43, 1, 3, 6],
  [0x47, 0x43, 1, 2, 0, 0, 0, 1, 0, 0, 0, 1, 65],
  [0x47, 0x43, 1, 2, 0xff, 0, 0, 0, 0, 0, 0, 0, 65],
])("what is none is refused: %#", (...bytes) => {
  expect(messageOf(bytesOf(...bytes))).toBeNull();
});
