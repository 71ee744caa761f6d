// What the lab tells (`GET /lab`), and the last minute of it.
export interface Knobs {
  capacity: string;
  rtt: string;
  loss: string;
  jitter: string;
  queue: string;
  size: string;
  gateway: string;
  controller: string;
  downloads: string[];
}

export type Choices = { [Name in keyof Knobs]: string[] };

export interface Flow {
  name: string;
  mbps: number;
  dropped: number;
}

export interface Now {
  seconds: number;
  capacity_mbps: number;
  queue_ms: number;
  queue_kb: number;
  flows: Flow[];
}

export interface Question {
  name: string;
  text: string;
  // The worst first: an answer is told as its place, from one.
  answers: string[];
}

interface Always {
  // Nothing before the first look, and in a blind test.
  now: Now | null;
  // Whether what happens is recorded.
  keep: boolean;
  scenario: { name: string; seconds: number; of: number } | null;
  questions: Question[] | null;
  note: string | null;
}

export interface Open extends Always {
  blind: false;
  knobs: Knobs;
  choices: Choices;
  // Downloads that the lab's machine cannot do, with the reason.
  lacking: Record<string, string>;
  // What stands beside the box of another one: it is being prepared, or why it did not begin.
  remarks: Record<string, string>;
}

// The player must not see the condition.
interface Blind extends Always {
  blind: true;
}

export type LabState = Open | Blind;

// Seconds.
export const WINDOW = 60;

export type History = readonly Now[];

// The last minute with the newest; a clock that went back is a lab that began anew.
export function withNewest(history: History, now: Now | null): History {
  if (now === null) return history;
  const newest = history.at(-1);
  if (newest?.seconds === now.seconds) return history;
  const before = newest !== undefined && newest.seconds > now.seconds ? [] : history;
  return [...before.filter(({ seconds }) => seconds > now.seconds - WINDOW), now];
}

// One line each, in the order in which they came; what is not there has no value.
export function linesOf(history: History): { name: string; values: (number | null)[] }[] {
  const names = [...new Set(history.flatMap(({ flows }) => flows.map(({ name }) => name)))];
  return names.map((name) => ({
    name,
    values: history.map(({ flows }) => flows.find((flow) => flow.name === name)?.mbps ?? null),
  }));
}

// The choices of a slider: what is set stands among them, though it may come from a file.
export function placesOf(choices: readonly string[], set: string): readonly string[] {
  return choices.includes(set) ? choices : [set, ...choices];
}
