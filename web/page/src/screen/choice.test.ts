import { describe, expect, test } from "vitest";
import { BEGIN, type Choice, chosen, type Sample } from "./choice";

// Seconds that are alike.
function later(choice: Choice, seconds: number, sample: Sample): Choice {
  let now = choice;
  for (let second = 0; second < seconds; second += 1) now = chosen(now, sample);
  return now;
}

const SHORT = { arrival: 12, decoding: 4 };
const HELD = { arrival: 24, decoding: 4 };

describe("the first look", () => {
  test("pictures that are held are a reason to try the other way", () => {
    expect(later(BEGIN, 7, HELD).way).toBe("video");
    const tried = later(BEGIN, 8, HELD);
    expect(tried).toMatchObject({ way: "canvas", phase: "trial" });
    expect(tried.why).toContain("20.0 ms");
  });

  test("the wait for a refresh is none, nor are decoding, two bad seconds of five, or the beginning", () => {
    expect(later(BEGIN, 60, { arrival: 21, decoding: 4 }).way).toBe("video");
    expect(later(BEGIN, 60, { arrival: 40, decoding: 30 }).way).toBe("video");
    expect(later(later(BEGIN, 3, { arrival: 90, decoding: 4 }), 60, SHORT).way).toBe("video");
    expect(later(later(later(BEGIN, 3, SHORT), 2, HELD), 60, SHORT).way).toBe("video");
  });
});

describe("as time goes on", () => {
  const watching = later(BEGIN, 8, SHORT);

  test("a buffer that creeps up is a reason, too", () => {
    expect(later(watching, 30, { ...SHORT, arrival: 17.5 })).toMatchObject({ way: "canvas", phase: "trial" });
  });

  test("one that creeps up by less, or for some seconds only, is none", () => {
    expect(later(watching, 120, { ...SHORT, arrival: 16.5 }).way).toBe("video");
    const spell = later(later(watching, 60, SHORT), 14, { ...SHORT, arrival: 50 });
    expect(later(spell, 60, SHORT).way).toBe("video");
  });
});

describe("the trial", () => {
  const tried = later(BEGIN, 8, HELD);

  test("the shorter way is kept, for good", () => {
    const kept = later(tried, 8, { decoding: 4, arrival: 17.5 });
    expect(kept).toMatchObject({ way: "canvas", phase: "decided" });
    expect(kept.why).toBe("from arrival to display it took 24.0 ms by video, 17.5 ms by canvas");
    expect(later(kept, 600, { decoding: 4, arrival: 200 }).way).toBe("canvas");
  });

  test("one that is longer by a frame interval ends after three seconds, unless only its beginning is", () => {
    const longer = { decoding: 4, arrival: 41.5 };
    expect(later(tried, 2, longer).phase).toBe("trial");
    expect(later(tried, 3, longer)).toMatchObject({ way: "video", phase: "decided" });
    expect(later(tried, 7, { ...longer, arrival: 40.5 }).phase).toBe("trial");
    const slow = later(later(tried, 2, { decoding: 4, arrival: 90 }), 6, { decoding: 4, arrival: 17.5 });
    expect(slow).toMatchObject({ way: "canvas", phase: "decided" });
  });

  test.each([22.5, 24, 40])("one of %d ms is not shorter by enough: back, for good", (arrival) => {
    const back = later(tried, 8, { decoding: 4, arrival });
    expect(back).toMatchObject({ way: "video", phase: "decided" });
    expect(later(back, 600, HELD).way).toBe("video");
  });
});
