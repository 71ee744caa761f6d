// What of the page belongs to the program: keys wherever the focus is, except in fields of the page itself; pointer and wheel
// over the picture.

import type { Screen } from "../screen/screen";
import { giveBack } from "../text/mode";
import { listenToFingers } from "./fingers";
import { whenGone } from "./gone";
import { USAGES } from "./keys";
import { BUTTON, KEY } from "./message";
import { notches, placeOf } from "./picture";
import type { Player } from "./player";
import { lockPointer } from "./screen";

// Bits of `buttons` by the number of a button (Pointer Events, section 5.1.1).
const BITS = [1, 4, 2, 8, 16];

// How the mouse and fingers are meant, which a person may change at any time.
export interface Manner {
  // A click on the picture locks the pointer.
  mouseLook(): boolean;
  // Fingers have keys of their own: on the picture they are a mouse that is moved, and a tap is a click.
  touchControls(): boolean;
}

// What keeps its keys.
const OWN = "input, textarea, select, button, dialog";

const isOwn = (target: EventTarget | null) =>
  (target instanceof HTMLElement && target.closest(OWN) !== null) || document.querySelector("dialog[open]") !== null;

function listenToKeys(player: Player): void {
  const onKey = (event: KeyboardEvent, isHeld: boolean) => {
    const usage = USAGES.get(event.code);
    // A key that was pressed over the picture is released, wherever the focus is by then.
    if (usage === undefined || (isHeld && isOwn(event.target))) return;
    player.set(KEY, usage, isHeld);
    if (!isOwn(event.target)) event.preventDefault();
  };
  addEventListener("keydown", (event) => onKey(event, true));
  addEventListener("keyup", (event) => onKey(event, false));
}

const isLocked = (video: HTMLVideoElement) => document.pointerLockElement === video;

function move(player: Player, screen: Screen, event: PointerEvent): void {
  if (isLocked(screen.element)) player.moveBy(Math.round(event.movementX), Math.round(event.movementY));
  else player.moveTo(...placeOf(screen, event));
}

function listenToMouse(player: Player, screen: Screen, isMouse: (event: PointerEvent) => boolean): void {
  const video = screen.element;
  const onButton = (event: PointerEvent, isHeld: boolean) => {
    move(player, screen, event);
    if (event.button >= 0 && event.button < BITS.length) player.set(BUTTON, event.button, isHeld);
    event.preventDefault();
  };
  const on = (name: "pointermove" | "pointerdown" | "pointerup", act: (event: PointerEvent) => void) =>
    video.addEventListener(name, (event) => {
      if (isMouse(event)) act(event);
    });
  on("pointermove", (event) => {
    // Of a mouse that has a button down already, other buttons come as motion (Pointer Events, section 5.1.1).
    if (event.button >= 0) onButton(event, (event.buttons & (BITS[event.button] ?? 0)) !== 0);
    else move(player, screen, event);
  });
  on("pointerdown", (event) => {
    if (!isLocked(video)) video.setPointerCapture(event.pointerId);
    onButton(event, true);
  });
  on("pointerup", (event) => onButton(event, false));
}

function listenToPointer(player: Player, screen: Screen, manner: Manner): void {
  const video = screen.element;
  const isFinger = ({ pointerType }: PointerEvent) => pointerType === "touch" && manner.touchControls();
  const locks = (event: PointerEvent) => event.pointerType === "mouse" && manner.mouseLook() && !isLocked(video);
  video.addEventListener("pointerdown", (event) => {
    // Keys go to the program again.
    giveBack();
    if (!locks(event)) return;
    event.stopImmediatePropagation();
    lockPointer(video).catch(() => {});
  });
  listenToFingers(player, screen, isFinger, manner.mouseLook);
  listenToMouse(player, screen, (event) => !isFinger(event));
  video.addEventListener("pointercancel", () => player.releaseAll());
  video.addEventListener("contextmenu", (event) => event.preventDefault());
}

function listenToWheel(player: Player, video: HTMLVideoElement): void {
  const onWheel = (event: WheelEvent) => {
    const [x, y] = notches(event);
    player.turn(x, y);
    event.preventDefault();
  };
  video.addEventListener("wheel", onWheel, { passive: false });
}

export function listen(player: Player, screen: Screen, manner: Manner): void {
  listenToKeys(player);
  whenGone(() => player.releaseAll());
  listenToPointer(player, screen, manner);
  listenToWheel(player, screen.element);
}
