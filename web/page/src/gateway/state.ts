// What a gateway tells, as `crates/product/router/src/status.rs` and `history.rs` write it, and what this page makes of it.

export interface Connection {
  sender: string;
  receiver: string;
  rate_bps: number;
  limit_bytes: number | null;
  limited_s: number | null;
  left_alone: boolean;
}

// A figure that a game was found by, beside its threshold.
export interface Reason {
  what: string;
  value: number;
  bound: string;
  threshold: number;
  unit: string;
}

export interface Game {
  sender: string;
  receiver: string;
  protocol: string;
  by: "behaviour" | "dscp" | "rule";
  name: string | null;
  for_s: number;
  rate_bps: number;
  confidence: number | null;
  reasons: readonly Reason[];
}

export interface Games {
  found: readonly Game[];
  more: number;
  others: number;
}

// What was counted of games, or of all others.
export interface QueueClass {
  sent_packets: number;
  backlog_bytes: number;
  drops: number;
  marks: number;
}

export interface OwnQueue {
  kind: string;
  rate_bps: number;
  game: QueueClass;
  others: QueueClass;
}

export interface Status {
  process: number;
  home: string;
  time_s: number;
  wait_ms: number | null;
  wait_minute: { median_ms: number; p99_ms: number; readings: number } | null;
  wait_behind_ms: number | null;
  limited: number;
  segments: number;
  lowered: number;
  lost_records: number;
  fragments: number;
  others: number;
  to_home_bps: number;
  from_home_bps: number;
  exceptions: number;
  games: Games;
  own_queue: OwnQueue | null;
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
