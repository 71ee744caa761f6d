// Fingers on the picture while there are touch controls: a drag moves the mouse, a tap is a click.

import type { Screen } from "../screen/screen";
import { BUTTON } from "./message";
import { placeOf } from "./picture";
import type { Player } from "./player";

// A tap is shorter than this, in milliseconds, and its finger stays within so many pixels.
const TAP_TIME = 250;
const TAP_REACH = 10;
// How long a tap holds the button: a game that looks 30 times a second sees it.
const CLICK_TIME = 50;
// Pixels of the mouse for each pixel of a drag: a thumb's way over half a phone turns the view around.
const GAIN = 3;

interface Drag {
  pointer: number;
  began: number;
  start: readonly [number, number];
  last: readonly [number, number];
}

const far = ([x, y]: readonly [number, number], event: PointerEvent) =>
  Math.hypot(event.clientX - x, event.clientY - y);

function click(player: Player): void {
  player.set(BUTTON, 0, true);
  setTimeout(() => player.set(BUTTON, 0, false), CLICK_TIME);
}

export function listenToFingers(
  player: Player,
  screen: Screen,
  isFinger: (event: PointerEvent) => boolean,
  mouseLook: () => boolean,
): void {
  const video = screen.element;
  let drag: Drag | null = null;
  const follow = (event: PointerEvent, { last: [x, y] }: Drag) => {
    const [dx, dy] = [Math.round(GAIN * (event.clientX - x)), Math.round(GAIN * (event.clientY - y))];
    if (mouseLook()) player.moveBy(dx, dy);
    else player.moveTo(...placeOf(screen, event));
  };
  video.addEventListener("pointerdown", (event) => {
    if (!isFinger(event) || drag !== null) return;
    const place = [event.clientX, event.clientY] as const;
    drag = { pointer: event.pointerId, began: event.timeStamp, start: place, last: place };
    video.setPointerCapture(event.pointerId);
    follow(event, drag);
  });
  video.addEventListener("pointermove", (event) => {
    if (drag?.pointer !== event.pointerId) return;
    follow(event, drag);
    drag = { ...drag, last: [event.clientX, event.clientY] };
  });
  video.addEventListener("pointerup", (event) => {
    if (drag?.pointer !== event.pointerId) return;
    if (event.timeStamp - drag.began < TAP_TIME && far(drag.start, event) < TAP_REACH) click(player);
    drag = null;
  });
  video.addEventListener("pointercancel", () => {
    drag = null;
  });
}
