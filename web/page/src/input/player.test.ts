import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import vectors from "../../../../crates/core/input/tests/vectors.json";
import { USAGES } from "./keys";
import { acknowledgementOf, BUTTON, KEY } from "./message";
import { type Channel, Player } from "./player";

type Step = (string | number | boolean)[];
type Told = (string | number)[];

const hexadecimal = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const bytesOf = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16)).buffer;

class End {
  readonly messages: Told[] = [];
  readonly player: Player;
  readonly #begin = performance.now();
  readonly #channel: Channel = {
    binaryType: "blob",
    readyState: "open",
    onmessage: null,
    onopen: null,
    send: (bytes) => this.messages.push([performance.now() - this.#begin, hexadecimal(bytes)]),
  };

  constructor() {
    this.player = new Player(this.#channel);
  }

  passUntil(time: number): void {
    vi.advanceTimersByTime(time - (performance.now() - this.#begin));
  }

  answer(bytes: string): void {
    const event = new MessageEvent("message", { data: bytesOf(bytes) });
    this.#channel.onmessage?.call({} as RTCDataChannel, event);
  }

  act([, action, ...given]: Step): void {
    const [x, y] = [Number(given[0]), Number(given[1])];
    const actions: Record<string, () => void> = {
      key: () => this.player.set(KEY, USAGES.get(String(given[0])) ?? -1, given[1] === true),
      button: () => this.player.set(BUTTON, x, given[1] === true),
      moveTo: () => this.player.moveTo(x / 65535, y / 65535),
      moveBy: () => this.player.moveBy(x, y),
      turn: () => this.player.turn(x, y),
      type: () => this.player.type(String(given[0])),
      releaseAll: () => this.player.releaseAll(),
      answer: () => this.answer(String(given[0])),
    };
    actions[String(action)]?.();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the same bytes at the same times as in Rust", () => {
  test.each(vectors.players)("$name", ({ steps, until, messages }) => {
    const end = new End();
    for (const step of steps as Step[]) {
      end.passUntil(Number(step[0]));
      end.act(step);
    }
    end.passUntil(until);
    expect(end.messages).toEqual(messages);
  });

  test.each(vectors.acknowledgements)("acknowledgement $bytes", ({ bytes, nextChange, message }) => {
    expect(acknowledgementOf(bytesOf(bytes))).toEqual(nextChange === null ? null : { nextChange, message });
  });
});

test("the first acknowledgement says that the host lets this page play", () => {
  const end = new End();
  const onTaken = vi.fn();
  end.player.onTaken = onTaken;
  end.answer("4741020000000100000000");
  expect(onTaken).not.toHaveBeenCalled();
  end.answer("4741010000000100000000");
  end.answer("4741010000000100000000");
  expect(onTaken).toHaveBeenCalledTimes(1);
});

test("a text that has no room is typed not at all", () => {
  const { player } = new End();
  expect([player.type("a".repeat(4096)), player.type("a"), player.set(KEY, 4, true)]).toEqual([true, false, false]);
  expect(player.state.waiting).toBe(4096);
});

test("what was never told cannot be acknowledged", () => {
  const end = new End();
  end.player.type("a".repeat(40));
  // Of 40 changes a message has 32.
  end.answer("4741010000002900000001");
  expect(end.player.state.waiting).toBe(8);
});

test("a key that repeats itself changes nothing", () => {
  const { player } = new End();
  expect([player.set(KEY, 4, true), player.set(KEY, 4, true), player.set(KEY, 4, false)]).toEqual([true, false, true]);
  expect(player.state).toEqual({ held: false, waiting: 2, messages: 2, newest: 2 });
});
