// Which keys a finger on the pad holds, by where it is from the middle.
import type { Settings } from "../settings/settings";

type Directions = readonly [right: string, down: string, left: string, up: string];

const KEYS: Record<Settings["pad"], Directions> = {
  arrows: ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"],
  letters: ["KeyD", "KeyS", "KeyA", "KeyW"],
};
// Nearer to the middle than this share of the radius nothing is held.
const DEAD = 0.25;
// A direction is held up to 67.5 degrees to either side: between two of them, both are for 45 degrees.
const REACH = Math.cos((67.5 * Math.PI) / 180);

// `x` and `y` from the middle to the right and down, in radii.
export function keysOfPad(x: number, y: number, pad: Settings["pad"]): string[] {
  const far = Math.hypot(x, y);
  if (far < DEAD) return [];
  const [right, down, left, up] = KEYS[pad];
  const [across, along] = [x / far, y / far];
  const held: string[] = [];
  if (across > REACH) held.push(right);
  if (along > REACH) held.push(down);
  if (across < -REACH) held.push(left);
  if (along < -REACH) held.push(up);
  return held;
}
