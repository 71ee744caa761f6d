// The delay from an input to its picture in parts that add up to it: each begins when the one before it ends.
import type { Reading } from "./clock";
import type { Times } from "./message";
import type { ObservedPicture } from "./observed";

// Where a part passes its time.
export type Where = "network" | "host" | "program" | "browser";

export interface Part {
  name: string;
  where: Where;
  // For who wants to know what it is.
  meaning: string;
}

export const PARTS: readonly Part[] = [
  { name: "Input to the host", where: "network", meaning: "from the page's press until the host has its message" },
  { name: "Injection", where: "host", meaning: "until the screen's server is given the key" },
  { name: "To the program", where: "program", meaning: "until the program has the key" },
  { name: "Program", where: "program", meaning: "until its answer is on the screen" },
  { name: "Wait for a capture", where: "host", meaning: "until the next capture begins" },
  { name: "Capture", where: "host", meaning: "until the picture is there to be encoded" },
  { name: "Encoding", where: "host", meaning: "until the last of it is encoded and cut into packets" },
  { name: "Pacing", where: "host", meaning: "until its last packet leaves" },
  { name: "Picture to the browser", where: "network", meaning: "until its last packet has come" },
  { name: "Jitter buffer", where: "browser", meaning: "until decoding begins, with waits after it" },
  { name: "Decoding", where: "browser", meaning: "as long as the decoder says" },
  { name: "Display", where: "browser", meaning: "from the page's composition to the display" },
];

export interface Press {
  // The number of its change.
  change: number;
  // When it was pressed.
  time: number;
}

export interface Row {
  press: Press;
  whole: number;
  // As many as there are parts, which add up to the whole.
  parts: readonly number[];
  // How far the host's clock may be off.
  error: number;
  // Pictures before this one showed it, too, and were not displayed.
  isLate: boolean;
  // The browser names a time of display before that of composition, which counts instead.
  isEarly: boolean;
}

// What a browser expects of its display may lie before the page's composition had the picture, which it was not displayed before.
const isEarly = ({ presented, displayed }: ObservedPicture) => displayed < presented;
const shown = (picture: ObservedPicture) => (isEarly(picture) ? picture.presented : picture.displayed);

// The ends of all parts on the page's clock, after the press itself.
function ends(times: Times, { offset }: Reading, picture: ObservedPicture): number[] {
  const began = Math.max(times.began, times.drawn);
  const atHost = [
    times.arrived,
    times.injected,
    times.got,
    times.drawn,
    began,
    times.captured,
    times.encoded,
    times.sent,
  ];
  const { received, decoding, presented } = picture;
  return [...atHost.map((time) => time - offset), received, presented - decoding, presented, shown(picture)];
}

export function rowOf(
  press: Press,
  { times, isFirst }: { times: Times; isFirst: boolean },
  reading: Reading,
  picture: ObservedPicture,
): Row {
  const all = [press.time, ...ends(times, reading, picture)];
  const parts = all.slice(1).map((end, at) => end - (all[at] ?? 0));
  return {
    press,
    whole: shown(picture) - press.time,
    parts,
    error: reading.error,
    isLate: !isFirst,
    isEarly: isEarly(picture),
  };
}

// The page's clock has steps of 0.1 ms, of which a part has two.
const STEPS = 0.2;

// Parts that are less than nothing by more than the clocks explain: something of this row is not as it is said.
export function impossible({ parts, error }: Row): number[] {
  const least = (at: number) => -STEPS - (PARTS[at]?.where === "network" ? error : 0);
  return [...parts.keys()].filter((at) => (parts[at] ?? 0) < least(at));
}

export interface Spread {
  median: number;
  high: number;
}

// The least value that a share of them do not exceed.
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const spreadOf = (values: readonly number[]): Spread => ({
  median: quantile(values, 0.5),
  high: quantile(values, 0.95),
});

export interface Summary {
  rows: readonly Row[];
  // Presses of which no picture or no time was found.
  lost: number;
  parts: readonly Spread[];
  whole: Spread;
  // How far the host's clock may be off, at the worst.
  error: number;
  // Rows with a part that is less than nothing.
  impossible: number;
  late: number;
  early: number;
}

export function summaryOf(rows: readonly Row[], lost: number): Summary {
  return {
    rows,
    lost,
    parts: PARTS.map((_, at) => spreadOf(rows.map(({ parts }) => parts[at] ?? 0))),
    whole: spreadOf(rows.map(({ whole }) => whole)),
    error: Math.max(0, ...rows.map(({ error }) => error)),
    impossible: rows.filter((row) => impossible(row).length > 0).length,
    late: rows.filter(({ isLate }) => isLate).length,
    early: rows.filter(({ isEarly }) => isEarly).length,
  };
}

const quoted = (text: string) => `"${text}"`;

// A line a press (RFC 4180), in milliseconds.
export function csvOf(rows: readonly Row[]): string {
  const head = ["Press", "Pressed at", ...PARTS.map(({ name }) => name), "Whole", "Clock error", "Pictures left out"];
  const lines = rows.map(({ press, whole, parts, error, isLate }, at) => [
    at + 1,
    ...[press.time, ...parts, whole, error].map((time) => time.toFixed(3)),
    isLate ? 1 : 0,
  ]);
  return [head.map(quoted), ...lines].map((line) => `${line.join(",")}\r\n`).join("");
}
