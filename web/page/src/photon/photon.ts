// A measurement as the page has it: what it needs, how far it is, and what it found.
import type { Player } from "../input/player";
import { Store } from "../store";
import { CardReader, type Pixels } from "./card";
import { HostTimes } from "./channel";
import { measure, type Presser, type Progress, pressedByPage, pressedByPerson } from "./measure";
import type { Observe } from "./observed";
import type { Summary } from "./parts";

export class Photon {
  readonly progress = new Store<Progress | null>(null);
  readonly summary = new Store<Summary | null>(null);
  readonly failure = new Store("");
  readonly #times: HostTimes;
  readonly #player: Player;
  readonly #observe: Observe;
  #isStopped = false;

  constructor(times: HostTimes, player: Player, observe: Observe) {
    this.#times = times;
    this.#player = player;
    this.#observe = observe;
  }

  async start(count: number, isByPerson: boolean): Promise<void> {
    if (this.progress.value) return;
    const presser: Presser = (isByPerson ? pressedByPerson : pressedByPage)(this.#player);
    const reader = new CardReader();
    const read = (picture: Pixels) => reader.read(picture);
    const means = { presser, times: this.#times, observe: this.#observe, read };
    this.#isStopped = false;
    this.failure.set("");
    this.summary.set(null);
    this.progress.set({ done: 0, of: count });
    try {
      const found = await measure(means, count, (progress) => {
        this.progress.set(progress);
        return !this.#isStopped;
      });
      this.summary.set(found);
    } catch (error) {
      this.failure.set(error instanceof Error ? error.message : String(error));
    }
    this.progress.set(null);
  }

  stop(): void {
    this.#isStopped = true;
  }
}

// Looks whether the host can be asked.
export function lookForPhoton(channel: RTCDataChannel, offered: (times: HostTimes) => void): void {
  const times = new HostTimes(channel);
  times.onOffered = () => offered(times);
}
