import type { Figures } from "./figures";

// What is wrong is said in words from these on. Losses that are repaired cost a round trip each; ITU-T G.1072 has an opinion below
// "good" from some 100 ms of delay on.
const MUCH_LOST = 2;
const LONG_ROUND_TRIP = 100;
const UNEVEN = 30;
const FROZEN = 1;

// What is wrong, in words; the worst first, nothing if all is well.
export function wrongOf({ freezes, lost, roundTrip, buffer }: Figures): string {
  if (freezes >= FROZEN) return "The picture stood still: packets came too late or not at all.";
  if (lost >= MUCH_LOST) return `Your connection loses ${lost.toFixed(0)} % of the packets.`;
  if (roundTrip >= LONG_ROUND_TRIP) return `The way there and back takes ${roundTrip.toFixed(0)} ms.`;
  if (buffer >= UNEVEN) return "Packets come unevenly: the browser waits for the late ones.";
  return "";
}
