// The picture on the page, and what of a mouse's events a program is told.
import type { Screen } from "../screen/screen";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// A notch of the wheel is 120, or three lines, or 100 pixels.
const PER_LINE = 40;
const PER_PIXEL = 1.2;
const LINES = 1;

// Where a picture of this size is in an element: it has margins where its shape is not the element's.
export function boxOf(element: Box, size: { width: number; height: number }): Box {
  const own = { width: size.width || element.width, height: size.height || element.height };
  const scale = Math.min(element.width / own.width, element.height / own.height);
  const [width, height] = [own.width * scale, own.height * scale];
  return { x: element.x + (element.width - width) / 2, y: element.y + (element.height - height) / 2, width, height };
}

export function boxOfPicture({ element, size }: Screen): Box {
  return boxOf(element.getBoundingClientRect(), size.value);
}

// Where on the picture something is, each side from 0 to 1; beyond its edges less or more.
export function placeOf(screen: Screen, { clientX, clientY }: MouseEvent): [number, number] {
  const { x, y, width, height } = boxOfPicture(screen);
  return [(clientX - x) / width, (clientY - y) / height];
}

type Wheel = Pick<WheelEvent, "deltaX" | "deltaY" | "deltaMode"> & { wheelDeltaX?: number; wheelDeltaY?: number };

// Turns of the wheel to the right and down, in 1/120 of a notch.
export function notches({ deltaX, deltaY, deltaMode, wheelDeltaX, wheelDeltaY }: Wheel): [number, number] {
  if (wheelDeltaX !== undefined) return [Math.round(-wheelDeltaX), Math.round(-(wheelDeltaY ?? 0))];
  const factor = deltaMode === LINES ? PER_LINE : PER_PIXEL;
  return [Math.round(factor * deltaX), Math.round(factor * deltaY)];
}
