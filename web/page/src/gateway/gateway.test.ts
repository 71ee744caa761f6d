import { describe, expect, it } from "vitest";
import told from "../../../../crates/product/router/tests/page.json";
import { type Shown, withAnswer } from "./client";
import { reasonOf } from "./games";
import { lossOf, troubleOf } from "./health";
import { waitOf } from "./queue";
import { addressOf, type Deed, devicesOf, type History, joined, NOTHING, type Status, WINDOW } from "./state";
import { counted, millis, rate, size, span } from "./words";

// As the gateway writes them.
const status = told.status as Status;
const history = told.history as unknown as History;
const FRESH: Shown = { status: null, history: NOTHING, told: null, silent: null };

const point = (time_s: number) => ({ ...(history.points[0] as History["points"][number]), time_s });
const loss = (time_s: number): Deed => ({ time_s, deed: "lost-records", segments: 3 });

describe("what a gateway tells", () => {
  it("is put in devices, the fastest first", () => {
    const [only, ...others] = devicesOf(status.connections);
    expect(others).toEqual([]);
    expect(only?.address).toBe("192.168.7.2");
    expect(only?.rate_bps).toBe(19_300_000);
    const slow = { ...status.connections[0], receiver: "[fd00::2]:443", rate_bps: 5 } as Status["connections"][number];
    const devices = devicesOf([slow, ...status.connections]);
    expect(devices.map(({ address }) => address)).toEqual(["192.168.7.2", "fd00::2"]);
    expect(devices[0]?.connections.map(({ rate_bps }) => rate_bps)).toEqual([12_300_000, 7_000_000]);
  });

  it("has addresses of both families", () => {
    expect(["192.0.2.1:80", "[2001:db8::1]:443"].map(addressOf)).toEqual(["192.0.2.1", "2001:db8::1"]);
  });
});

describe("games and the own queue", () => {
  it("are told beside thresholds and in time", () => {
    const reason = { what: "rate", value: 8.44, bound: "at least", threshold: 2, unit: "Mb/s" };
    expect(reasonOf(reason)).toBe("rate 8.4 Mb/s (at least 2)");
    expect(reasonOf({ ...reason, what: "frames", value: 60, unit: "/s" })).toBe("frames 60 /s (at least 2)");
    const others = { sent_packets: 9, backlog_bytes: 25_000, drops: 0, marks: 0 };
    expect(waitOf(others, 20e6)).toBe(10);
    expect(waitOf(others, 0)).toBe(0);
  });
});

describe("the last minutes", () => {
  it("take what came later, and lose what is old", () => {
    let kept = NOTHING;
    for (let second = 0; second <= 1000; second++) {
      const newer = { points: [point(second - 1), point(second)], deeds: [loss(second)] };
      kept = joined(kept, newer);
    }
    expect(kept.points.map(({ time_s }) => time_s)).toEqual(Array.from({ length: WINDOW + 1 }, (_, at) => 700 + at));
    expect(kept.deeds.length).toBe(100);
    expect(kept.deeds.at(-1)?.time_s).toBe(1000);
  });

  it("begin anew with the gateway", () => {
    const first = withAnswer(FRESH, status, history, 1);
    expect(first.history).toEqual(history);
    const again = withAnswer(first, { ...status, process: 43, time_s: 0 }, { points: [point(0)], deeds: [] }, 2);
    expect(again.history).toEqual({ points: [point(0)], deeds: [] });
    expect(again.told).toBe(2);
  });
});

describe("health", () => {
  const first = withAnswer(FRESH, status, history, 1000);
  it("is in doubt when nothing new is told for a while, and only then", () => {
    expect(troubleOf(FRESH, 1e6)).toBeNull();
    expect(troubleOf(first, 4000)).toBeNull();
    const same = withAnswer(first, status, NOTHING, 9000);
    expect(troubleOf(same, 9000)).toContain("told nothing new for 8 s");
    const newer = withAnswer(first, { ...status, time_s: status.time_s + 1 }, NOTHING, 9000);
    expect(troubleOf(newer, 9000)).toBeNull();
    expect(troubleOf({ ...first, silent: "this page is for the home" }, 1000)).toContain("for the home");
  });

  it("tells of segments that passed unseen", () => {
    expect(lossOf(first)).toBeNull();
    expect(lossOf({ ...first, history: { points: [], deeds: [loss(1), loss(2)] } })).toContain("6 segments passed");
  });
});

describe("quantities", () => {
  it("have the digits of the gateway's terminal", () => {
    expect([3, 60, 3599, 90_000].map(span)).toEqual(["3 s", "1 min 0 s", "59 min 59 s", "1 d 1 h"]);
    expect([2920, 48_000, 2_500_000].map(size)).toEqual(["2.9 kB", "48 kB", "2.50 MB"]);
    expect([0.25, 12.3, 120].map(millis)).toEqual(["0.3 ms", "12 ms", "120 ms"]);
    expect([412_000, 19_300_000].map(rate)).toEqual(["0.41 Mb/s", "19.3 Mb/s"]);
    expect([counted(1, "rule"), counted(1200, "rule")]).toEqual(["1 rule", "1,200 rules"]);
  });
});
