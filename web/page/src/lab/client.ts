// Asks a lab how it is and tells it what a person sets. A host without one answers 404 and is not asked again.
import { Store } from "../store";
import { type History, type Knobs, type LabState, withNewest } from "./state";

export type Wish = { knobs: Partial<Knobs> } | { keep: boolean } | { answers: Record<string, number> };

// No lab, or nothing that this page may ask.
const NEVER = [401, 403, 404, 405];
const WATCHED_INTERVAL = 1000;
// A scenario may ask questions though nobody looks at its figures.
const UNWATCHED_INTERVAL = 5000;

export interface Watching {
  // Whether somebody looks at its figures.
  isWatched(): boolean;
  // Whether the stream has ended: then its questions are for who has it now.
  isOver(): boolean;
}

export class Lab {
  readonly state = new Store<LabState | null>(null);
  readonly history = new Store<History>([]);
  readonly #headers: Record<string, string>;
  readonly #watching: Watching;
  #timer: ReturnType<typeof setTimeout> | undefined;
  // Counts what was told: an answer to a question that was asked before is old.
  #told = 0;

  constructor(headers: Record<string, string>, watching: Watching) {
    this.#headers = headers;
    this.#watching = watching;
  }

  // Looks now, and goes on.
  async look(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#watching.isOver() || !(await this.#ask())) return;
    clearTimeout(this.#timer);
    const interval = this.#watching.isWatched() ? WATCHED_INTERVAL : UNWATCHED_INTERVAL;
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
      if (NEVER.includes(response.status)) return false;
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
