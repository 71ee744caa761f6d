// What shows the picture, whichever way it comes. Nobody else knows of the way.
import type { SeenFrame } from "../connection/encoded";
import { observe } from "../connection/observer";
import {
  COUNTS_WANTED,
  KEY_FRAME_NEEDED,
  PRESENTED,
  type Progress,
  RECEIVED,
  type Reports,
} from "../connection/reports";
import type { Wires } from "../connection/wires";
import { facts } from "../facts";
import type { Displayed } from "../figures/figures";
import type { Sent } from "../opinion/judge";
import { Store } from "../store";
import { CanvasWay } from "./canvas-way";
import { BEGIN, type Choice, decided } from "./choice";
import { VideoWay } from "./video-way";
import type { Picture, ScreenCounters, Way, WayName } from "./ways";

export type Wish = "auto" | WayName;
export type OnDrawn = (image: CanvasImageSource, timestamp: number, time: number, picture: Picture) => void;

export interface Size {
  width: number;
  height: number;
}

interface Ways {
  video: Way;
  canvas: Way;
}

export class Screen {
  // What a person points at; it plays the sound, too.
  readonly element: HTMLVideoElement;
  readonly choice = new Store<Choice>(BEGIN);
  readonly size = new Store<Size>({ width: 0, height: 0 });
  readonly displayed: Displayed = { pictures: 0, waited: 0, missed: 0 };
  // The browser only carries the pictures: there is no way but `canvas`.
  areCarried = false;
  readonly #canvas: HTMLCanvasElement;
  readonly #onDrawn = new Set<OnDrawn>();
  #ways: Ways | undefined;
  #wires: Wires | undefined;
  #reports: Reports | undefined;
  #isObserved = false;
  // The way that shows pictures, and the one that is to.
  #shows: Way | undefined;
  #next: Way | undefined;

  constructor(element: HTMLVideoElement, canvas: HTMLCanvasElement) {
    this.element = element;
    this.#canvas = canvas;
  }

  get way(): WayName {
    return this.#shows?.name ?? "video";
  }

  // Tells each picture that is displayed, until what is returned is called.
  onDrawn(listener: OnDrawn): () => void {
    this.#onDrawn.add(listener);
    return () => this.#onDrawn.delete(listener);
  }

  // Asks the host what it has sent so far; the answer may be lost.
  askForCounts(onSent: (sent: Sent) => void): void {
    if (this.#reports === undefined) return;
    this.#reports.onSent = onSent;
    this.#reports.send({ kind: COUNTS_WANTED, time: performance.now() });
  }

  // The first way is known before there is a connection.
  open(wires: Wires, reports: Reports): void {
    this.#wires = wires;
    this.#reports = reports;
    this.#ways = {
      video: new VideoWay({ video: this.element, wires, onPicture: (picture) => this.#take("video", picture) }),
      canvas: new CanvasWay({
        canvas: this.#canvas,
        wires,
        areCarried: this.areCarried,
        onPicture: (picture) => this.#take("canvas", picture),
        onSeen: (frame) => this.#see(frame),
        onKeyFrameNeeded: () => this.#askForKeyFrame(),
        onFailure: (why) => this.#giveUp(why),
      }),
    };
    this.#next = this.#ways[this.choice.value.way];
    this.#next.transceiver();
    this.#next.start();
  }

  // The host is to be told of each frame that comes. Fulfilled once frames can be seen.
  async observe(): Promise<void> {
    this.#isObserved = true;
    const video = this.#ways?.video;
    if (this.#reports && video && this.#next === video) await observe(video.transceiver().receiver, this.#reports);
  }

  // Whether the element plays what this receiver gives.
  isOwn(receiver: RTCRtpReceiver): boolean {
    return this.#ways?.video.has(receiver) ?? false;
  }

  // Pictures cannot be decoded here.
  #giveUp(why: string): void {
    if (this.areCarried) facts.error = `this browser cannot decode the pictures any more: ${why}`;
    else this.choose(decided("video", why));
  }

  choose(choice: Choice): void {
    this.choice.set(choice);
    this.#show(choice.way).catch((error: Error) => this.choice.set(decided(this.way, error.message)));
  }

  // Pictures are to come by this way; until there is one, what the other one showed stays.
  async #show(name: WayName): Promise<void> {
    const next = this.#ways?.[name];
    if (next === undefined || next === this.#next) return;
    if (this.#next !== this.#shows) this.#next?.stop();
    // It was silent in between: it begins anew.
    if (next === this.#shows) next.stop();
    this.#next = next;
    next.start();
    if (this.#isObserved && this.#reports && name === "video")
      await observe(next.transceiver().receiver, this.#reports);
    await this.#wires?.lead(next.transceiver());
    this.#askForKeyFrame();
  }

  async counters(stats: RTCInboundRtpStreamStats): Promise<ScreenCounters & { way: WayName }> {
    const way = this.#next;
    const none = { decoded: 0, decoding: 0, buffered: 0, waited: 0, freezes: 0, height: 0 };
    return { way: way?.name ?? "video", ...((await way?.counters(stats)) ?? none) };
  }

  readonly progress = async (): Promise<Progress> => {
    const all = (await this.#next?.transceiver().receiver.getStats())?.values() ?? [];
    const stats = [...all].find(({ type }) => type === "inbound-rtp");
    if (stats === undefined) return { packets: 0, pictures: 0 };
    return { packets: stats.packetsReceived, pictures: (await this.counters(stats)).decoded };
  };

  #see({ key, timestamp, received, size }: SeenFrame): void {
    if (!this.#isObserved) return;
    const time = received - performance.timeOrigin;
    this.#reports?.send({ kind: RECEIVED, flags: key ? 1 : 0, timestamp, time, detail: size });
  }

  #askForKeyFrame(): void {
    this.#reports?.send({ kind: KEY_FRAME_NEEDED, time: performance.now() });
  }

  #take(name: WayName, picture: Picture): void {
    if (this.#shows?.name !== name) {
      if (this.#next?.name !== name) return;
      this.#shows?.stop();
      this.#shows = this.#next;
      this.#canvas.hidden = name === "video";
    }
    this.#count(picture);
    const { timestamp, time, decoding, missed } = picture;
    const detail = Math.round(1000 * decoding);
    this.#reports?.send({ kind: PRESENTED, flags: name === "canvas" ? 2 : 0, timestamp, time, detail, missed });
    for (const listener of this.#onDrawn) listener(picture.image, timestamp, time, picture);
  }

  #count({ width, height, arrived, time, missed }: Picture): void {
    const now = performance.now();
    facts.frames += 1 + missed;
    facts.size = `${width}x${height}`;
    facts.first ??= now;
    facts.last = now;
    facts.rate = (1000 * (facts.frames - 1)) / Math.max(1, now - facts.first);
    if (width !== this.size.value.width || height !== this.size.value.height) {
      // The element has the shape of the picture, whoever draws it.
      this.element.style.aspectRatio = `${width} / ${height}`;
      this.size.set({ width, height });
    }
    this.displayed.missed += missed;
    if (arrived === undefined) return;
    this.displayed.pictures += 1;
    this.displayed.waited += Math.max(0, time - arrived);
  }
}
