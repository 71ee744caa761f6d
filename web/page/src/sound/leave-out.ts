import { facts } from "../facts";
import type { Heard } from "./sound-worker";
import SoundWorker from "./sound-worker?worker&inline";

// Sound that comes too late is not played from now on, if the browser hands out packets. To be called as soon as there is the receiver:
// Chromium takes its transform then.
export function leaveOutLate(receiver: RTCRtpReceiver): void {
  if (!("RTCRtpScriptTransform" in window)) return;
  const worker = new SoundWorker();
  worker.onmessage = ({ data }: MessageEvent<Heard>) => {
    facts.soundLeftOut = data.leftOut;
  };
  worker.onerror = ({ message }) => {
    facts.workerError = message;
  };
  receiver.transform = new RTCRtpScriptTransform(worker, {});
}
