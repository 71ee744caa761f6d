import type { Shown } from "./client";
import { counted, span } from "./words";

// A gateway tells something new each second; the data path leaves windows alone one second after its last heartbeat.
const SILENCE = 4000;

// What is wrong, in words; nothing if all is well.
export function troubleOf({ status, told, silent }: Shown, now: number): string | null {
  if (silent !== null) return `The gateway does not answer: ${silent}. What is below is old.`;
  if (status === null || told === null) return null;
  if (now - told > SILENCE) {
    return `The gateway has told nothing new for ${span((now - told) / 1000)}. Windows are left alone while it is silent.`;
  }
  return null;
}

// Records that were lost in the last minutes.
export function lossOf({ history }: Shown): string | null {
  const lost = history.deeds.reduce((sum, one) => sum + (one.deed === "lost-records" ? one.segments : 0), 0);
  return lost === 0 ? null : `${counted(lost, "segment")} passed unseen: the router was too busy.`;
}
