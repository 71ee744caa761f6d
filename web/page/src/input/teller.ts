// Sends messages of the channel "input" when they are due, and numbers them: keys and gamepads are told by the same rules.

// Milliseconds from the last message: of motion; while the newest one is not answered; while something is held.
export const MOTION_INTERVAL = 4;
export const REPETITION = 20;
export const SIGN_OF_LIFE = 100;

interface Means {
  channel: Pick<RTCDataChannel, "readyState"> & { send(data: ArrayBuffer): void };
  // Milliseconds from the last message until the next is due; none while there is nothing to say.
  wait(): number | null;
  // The message of this number.
  message(number: number): ArrayBuffer;
}

export class Teller {
  readonly #means: Means;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastSent = Number.NEGATIVE_INFINITY;
  #number = 0;

  constructor(means: Means) {
    this.#means = means;
  }

  // How many messages there were.
  get messages(): number {
    return this.#number;
  }

  // What there is to say may be another thing than before.
  tell(): void {
    clearTimeout(this.#timer);
    const { channel, wait } = this.#means;
    const due = wait();
    if (due === null || channel.readyState !== "open") return;
    const left = this.#lastSent + due - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.tell(), left);
      return;
    }
    this.#send();
    this.tell();
  }

  #send(): void {
    this.#number += 1;
    this.#lastSent = performance.now();
    const message = this.#means.message(this.#number);
    try {
      this.#means.channel.send(message);
    } catch {
      // The channel is full or gone: the next message has all of it.
    }
  }
}
