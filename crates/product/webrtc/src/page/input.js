"use strict";
// The player's end of the channel "input": docs/wire-protocol.md has its bytes, crates/core/input/src/player.rs the same rules
// in Rust, with the reasons for the numbers. A change is told at once and repeated until it is acknowledged; motion is told
// as sums, its last message repeated; while something is held, a message comes every 100 ms.
const MOTION_INTERVAL = 4, REPETITION = 20, SIGN_OF_LIFE = 100;
const MAX_CHANGES = 32, HEAD = 66;
const KEY = 0, BUTTON = 1;
const HAS_PLACE = 1, WANTS_ANSWER = 2;
// Usages of the USB HID page of keys by `code`: the host puts its own table here.
const USAGES = new Map(Object.entries({/* usages */}));
// A notch of the wheel is 120, or three lines, or 100 pixels.
const PER_LINE = 40, PER_PIXEL = 1.2;

class Player {
  // Called once, when the host lets this page play.
  onTaken = null;
  #channel; #timer = null;
  #keys = new Uint8Array(32);
  #buttons = 0;
  #changes = [];
  #firstChange = 1;
  #number = 0;
  #lastSent = -Infinity;
  #hasChange = false;
  #hasMotion = false;
  #motion = null;
  #place = null;
  #moved = [0, 0];
  #turned = [0, 0];

  constructor(channel) {
    this.#channel = channel;
    channel.binaryType = "arraybuffer";
    channel.onmessage = ({ data }) => this.#onAnswer(new DataView(data));
    channel.onopen = () => this.#tell();
  }

