import { facts } from "../facts";
import type { Displayed } from "../figures/figures";
import { PRESENTED, type Reports } from "./reports";

export const displayed: Displayed = { pictures: 0, waited: 0 };

function count(now: number, { width, height, receiveTime, expectedDisplayTime }: VideoFrameCallbackMetadata): void {
  facts.frames += 1;
  facts.size = `${width}x${height}`;
  facts.first ??= now;
  facts.last = now;
  facts.rate = (1000 * (facts.frames - 1)) / Math.max(1, now - facts.first);
  if (receiveTime === undefined) return;
  displayed.pictures += 1;
  displayed.waited += Math.max(0, expectedDisplayTime - receiveTime);
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
