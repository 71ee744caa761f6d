import { expect, test } from "vitest";
import { HostClock } from "./clock";
import { csvOf, impossible, PARTS, quantile, type Row, rowOf, summaryOf } from "./parts";

const TIMES = {
  arrived: 1002,
  injected: 1002.5,
  got: 1003,
  drawn: 1005,
  began: 1010,
  captured: 1014,
  encoded: 1020,
  firstSent: 1018,
  sent: 1023,
};
const PICTURE = {
  source: {} as CanvasImageSource,
  width: 1280,
  height: 720,
  rtpTimestamp: 90,
  received: 26,
  decoding: 4,
  presented: 33,
  displayed: 45,
};
const READING = { offset: 1000, error: 0.5 };

const row = (times = {}, picture = {}) =>
  rowOf({ change: 1, time: 1 }, { times: { ...TIMES, ...times }, isFirst: true }, READING, { ...PICTURE, ...picture });

const total = (parts: readonly number[]) => parts.reduce((sum, part) => sum + part, 0);

test("parts follow each other and add up to the whole", () => {
  const { parts, whole } = row();
  expect(parts).toEqual([1, 0.5, 0.5, 2, 5, 4, 6, 3, 3, 3, 4, 12]);
  expect(parts.length).toBe(PARTS.length);
  expect([whole, total(parts)]).toEqual([44, 44]);
});

test("what one of them takes longer is in it alone", () => {
  const later = (from: number, by: number) =>
    Object.fromEntries(Object.entries(TIMES).map(([name, time]) => [name, time >= from ? time + by : time]));
  const { parts } = row(later(1005, 50), { received: 76, presented: 83, displayed: 95 });
  expect(parts.map((part, at) => part - (row().parts[at] ?? 0))).toEqual(PARTS.map((_, at) => (at === 3 ? 50 : 0)));
});

test("a capture that had begun before the answer was drawn has no wait", () => {
  const { parts, whole } = row({ began: 1004 });
  expect(parts.slice(4, 6)).toEqual([0, 9]);
  expect(total(parts)).toBe(whole);
});

test("an error of the clocks goes from one way into the other, and what it does not explain is told", () => {
  const { parts, whole } = rowOf(
    { change: 1, time: 1 },
    { times: TIMES, isFirst: true },
    { offset: 1001.4, error: 0.5 },
    PICTURE,
  );
  expect([parts[0], parts[8], whole]).toEqual([expect.closeTo(-0.4), expect.closeTo(4.4), 44]);
  expect(impossible({ ...row(), parts })).toEqual([]);
  expect(impossible(row({ arrived: 1000.2 }))).toEqual([0]);
  expect(impossible(row({ got: 1002.4 }))).toEqual([]);
  expect(impossible(row({ got: 1002 }))).toEqual([2]);
});

test("a picture is not displayed before the page has it, whatever the browser expects", () => {
  const { parts, whole, isEarly } = row({}, { displayed: 32.5 });
  expect([parts[11], whole, isEarly]).toEqual([0, 32, true]);
  expect(row().isEarly).toBe(false);
});

test("a quantile is one of the values", () => {
  const values = [...Array(100).keys()].map((at) => 100 - at);
  expect([0.5, 0.95, 0, 1].map((share) => quantile(values, share))).toEqual([50, 95, 1, 100]);
  expect(quantile([], 0.5)).toBeNaN();
});

test("a summary has what is lost, late and impossible", () => {
  const rows: Row[] = [row(), { ...row({}, { displayed: 46 }), isLate: true }, row({ got: 1000 })];
  const summary = summaryOf(rows, 2);
  expect([summary.lost, summary.late, summary.impossible, summary.error]).toEqual([2, 1, 1, 0.5]);
  expect([summary.whole.median, summary.whole.high, summary.parts[11]?.high]).toEqual([44, 45, 13]);
});

test("a table has a line for each press", () => {
  const lines = csvOf([row()]).split("\r\n");
  expect(lines.length).toBe(3);
  expect(lines[0]).toMatch(/^"Press","Pressed at","Input to the host",.*,"Whole","Clock error","Pictures left out"$/);
  expect(lines[1]).toBe(
    "1,1.000,1.000,0.500,0.500,2.000,5.000,4.000,6.000,3.000,3.000,3.000,4.000,12.000,44.000,0.500,0",
  );
});

test("the host's clock is the quickest exchange's of the last seconds", () => {
  const clock = new HostClock();
  expect(clock.reading).toBeNull();
  clock.on(10, 1020, 14);
  clock.on(20, 1026, 30);
  expect(clock.reading).toEqual({ offset: 1008, error: 2 });
  clock.on(6000, 7010, 6012);
  expect(clock.reading).toEqual({ offset: 1004, error: 6 });
});
