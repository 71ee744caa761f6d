import type { Opinion } from "../opinion/judge";
import type { Figures } from "./figures";

// What is wrong is said in words from these on. Losses that are repaired cost a round trip each; ITU-T G.1072 has an opinion below
// "good" from some 100 ms of delay on.
const MUCH_LOST = 2;
const LONG_ROUND_TRIP = 100;
const UNEVEN = 30;
const FROZEN = 1;
// A score below is nearer to "poor" (2) than to "fair" (3) on the scale of five (ITU-T P.800).
const POOR = 2.5;
// Of the frames that were captured; below, few frames are worse than lost ones.
const MUCH_NOT_SHOWN = 1;

// The term that takes most from the score. Unsteadiness and missing frames are one in words.
function reasonOf({ quality, penalties }: Opinion): string {
  const { bitrate, frameRate, delay, lost } = quality;
  const terms = [
    { penalty: penalties.coding, words: `${bitrate.toFixed(1)} Mb/s are little for ${frameRate.toFixed(0)} frames/s.` },
    {
      penalty: penalties.temporal + penalties.frames,
      words:
        lost >= MUCH_NOT_SHOWN
          ? `${lost.toFixed(0)} % of the pictures are not shown.`
          : `Few pictures come: ${frameRate.toFixed(0)} frames/s.`,
    },
    { penalty: penalties.delay, words: `Answers come ${delay.toFixed(0)} ms after what they answer.` },
  ];
  const worst = terms.reduce((most, one) => (one.penalty > most.penalty ? one : most));
  return `The opinion score is low. ${worst.words}`;
}

// What is wrong, in words; the worst first, nothing if all is well.
export function wrongOf({ freezes, lost, roundTrip, buffer }: Figures, opinion: Opinion | null): string {
  if (freezes >= FROZEN) return "The picture stood still: packets came too late or not at all.";
  if (lost >= MUCH_LOST) return `Your connection loses ${lost.toFixed(0)} % of the packets.`;
  if (roundTrip >= LONG_ROUND_TRIP) return `The way there and back takes ${roundTrip.toFixed(0)} ms.`;
  if (buffer >= UNEVEN) return "Packets come unevenly: the browser waits for the late ones.";
  return opinion !== null && opinion.score < POOR ? reasonOf(opinion) : "";
}
