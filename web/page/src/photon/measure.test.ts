import { expect, test } from "vitest";
import { HostClock } from "./clock";
import { measure } from "./measure";
import { TIMES } from "./message";
import type { ObservedPicture } from "./observed";

const FRAME = 5;
const known = Object.fromEntries(TIMES.map((name) => [name, 1])) as Record<(typeof TIMES)[number], number>;

// A page that shows a picture each 5 ms, with the card's number as its width; the host knows these time stamps of a press.
function played(read: (picture: ObservedPicture, presses: number) => number, knows: (timestamp: number) => boolean) {
  let presses = 0;
  let rtpTimestamp = 0;
  const asked: number[] = [];
  const clock = new HostClock();
  clock.on(0, 0, 0.2);
  return {
    asked,
    means: {
      presser: {
        press: async () => {
          presses += 1;
          return { change: 2 * presses - 1, time: performance.now() };
        },
        release: () => {},
      },
      observe: (told: (picture: ObservedPicture) => void) => {
        const timer = setInterval(() => {
          rtpTimestamp += 1;
          const now = performance.now();
          const times = { received: now, decoding: 0, presented: now, displayed: now };
          told({ rtpTimestamp, ...times, source: {} as CanvasImageSource, width: 1, height: 1 });
        }, FRAME);
        return () => clearInterval(timer);
      },
      read: (picture: unknown) => read(picture as ObservedPicture, presses),
      times: {
        clock,
        ask: () => {},
        timesOf: async (change: number, timestamp: number) => {
          asked.push(timestamp);
          const answer = { time: 1, hostTime: 1, change, timestamp, times: known, isFirst: true };
          return knows(timestamp) ? answer : null;
        },
      },
    },
  };
}

test("each press has the first picture that shows another number", async () => {
  const { means, asked } = played(
    (_, presses) => presses,
    () => true,
  );
  const summary = await measure(means, 3, () => true);
  expect([summary.rows.length, summary.lost, asked.length]).toEqual([3, 0, 3]);
});

test("where a newer picture was read than the page was told of, the next one is the first", async () => {
  const wrong: number[] = [];
  const { means, asked } = played(
    (_, presses) => presses,
    (timestamp) => {
      // The host knows that the first of a press did not show it.
      if (asked.length % 2 === 1) wrong.push(timestamp);
      return asked.length % 2 === 0;
    },
  );
  const summary = await measure(means, 2, () => true);
  expect([summary.rows.length, summary.lost]).toEqual([2, 0]);
  expect(asked).toEqual(wrong.flatMap((timestamp) => [timestamp, timestamp + 1]));
});

test("a press of which the host knows no picture is lost", async () => {
  const { means } = played(
    (_, presses) => presses,
    () => false,
  );
  const summary = await measure(means, 2, () => true);
  expect([summary.rows.length, summary.lost]).toEqual([0, 2]);
});
