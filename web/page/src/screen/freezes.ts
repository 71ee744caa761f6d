// When a picture stood still, as the W3C's statistics of WebRTC have it (`freezeCount`): between two pictures is three times the mean
// of the last 30 intervals, or that and 150 ms, whichever is longer.
const REMEMBERED = 30;
const MARGIN = 150;

export class Freezes {
  #before: number | undefined;
  readonly #intervals: number[] = [];

  // A picture is there; whether the one before stood still.
  on(now: number): boolean {
    const before = this.#before;
    this.#before = now;
    if (before === undefined) return false;
    const interval = now - before;
    const known = this.#intervals.length;
    const mean = this.#intervals.reduce((sum, one) => sum + one, 0) / Math.max(1, known);
    this.#intervals.push(interval);
    if (known === REMEMBERED) this.#intervals.shift();
    return known === REMEMBERED && interval >= Math.max(3 * mean, mean + MARGIN);
  }
}
