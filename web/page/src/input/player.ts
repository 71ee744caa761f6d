// The player's end of the channel "input": docs/wire-protocol.md has its rules, crates/core/input/src/player.rs the same in Rust,
// with the reasons for the numbers; crates/core/input/tests/vectors.json holds both to the same bytes at the same times.
// A change is told at once and repeated until it is acknowledged; motion is told as sums, its last message repeated; while
// something is held, a message comes every 100 ms. Text is changes, too, none of which is given up: what a message has no room for waits.
import {
  acknowledgementOf,
  BUTTON,
  type Change,
  characterChange,
  isCharacter,
  KEY,
  messageBytes,
  type Pair,
} from "./message";
import { MOTION_INTERVAL, REPETITION, SIGN_OF_LIFE, Teller } from "./teller";

const MAX_CHANGES = 32;
// The most that waits with text in it.
const MAX_WAITING = 4096;
// What no character of a text is: halves of pairs, and what controls.
const NO_TEXT = /[\p{Cc}\p{Cs}]/gu;

export type Channel = Pick<RTCDataChannel, "binaryType" | "readyState" | "onmessage" | "onopen"> & {
  send(data: ArrayBuffer): void;
};

const sum = (all: Pair, x: number, y: number): Pair => [(all[0] + x) | 0, (all[1] + y) | 0];

const flip = (bits: Uint8Array, number: number) => {
  bits[number >> 3] = (bits[number >> 3] ?? 0) ^ (1 << (number & 7));
};

export class Player {
  // Called once, when the host lets this page play.
  onTaken: (() => void) | null = null;
  readonly #teller: Teller;
  readonly #keys = new Uint8Array(32);
  #buttons = 0;
  // Those that are not acknowledged, the oldest first, and the number of the first.
  #changes: Change[] = [];
  #firstChange = 1;
  // How many of them are characters, and the number behind the last that a message had.
  #characters = 0;
  #told = 1;
  #hasChange = false;
  #hasMotion = false;
  // The message that told the newest motion, until it is acknowledged.
  #motion: number | null = null;
  #place: Pair | null = null;
  #moved: Pair = [0, 0];
  #turned: Pair = [0, 0];

