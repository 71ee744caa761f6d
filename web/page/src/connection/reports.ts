// Reports of frames, over the channel "frames": magic "GF", version 1, number of records, the page's time, then 24 bytes each (big
// endian): kind (1 received, 2 presented, 3 key frame needed, 4 what was sent is asked for), flags (1 key frame, 2 decoded by the page), 2 bytes zero, RTP
// timestamp, time in microseconds, bytes of the frame (received) or microseconds of decoding (presented), pictures since the one
// before that were presented and not told of.
import { facts } from "../facts";
import type { Sent } from "../opinion/judge";
import { pause } from "../pause";

export const RECEIVED = 1;
export const PRESENTED = 2;
export const KEY_FRAME_NEEDED = 3;
export const COUNTS_WANTED = 4;

const HEAD = 12;
const RECORD = 24;
// Milliseconds between two looks at whether pictures are decoded: a key frame that was asked for comes sooner.
const DECODING_WATCH = 300;

// What came, and what was made of it, by the way to the screen that is to show it.
export interface Progress {
  packets: number;
  pictures: number;
}

export interface Report {
  kind: number;
  flags?: number;
  timestamp?: number;
  // Milliseconds of the page's clock.
  time: number;
  detail?: number;
  missed?: number;
}

const microseconds = (milliseconds: number) => BigInt(Math.max(0, Math.round(milliseconds * 1000)));

export function reportBytes(
  { kind, flags = 0, timestamp = 0, time, detail = 0, missed = 0 }: Report,
  now: number,
): ArrayBuffer {
  const message = new DataView(new ArrayBuffer(HEAD + RECORD));
  message.setUint16(0, 0x4746);
  message.setUint8(2, 1);
  message.setUint8(3, 1);
  message.setBigUint64(4, microseconds(now));
  message.setUint8(12, kind);
  message.setUint8(13, flags);
  message.setUint32(16, timestamp);
  message.setBigUint64(20, microseconds(time));
  message.setUint32(28, detail);
  message.setUint32(32, missed);
  return message.buffer as ArrayBuffer;
}

// What the host says here: what it has sent, when it was asked, and why it ends the stream.
type Told = { sent: Sent } | { ended: string };

export class Reports {
  // Hears what was sent so far.
  onSent: ((sent: Sent) => void) | undefined;
  readonly #channel: RTCDataChannel;

  constructor(connection: RTCPeerConnection, look: () => Promise<Progress>) {
    this.#channel = connection.createDataChannel("frames", { ordered: false, maxRetransmits: 0 });
    this.#channel.binaryType = "arraybuffer";
    this.#channel.onmessage = ({ data }) => {
      const told: Told = JSON.parse(new TextDecoder().decode(data));
      if ("ended" in told) {
        facts.ended = told.ended;
        // The host has ended it: a browser goes on playing silence until the page does, too.
        connection.close();
      } else this.onSent?.(told.sent);
    };
    this.#channel.onopen = () => this.#watchDecoding(look);
  }

  send(report: Report): void {
    if (this.#channel.readyState !== "open") return;
    this.#channel.send(reportBytes(report, performance.now()));
    facts.reports += 1;
  }

  // Packets come, but no picture of them can be decoded: the browser itself asks for a key frame only seconds later.
  async #watchDecoding(look: () => Promise<Progress>): Promise<void> {
    let before = { packets: 0, pictures: 0 };
    while (this.#channel.readyState === "open") {
      await pause(DECODING_WATCH);
      const now = await look();
      const isStalled = now.packets > before.packets && now.pictures === before.pictures;
      if (isStalled) this.send({ kind: KEY_FRAME_NEEDED, time: performance.now() });
      before = now;
    }
  }
}
