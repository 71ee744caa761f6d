import { facts } from "../facts";
import type { SeenFrame } from "./encoded";
import FrameWorker from "./frame-worker?worker&inline";
import { RECEIVED, type Reports } from "./reports";

// Fulfilled once the worker takes frames: those that come before are lost, and with them all that build on them.
export function observe(receiver: RTCRtpReceiver, reports: Reports): Promise<void> {
  if (!("RTCRtpScriptTransform" in window)) return Promise.resolve();
  const worker = new FrameWorker();
  return new Promise((fulfil, reject) => {
    worker.onmessage = ({ data }: MessageEvent<SeenFrame | { ready: true }>) => {
      if ("ready" in data) return fulfil();
      facts.received = (facts.received ?? 0) + 1;
      facts.lag = data.now - data.received;
      const [time, detail] = [data.received - performance.timeOrigin, data.size];
      reports.send({ kind: RECEIVED, flags: data.key ? 1 : 0, timestamp: data.timestamp, time, detail });
    };
    worker.onerror = ({ message }) => {
      facts.workerError = message;
      reject(new Error(`the worker that sees frames: ${message}`));
    };
    receiver.transform = new RTCRtpScriptTransform(worker, {});
  });
}
