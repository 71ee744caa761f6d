// Tells of each encoded frame that passes, between encoder and packetizer or between jitter buffer and decoder.
"use strict";

const HAND_OVER_MS = 100;

onrtctransform = ({ transformer: { readable, writable, options } }) => {
  const told = [];
  setInterval(() => told.length && postMessage(told.splice(0)), HAND_OVER_MS);
  const watch = new TransformStream({
    transform(frame, passed) {
      const at = performance.timeOrigin + performance.now();
      const { rtpTimestamp, synchronizationSource, receiveTime, timestamp } = frame.getMetadata();
      const came = receiveTime === undefined ? null : performance.timeOrigin + receiveTime;
      told.push({ what: options.what, at, came, rtp: rtpTimestamp, source: synchronizationSource,
        bytes: frame.data.byteLength, key: frame.type === "key", timestamp: timestamp ?? null });
      passed.enqueue(frame);
    },
  });
  readable.pipeThrough(watch).pipeTo(writable);
};
