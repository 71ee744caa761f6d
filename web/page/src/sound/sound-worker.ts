// Sees each packet of sound before the browser's jitter buffer does, and leaves out what came too late.
import { metadataOf, type TransformEvent } from "../connection/encoded";
import { LateSound } from "./late";

// Of a packet, in milliseconds: the host's.
const DURATION = 10;

export interface Heard {
  // Packets that were left out so far.
  leftOut: number;
}

Object.assign(globalThis, {
  onrtctransform: async ({ transformer }: TransformEvent<unknown, RTCEncodedAudioFrame>) => {
    const sound = new LateSound();
    const reader = transformer.readable.getReader();
    const writer = transformer.writable.getWriter();
    let leftOut = 0;
    for (;;) {
      const { done, value: frame } = await reader.read();
      if (done) return;
      // Not all browsers tell when a packet came, nor all its timestamp here.
      const { rtpTimestamp = frame.timestamp, receiveTime = performance.now() } = metadataOf(frame);
      if (sound.isLate(rtpTimestamp, receiveTime, DURATION)) {
        leftOut += 1;
        postMessage({ leftOut } satisfies Heard);
      } else await writer.write(frame);
    }
  },
});
