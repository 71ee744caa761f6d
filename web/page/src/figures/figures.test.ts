import { describe, expect, test } from "vitest";
import { type Counters, type Figures, figuresOf } from "./figures";
import { wrongOf } from "./words";

type Video = Partial<RTCInboundRtpStreamStats>;

function counters(video: Video, roundTrip?: number, displayed = { pictures: 10, waited: 100 }): Counters {
  const pair = roundTrip === undefined ? undefined : ({ currentRoundTripTime: roundTrip } as RTCIceCandidatePairStats);
  return { video: video as RTCInboundRtpStreamStats, pair, displayed };
}

const BEFORE: Video = {
  timestamp: 1000,
  framesDecoded: 60,
  bytesReceived: 1_000_000,
  headerBytesReceived: 10_000,
  packetsReceived: 900,
  packetsLost: 10,
  jitterBufferDelay: 0.6,
  jitterBufferEmittedCount: 60,
  totalDecodeTime: 0.1,
  freezeCount: 1,
  nackCount: 5,
};

test("figures are what grew between two looks", () => {
  const now: Video = {
    timestamp: 3000,
    framesDecoded: 160,
    bytesReceived: 3_400_000,
    headerBytesReceived: 110_000,
    packetsReceived: 2880,
    packetsLost: 30,
    jitterBufferDelay: 2.1,
    jitterBufferEmittedCount: 160,
    totalDecodeTime: 0.5,
    frameHeight: 720,
    freezeCount: 2,
    nackCount: 9,
  };
  const figures = figuresOf(counters(BEFORE), counters(now, 0.025, { pictures: 110, waited: 2600 }));
  const wanted: Figures = {
    ...{ rate: 50, bitrate: 10, height: 720, roundTrip: 25, arrival: 25 },
    ...{ buffer: 15, decoding: 4, lost: 1, requests: 2, freezes: 1 },
  };
  for (const [name, value] of Object.entries(wanted)) expect(figures[name as keyof Figures]).toBeCloseTo(value, 9);
});

test("nothing that came is nothing, and no division by it", () => {
  const figures = figuresOf(counters(BEFORE), counters({ ...BEFORE, timestamp: 2000 }));
  for (const value of Object.values(figures)) expect(value).toBe(0);
});

describe("what is wrong is said in words", () => {
  const well: Figures = {
    ...{ rate: 60, bitrate: 10, height: 720, roundTrip: 20, arrival: 12 },
    ...{ buffer: 5, decoding: 3, lost: 0, requests: 0, freezes: 0 },
  };
  test.each<[Partial<Figures>, string]>([
    [{}, ""],
    [{ lost: 3 }, "loses 3 %"],
    [{ lost: 1.9 }, ""],
    [{ roundTrip: 140 }, "takes 140 ms"],
    [{ buffer: 31 }, "unevenly"],
    [{ lost: 3, freezes: 1 }, "stood still"],
  ])("%o", (figures, words) => {
    const said = wrongOf({ ...well, ...figures });
    if (words === "") expect(said).toBe("");
    else expect(said).toContain(words);
  });
});
