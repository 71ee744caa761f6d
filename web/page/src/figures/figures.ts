// What two looks at the browser's counters say together.
export interface Counters {
  video: RTCInboundRtpStreamStats;
  pair: RTCIceCandidatePairStats | undefined;
}

export interface Figures {
  rate: number;
  bitrate: number;
  height: number;
  roundTrip: number;
  buffer: number;
  decoding: number;
  lost: number;
  freezes: number;
}

export interface Shown {
  name: keyof Figures;
  unit: string;
  digits: number;
}

export const SHOWN: readonly Shown[] = [
  { name: "rate", unit: "frames/s", digits: 1 },
  { name: "bitrate", unit: "Mb/s", digits: 1 },
  { name: "height", unit: "lines", digits: 0 },
  { name: "roundTrip", unit: "ms round trip", digits: 0 },
  { name: "buffer", unit: "ms in the jitter buffer", digits: 1 },
  { name: "decoding", unit: "ms of decoding", digits: 1 },
  { name: "lost", unit: "% lost", digits: 1 },
];

type Counter = Exclude<
  {
    [Name in keyof RTCInboundRtpStreamStats]-?: RTCInboundRtpStreamStats[Name] extends number | undefined
      ? Name
      : never;
  }[keyof RTCInboundRtpStreamStats],
  "timestamp"
>;

export function figuresOf(before: Counters, now: Counters): Figures {
  const seconds = (now.video.timestamp - before.video.timestamp) / 1000;
  const grown = (name: Counter) => Math.max(0, (now.video[name] ?? 0) - (before.video[name] ?? 0));
  const each = (total: Counter, count: Counter) => (grown(count) > 0 ? grown(total) / grown(count) : 0);
  const [arrived, lost] = [grown("packetsReceived"), grown("packetsLost")];
  return {
    rate: grown("framesDecoded") / seconds,
    bitrate: (8e-6 * (grown("bytesReceived") + grown("headerBytesReceived"))) / seconds,
    height: now.video.frameHeight ?? 0,
    roundTrip: 1000 * (now.pair?.currentRoundTripTime ?? 0),
    buffer: 1000 * each("jitterBufferDelay", "jitterBufferEmittedCount"),
    decoding: 1000 * each("totalDecodeTime", "framesDecoded"),
    lost: arrived + lost > 0 ? (100 * lost) / (arrived + lost) : 0,
    freezes: grown("freezeCount"),
  };
}
