// Two ways from the network to the screen. `video`: the browser's own jitter buffer and decoder. `canvas`: frames are taken out
// ahead of these, decoded at once and drawn.

export const WAYS = ["video", "canvas"] as const;
export type WayName = (typeof WAYS)[number];

// One that is displayed; times in milliseconds of the page's clock.
export interface Picture {
  timestamp: number;
  // Its last packet came, where the browser tells.
  arrived: number | undefined;
  // It was given to the page's composition, or drawn.
  presented: number;
  // It is on the display, as far as the browser tells.
  time: number;
  decoding: number;
  // Pictures since the one before that went to the screen too, of which the browser did not tell by themselves.
  missed: number;
  width: number;
  height: number;
  image: CanvasImageSource;
}

// All grow; times in milliseconds.
export interface ScreenCounters {
  decoded: number;
  decoding: number;
  // Frames that were decoded and their waits: `video` from the first packet, `canvas` from the last one, until decoding begins.
  buffered: number;
  waited: number;
  freezes: number;
  height: number;
}

export interface Way {
  readonly name: WayName;
  // Where its packets are to come, once it is needed.
  transceiver(): RTCRtpTransceiver;
  has(receiver: RTCRtpReceiver): boolean;
  // It tells of pictures, until it is to stop.
  start(): void;
  stop(): void;
  counters(stats: RTCInboundRtpStreamStats): Promise<ScreenCounters>;
}
