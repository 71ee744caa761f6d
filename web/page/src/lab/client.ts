// Asks a lab how it is and tells it what a person sets. A host without one answers 404 and is not asked again.
import { Store } from "../store";
import { type History, type Knobs, type LabState, withNewest } from "./state";

export type Wish = { knobs: Partial<Knobs> } | { keep: boolean } | { answers: Record<string, number> };

const WATCHED_INTERVAL = 1000;
// A scenario may ask questions though nobody looks at its figures.
const UNWATCHED_INTERVAL = 5000;

export class Lab {
  readonly state = new Store<LabState | null>(null);
  readonly history = new Store<History>([]);
  readonly #headers: Record<string, string>;
  readonly #isWatched: () => boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  // Counts what was told: an answer to a question that was asked before is old.
  #told = 0;

  constructor(headers: Record<string, string>, isWatched: () => boolean) {
    this.#headers = headers;
    this.#isWatched = isWatched;
  }

  // Looks now, and goes on.
  async look(): Promise<void> {
    clearTimeout(this.#timer);
    if (!(await this.#ask())) return;
    clearTimeout(this.#timer);
    const interval = this.#isWatched() ? WATCHED_INTERVAL : UNWATCHED_INTERVAL;
    this.#timer = setTimeout(() => this.look(), interval);
  }

  // Why it was not done; nothing if it was.
  async tell(wish: Wish): Promise<string | null> {
    this.#told += 1;
    try {
      const headers = { ...this.#headers, "Content-Type": "application/json" };
      const response = await fetch("/lab", { method: "POST", headers, body: JSON.stringify(wish) });
      const answer = await response.json();
      if (!response.ok) return String(answer.error);
      this.#take(answer);
      return null;
    } catch {
      return "The lab does not answer.";
    }
  }

  // Whether it is worth asking again.
  async #ask(): Promise<boolean> {
    const told = this.#told;
    try {
      const response = await fetch("/lab", { headers: this.#headers });
      if (response.status >= 400 && response.status < 500) return false;
      if (response.ok && told === this.#told) this.#take(await response.json());
    } catch {
      // It may come back.
    }
    return true;
  }

  #take(state: LabState): void {
    this.state.set(state);
    this.history.set(withNewest(this.history.value, state.now));
  }
}
