// Takes encoded frames out ahead of the browser's jitter buffer and decoder, decodes and draws them at once.
import { type Metadata, metadataOf, ofPage, seen, type TransformEvent } from "../connection/encoded";
import type { CanvasOptions, FromWorker, ToWorker } from "./canvas-messages";
import { Freezes } from "./freezes";
import { H264Heads, type Head } from "./h264";
import { H265Heads } from "./h265";
import { References } from "./references";
import type { ScreenCounters } from "./ways";

interface Heads {
  read(frame: Uint8Array): Head;
}

// Times since 1970.
interface Decoding {
  timestamp: number;
  arrived: number;
  began: number;
}

interface Drawn extends Decoding {
  decoded: number;
  width: number;
  height: number;
}

const tell = (message: FromWorker) => postMessage(message);

// Frames that wait for decoder and canvas: a quarter of a second. Who is slower begins anew with a key frame.
const MAX_WAITING = 15;

const counters: ScreenCounters = { decoded: 0, decoding: 0, buffered: 0, waited: 0, freezes: 0, height: 0 };
const freezes = new Freezes();
const decodings = new Map<number, Decoding>();
let context: OffscreenCanvasRenderingContext2D | null = null;
let decoder: VideoDecoder | null = null;
let heads: Heads = new H264Heads();
const references = new References();
let codec = "";
let number = 0;
// What was drawn since the browser last took the canvas for the screen.
let drawn: Drawn | null = null;
let replaced = 0;

function onDisplay(time: number): void {
  if (drawn === null) return;
  const { timestamp, arrived, began, decoded, width, height } = drawn;
  drawn = null;
  const decoding = decoded - began;
  tell({ kind: "shown", timestamp, arrived, time: ofPage(time), decoding, replaced, width, height });
}

function onDecoded(frame: VideoFrame): void {
  const decoding = decodings.get(frame.timestamp);
  decodings.delete(frame.timestamp);
  const { displayWidth: width, displayHeight: height } = frame;
  const now = performance.now();
  const decoded = ofPage(now);
  if (context && decoding) {
    const { canvas } = context;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    context.drawImage(frame, 0, 0, width, height);
    if (drawn) replaced += 1;
    else requestAnimationFrame(onDisplay);
    drawn = { ...decoding, decoded, width, height };
    counters.decoded += 1;
    counters.decoding += decoded - decoding.began;
    counters.height = height;
    counters.freezes += freezes.on(now) ? 1 : 0;
  }
  frame.close();
}

function fail(error: DOMException): void {
  if (decoder && decoder.state !== "closed") decoder.close();
  decoder = null;
  decodings.clear();
  tell({ kind: "key frame needed", why: error.message });
}

// Of a host that says to which frames one refers, those that cannot be decoded are passed over: another one follows that can.
function isPassedOver({ frameId, dependencies = [] }: Metadata, isKey: boolean): boolean {
  return frameId !== undefined && !references.take(frameId, dependencies, isKey);
}

function ready(head: Head, isKey: boolean): VideoDecoder | null {
  if (isKey && head.codec !== undefined && (decoder === null || head.codec !== codec)) {
    codec = head.codec;
    decoder ??= new VideoDecoder({ output: onDecoded, error: fail });
    decoder.configure({ codec, optimizeForLatency: true });
  }
  if (decoder && !head.follows) fail(new DOMException("a frame is missing"));
  if (decoder && decodings.size > MAX_WAITING) fail(new DOMException("this machine decodes and draws too slowly"));
  return decoder;
}

function headsOf({ mimeType = "video/H264" }: Metadata): Heads {
  if (mimeType.toLowerCase() !== "video/h265") return heads instanceof H264Heads ? heads : new H264Heads();
  return heads instanceof H265Heads ? heads : new H265Heads();
}

function decode(frame: RTCEncodedVideoFrame, header: number): void {
  const isKey = frame.type === "key";
  const metadata = metadataOf(frame);
  if (isKey) heads = headsOf(metadata);
  const data = new Uint8Array(frame.data, header);
  const told = seen(frame);
  tell({ kind: "seen", ...told });
  if (isPassedOver(metadata, isKey)) return;
  const head = heads.read(data);
  const able = ready(metadata.frameId === undefined ? head : { ...head, follows: true }, isKey);
  if (able === null) return;
  const { timestamp, received: arrived, now: began } = told;
  counters.buffered += 1;
  counters.waited += began - arrived;
  number += 1;
  decodings.set(number, { timestamp, arrived, began });
  able.decode(new EncodedVideoChunk({ type: isKey ? "key" : "delta", timestamp: number, data }));
}

async function take({ transformer: { readable, options } }: TransformEvent<CanvasOptions>): Promise<void> {
  const reader = readable.getReader();
  for (;;) {
    const { done, value: frame } = await reader.read();
    if (done) return;
    decode(frame, options.header);
  }
}

function onMessage({ data }: MessageEvent<ToWorker>): void {
  if (data.kind === "canvas") context = data.canvas.getContext("2d", { alpha: false, desynchronized: true });
  else tell({ kind: "counters", counters });
}

Object.assign(globalThis, { onrtctransform: take, onmessage: onMessage });
