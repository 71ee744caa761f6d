import type { SeenFrame } from "../connection/encoded";
import type { ScreenCounters } from "./ways";

export type ToWorker = { kind: "canvas"; canvas: OffscreenCanvas } | { kind: "counters" };

export interface CanvasOptions {
  // Bytes of each frame ahead of the access unit.
  header: number;
}

// Times in milliseconds since 1970, by the browser's clock.
export interface ShownFrame {
  timestamp: number;
  arrived: number;
  time: number;
  decoding: number;
  // Drawn over before they were displayed, in all.
  replaced: number;
  width: number;
  height: number;
}

export type FromWorker =
  | ({ kind: "seen" } & SeenFrame)
  | ({ kind: "shown" } & ShownFrame)
  | { kind: "key frame needed"; why: string }
  | { kind: "counters"; counters: ScreenCounters };
