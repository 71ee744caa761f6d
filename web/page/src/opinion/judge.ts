// What the opinion score is made of, over the last ten seconds: the same quantities that the report takes from a session's tables.
//
// | quantity | report | page |
// |---|---|---|
// | bitrate, frame rate | of the frames that were encoded | the same: the host tells their sums when it is asked |
// | delay | mean round trip of the pings and mean wait of a frame at the host | mean round trip of ICE's checks, each 2.5 s or so, and the same wait, as the host tells |
// | frames not shown | captured a second or longer ago, and the page did not tell of them | the same; pictures of which the browser tells the number alone count as shown, each time |
//
// The page knows neither what became of a picture after it was given to the display, nor of pictures of a browser that names no RTP
// timestamp: then there is no score.
import { type Penalties, penaltiesOf, type Quality, scoreOf } from "./g1072";

// Looks, one a second.
const WINDOW = 10;
const FEWEST = 2;
const TICKS = 90_000;

// Sums of the host, as of the frame with this RTP timestamp.
export interface Sent {
  timestamp: number;
  frames: number;
  bytes: number;
  // Frames of which something has left, and their waits until then.
  left: number;
  waited_us: number;
  // Frames of which it is known when they were displayed, and their ways from capture to display.
  displayed: number;
  delay_us: number;
  // Bytes of frames and of repair on the wire, and of repair.
  wire: number;
  repair: number;
}

// Of the checks of ICE, both growing; seconds.
export interface RoundTrips {
  total: number;
  count: number;
  newest: number;
}

export interface Opinion {
  score: number;
  quality: Quality;
  penalties: Penalties;
}

// RTP timestamps wrap after 13 hours.
const after = (timestamp: number, since: number) => (timestamp - since) | 0;

export class Judge {
  #sent: Sent[] = [];
  #trips: RoundTrips[] = [];
  #pictures: { timestamp: number; count: number }[] = [];

  // The host has answered.
  told(sent: Sent): void {
    const newest = this.#sent.at(-1);
    // Answers may overtake each other.
    if (newest && after(sent.timestamp, newest.timestamp) <= 0) return;
    this.#sent = [...this.#sent, sent].slice(-WINDOW - 2);
    const oldest = this.#sent[0] ?? sent;
    this.#pictures = this.#pictures.filter(({ timestamp }) => after(timestamp, oldest.timestamp) > 0);
  }

  // A picture is displayed, and so were `missed` before it.
  shown(timestamp: number, missed: number): void {
    if (this.#sent.length > 0) this.#pictures.push({ timestamp, count: 1 + missed });
  }

  // Once a second, as the host is asked.
  opinion(trips: RoundTrips): Opinion | null {
    this.#trips = [...this.#trips, trips].slice(-WINDOW - 1);
    // What was sent in the last second may be on its way.
    const judged = this.#sent.slice(0, -1).slice(-WINDOW - 1);
    const [first, last] = [judged.at(0), judged.at(-1)];
    if (first === undefined || last === undefined || judged.length <= FEWEST) return null;
    const quality = this.#quality(first, last);
    if (quality === null) return null;
    const penalties = penaltiesOf(quality);
    return { score: scoreOf(penalties), quality, penalties };
  }

  #quality(first: Sent, last: Sent): Quality | null {
    const seconds = after(last.timestamp, first.timestamp) / TICKS;
    const [frames, left] = [last.frames - first.frames, last.left - first.left];
    if (frames <= 0 || left <= 0) return null;
    const isJudged = (timestamp: number) =>
      after(timestamp, first.timestamp) > 0 && after(timestamp, last.timestamp) <= 0;
    const pictures = this.#pictures.filter(({ timestamp }) => isJudged(timestamp));
    const shown = pictures.reduce((sum, { count }) => sum + count, 0);
    return {
      bitrate: (8e-6 * (last.bytes - first.bytes)) / seconds,
      frameRate: frames / seconds,
      delay: this.#roundTrip() + (last.waited_us - first.waited_us) / left / 1000,
      lost: 100 * Math.max(0, 1 - shown / frames),
    };
  }

  #roundTrip(): number {
    const [first, last] = [this.#trips.at(0), this.#trips.at(-1)];
    if (first === undefined || last === undefined) return 0;
    const count = last.count - first.count;
    return 1000 * (count > 0 ? (last.total - first.total) / count : last.newest);
  }
}
