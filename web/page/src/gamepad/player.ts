// The player's end for gamepads: docs/wire-protocol.md has its rules, crates/core/input/src/gamepad/player.rs the same in Rust, with
// the reasons; crates/core/input/tests/vectors.json holds both to the same bytes at the same times.
// A button is told at once, sticks and triggers every 4 ms at most; the newest message is repeated until it is answered; while
// anything is off its rest, a message comes every 100 ms.
import type { Pair } from "../input/message";
import { MOTION_INTERVAL, REPETITION, SIGN_OF_LIFE, Teller } from "../input/teller";
import { type Answer, type Axes, answerOf, BUTTONS, gamepadBytes, type Lack, PADS, type State } from "./message";

const CENTRE: Axes = [0, 0, 0, 0];

// How a gamepad is at an instant.
export interface Reading {
  // A bit for each button of the standard mapping that is pressed.
  pressed: number;
  triggers: Pair;
  axes: Axes;
}

export type Channel = Pick<RTCDataChannel, "readyState" | "addEventListener"> & { send(data: ArrayBuffer): void };

const isSame = (one: readonly number[], other: readonly number[]) => one.every((value, at) => value === other[at]);

function isAtRest({ changes, triggers, axes }: State): boolean {
  return [...triggers, ...axes].every((value) => value === 0) && changes.every((count) => count % 2 === 0);
}

// Whether that changed anything.
function release(state: State): boolean {
  if (isAtRest(state)) return false;
  // A count of 255 wraps to 0.
  state.changes.forEach((count, button) => {
    state.changes[button] = count + (count % 2);
  });
  [state.triggers, state.axes] = [[0, 0], CENTRE];
  return true;
}

export class GamepadPlayer {
  // Called with each answer.
  onLack: ((lack: Lack) => void) | null = null;
  readonly #teller: Teller;
  readonly #pads: (State | null)[] = Array(PADS).fill(null);
  // One that comes back counts on: the host may not have heard that it was gone.
  readonly #changes = Array.from({ length: PADS }, () => new Uint8Array(BUTTONS));
  #hasChange = false;
  #hasMotion = false;
  // The message that told the newest of these, until it is answered.
  #told: number | null = null;

  constructor(channel: Channel) {
    this.#teller = new Teller({
      channel,
      wait: () => this.#wait(),
      message: (number) => this.#message(number),
    });
    channel.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer>) => {
      const answer = answerOf(data);
      if (answer) this.#onAnswer(answer);
    });
  }

  // How the gamepad of this number, from 0 to 3, is now.
  read(pad: number, reading: Reading | null): void {
    if (reading) this.#follow(pad, reading);
    else this.#remove(pad);
    this.#teller.tell();
  }

  releaseAll(): void {
    for (const state of this.#pads) if (state && release(state)) this.#hasChange = true;
    this.#teller.tell();
  }

  // For who looks at the page from outside.
  get state() {
    const pads = this.#pads.filter((state) => state !== null);
    return {
      pads: pads.length,
      held: !pads.every(isAtRest),
      waiting: this.#told !== null,
      messages: this.#teller.messages,
    };
  }

  #remove(pad: number): void {
    const state = this.#pads[pad];
    if (!state) return;
    release(state);
    this.#pads[pad] = null;
    this.#hasChange = true;
  }

  #follow(pad: number, { pressed, triggers, axes }: Reading): void {
    const changes = this.#changes[pad];
    if (!changes) return;
    const state = this.#pads[pad] ?? { changes, triggers: [0, 0], axes: CENTRE };
    if (!this.#pads[pad]) this.#hasChange = true;
    this.#pads[pad] = state;
    changes.forEach((count, button) => {
      if (count % 2 === ((pressed >> button) & 1)) return;
      changes[button] = count + 1;
      this.#hasChange = true;
    });
    if (isSame(state.triggers, triggers) && isSame(state.axes, axes)) return;
    [state.triggers, state.axes] = [triggers, axes];
    this.#hasMotion = true;
  }

  #onAnswer({ lack, message }: Answer): void {
    if (this.#told !== null && this.#told <= message) this.#told = null;
    this.onLack?.(lack);
    this.#teller.tell();
  }

  // Milliseconds from the last message until the next is due; none while there is nothing to say.
  #wait(): number | null {
    if (this.#hasChange) return 0;
    if (this.#hasMotion) return MOTION_INTERVAL;
    if (this.#told !== null) return REPETITION;
    return this.#pads.every((state) => state === null || isAtRest(state)) ? null : SIGN_OF_LIFE;
  }

  #message(number: number): ArrayBuffer {
    // Motion goes on, and the next message tells more of it: only a change or the last motion is worth an answer.
    const wantsAnswer = this.#hasChange || (this.#told !== null && !this.#hasMotion);
    if (this.#hasChange || this.#hasMotion) this.#told = number;
    [this.#hasChange, this.#hasMotion] = [false, false];
    return gamepadBytes(number, this.#pads, wantsAnswer);
  }
}
