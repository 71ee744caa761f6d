// Opinion score of a game stream by ITU-T G.1072 (01/2020) with corrigendum 1 (10/2020), for a game of class high, as the report has it
// (python/gameway/metrics/mos.py; python/tests/opinion_vectors.json holds both to the same values). Each impairment is a penalty; a weighted sum of them is
// taken from 100, and the rest is mapped to a score from 1.3 to 4.64.
//
// | deviation | why |
// |---|---|
// | frame loss is the share of frames that were not shown, not planned from packet loss | the standard prefers what is measured |
// | pictures have 1920x1080 pixels, whatever the stream has | as the report of a kept session |
// | no term of transmission | it is of broken slices: a frame here is whole or not shown |
// | the extended mode's classes medium and low are left out | the page does not know the game; high is the standard's default |

export interface Quality {
  // Encoded video, Mb/s, and frames a second.
  bitrate: number;
  frameRate: number;
  // Milliseconds that the network and its queues add between control and picture.
  delay: number;
  // Percent of the encoded frames that were never shown.
  lost: number;
}

// What each impairment takes from the rating, weighted.
export interface Penalties {
  coding: number;
  temporal: number;
  frames: number;
  delay: number;
}

const FULL_HD_PIXELS = 1920 * 1080;

const clip = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

function coding(bitrate: number, frameRate: number): number {
  const bitsPerPixel = (clip(bitrate, 0.3, 50) * 1e6) / (FULL_HD_PIXELS * frameRate);
  const complexity = 7.62306351 * Math.exp(-167.837954 * bitsPerPixel) + 0.0760332685;
  const raw = 47.7463038 * Math.exp(-12.0699723 * bitsPerPixel) + 9.05167501 * complexity + 3.41919377;
  return clip(Math.min(raw, 65), 0, 78.78);
}

export function penaltiesOf({ bitrate, frameRate, delay, lost }: Quality): Penalties {
  const rate = clip(frameRate, 10, 60);
  const loss = Math.log(clip(lost, 0, 100) + 1);
  const temporal = 47.03 + 0.01747 * rate * rate - 1.823 * rate + 10.7 * loss;
  const frames = 54.71 + 0.02589 * rate * rate - 2.485 * rate + 9.306 * loss;
  const late = 90 / (1 + Math.exp(1.191 - 0.009775 * clip(delay, 0, 400))) - 18.73;
  return {
    coding: 0.788 * coding(bitrate, rate),
    temporal: 0.227 * clip(temporal, 0, 61.29),
    frames: 0.625 * clip(frames, 0, 68.98),
    delay: 0.848 * clip(late, 0, 68.98),
  };
}

export function scoreOf({ coding, temporal, frames, delay }: Penalties): number {
  const rating = clip(100 - coding - temporal - frames - delay, 0, 100);
  const score = 1.3 + (3.34 * rating) / 100 + 7e-6 * rating * (rating - 60) * (100 - rating);
  return clip(score, 1.3, 4.64);
}
