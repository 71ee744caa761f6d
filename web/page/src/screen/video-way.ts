import type { Wires } from "../connection/wires";
import type { Picture, ScreenCounters, Way } from "./ways";

interface Parts {
  video: HTMLVideoElement;
  wires: Wires;
  onPicture(picture: Picture): void;
}

export class VideoWay implements Way {
  readonly name = "video";
  readonly #parts: Parts;
  #transceiver: RTCRtpTransceiver | undefined;
  #callback: number | undefined;
  #presented: number | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  transceiver(): RTCRtpTransceiver {
    this.#transceiver ??= this.#parts.wires.connection.addTransceiver("video", { direction: "recvonly" });
    return this.#transceiver;
  }

  has(receiver: RTCRtpReceiver): boolean {
    return this.#transceiver?.receiver === receiver;
  }

  start(): void {
    this.#presented = undefined;
    this.#wait();
  }

  stop(): void {
    if (this.#callback !== undefined) this.#parts.video.cancelVideoFrameCallback(this.#callback);
    this.#callback = undefined;
    // Chromium shows nothing more of a track that was silent for a while: the next time there is another one.
    this.#transceiver?.stop();
    this.#transceiver = undefined;
  }

  async counters(stats: RTCInboundRtpStreamStats): Promise<ScreenCounters> {
    return {
      decoded: stats.framesDecoded ?? 0,
      decoding: 1000 * (stats.totalDecodeTime ?? 0),
      buffered: stats.jitterBufferEmittedCount ?? 0,
      waited: 1000 * (stats.jitterBufferDelay ?? 0),
      freezes: stats.freezeCount ?? 0,
      height: stats.frameHeight ?? 0,
    };
  }

  #wait(): void {
    this.#callback = this.#parts.video.requestVideoFrameCallback((_, metadata) => {
      this.#wait();
      this.#tell(metadata);
    });
  }

  #tell(metadata: VideoFrameCallbackMetadata): void {
    const before = this.#presented ?? metadata.presentedFrames - 1;
    this.#presented = metadata.presentedFrames;
    this.#parts.onPicture({
      timestamp: metadata.rtpTimestamp ?? 0,
      arrived: metadata.receiveTime,
      presented: metadata.presentationTime,
      time: metadata.expectedDisplayTime,
      decoding: 1000 * (metadata.processingDuration ?? 0),
      missed: Math.max(0, metadata.presentedFrames - before - 1),
      width: metadata.width,
      height: metadata.height,
      image: this.#parts.video,
    });
  }
}