  // Whether that changed anything: a key that repeats itself does not.
  set(kind, number, isHeld) {
    if (this.#isHeld(kind, number) === isHeld) return false;
    if (kind === KEY) this.#keys[number >> 3] ^= 1 << (number & 7);
    else this.#buttons ^= 1 << number;
    if (this.#changes.length === MAX_CHANGES) {
      this.#changes.shift();
      this.#firstChange += 1;
    }
    this.#changes.push([kind, number, isHeld ? 1 : 0]);
    this.#hasChange = true;
    this.#tell();
    return true;
  }

  // A place on the picture, each side from 0 to 1.
  moveTo(x, y) {
    const part = (side) => Math.round(65535 * Math.min(1, Math.max(0, side)));
    this.#place = [part(x), part(y)];
    this.#hasMotion = true;
    this.#tell();
  }

  moveBy(x, y) {
    this.#moved = [(this.#moved[0] + x) | 0, (this.#moved[1] + y) | 0];
    this.#hasMotion = true;
    this.#tell();
  }

  turn(x, y) {
    this.#turned = [(this.#turned[0] + x) | 0, (this.#turned[1] + y) | 0];
    this.#hasMotion = true;
    this.#tell();
  }

  releaseAll() {
    for (let number = 0; number < 256; number += 1) this.set(KEY, number, false);
    for (let number = 0; number < 8; number += 1) this.set(BUTTON, number, false);
  }

  // For who looks at the page from outside.
  get state() {
    const held = this.#isAnyHeld(), waiting = this.#changes.length;
    return { held, waiting, messages: this.#number, newest: this.#firstChange + waiting - 1 };
  }

  #isHeld(kind, number) {
    return kind === KEY ? (this.#keys[number >> 3] >> (number & 7) & 1) === 1 : (this.#buttons >> number & 1) === 1;
  }

  #isAnyHeld() {
    return this.#buttons !== 0 || this.#keys.some((byte) => byte !== 0);
  }

  #onAnswer(answer) {
    if (answer.byteLength !== 11 || answer.getUint16(0) !== 0x4741 || answer.getUint8(2) !== 1) return;
    // The first one is a greeting: the host takes what the player does.
    this.onTaken?.();
    this.onTaken = null;
    const next = Math.min(answer.getUint32(3), this.#firstChange + this.#changes.length);
    while (this.#firstChange < next) {
      this.#changes.shift();
      this.#firstChange += 1;
    }
    if (this.#motion !== null && this.#motion <= answer.getUint32(7)) this.#motion = null;
    this.#tell();
  }

  // Milliseconds from the last message until the next is due; none while there is nothing to say.
  #wait() {
    if (this.#hasChange) return 0;
    if (this.#hasMotion) return MOTION_INTERVAL;
    if (this.#motion !== null || this.#changes.length > 0) return REPETITION;
    return this.#isAnyHeld() ? SIGN_OF_LIFE : null;
  }

  #tell() {
    clearTimeout(this.#timer);
    const wait = this.#wait();
    if (wait === null || this.#channel.readyState !== "open") return;
    const left = this.#lastSent + wait - performance.now();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#tell(), left);
      return;
    }
    this.#send();
    this.#tell();
  }

  #send() {
    const changes = this.#changes;
    const message = new DataView(new ArrayBuffer(HEAD + 3 * changes.length));
    this.#number += 1;
    this.#lastSent = performance.now();
    const repeatsMotion = this.#motion !== null && !this.#hasMotion;
    if (this.#hasMotion) this.#motion = this.#number;
    this.#hasChange = this.#hasMotion = false;
    message.setUint16(0, 0x4749);
    message.setUint8(2, 1);
    message.setUint8(3, changes.length);
    message.setUint32(4, this.#number);
    message.setUint32(8, this.#firstChange);
    new Uint8Array(message.buffer).set(this.#keys, 12);
    message.setUint8(44, this.#buttons);
    const wantsAnswer = repeatsMotion || changes.length > 0;
    message.setUint8(45, (this.#place ? HAS_PLACE : 0) | (wantsAnswer ? WANTS_ANSWER : 0));
    [this.#place?.[0] ?? 0, this.#place?.[1] ?? 0].forEach((side, index) => message.setUint16(46 + 2 * index, side));
    [...this.#moved, ...this.#turned].forEach((sum, index) => message.setInt32(50 + 4 * index, sum));
    new Uint8Array(message.buffer).set(changes.flat(), HEAD);
    try {
      this.#channel.send(message.buffer);
    } catch {
      // The channel is full or gone: the next message has all of it.
    }
  }
}

// What of the page belongs to the program: keys wherever the focus is, except in fields of the page itself; pointer and wheel
// over the picture.
function listen(player, video) {
  const isField = (target) => target instanceof HTMLElement && target.closest("input, textarea, select, button") !== null;
  const onKey = (event, isHeld) => {
    const usage = USAGES.get(event.code);
    // A key that was pressed over the picture is released, wherever the focus is by then.
    if (usage === undefined || (isHeld && isField(event.target))) return;
    player.set(KEY, usage, isHeld);
    if (!isField(event.target)) event.preventDefault();
  };
  addEventListener("keydown", (event) => onKey(event, true));
  addEventListener("keyup", (event) => onKey(event, false));
  // Whoever looks elsewhere holds nothing: the browser does not tell of the release.
  addEventListener("blur", () => player.releaseAll());
  addEventListener("pagehide", () => player.releaseAll());
  document.addEventListener("visibilitychange", () => { if (document.hidden) player.releaseAll(); });

  const isLocked = () => document.pointerLockElement === video;
  const onMove = (event) => {
    if (isLocked()) {
      player.moveBy(Math.round(event.movementX), Math.round(event.movementY));
      return;
    }
    const { x, y, width, height } = boxOfPicture(video);
    player.moveTo((event.clientX - x) / width, (event.clientY - y) / height);
  };
  const onButton = (event, isHeld) => {
    onMove(event);
    if (event.button >= 0 && event.button < 5) player.set(BUTTON, event.button, isHeld);
    event.preventDefault();
  };
  video.addEventListener("pointermove", (event) => {
    // Of a mouse that has a button down already, other buttons come as motion (Pointer Events, section 5.1.1).
    if (event.button >= 0) onButton(event, (event.buttons & BITS[event.button]) !== 0);
    else onMove(event);
  });
  video.addEventListener("pointerdown", (event) => {
    document.activeElement?.blur?.();
    if (!isLocked()) video.setPointerCapture(event.pointerId);
    onButton(event, true);
  });
  video.addEventListener("pointerup", (event) => onButton(event, false));
  video.addEventListener("pointercancel", () => player.releaseAll());
  video.addEventListener("contextmenu", (event) => event.preventDefault());
  video.addEventListener("wheel", (event) => {
    const [x, y] = notches(event);
    player.turn(x, y);
    event.preventDefault();
  }, { passive: false });
}

// Bits of `buttons` by the number of a button (Pointer Events, section 5.1.1).
const BITS = [1, 4, 2, 8, 16];

// Where the picture is on the page: it has margins where its shape is not the element's.
function boxOfPicture(video) {
  const box = video.getBoundingClientRect();
  const own = { width: video.videoWidth || box.width, height: video.videoHeight || box.height };
  const scale = Math.min(box.width / own.width, box.height / own.height);
  const width = own.width * scale, height = own.height * scale;
  return { x: box.left + (box.width - width) / 2, y: box.top + (box.height - height) / 2, width, height };
}

// Turns of the wheel to the right and down, in 1/120 of a notch.
function notches(event) {
  if (event.wheelDeltaX !== undefined) return [-event.wheelDeltaX, -event.wheelDeltaY].map(Math.round);
  const factor = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? PER_LINE : PER_PIXEL;
  return [factor * event.deltaX, factor * event.deltaY].map(Math.round);
}

// The mouse turns the view: its motion has no end at the picture's edge, and is raw where the browser has that.
async function lockPointer(video) {
  try {
    await video.requestPointerLock({ unadjustedMovement: true });
  } catch (error) {
    if (error.name !== "NotSupportedError") throw error;
    await video.requestPointerLock();
  }
}

// In full screen the browser gives all keys to the program, Escape too, where it can.
async function fillScreen(element) {
  await element.requestFullscreen({ navigationUI: "hide" });
  await navigator.keyboard?.lock?.().catch(() => {});
}
