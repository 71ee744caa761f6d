// Looks at the browser's counters once a second, while somebody wants to see them: hidden figures cost nothing.
import { Store } from "../store";
import { type Counters, type Displayed, type Figures, figuresOf } from "./figures";

const INTERVAL = 1000;
// A minute.
export const KEPT = 60;

export class Sampler {
  // The newest last.
  readonly history = new Store<readonly Figures[]>([]);
  readonly #connection: RTCPeerConnection;
  readonly #displayed: Displayed;
  #timer: ReturnType<typeof setInterval> | undefined;
  #before: Counters | null = null;
  #newest: Figures | null = null;

  constructor(connection: RTCPeerConnection, displayed: Displayed) {
    this.#connection = connection;
    this.#displayed = displayed;
  }

  // The newest ever, for who looks at the page from outside.
  get newest(): Figures | null {
    return this.#newest;
  }

  start(): void {
    this.stop();
    this.history.set([]);
    this.#timer = setInterval(() => this.#look(), INTERVAL);
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#before = null;
  }

  async #look(): Promise<void> {
    const now = countersOf(await this.#connection.getStats(), { ...this.#displayed });
    if (now === null || this.#timer === undefined) return;
    const before = this.#before;
    this.#before = now;
    if (before === null || now.video.timestamp <= before.video.timestamp) return;
    this.#newest = figuresOf(before, now);
    this.history.set([...this.history.value, this.#newest].slice(-KEPT));
  }
}

function countersOf(report: RTCStatsReport, displayed: Displayed): Counters | null {
  const all = [...report.values()];
  const video = all.find(({ type, kind }) => type === "inbound-rtp" && kind === "video");
  const pair = all.find(({ type, nominated }) => type === "candidate-pair" && nominated);
  return video ? { video, pair, displayed } : null;
}
