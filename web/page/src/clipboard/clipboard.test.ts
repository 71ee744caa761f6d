import { afterEach, expect, test, vi } from "vitest";
import { type Channel, GameClipboard } from "./clipboard";
import { messageOf, partsOf } from "./message";

const bytesOf = (...bytes: number[]) => Uint8Array.from(bytes).buffer;
const OFFER = bytesOf(0x47, 0x43, 1, 0);
const outcome = (number: number) => bytesOf(0x47, 0x43, 1, 3, number);

function made(own = "") {
  const device = { text: own };
  vi.stubGlobal("navigator", {
    clipboard: {
      readText: async () => device.text,
      writeText: async (text: string) => {
        device.text = text;
      },
    },
  });
  const sent: ArrayBuffer[] = [];
  const channel: Channel = {
    binaryType: "blob",
    readyState: "open",
    onmessage: null,
    onclose: null,
    send: (bytes) => sent.push(bytes),
  };
  const clipboard = new GameClipboard(channel);
  const hear = (data: ArrayBuffer) =>
    channel.onmessage?.call({} as RTCDataChannel, new MessageEvent("message", { data }));
  return { clipboard, channel, device, sent, hear };
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("it is offered once", () => {
  const { clipboard, hear } = made();
  const onOffered = vi.fn();
  clipboard.onOffered = onOffered;
  hear(OFFER);
  hear(OFFER);
  expect(onOffered).toHaveBeenCalledTimes(1);
});

test("a copied text comes in parts", async () => {
  const { clipboard, device, hear } = made();
  const text = "猫".repeat(10_000);
  const copied = clipboard.copy();
  for (const part of partsOf(text)) hear(part);
  await copied;
  expect(device.text === text).toBe(true);
});

test("a pasted text is taken before another one goes", async () => {
  const { clipboard, sent, hear } = made("ž");
  const pasted = clipboard.paste();
  await vi.waitFor(() => expect(sent.map((bytes) => messageOf(bytes)?.kind)).toEqual(["part"]));
  await expect(clipboard.copy()).rejects.toThrow("still on its way");
  hear(outcome(0));
  await pasted;
});

test("why there is no text is said", async () => {
  const { clipboard, device, channel, hear } = made("a".repeat((1 << 20) + 1));
  await expect(clipboard.paste()).rejects.toThrow("1 MiB");
  const copied = clipboard.copy();
  hear(outcome(1));
  await expect(copied).rejects.toThrow("no text");
  const cut = clipboard.copy();
  channel.onclose?.call({} as RTCDataChannel, new Event("close"));
  await expect(cut).rejects.toThrow("no connection");
  expect(device.text.length).toBe((1 << 20) + 1);
});

test("a host that does not answer is given up, and another text may go", async () => {
  vi.useFakeTimers();
  const { clipboard, hear } = made();
  const failed = expect(clipboard.copy()).rejects.toThrow("does not answer");
  await vi.advanceTimersByTimeAsync(15_000);
  await failed;
  const copied = clipboard.copy();
  for (const part of partsOf("late")) hear(part);
  await copied;
  vi.useRealTimers();
});

test("a browser that does not let it says so", async () => {
  const { clipboard, hear } = made();
  const refuse = () => Promise.reject(new DOMException("no", "NotAllowedError"));
  vi.stubGlobal("navigator", { clipboard: { readText: refuse, writeText: refuse } });
  await expect(clipboard.paste()).rejects.toThrow("has not allowed");
  const copied = clipboard.copy();
  for (const part of partsOf("text")) hear(part);
  await expect(copied).rejects.toThrow("has not allowed");
  vi.stubGlobal("navigator", { clipboard: { writeText: refuse } });
  await expect(clipboard.paste()).rejects.toThrow("no page read");
});

test("a page that is not secure says so", async () => {
  const { clipboard } = made();
  vi.stubGlobal("navigator", {});
  await expect(clipboard.paste()).rejects.toThrow("HTTPS");
});
