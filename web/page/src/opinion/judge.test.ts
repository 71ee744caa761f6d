import { describe, expect, test } from "vitest";
import { Judge, type Opinion, type Sent } from "./judge";

const TRIPS = { total: 0, count: 0, newest: 0.02 };
const INTERVAL = 1500;

// The host's sums after so many frames of 10 kB, at 60 a second from `since`, each 8 ms at the host.
const sums = (frames: number, since = 0): Sent => ({
  timestamp: (since + frames * INTERVAL) >>> 0,
  frames,
  bytes: 10_000 * frames,
  left: frames,
  waited_us: 8_000 * frames,
  ...{ displayed: frames, delay_us: 20_000 * frames, wire: 11_000 * frames, repair: 0 },
});

// So many seconds, of whose frames those are shown that `shows` says.
function played(seconds: number, shows: (frame: number) => number, since = 0): Opinion | null {
  const judge = new Judge();
  let found: Opinion | null = null;
  judge.told(sums(0, since));
  for (let frame = 1; frame <= 60 * seconds; frame += 1) {
    const count = shows(frame);
    if (count > 0) judge.shown((since + frame * INTERVAL) >>> 0, count - 1);
    if (frame % 60 > 0) continue;
    found = judge.opinion({ total: 0.03 * frame, count: frame, newest: 9 });
    judge.told(sums(frame, since));
  }
  return found;
}

describe("over the window", () => {
  test("bitrate, rate and delay are the host's and the checks'", () => {
    const found = played(20, () => 1);
    expect(found?.quality.bitrate).toBeCloseTo(4.8, 9);
    expect(found?.quality.frameRate).toBeCloseTo(60, 9);
    expect(found?.quality.delay).toBeCloseTo(38, 9);
    expect(found?.quality.lost).toBe(0);
    expect(found?.score).toBeCloseTo(3.4, 0);
  });

  test.each([
    ["one in ten is not shown", (frame: number) => (frame % 10 > 0 ? 1 : 0), 10],
    ["of one in ten the number alone is told", (frame: number) => [0, 2][frame % 10] ?? 1, 0],
    ["none is shown", () => 0, 100],
    ["only those of long ago were not shown", (frame: number) => (frame > 300 ? 1 : 0), 0],
  ])("%s", (_, shows, lost) => {
    expect(played(20, shows)?.quality.lost).toBeCloseTo(lost, 9);
  });

  test("time stamps wrap", () => {
    expect(played(20, () => 1, 0xffff_0000)?.quality).toEqual(played(20, () => 1)?.quality);
  });

  test("who has heard little knows nothing, and a stream that stands still has no score", () => {
    expect(played(2, () => 1)).toBeNull();
    expect(played(4, () => 1)).not.toBeNull();
    const judge = new Judge();
    for (let look = 0; look < 5; look += 1) judge.told(sums(60));
    expect(judge.opinion(TRIPS)).toBeNull();
  });

  test("an answer that was overtaken is passed over", () => {
    const judge = new Judge();
    for (const frames of [0, 60, 180, 120, 240]) judge.told(sums(frames));
    expect(judge.opinion(TRIPS)?.quality.frameRate).toBeCloseTo(60, 9);
  });

  test("without a check since the window began the newest round trip counts", () => {
    const judge = new Judge();
    for (const frames of [0, 60, 120, 180]) judge.told(sums(frames));
    judge.opinion(TRIPS);
    expect(judge.opinion(TRIPS)?.quality.delay).toBeCloseTo(28, 9);
  });
});
