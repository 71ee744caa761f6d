import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import vectors from "../../../../crates/core/input/tests/vectors.json";
import { type Axes, answerOf, LACKS, rumbleOf } from "./message";
import { type Channel, GamepadPlayer } from "./player";
import { isStandard, nameOf, readingOf } from "./reading";
import { troubles } from "./seen";

type Step = (string | number | number[])[];
type Told = (string | number)[];

const hexadecimal = (bytes: ArrayBuffer) =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const bytesOf = (text: string) => Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16)).buffer;

class End {
  readonly messages: Told[] = [];
  readonly player: GamepadPlayer;
  readonly #begin = performance.now();
  #listener: ((event: MessageEvent<ArrayBuffer>) => void) | undefined;

  constructor() {
    this.player = new GamepadPlayer({
      readyState: "open",
      addEventListener: (_: string, listener: (event: MessageEvent<ArrayBuffer>) => void) => {
        this.#listener = listener;
      },
      send: (bytes) => this.messages.push([performance.now() - this.#begin, hexadecimal(bytes)]),
    } as Channel);
  }

  passUntil(time: number): void {
    vi.advanceTimersByTime(time - (performance.now() - this.#begin));
  }

  act([, action, ...given]: Step): void {
    const pad = Number(given[0]);
    const [left = 0, right = 0] = (given[2] ?? []) as number[];
    const reading = () => ({
      pressed: Number(given[1]),
      triggers: [left, right] as const,
      axes: given[3] as unknown as Axes,
    });
    const actions: Record<string, () => void> = {
      read: () => this.player.read(pad, reading()),
      gone: () => this.player.read(pad, null),
      releaseAll: () => this.player.releaseAll(),
      answer: () => this.#listener?.(new MessageEvent("message", { data: bytesOf(String(given[0])) })),
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
  test.each(vectors.gamepads)("$name", ({ steps, until, messages }) => {
    const end = new End();
    for (const step of steps as Step[]) {
      end.passUntil(Number(step[0]));
      end.act(step);
    }
    end.passUntil(until);
    expect(end.messages).toEqual(messages);
  });

  test.each(vectors.gamepadAnswers)("answer $bytes", ({ bytes, lack, message }) => {
    expect(answerOf(bytesOf(bytes))).toEqual(lack === null ? null : { lack: LACKS[lack], message });
  });

  test.each(vectors.rumbles)("rumble $bytes", ({ bytes, pad, strong, weak, millis }) => {
    expect(rumbleOf(bytesOf(bytes))).toEqual(pad === null ? null : { pad, strong, weak, millis });
  });
});

const button = (value: number) => ({ pressed: value > 0.1, touched: value > 0, value });

test("a gamepad is read by the standard mapping", () => {
  const buttons = Array.from({ length: 18 }, (_, at) => button({ 0: 1, 6: 0.5, 7: 0.05, 16: 1, 17: 1 }[at] ?? 0));
  const reading = readingOf({ buttons, axes: [-1, 1, 0.5, -2] });
  expect(reading).toEqual({
    pressed: 1 | (1 << 6) | (1 << 16),
    triggers: [128, 13],
    axes: [-32767, 32767, 16384, -32767],
  });
  expect(readingOf({ buttons: [], axes: [] })).toEqual({ pressed: 0, triggers: [0, 0], axes: [0, 0, 0, 0] });
  expect([isStandard({ mapping: "standard" }), isStandard({ mapping: "" })]).toEqual([true, false]);
  expect(nameOf({ id: "Pad 3 (STANDARD GAMEPAD Vendor: 045e Product: 028e)" })).toBe("Pad 3");
});

test("what is wrong is said while there is a gamepad", () => {
  expect(troubles({ told: [null], strange: [], lack: "devices" })).toEqual([]);
  expect(troubles({ told: ["Pad"], strange: [], lack: "nothing" })).toEqual([]);
  expect(troubles({ told: [null, "Pad"], strange: ["Wheel"], lack: "devices" })).toEqual([
    "Wheel is not understood: the browser does not know its buttons",
    "the host has no gamepads: gameway doctor there says why",
  ]);
});
