import { describe, expect, test } from "vitest";
import { penaltiesOf, type Quality, scoreOf } from "../opinion/g1072";
import type { Sent } from "../opinion/judge";
import { type Counters, type Figures, figuresOf } from "./figures";
import { wrongOf } from "./words";

function opinion(quality: Partial<Quality>) {
  const whole = { bitrate: 20, frameRate: 60, delay: 20, lost: 0, ...quality };
  const penalties = penaltiesOf(whole);
  return { score: scoreOf(penalties), quality: whole, penalties };
}

const OPINION = { ...opinion({}), score: 3.5 };

type Video = Partial<RTCInboundRtpStreamStats>;

type Screen = Counters["screen"];

const SCREEN: Screen = { decoded: 60, decoding: 100, buffered: 60, waited: 600, freezes: 1, height: 720 };

function counters(video: Video, screen = SCREEN, roundTrip?: number, pictures = 10, waited = 100): Counters {
  const pair = roundTrip === undefined ? undefined : ({ currentRoundTripTime: roundTrip } as RTCIceCandidatePairStats);
  return {
    sent: null,
    video: video as RTCInboundRtpStreamStats,
    pair,
    screen,
    displayed: { pictures, waited, missed: 0 },
  };
}

function sent(displayed: number, delay_us: number, wire: number, repair: number): Sent {
  return { timestamp: 0, frames: 0, bytes: 0, left: 0, waited_us: 0, displayed, delay_us, wire, repair };
}

const BEFORE: Video = {
  timestamp: 1000,
  bytesReceived: 1_000_000,
  headerBytesReceived: 10_000,
  packetsReceived: 900,
  packetsLost: 10,
  nackCount: 5,
};

test("figures are what grew between two looks", () => {
  const now: Video = {
    timestamp: 3000,
    bytesReceived: 3_400_000,
    headerBytesReceived: 110_000,
    packetsReceived: 2880,
    packetsLost: 30,
    nackCount: 9,
  };
  const screen = { decoded: 160, decoding: 500, buffered: 160, waited: 2100, freezes: 2, height: 720 };
  const figures = figuresOf(counters(BEFORE), counters(now, screen, 0.025, 110, 2600), OPINION);
  const wanted: Figures = {
    ...{ rate: 50, bitrate: 10, height: 720, roundTrip: 25, arrival: 25 },
    ...{ buffer: 15, decoding: 4, lost: 1, requests: 2, freezes: 1, score: 3.5 },
    ...{ delay: null, repair: null, photon: null },
  };
  for (const [name, value] of Object.entries(wanted)) {
    const figure = figures[name as keyof Figures];
    if (value === null) expect(figure).toBeNull();
    else expect(figure).toBeCloseTo(value, 9);
  }
});

test("what the host says is a frame's delay and the part of repair since the look before", () => {
  const look = (told: Sent | null, timestamp: number) => ({ ...counters({ ...BEFORE, timestamp }), sent: told });
  const before = look(sent(100, 2_000_000, 1_000_000, 50_000), 1000);
  const now = look(sent(150, 3_500_000, 1_200_000, 80_000), 2000);
  expect(figuresOf(before, now, null, 31)).toMatchObject({ delay: 30, repair: 15, photon: 31 });
  // It has not said anything since, or nothing at all.
  expect(figuresOf(now, { ...now }, null)).toMatchObject({ delay: null, repair: null, photon: null });
  expect(figuresOf(look(null, 0), now, null)).toMatchObject({ delay: null, repair: null });
});

test("nothing that came is nothing, and no division by it", () => {
  const known: Record<string, number | null> = { height: 720, score: null, delay: null, repair: null, photon: null };
  const figures = figuresOf(counters(BEFORE), counters({ ...BEFORE, timestamp: 2000 }), null);
  for (const [name, value] of Object.entries(figures)) expect(value).toBe(name in known ? known[name] : 0);
});

describe("what is wrong is said in words", () => {
  const well: Figures = {
    ...{ rate: 60, bitrate: 10, height: 720, roundTrip: 20, arrival: 12 },
    ...{ buffer: 5, decoding: 3, lost: 0, requests: 0, freezes: 0, score: null },
    ...{ delay: 30, repair: 0, photon: null },
  };
  test.each<[Partial<Figures>, string]>([
    [{}, ""],
    [{ lost: 3 }, "loses 3 %"],
    [{ lost: 1.9 }, ""],
    [{ roundTrip: 140 }, "takes 140 ms"],
    [{ buffer: 31 }, "unevenly"],
    [{ lost: 3, freezes: 1 }, "stood still"],
  ])("%o", (figures, words) => {
    const said = wrongOf({ ...well, ...figures }, null);
    if (words === "") expect(said).toBe("");
    else expect(said).toContain(words);
  });

  test.each<[Partial<Quality>, string]>([
    [{}, ""],
    [{ bitrate: 0.6, delay: 60 }, "0.6 Mb/s are little for 60 frames/s"],
    [{ lost: 40, bitrate: 5 }, "40 % of the pictures are not shown"],
    [{ frameRate: 10, bitrate: 3, delay: 140 }, "Few pictures come: 10 frames/s"],
    [{ delay: 400 }, "come 400 ms after"],
  ])("a score that is low has a reason: %o", (quality, words) => {
    const said = wrongOf(well, opinion(quality));
    if (words === "") expect(said).toBe("");
    else expect(said).toContain(words);
    // What is known better is said first.
    expect(wrongOf({ ...well, freezes: 1 }, opinion(quality))).toContain("stood still");
  });
});
