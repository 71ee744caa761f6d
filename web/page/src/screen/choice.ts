// Which way to the screen is the shorter one, by what was measured in this session: begins with `video`, whose first picture comes
// soonest, and tries `canvas` only where the jitter buffer holds frames. Decides once, so that it never goes to and fro.
import type { WayName } from "./ways";

// Of a second, in milliseconds.
export interface Sample {
  // In the jitter buffer.
  buffer: number;
  // From a picture's last packet to its display.
  arrival: number;
}

export interface Choice {
  readonly way: WayName;
  readonly why: string;
  readonly phase: "first" | "watch" | "trial" | "decided";
  readonly samples: readonly Sample[];
  // What `video` had at first, and when the trial began.
  readonly first?: Sample;
  readonly before?: Sample;
}

// Seconds after a change of way that say nothing: a key frame and what waits behind it.
const SETTLING = 3;
const LOOKED_AT = 5;
// A creep is looked for in the last half of a minute.
const WATCHED = 30;
// Milliseconds in the buffer, or more than at first, that are worth a trial: a third of a frame interval.
const HELD = 5;
// By so much must the other way be shorter.
const GAIN = 2;

export const BEGIN: Choice = { way: "video", why: "measuring", phase: "first", samples: [] };

export const decided = (way: WayName, why: string): Choice => ({ way, why, phase: "decided", samples: [] });

function median(samples: readonly Sample[], name: keyof Sample): number {
  const sorted = samples.map((sample) => sample[name]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

const middle = (samples: readonly Sample[]): Sample => ({
  buffer: median(samples, "buffer"),
  arrival: median(samples, "arrival"),
});

const ms = (time: number) => `${time.toFixed(1)} ms`;

function trial(choice: Choice, before: Sample, why: string): Choice {
  return { ...choice, way: "canvas", why: `${why}: trying this one`, phase: "trial", samples: [], before };
}

function afterFirst(choice: Choice, now: Sample): Choice {
  if (now.buffer > HELD) return trial(choice, now, `the jitter buffer held pictures for ${ms(now.buffer)}`);
  const why = `the jitter buffer holds pictures for ${ms(now.buffer)} only`;
  return { ...choice, why, phase: "watch", samples: [], first: now };
}

function watched(choice: Choice): Choice {
  const now = middle(choice.samples);
  const more = now.buffer - (choice.first?.buffer ?? 0);
  return more > HELD ? trial(choice, now, `the jitter buffer came to hold pictures for ${ms(more)} more`) : choice;
}

function afterTrial(choice: Choice, now: Sample): Choice {
  const before = choice.before?.arrival ?? 0;
  const isShorter = now.arrival < before - GAIN;
  const why = `from arrival to display it took ${ms(before)} by video, ${ms(now.arrival)} by canvas`;
  return { ...choice, way: isShorter ? "canvas" : "video", why, phase: "decided", samples: [] };
}

export function chosen(before: Choice, sample: Sample): Choice {
  if (before.phase === "decided") return before;
  const most = before.phase === "watch" ? WATCHED : SETTLING + LOOKED_AT;
  const choice = { ...before, samples: [...before.samples, sample].slice(-most) };
  if (choice.samples.length < most) return choice;
  if (choice.phase === "watch") return watched(choice);
  const now = middle(choice.samples.slice(SETTLING));
  return choice.phase === "first" ? afterFirst(choice, now) : afterTrial(choice, now);
}
