// What two looks at the counters of browser and screen say together.
import type { Opinion, Sent } from "../opinion/judge";
import type { ScreenCounters } from "../screen/ways";

// What the page itself counted of the pictures that were displayed.
export interface Displayed {
  pictures: number;
  // Milliseconds from their last packet to their display, added up.
  waited: number;
  // Displayed, too, without a word of it: not among those above.
  missed: number;
}

export interface Counters {
  // What the host said last of what it has sent.
  sent: Sent | null;
  video: RTCInboundRtpStreamStats;
  pair: RTCIceCandidatePairStats | undefined;
  screen: ScreenCounters;
  displayed: Displayed;
}

export interface Figures {
  rate: number;
  bitrate: number;
  height: number;
  roundTrip: number;
  arrival: number;
  buffer: number;
  decoding: number;
  lost: number;
  // For packets that are missing. What came again is not known: the host pads on the same stream.
  requests: number;
  freezes: number;
  // Of a frame, in the last second; null while the host does not say.
  delay: number | null;
  // Of what was sent, in the last second; likewise.
  repair: number | null;
  // From key to picture, by the newest measurement; null without one.
  photon: number | null;
  // By ITU-T G.1072, over the last ten seconds; null while it is not known.
  score: number | null;
}

export interface Shown {
  name: keyof Figures;
  unit: string;
  digits: number;
}

export const SHOWN: readonly Shown[] = [
  { name: "score", unit: "opinion score, 1.3 to 4.6", digits: 1 },
  { name: "rate", unit: "frames/s", digits: 1 },
  { name: "bitrate", unit: "Mb/s", digits: 1 },
  { name: "height", unit: "lines", digits: 0 },
  { name: "delay", unit: "ms from capture to display", digits: 0 },
  { name: "photon", unit: "ms from key to picture, when measured", digits: 0 },
  { name: "roundTrip", unit: "ms round trip", digits: 0 },
  { name: "arrival", unit: "ms from arrival to display", digits: 1 },
  { name: "buffer", unit: "ms in the jitter buffer", digits: 1 },
  { name: "decoding", unit: "ms of decoding", digits: 1 },
  { name: "lost", unit: "% lost", digits: 1 },
  { name: "requests", unit: "requests for lost packets/s", digits: 1 },
  { name: "repair", unit: "% repair", digits: 1 },
];

type Stats = RTCInboundRtpStreamStats;
type Counter = {
  [Name in keyof Stats]-?: Stats[Name] extends number | undefined ? Name : never;
}[keyof Stats];

const ratio = (part: number, all: number) => (all > 0 ? part / all : 0);

// What the host said last, less what it had said by the look before.
function ofHost(before: Sent | null, now: Sent | null): Pick<Figures, "delay" | "repair"> {
  const grown = (name: keyof Sent) => (before && now ? now[name] - before[name] : 0);
  const share = (part: keyof Sent, all: keyof Sent, scale: number) =>
    grown(all) > 0 ? (scale * grown(part)) / grown(all) : null;
  return { delay: share("delay_us", "displayed", 1e-3), repair: share("repair", "wire", 100) };
}

export function figuresOf(
  before: Counters,
  now: Counters,
  opinion: Opinion | null,
  photon: number | null = null,
): Figures {
  const seconds = (now.video.timestamp - before.video.timestamp) / 1000;
  const grown = (name: Counter) => Math.max(0, (now.video[name] ?? 0) - (before.video[name] ?? 0));
  const [arrived, lost] = [grown("packetsReceived"), grown("packetsLost")];
  const screen = (name: keyof ScreenCounters) => Math.max(0, now.screen[name] - before.screen[name]);
  const decoded = screen("decoded");
  const [waited, pictures] = [
    now.displayed.waited - before.displayed.waited,
    now.displayed.pictures - before.displayed.pictures,
  ];
  return {
    rate: decoded / seconds,
    bitrate: (8e-6 * (grown("bytesReceived") + grown("headerBytesReceived"))) / seconds,
    height: now.screen.height,
    roundTrip: 1000 * (now.pair?.currentRoundTripTime ?? 0),
    arrival: ratio(waited, pictures),
    buffer: ratio(screen("waited"), screen("buffered")),
    decoding: ratio(screen("decoding"), decoded),
    lost: 100 * ratio(lost, arrived + lost),
    requests: grown("nackCount") / seconds,
    freezes: screen("freezes"),
    ...ofHost(before.sent, now.sent),
    photon,
    score: opinion?.score ?? null,
  };
}
