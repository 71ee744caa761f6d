import { FRAME_HEADER } from "../connection/carried";
import type { SeenFrame } from "../connection/encoded";
import type { Wires } from "../connection/wires";
import { facts } from "../facts";
import type { FromWorker, ShownFrame, ToWorker } from "./canvas-messages";
import CanvasWorker from "./canvas-worker?worker&inline";
import type { Picture, ScreenCounters, Way } from "./ways";

interface Parts {
  canvas: HTMLCanvasElement;
  wires: Wires;
  // In frames of VP8 by name, behind the header of one.
  areCarried: boolean;
  onPicture(picture: Picture): void;
  onSeen(frame: SeenFrame): void;
  onKeyFrameNeeded(): void;
  // It cannot show these pictures.
  onFailure(why: string): void;
}

const MAX_FAILURES = 5;

type Answer = (counters: ScreenCounters) => void;

export class CanvasWay implements Way {
  readonly name = "canvas";
  readonly #parts: Parts;
  readonly #answers: Answer[] = [];
  #worker: Worker | undefined;
  #transceiver: RTCRtpTransceiver | undefined;
  #isOn = false;
  // Without a picture between them.
  #failures = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  // Chromium takes the transform of a receiver in the moment that makes it.
  transceiver(): RTCRtpTransceiver {
    if (this.#transceiver === undefined) {
      this.#worker = this.#load();
      this.#transceiver = this.#parts.wires.connection.addTransceiver("video", { direction: "recvonly" });
      this.#transceiver.receiver.transform = new RTCRtpScriptTransform(this.#worker, {
        header: this.#parts.areCarried ? FRAME_HEADER : 0,
      });
    }
    return this.#transceiver;
  }

  has(receiver: RTCRtpReceiver): boolean {
    return this.#transceiver?.receiver === receiver;
  }

  start(): void {
    this.#isOn = true;
    this.#failures = 0;
  }

  stop(): void {
    this.#isOn = false;
  }

  counters(): Promise<ScreenCounters> {
    return new Promise((resolve) => {
      this.#answers.push(resolve);
      this.#worker?.postMessage({ kind: "counters" } satisfies ToWorker);
    });
  }

  #load(): Worker {
    const worker = new CanvasWorker();
    const canvas = this.#parts.canvas.transferControlToOffscreen();
    worker.postMessage({ kind: "canvas", canvas } satisfies ToWorker, [canvas]);
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.#hear(data);
    worker.onerror = ({ message }) => {
      facts.workerError = message;
    };
    return worker;
  }

  #hear(message: FromWorker): void {
    if (message.kind === "counters") {
      for (const answer of this.#answers.splice(0)) answer(message.counters);
    }
    if (!this.#isOn) return;
    if (message.kind === "shown") {
      this.#failures = 0;
      this.#parts.onPicture(this.#picture(message));
    } else if (message.kind === "seen") this.#parts.onSeen(message);
    else if (message.kind === "key frame needed") this.#fail(message.why);
  }

  #fail(why: string): void {
    this.#failures += 1;
    if (this.#failures >= MAX_FAILURES) this.#parts.onFailure(why);
    else this.#parts.onKeyFrameNeeded();
  }

  #picture({ arrived, time, ...frame }: ShownFrame): Picture {
    const { timeOrigin } = performance;
    const own = { arrived: arrived - timeOrigin, presented: time - timeOrigin, time: time - timeOrigin };
    return { ...frame, ...own, missed: 0, image: this.#parts.canvas };
  }
}
