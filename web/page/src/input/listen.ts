// What of the page belongs to the program: keys wherever the focus is, except in fields of the page itself; pointer and wheel
// over the picture.
import { USAGES } from "./keys";
import { BUTTON, KEY } from "./message";
import { boxOfPicture, notches } from "./picture";
import type { Player } from "./player";

// Bits of `buttons` by the number of a button (Pointer Events, section 5.1.1).
const BITS = [1, 4, 2, 8, 16];

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest("input, textarea, select, button") !== null;

function listenToKeys(player: Player): void {
  const onKey = (event: KeyboardEvent, isHeld: boolean) => {
    const usage = USAGES.get(event.code);
    // A key that was pressed over the picture is released, wherever the focus is by then.
    if (usage === undefined || (isHeld && isField(event.target))) return;
    player.set(KEY, usage, isHeld);
    if (!isField(event.target)) event.preventDefault();
  };
  addEventListener("keydown", (event) => onKey(event, true));
  addEventListener("keyup", (event) => onKey(event, false));
}

// Whoever looks elsewhere holds nothing: the browser does not tell of the release.
function releaseWhenGone(player: Player): void {
  addEventListener("blur", () => player.releaseAll());
  addEventListener("pagehide", () => player.releaseAll());
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) player.releaseAll();
  });
}

function listenToPointer(player: Player, video: HTMLVideoElement): void {
  const isLocked = () => document.pointerLockElement === video;
  const onMove = (event: PointerEvent) => {
    if (isLocked()) return player.moveBy(Math.round(event.movementX), Math.round(event.movementY));
    const { x, y, width, height } = boxOfPicture(video);
    player.moveTo((event.clientX - x) / width, (event.clientY - y) / height);
  };
  const onButton = (event: PointerEvent, isHeld: boolean) => {
    onMove(event);
    if (event.button >= 0 && event.button < BITS.length) player.set(BUTTON, event.button, isHeld);
    event.preventDefault();
  };
  video.addEventListener("pointermove", (event) => {
    // Of a mouse that has a button down already, other buttons come as motion (Pointer Events, section 5.1.1).
    if (event.button >= 0) onButton(event, (event.buttons & (BITS[event.button] ?? 0)) !== 0);
    else onMove(event);
  });
  video.addEventListener("pointerdown", (event) => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    if (!isLocked()) video.setPointerCapture(event.pointerId);
    onButton(event, true);
  });
  video.addEventListener("pointerup", (event) => onButton(event, false));
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

export function listen(player: Player, video: HTMLVideoElement): void {
  listenToKeys(player);
  releaseWhenGone(player);
  listenToPointer(player, video);
  listenToWheel(player, video);
}
