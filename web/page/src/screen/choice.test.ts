import { describe, expect, test } from "vitest";
import { BEGIN, type Choice, chosen, type Sample } from "./choice";

// Seconds that are alike.
function later(choice: Choice, seconds: number, sample: Sample): Choice {
  let now = choice;
  for (let second = 0; second < seconds; second += 1) now = chosen(now, sample);
  return now;
}

const SHORT = { buffer: 2, arrival: 20 };
const HELD = { buffer: 8, arrival: 20 };

describe("the first look", () => {
  test("a buffer that holds pictures is a reason to try the other way", () => {
    expect(later(BEGIN, 7, HELD).way).toBe("video");
    const tried = later(BEGIN, 8, HELD);
    expect(tried).toMatchObject({ way: "canvas", phase: "trial" });
    expect(tried.why).toContain("8.0 ms");
  });

  test("one of 5 ms is none, nor are two bad seconds of five or the beginning", () => {
    expect(later(BEGIN, 60, { ...SHORT, buffer: 5 }).way).toBe("video");
    expect(later(later(BEGIN, 3, { buffer: 90, arrival: 90 }), 60, SHORT).way).toBe("video");
    expect(later(later(later(BEGIN, 3, SHORT), 2, HELD), 60, SHORT).way).toBe("video");
  });
});

describe("as time goes on", () => {
  const watching = later(BEGIN, 8, SHORT);

  test("a buffer that creeps up is a reason, too", () => {
    expect(later(watching, 30, { ...SHORT, buffer: 7.5 })).toMatchObject({ way: "canvas", phase: "trial" });
  });

  test("one that creeps up by less, or for some seconds only, is none", () => {
    expect(later(watching, 120, { ...SHORT, buffer: 6.5 }).way).toBe("video");
    const spell = later(later(watching, 60, SHORT), 14, { ...SHORT, buffer: 50 });
    expect(later(spell, 60, SHORT).way).toBe("video");
  });
});

describe("the trial", () => {
  const tried = later(BEGIN, 8, HELD);

  test("the shorter way is kept, for good", () => {
    const kept = later(tried, 8, { buffer: 0, arrival: 17.5 });
    expect(kept).toMatchObject({ way: "canvas", phase: "decided" });
    expect(kept.why).toBe("from arrival to display it took 20.0 ms by video, 17.5 ms by canvas");
    expect(later(kept, 600, { buffer: 90, arrival: 200 }).way).toBe("canvas");
  });

  test.each([18.5, 20, 40])("one of %d ms is not shorter by enough: back, for good", (arrival) => {
    const back = later(tried, 8, { buffer: 0, arrival });
    expect(back).toMatchObject({ way: "video", phase: "decided" });
    expect(later(back, 600, HELD).way).toBe("video");
  });
});
