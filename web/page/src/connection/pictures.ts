import { facts } from "../facts";
import { PRESENTED, type Reports } from "./reports";

function count(now: number, { width, height }: VideoFrameCallbackMetadata): void {
  facts.frames += 1;
  facts.size = `${width}x${height}`;
  facts.first ??= now;
  facts.last = now;
  facts.rate = (1000 * (facts.frames - 1)) / Math.max(1, now - facts.first);
}

// Counts and reports each picture that is presented.
export function watchPictures(video: HTMLVideoElement, reports: Reports): void {
  const onPicture: VideoFrameRequestCallback = (now, metadata) => {
    count(now, metadata);
    reports.send({
      kind: PRESENTED,
      timestamp: metadata.rtpTimestamp ?? 0,
      time: metadata.expectedDisplayTime,
      detail: Math.round(1e6 * (metadata.processingDuration ?? 0)),
    });
    video.requestVideoFrameCallback(onPicture);
  };
  video.requestVideoFrameCallback(onPicture);
}
