// Looks at the browser's counters once a second, while somebody wants to see them: hidden figures cost nothing.

import { Judge, type Opinion, type RoundTrips, type Sent } from "../opinion/judge";
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
  readonly #photon: () => number | null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #before: Look | null = null;
  #newest: Figures | null = null;
  #sent: Sent | null = null;
  #judge = new Judge();
  #opinion: Opinion | null = null;
  #stopHearing: (() => void) | undefined;

  // `photon` is how long the newest measurement found from key to picture.
  constructor(connection: RTCPeerConnection, screen: Screen, photon: () => number | null = () => null) {
    this.#connection = connection;
    this.#screen = screen;
    this.#photon = photon;
  }

  // The newest ever, for who looks at the page from outside.
  get newest(): Figures | null {
    return this.#newest;
  }

  // What the newest score is made of.
  get opinion(): Opinion | null {
    return this.#opinion;
  }

  start(): void {
    this.stop();
    this.history.set([]);
    const judge = new Judge();
    this.#judge = judge;
    this.#stopHearing = this.#screen.onDrawn((_image, timestamp, _time, { missed }) => judge.shown(timestamp, missed));
    this.#timer = setInterval(() => this.#look(), INTERVAL);
    this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stopHearing?.();
    this.#before = null;
    this.#sent = null;
    this.#opinion = null;
  }

  async #look(): Promise<void> {
    // What the browser counted until then is none of what is so now.
    if (this.#connection.connectionState === "closed") {
      this.stop();
      this.history.set([]);
      return;
    }
    const found = await look(this.#connection, this.#screen);
    if (found === null || this.#timer === undefined) return;
    const now = { ...found, sent: this.#sent };
    const before = this.#before;
    this.#before = now;
    const judge = this.#judge;
    this.#opinion = judge.opinion(roundTripsOf(now.pair));
    this.#screen.askForCounts((sent) => {
      if (this.#timer === undefined) return;
      this.#sent = sent;
      judge.told(sent);
    });
    // Each way counts for itself.
    if (before === null || before.way !== now.way || now.video.timestamp <= before.video.timestamp) return;
    this.#newest = figuresOf(before, now, this.#opinion, this.#photon());
    this.history.set([...this.history.value, this.#newest].slice(-KEPT));
  }
}

function roundTripsOf(pair: RTCIceCandidatePairStats | undefined): RoundTrips {
  const { totalRoundTripTime: total = 0, responsesReceived: count = 0, currentRoundTripTime: newest = 0 } = pair ?? {};
  return { total, count, newest };
}

async function look(connection: RTCPeerConnection, screen: Screen): Promise<Omit<Look, "sent"> | null> {
  const all = [...(await connection.getStats()).values()];
  const video = all.find(({ type, kind }) => type === "inbound-rtp" && kind === "video");
  const pair = all.find(({ type, nominated }) => type === "candidate-pair" && nominated);
  if (video === undefined) return null;
  const { way, ...counters } = await screen.counters(video);
  return { way, video, pair, screen: counters, displayed: { ...screen.displayed } };
}
