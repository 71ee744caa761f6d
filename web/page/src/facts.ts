// What the page knows of the stream, for the line below the picture and for who looks at the page from outside
// (`window.gameway`: tests and measurements).
import type { Figures } from "./figures/figures";
import type { Box } from "./input/picture";
import type { Summary } from "./photon/parts";
import type { Screen } from "./screen/screen";

export interface Facts {
  frames: number;
  reports: number;
  size: string;
  connection: string;
  // Milliseconds of the page's own clock, at the first and at the newest picture.
  first?: number;
  last?: number;
  rate?: number;
  // Why the host ended the stream.
  ended?: string;
  error?: string;
  // Why there is no connection yet, as far as this page can tell.
  obstacle?: string | undefined;
  workerError?: string;
  // Frames that the worker saw, and how long after the last packet of the newest one.
  received?: number;
  lag?: number;
  // Packets of sound that came too late to be played.
  soundLeftOut?: number;
  readonly figures?: Figures | null;
  readonly input?: { held: boolean; waiting: number; messages: number; newest: number };
  readonly gamepads?: { pads: number; held: boolean; waiting: boolean; messages: number };
  readonly picture?: Box;
  readonly screen?: Screen;
  readonly photon?: Summary | null;
}

declare global {
  interface Window {
    gameway: Facts;
    connection?: RTCPeerConnection;
  }
}

export const facts: Facts = { frames: 0, reports: 0, size: "", connection: "new" };

// A fact that is read anew each time.
export function tell<Name extends "figures" | "gamepads" | "input" | "photon" | "picture" | "screen">(
  name: Name,
  read: () => Facts[Name],
): void {
  Object.defineProperty(facts, name, { get: read, configurable: true, enumerable: true });
}

export function statusOf({ ended, connection, size, frames, rate = 0 }: Facts): string {
  return `${ended ?? connection} · ${size} · ${frames} frames · ${rate.toFixed(1)} frames/s`;
}
