// Encoded frames as a worker is given them (WebRTC Encoded Transform, W3C), ahead of the decoder.

export interface TransformEvent<Options = unknown, Frame = RTCEncodedVideoFrame> {
  transformer: {
    readable: ReadableStream<Frame>;
    writable: WritableStream<Frame>;
    options: Options;
  };
}

export interface Metadata {
  rtpTimestamp?: number;
  // Counts from the worker's own origin.
  receiveTime?: number;
  mimeType?: string;
  // The frame's number and those to which it refers, where the host says so.
  frameId?: number;
  dependencies?: number[];
}

export interface SeenFrame {
  key: boolean;
  timestamp: number;
  // Milliseconds since 1970, by the browser's clock: when the last packet came, and now.
  received: number;
  now: number;
  size: number;
}

export const metadataOf = (frame: RTCEncodedVideoFrame | RTCEncodedAudioFrame) => frame.getMetadata() as Metadata;

// Since 1970, which the page knows as well.
export const ofPage = (time: number) => performance.timeOrigin + time;

export function seen(frame: RTCEncodedVideoFrame): SeenFrame {
  const { rtpTimestamp = frame.timestamp, receiveTime } = metadataOf(frame);
  const now = performance.now();
  return {
    key: frame.type === "key",
    timestamp: rtpTimestamp,
    received: ofPage(receiveTime ?? now),
    now: ofPage(now),
    size: frame.data.byteLength,
  };
}
