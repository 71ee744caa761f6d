// What a gateway tells, as `crates/product/router/src/status.rs` and `history.rs` write it, and what this page makes of it.

export interface Connection {
  sender: string;
  receiver: string;
  rate_bps: number;
  limit_bytes: number | null;
  limited_s: number | null;
  left_alone: boolean;
}

export interface Status {
  process: number;
  home: string;
  time_s: number;
  wait_ms: number | null;
  wait_minute: { median_ms: number; p99_ms: number; readings: number } | null;
  limited: number;
  segments: number;
  lowered: number;
  lost_records: number;
  fragments: number;
  others: number;
  to_home_bps: number;
  from_home_bps: number;
  exceptions: number;
  connections: readonly Connection[];
  more_connections: number;
}

export interface Point {
  time_s: number;
  wait_ms: number | null;
  median_ms: number | null;
  p99_ms: number | null;
  to_home_bps: number;
  from_home_bps: number;
}

interface Ends {
  sender: string;
  receiver: string;
}

export type Deed = { time_s: number } & (
  | ({ deed: "limited"; limit_bytes: number } & Ends)
  | ({ deed: "released"; limited_s: number } & Ends)
  | { deed: "lost-records"; segments: number }
);

export interface History {
  points: readonly Point[];
  deeds: readonly Deed[];
}

// As the gateway keeps them.
export const WINDOW = 300;
const MAX_DEEDS = 100;

export const NOTHING: History = { points: [], deeds: [] };

// What is kept of both; of the newer one, only what came later counts.
export function joined(kept: History, newer: History): History {
  const since = Math.max(kept.points.at(-1)?.time_s ?? -1, kept.deeds.at(-1)?.time_s ?? -1);
  const isLater = ({ time_s }: { time_s: number }) => time_s > since;
  const points = [...kept.points, ...newer.points.filter(isLater)];
  const first = (points.at(-1)?.time_s ?? 0) - WINDOW;
  return {
    points: points.filter(({ time_s }) => time_s >= first),
    deeds: [...kept.deeds, ...newer.deeds.filter(isLater)].slice(-MAX_DEEDS),
  };
}

export interface Device {
  address: string;
  rate_bps: number;
  connections: readonly Connection[];
}

// The address of an end: what stands in front of its port.
export function addressOf(end: string): string {
  return end.slice(0, end.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

// Who downloads, the fastest first.
export function devicesOf(connections: readonly Connection[]): Device[] {
  const found = new Map<string, Connection[]>();
  for (const one of connections) {
    const address = addressOf(one.receiver);
    found.set(address, [...(found.get(address) ?? []), one]);
  }
  const devices = [...found].map(([address, own]) => ({
    address,
    rate_bps: own.reduce((sum, { rate_bps }) => sum + rate_bps, 0),
    connections: own.toSorted((a, b) => b.rate_bps - a.rate_bps),
  }));
  return devices.sort((a, b) => b.rate_bps - a.rate_bps || (a.address < b.address ? -1 : 1));
}
