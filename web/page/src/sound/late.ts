// Which packets of sound come too late to be played beside the picture.
//
// A browser's jitter buffer of sound (libwebrtc's NetEq) waits for as long as 95 % of the intervals of 500 ms had their latest packet
// late, later than the earliest one of 2 s; it forgets 1.7 % with each interval, and as long as there were few of them, more
// (`delay_manager`, `underrun_optimizer`, `packet_arrival_history`). So one stall makes sound later than the picture for half a minute. A packet that
// does not come to the buffer is concealed, and is no late one.
//
// | constant | value | origin |
// |---|---|---|
// | window | 2 s of media | NetEq's: what is on time here is so there |
// | most late | 30 ms | with 10 ms by which NetEq counts within its second step of 20 ms: it then waits for 40 ms, and sound is less than 45 ms later than the picture |
// | most left out | 2 s | as long as a delay that stays takes to leave the window |
// | calm | 10 s | after so long without a late packet as much may be left out again: where packets are always late, NetEq is to wait for them |
const WINDOW = 2000;
const MAX_LATE = 30;
const MAX_LEFT_OUT = 2000;
const CALM = 10_000;
// Of RTP timestamps to a millisecond (RFC 7587 section 4.1).
const CLOCK = 48;

// The difference of two timestamps, which wrap.
const since = (newer: number, older: number) => (newer - older) | 0;

interface Arrival {
  // Milliseconds of media.
  media: number;
  // How late it came after that; only differences say something.
  age: number;
}

export class LateSound {
  #window: Arrival[] = [];
  #newest: { timestamp: number; media: number } | undefined;
  #leftOut = 0;
  #late: number | undefined;

  // Whether the packet is not to be played; each one is told of, with the time in milliseconds at which it came and how long it is.
  isLate(timestamp: number, arrived: number, duration: number): boolean {
    const media = this.#mediaOf(timestamp);
    const age = arrived - media;
    this.#window = this.#window.filter((one) => one.media >= media - WINDOW);
    this.#window.push({ media, age });
    const isLate = age - Math.min(...this.#window.map((one) => one.age)) > MAX_LATE;
    if (!isLate) {
      if (this.#late !== undefined && arrived - this.#late >= CALM) this.#leftOut = 0;
      return false;
    }
    this.#late = arrived;
    if (this.#leftOut + duration > MAX_LEFT_OUT) return false;
    this.#leftOut += duration;
    return true;
  }

  #mediaOf(timestamp: number): number {
    const before = this.#newest ?? { timestamp, media: 0 };
    const media = before.media + since(timestamp, before.timestamp) / CLOCK;
    if (this.#newest === undefined || media > before.media) this.#newest = { timestamp, media };
    return media;
  }
}
