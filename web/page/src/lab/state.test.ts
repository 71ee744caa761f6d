import { expect, test } from "vitest";
import { linesOf, type Now, placesOf, withNewest } from "./state";

const at = (seconds: number, flows: Record<string, number> = {}): Now => ({
  ...{ seconds, capacity_mbps: 25, queue_ms: 3, queue_kb: 10 },
  flows: Object.entries(flows).map(([name, mbps]) => ({ name, mbps, dropped: 0 })),
});

test("the history is the last minute", () => {
  const all = [0, 1, 30, 60, 61].reduce<readonly Now[]>((history, seconds) => withNewest(history, at(seconds)), []);
  expect(all.map(({ seconds }) => seconds)).toEqual([30, 60, 61]);
});

test("the same look twice is one, and a clock that went back begins anew", () => {
  const before = [at(5), at(6)];
  expect(withNewest(before, at(6))).toBe(before);
  expect(withNewest(before, at(1))).toEqual([at(1)]);
  expect(withNewest(before, null)).toBe(before);
});

test("a flow has a line, with gaps where it was not there", () => {
  const lines = linesOf([at(1, { game: 10 }), at(2, { game: 11, cubic: 5 }), at(3, { cubic: 6 })]);
  expect(lines).toEqual([
    { name: "game", values: [10, 11, null] },
    { name: "cubic", values: [null, 5, 6] },
  ]);
});

test("what is set stands among the choices", () => {
  expect(placesOf(["1 Mb/s", "2 Mb/s"], "2 Mb/s")).toEqual(["1 Mb/s", "2 Mb/s"]);
  expect(placesOf(["1 Mb/s", "2 Mb/s"], "3 Mb/s")).toEqual(["3 Mb/s", "1 Mb/s", "2 Mb/s"]);
});
