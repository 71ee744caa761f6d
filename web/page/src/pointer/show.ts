// The pointer over the picture has the shape that the program gives it. The browser draws it, so that it does not wait for
// the network.
import { boxOfPicture } from "../input/picture";
import type { Screen } from "../screen/screen";
import { scaled } from "./scale";
import { type Image, type Shape, shapeOf } from "./shape";

function canvasOf(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] | null {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  return context && [canvas, context];
}

// As an address: a cursor's image has no other source. The host's policy lets the page show such addresses (`img-src`).
function drawn({ size, pixels }: Image, [width, height]: readonly [number, number]): string | null {
  const [from, to] = [canvasOf(...size), canvasOf(width, height)];
  if (!from || !to) return null;
  from[1].putImageData(new ImageData(pixels, ...size), 0, 0);
  to[1].imageSmoothingQuality = "high";
  to[1].drawImage(from[0], 0, 0, width, height);
  return to[0].toDataURL();
}

function cursorOf(shape: Shape, widthOfPicture: number): string {
  if (shape.kind === "hidden") return "none";
  if (shape.kind === "own" || widthOfPicture <= 0) return "";
  const { size, hotspot } = scaled(shape.size, shape.hotspot, widthOfPicture / shape.screen[0]);
  const address = drawn(shape, size);
  return address === null ? "" : `url(${address}) ${hotspot.join(" ")}, default`;
}

export function showShapes(channel: RTCDataChannel, screen: Screen): void {
  let newest: Shape = { kind: "own" };
  const show = () => {
    screen.element.style.cursor = cursorOf(newest, boxOfPicture(screen).width);
  };
  const take = (shape: Shape) => {
    newest = shape;
    show();
  };
  channel.binaryType = "arraybuffer";
  channel.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => take(shapeOf(data) ?? newest);
  // Who is left with a picture that stands has a pointer.
  channel.onclose = () => take({ kind: "own" });
  // The picture is larger or smaller on the page, or of another shape.
  new ResizeObserver(show).observe(screen.element);
  screen.size.listen(show);
}
