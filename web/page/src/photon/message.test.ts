import { expect, test } from "vitest";
import vectors from "../../../../crates/product/stream/tests/photon.json";
import { answerOf, questionBytes, TIMES } from "./message";

const bytesOf = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16)).buffer;

const KNOWN = { time: 1.5, change: 7, timestamp: 0xfffefdfc };

test("a question has the bytes that the host knows", () => {
  expect(questionBytes(KNOWN)).toEqual(bytesOf(vectors.question));
});

test("an answer is read as the host says it", () => {
  const times = Object.fromEntries(TIMES.map((name, index) => [name, 1000 + index / 1000]));
  expect(answerOf(bytesOf(vectors.answer))).toEqual({ ...KNOWN, hostTime: -0.002, times, isFirst: true });
  expect(answerOf(bytesOf(vectors.unknown))).toEqual({ ...KNOWN, hostTime: -0.002, times: null, isFirst: false });
});

test.each(["", "4754", vectors.question, vectors.answer.slice(2), `${vectors.unknown}00`])("%s is none", (text) => {
  expect(answerOf(bytesOf(text))).toBeNull();
});
