import { describe, expect, test } from "vitest";
import { type Counters, type Figures, figuresOf } from "./figures";
import { wrongOf } from "./words";

type Video = Partial<RTCInboundRtpStreamStats>;

type Screen = Counters["screen"];

const SCREEN: Screen = { decoded: 60, decoding: 100, buffered: 60, waited: 600, freezes: 1, height: 720 };

function counters(video: Video, screen = SCREEN, roundTrip?: number, pictures = 10, waited = 100): Counters {
  const pair = roundTrip === undefined ? undefined : ({ currentRoundTripTime: roundTrip } as RTCIceCandidatePairStats);
  return { video: video as RTCInboundRtpStreamStats, pair, screen, displayed: { pictures, waited, missed: 0 } };
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
  const figures = figuresOf(counters(BEFORE), counters(now, screen, 0.025, 110, 2600));
  const wanted: Figures = {
    ...{ rate: 50, bitrate: 10, height: 720, roundTrip: 25, arrival: 25 },
    ...{ buffer: 15, decoding: 4, lost: 1, requests: 2, freezes: 1 },
  };
  for (const [name, value] of Object.entries(wanted)) expect(figures[name as keyof Figures]).toBeCloseTo(value, 9);
});

test("nothing that came is nothing, and no division by it", () => {
  const figures = figuresOf(counters(BEFORE), counters({ ...BEFORE, timestamp: 2000 }));
  for (const [name, value] of Object.entries(figures)) expect(value).toBe(name === "height" ? 720 : 0);
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
