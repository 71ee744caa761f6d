// Which way to the screen is the shorter one, by what was measured in this session: begins with `video`, whose first picture comes
// soonest, and tries `canvas` only where whole pictures are held. Decides once, so that it never goes to and fro.
import type { WayName } from "./ways";

// Of a second, in milliseconds.
export interface Sample {
  // From a picture's last packet to its display.
  arrival: number;
  // Of that.
  decoding: number;
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
// Milliseconds that are worth a trial: longer than a decoded picture waits for the next refresh of 60 a second, or more than at
// first. From its first packet to its last a picture is no whole one yet, by either way.
const REFRESH = 17;
const MORE = 5;
// By so much must the other way be shorter.
const GAIN = 2;
// A way that is longer by a frame interval of 60 frames/s for two seconds, not counting its first one, is not tried any further.
const LONGER = 17;
const LONG_ENOUGH = 2;

export const BEGIN: Choice = { way: "video", why: "measuring", phase: "first", samples: [] };

export const decided = (way: WayName, why: string): Choice => ({ way, why, phase: "decided", samples: [] });

function median(samples: readonly Sample[], name: keyof Sample): number {
  const sorted = samples.map((sample) => sample[name]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

const middle = (samples: readonly Sample[]): Sample => ({
  arrival: median(samples, "arrival"),
  decoding: median(samples, "decoding"),
});

const held = ({ arrival, decoding }: Sample) => arrival - decoding;

const ms = (time: number) => `${time.toFixed(1)} ms`;

function trial(choice: Choice, before: Sample, why: string): Choice {
  return { ...choice, way: "canvas", why: `${why}: trying this one`, phase: "trial", samples: [], before };
}

function afterFirst(choice: Choice, now: Sample): Choice {
  if (held(now) > REFRESH) return trial(choice, now, `pictures were held for ${ms(held(now))}`);
  const why = `pictures are held for ${ms(held(now))} only`;
  return { ...choice, why, phase: "watch", samples: [], first: now };
}

function watched(choice: Choice): Choice {
  const now = middle(choice.samples);
  const more = held(now) - (choice.first ? held(choice.first) : 0);
  return more > MORE ? trial(choice, now, `pictures came to be held for ${ms(more)} more`) : choice;
}

function afterTrial(choice: Choice, now: Sample): Choice {
  const before = choice.before?.arrival ?? 0;
  const isShorter = now.arrival < before - GAIN;
  const why = `from arrival to display it took ${ms(before)} by video, ${ms(now.arrival)} by canvas`;
  return { ...choice, way: isShorter ? "canvas" : "video", why, phase: "decided", samples: [] };
}

function isHopeless({ phase, before, samples }: Choice): boolean {
  const newest = samples.slice(1).slice(-LONG_ENOUGH);
  const isLonger = ({ arrival }: Sample) => arrival > (before?.arrival ?? 0) + LONGER;
  return phase === "trial" && newest.length === LONG_ENOUGH && newest.every(isLonger);
}

export function chosen(before: Choice, sample: Sample): Choice {
  if (before.phase === "decided") return before;
  const max = before.phase === "watch" ? WATCHED : SETTLING + LOOKED_AT;
  const choice = { ...before, samples: [...before.samples, sample].slice(-max) };
  if (isHopeless(choice)) return afterTrial(choice, middle(choice.samples.slice(-LONG_ENOUGH)));
  if (choice.samples.length < max) return choice;
  if (choice.phase === "watch") return watched(choice);
  const now = middle(choice.samples.slice(SETTLING));
  return choice.phase === "first" ? afterFirst(choice, now) : afterTrial(choice, now);
}
