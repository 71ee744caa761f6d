// Measures from presses of keys to pictures that show them, one at a time.
import { USAGES } from "../input/keys";
import { KEY } from "../input/message";
import type { Player } from "../input/player";
import { pause } from "../pause";
import type { Pixels } from "./card";
import type { HostTimes } from "./channel";
import type { Observe, ObservedPicture } from "./observed";
import { type Press, type Row, rowOf, type Summary, summaryOf } from "./parts";

// Between two presses, in milliseconds: longer than an answer takes, and by chance, so that they meet frames at any phase.
const PAUSE = 120;
const SPREAD = 150;
// A press whose picture has not come by then is lost.
const PATIENCE = 1500;
// Questions for the host's time before the first press.
const EXCHANGES = 20;
const EXCHANGE = 15;
const FIRST_PICTURE = 3000;

export interface Presser {
  press(): Promise<Press>;
  release(): void;
}

export interface Means {
  presser: Presser;
  times: Pick<HostTimes, "ask" | "clock" | "timesOf">;
  observe: Observe;
  // The card's number in a picture.
  read(picture: Pixels): number | null;
}

// The page presses a key that no person presses meanwhile.
export function pressedByPage(player: Player): Presser {
  const usage = USAGES.get("Space") ?? 0;
  return {
    async press() {
      await pause(PAUSE + SPREAD * Math.random());
      const time = performance.now();
      player.set(KEY, usage, true);
      return { change: player.state.newest, time };
    },
    release: () => player.set(KEY, usage, false),
  };
}

// A person presses keys; the time is that which the browser has of the key itself (UI Events, `timeStamp`).
export function pressedByPerson(player: Player): Presser {
  return {
    press: () =>
      new Promise((resolve) => {
        const before = player.state.newest;
        const onKey = (event: KeyboardEvent) => {
          const change = player.state.newest;
          // A key of the page's own, or one that repeats itself.
          if (event.repeat || change === before) return;
          removeEventListener("keydown", onKey);
          resolve({ change, time: event.timeStamp });
        };
        addEventListener("keydown", onKey);
      }),
    release: () => {},
  };
}

interface Seen {
  number: number;
  picture: ObservedPicture;
}

// The newest number that was shown, and the first picture with another one.
class Watch {
  newest: Seen | null = null;
  readonly stop: () => void;
  #onSeen: ((seen: Seen) => void) | null = null;

  constructor({ observe, read }: Means) {
    this.stop = observe((picture) => {
      const number = read(picture);
      if (number === null) return;
      const seen = { number, picture };
      this.newest = seen;
      this.#onSeen?.(seen);
    });
  }

  // Nothing if none fits by then.
  async until(fits: (seen: Seen) => boolean, patience: number): Promise<Seen | null> {
    const found = new Promise<Seen>((resolve) => {
      this.#onSeen = (seen) => {
        if (fits(seen)) resolve(seen);
      };
    });
    const seen = await Promise.race([found, pause(patience)]);
    this.#onSeen = null;
    return seen ?? null;
  }
}

async function measureOne({ presser, times }: Means, watch: Watch): Promise<Row | null> {
  const press = await presser.press();
  const before = watch.newest?.number;
  const seen = await watch.until(({ number }) => number !== before, PATIENCE);
  presser.release();
  if (seen === null) return null;
  // What is read of a video element may be newer than the picture that the page is told of: then the next one shows it first.
  const { rtpTimestamp } = seen.picture;
  const isNext = ({ number, picture }: Seen) => number === seen.number && picture.rtpTimestamp !== rtpTimestamp;
  const next = await watch.until(isNext, PATIENCE);
  for (const { picture } of next ? [seen, next] : [seen]) {
    const known = await times.timesOf(press.change, picture.rtpTimestamp);
    const { reading } = times.clock;
    if (known && reading) return rowOf(press, known, reading, picture);
  }
  return null;
}

export interface Progress {
  done: number;
  of: number;
}

// Measures so many presses, until it is to stop.
export async function measure(means: Means, of: number, onProgress: (progress: Progress) => boolean): Promise<Summary> {
  const watch = new Watch(means);
  try {
    if ((await watch.until(() => true, FIRST_PICTURE)) === null) {
      throw new Error("no picture of the test card is shown, or the browser does not say when");
    }
    for (let asked = 0; asked < EXCHANGES; asked += 1) {
      means.times.ask();
      await pause(EXCHANGE);
    }
    const rows: Row[] = [];
    let done = 0;
    while (done < of && onProgress({ done, of })) {
      const row = await measureOne(means, watch);
      if (row) rows.push(row);
      done += 1;
    }
    return summaryOf(rows, done - rows.length);
  } finally {
    watch.stop();
  }
}
