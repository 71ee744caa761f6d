// Sees each encoded frame before it is decoded, with the time at which its last packet came.
export interface SeenFrame {
  key: boolean;
  timestamp: number;
  // Milliseconds since 1970, by the browser's clock: when the last packet came, and now.
  received: number;
  now: number;
  size: number;
}

interface Metadata {
  rtpTimestamp?: number;
  // Counts from the worker's own origin.
  receiveTime?: number;
}

interface TransformEvent {
  transformer: { readable: ReadableStream<RTCEncodedVideoFrame>; writable: WritableStream<RTCEncodedVideoFrame> };
}

function seen(frame: RTCEncodedVideoFrame): SeenFrame {
  const metadata = frame.getMetadata() as Metadata;
  return {
    key: frame.type === "key",
    timestamp: metadata.rtpTimestamp ?? frame.timestamp,
    received: performance.timeOrigin + (metadata.receiveTime ?? performance.now()),
    now: performance.timeOrigin + performance.now(),
    size: frame.data.byteLength,
  };
}

Object.assign(globalThis, {
  onrtctransform: async ({ transformer }: TransformEvent) => {
    postMessage({ ready: true });
    const reader = transformer.readable.getReader();
    const writer = transformer.writable.getWriter();
    for (;;) {
      const { done, value: frame } = await reader.read();
      if (done) return;
      postMessage(seen(frame));
      await writer.write(frame);
    }
  },
});
