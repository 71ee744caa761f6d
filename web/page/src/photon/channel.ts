// The page's end of the channel "photon": asks for the host's time, and for the times of an input and its picture.
import { pause } from "../pause";
import { HostClock } from "./clock";
import { type Answer, answerOf, questionBytes } from "./message";

// Between two questions for the same, of which the first or its answer may be lost or too early.
const AGAIN = 20;
const TRIES = 25;

export type Channel = Pick<RTCDataChannel, "binaryType" | "readyState" | "onmessage"> & {
  send(data: ArrayBuffer): void;
};

export type Known = Answer & { times: NonNullable<Answer["times"]> };

interface Asked {
  change: number;
  timestamp: number;
  known(answer: Known): void;
}

export class HostTimes {
  readonly clock = new HostClock();
  // Called once, when the host says that it can be asked.
  onOffered: (() => void) | null = null;
  readonly #channel: Channel;
  #asked: Asked | null = null;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.binaryType = "arraybuffer";
    channel.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.#onAnswer(data, performance.now());
  }

  ask(change = 0, timestamp = 0): void {
    if (this.#channel.readyState !== "open") return;
    this.#channel.send(questionBytes({ time: performance.now(), change, timestamp }));
  }

  // What the host knows of an input and the picture that shows it; nothing if it does not know all of it soon.
  async timesOf(change: number, timestamp: number): Promise<Known | null> {
    const known = new Promise<Known>((resolve) => {
      this.#asked = { change, timestamp, known: resolve };
    });
    for (let tries = 0; tries < TRIES; tries += 1) {
      this.ask(change, timestamp);
      const answer = await Promise.race([known, pause(AGAIN)]);
      if (answer) return answer;
    }
    this.#asked = null;
    return null;
  }

  #onAnswer(bytes: ArrayBuffer, now: number): void {
    const answer = answerOf(bytes);
    if (answer === null) return;
    this.onOffered?.();
    this.onOffered = null;
    // The greeting answers no question.
    if (answer.time > 0) this.clock.on(answer.time, answer.hostTime, now);
    const { times } = answer;
    const asked = this.#asked;
    if (times === null || asked?.change !== answer.change || asked.timestamp !== answer.timestamp) return;
    this.#asked = null;
    asked.known({ ...answer, times });
  }
}
