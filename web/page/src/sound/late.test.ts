import { expect, test } from "vitest";
import { LateSound } from "./late";

const BLOCK = 10;

// Which of these packets are left out, each by how late it comes; the first has this timestamp.
function leftOut(late: number[], timestamp = 0, sound = new LateSound()): number[] {
  const isLate = (by: number, packet: number) =>
    sound.isLate((timestamp + packet * 480) >>> 0, 5000 + packet * BLOCK + by, BLOCK);
  return late.flatMap((by, packet) => (isLate(by, packet) ? [packet] : []));
}

const numbers = (count: number, from = 0) => [...Array(count).keys()].map((number) => from + number);
const steady = (count: number, by = 20) => numbers(count).map((number) => by + (number % 3));

test("what comes evenly is played, and so is what is a little late", () => {
  expect(leftOut(steady(1000))).toEqual([]);
  expect(leftOut([...steady(300), ...steady(20, 48), ...steady(300)])).toEqual([]);
});

test("what a stall made late is left out, what comes behind it is played", () => {
  // For 300 ms nothing comes, then all at once.
  const burst = numbers(30).map((number) => 20 + (30 - number) * BLOCK);
  expect(leftOut([...steady(300), ...burst, ...steady(300)])).toEqual(numbers(27, 300));
});

test("a burst is late after more than the window, too", () => {
  const burst = numbers(250).map((number) => 20 + (250 - number) * BLOCK);
  const found = leftOut([...steady(300), ...burst, ...steady(300)]);
  // The budget is spent on the first 2 s.
  expect(found).toEqual(numbers(200, 300));
});

test("a delay that stays is accepted after the window", () => {
  expect(leftOut([...steady(300), ...steady(600, 120)])).toEqual(numbers(200, 300));
});

test("where packets are late all the time, the browser is to wait for them", () => {
  const jitter = numbers(6000).map((number) => (number % 10 === 0 ? 100 : 20));
  const found = leftOut(jitter);
  expect(found).toHaveLength(200);
  expect(found.at(-1)).toBe(2000);
});

test("after a calm of ten seconds as much may be left out again", () => {
  const stall = steady(150, 200);
  const again = (calm: number) => leftOut([...steady(300), ...stall, ...steady(calm), ...stall, ...steady(10)]).length;
  expect(again(1100)).toBe(300);
  expect(again(900)).toBe(200);
});

test("timestamps wrap", () => {
  const late = [...steady(300), ...steady(50, 90), ...steady(300)];
  for (const begin of [0, 2 ** 32 - 480 * 320, 2 ** 31 - 480 * 320])
    expect(leftOut(late, begin)).toEqual(numbers(50, 300));
});