  constructor(channel: Channel) {
    this.#teller = new Teller({
      channel,
      wait: () => this.#wait(),
      message: (number) => this.#message(number),
    });
    channel.binaryType = "arraybuffer";
    channel.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.#onAnswer(data);
    channel.onopen = () => this.#teller.tell();
  }

  // Whether that changed anything: a key that repeats itself does not.
  set(kind: number, number: number, isHeld: boolean): boolean {
    const changes = this.#change(kind, number, isHeld);
    if (changes) this.#teller.tell();
    return changes;
  }

  // Whether this text is typed: all of it, or none if too much waits already.
  type(text: string): boolean {
    const characters = [...text.replace(NO_TEXT, "")];
    if (this.#changes.length + characters.length > MAX_WAITING) return false;
    this.#characters += characters.length;
    for (const character of characters) this.#put(characterChange(character));
    this.#teller.tell();
    return true;
  }

  // A place on the picture, each side from 0 to 1.
  moveTo(x: number, y: number): void {
    const part = (side: number) => Math.round(65535 * Math.min(1, Math.max(0, side)));
    const place: Pair = [part(x), part(y)];
    if (this.#place?.[0] === place[0] && this.#place[1] === place[1]) return;
    this.#place = place;
    this.#tellMotion();
  }

  moveBy(x: number, y: number): void {
    if (x === 0 && y === 0) return;
    this.#moved = sum(this.#moved, x, y);
    this.#tellMotion();
  }

  turn(x: number, y: number): void {
    if (x === 0 && y === 0) return;
    this.#turned = sum(this.#turned, x, y);
    this.#tellMotion();
  }

  releaseAll(): void {
    for (let number = 0; number < 256; number += 1) this.#change(KEY, number, false);
    for (let number = 0; number < 8; number += 1) this.#change(BUTTON, number, false);
    this.#teller.tell();
  }

  // For who looks at the page from outside.
  get state() {
    const [held, waiting] = [this.#isAnyHeld(), this.#changes.length];
    return { held, waiting, messages: this.#teller.messages, newest: this.#firstChange + waiting - 1 };
  }

  #isHeld(kind: number, number: number): boolean {
    const bits = kind === KEY ? (this.#keys[number >> 3] ?? 0) >> (number & 7) : this.#buttons >> number;
    return (bits & 1) === 1;
  }

  #isAnyHeld(): boolean {
    return this.#buttons !== 0 || this.#keys.some((byte) => byte !== 0);
  }

  #change(kind: number, number: number, isHeld: boolean): boolean {
    // Behind text nothing is given up; what is held by then may still be released.
    const hasRoom = this.#changes.length < MAX_WAITING || !isHeld;
    if (this.#isHeld(kind, number) === isHeld || !hasRoom) return false;
    if (kind === KEY) flip(this.#keys, number);
    else this.#buttons ^= 1 << number;
    while (this.#characters === 0 && this.#changes.length >= MAX_CHANGES) this.#dropFirstChange();
    this.#put([kind, number, isHeld ? 1 : 0]);
    return true;
  }

  #put(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length <= MAX_CHANGES) this.#hasChange = true;
  }

  #dropFirstChange(): void {
    const first = this.#changes.shift();
    if (first && isCharacter(first)) this.#characters -= 1;
    this.#firstChange += 1;
  }

  // What is held after the last change of a message: those behind it are not done.
  #toldHeld(): { keys: Uint8Array; buttons: number } {
    const keys = this.#keys.slice();
    let buttons = this.#buttons;
    for (const change of this.#changes.slice(MAX_CHANGES)) {
      const [kind, number] = change;
      if (kind === KEY) flip(keys, number);
      else if (!isCharacter(change)) buttons ^= 1 << number;
    }
    return { keys, buttons };
  }

  #onAnswer(bytes: ArrayBuffer): void {
    const answer = acknowledgementOf(bytes);
    if (answer === null) return;
    // The first one is a greeting: the host takes what the player does.
    this.onTaken?.();
    this.onTaken = null;
    // What was never told cannot be acknowledged.
    const next = Math.min(answer.nextChange, this.#told);
    while (this.#firstChange < next) this.#dropFirstChange();
    // What had no room until now is told at once.
    if (this.#told <= this.#firstChange && this.#changes.length > 0) this.#hasChange = true;
    if (this.#motion !== null && this.#motion <= answer.message) this.#motion = null;
    this.#teller.tell();
  }

  #tellMotion(): void {
    this.#hasMotion = true;
    this.#teller.tell();
  }

  // Milliseconds from the last message until the next is due; none while there is nothing to say.
  #wait(): number | null {
    if (this.#hasChange) return 0;
    if (this.#hasMotion) return MOTION_INTERVAL;
    if (this.#motion !== null || this.#changes.length > 0) return REPETITION;
    return this.#isAnyHeld() ? SIGN_OF_LIFE : null;
  }

  #message(number: number): ArrayBuffer {
    // Motion goes on, and the next message tells more of it: only the last one is worth an answer.
    const repeatsMotion = this.#motion !== null && !this.#hasMotion;
    if (this.#hasMotion) this.#motion = number;
    this.#hasChange = false;
    this.#hasMotion = false;
    const changes = this.#changes.slice(0, MAX_CHANGES);
    this.#told = this.#firstChange + changes.length;
    return messageBytes({
      number,
      firstChange: this.#firstChange,
      changes,
      ...this.#toldHeld(),
      place: this.#place,
      moved: this.#moved,
      turned: this.#turned,
      wantsAnswer: repeatsMotion || this.#changes.length > 0,
    });
  }
}
