// Looks at the browser's counters once a second, while somebody wants to see them: hidden figures cost nothing.

import type { Screen } from "../screen/screen";
import type { WayName } from "../screen/ways";
import { Store } from "../store";
import { type Counters, type Figures, figuresOf } from "./figures";

const INTERVAL = 1000;
// A minute.
export const KEPT = 60;

interface Look extends Counters {
  way: WayName;
}

export class Sampler {
  // The newest last.
  readonly history = new Store<readonly Figures[]>([]);
  readonly #connection: RTCPeerConnection;
  readonly #screen: Screen;
  #timer: ReturnType<typeof setInterval> | undefined;
  #before: Look | null = null;
  #newest: Figures | null = null;

  constructor(connection: RTCPeerConnection, screen: Screen) {
    this.#connection = connection;
    this.#screen = screen;
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
    const now = await look(this.#connection, this.#screen);
    if (now === null || this.#timer === undefined) return;
    const before = this.#before;
    this.#before = now;
    // Each way counts for itself.
    if (before === null || before.way !== now.way || now.video.timestamp <= before.video.timestamp) return;
    this.#newest = figuresOf(before, now);
    this.history.set([...this.history.value, this.#newest].slice(-KEPT));
  }
}

async function look(connection: RTCPeerConnection, screen: Screen): Promise<Look | null> {
  const all = [...(await connection.getStats()).values()];
  const video = all.find(({ type, kind }) => type === "inbound-rtp" && kind === "video");
  const pair = all.find(({ type, nominated }) => type === "candidate-pair" && nominated);
  if (video === undefined) return null;
  const { way, ...counters } = await screen.counters(video);
  return { way, video, pair, screen: counters, displayed: { ...screen.displayed } };
}
