// How large a pointer is on the page: browsers show a cursor's pixels as they are, and none of more than 128 (Chromium,
// Firefox), while the picture is larger or smaller than the screen that it shows.
const MAX_SIDE = 128;

type Pair = readonly [number, number];

export interface Scaled {
  size: Pair;
  hotspot: Pair;
}

// `scale`: pixels of the page for one of the screen.
export function scaled(size: Pair, hotspot: Pair, scale: number): Scaled {
  const own = Math.min(scale, MAX_SIDE / Math.max(...size));
  const side = (pixels: number) => Math.max(1, Math.round(pixels * own));
  const [width, height] = [side(size[0]), side(size[1])];
  // The middle of the pixel that points stays its middle.
  const point = (pixel: number, pixels: number, all: number) =>
    Math.min(all - 1, Math.floor(((pixel + 0.5) * all) / pixels));
  return {
    size: [width, height],
    hotspot: [point(hotspot[0], size[0], width), point(hotspot[1], size[1], height)],
  };
}
