// The host's clock by exchanges of messages (D. Mills, RFC 5905, section 8): the quickest one of the newest tells the most. Its two ways
// are taken as equal, so it is off by half of its round trip at most.
export interface Reading {
  // The host's milliseconds less the page's.
  offset: number;
  // How far that is off at most.
  error: number;
}

interface Exchange extends Reading {
  at: number;
}

// Two clocks drift by 50 millionths at most: 0.25 ms in it.
const MAX_AGE = 5000;

export class HostClock {
  #exchanges: Exchange[] = [];

  // A question left at one time of the page and its answer, which names the host's time, came at another.
  on(sent: number, hostTime: number, came: number): void {
    const offset = hostTime - (sent + came) / 2;
    this.#exchanges = this.#exchanges.filter(({ at }) => at >= came - MAX_AGE);
    this.#exchanges.push({ at: came, offset, error: (came - sent) / 2 });
  }

  get reading(): Reading | null {
    const [first, ...others] = this.#exchanges;
    if (first === undefined) return null;
    const { offset, error } = others.reduce((best, one) => (one.error < best.error ? one : best), first);
    return { offset, error };
  }
}
