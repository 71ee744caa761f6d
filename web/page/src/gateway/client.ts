// Asks the gateway each second how it is. Nobody asks while nobody looks.
import { Store } from "../store";
import { type History, joined, NOTHING, type Status } from "./state";

const INTERVAL = 1000;
// Looks from one question for names to the next.
const NAMES_EACH = 30;

export type Names = Readonly<Record<string, string>>;

export interface Shown {
  status: Status | null;
  history: History;
  // When it told something new, by the clock of this page; null: never.
  told: number | null;
  // Why it did not answer the last time; null: it did.
  silent: string | null;
}

async function asked<T>(path: string): Promise<T> {
  const response = await fetch(path, { signal: AbortSignal.timeout(5 * INTERVAL) });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

// What is known once it has answered. After a new start nothing of before is so any more.
export function withAnswer(before: Shown, status: Status, history: History, now: number): Shown {
  const isSame = before.status?.process === status.process;
  const isNew = !isSame || before.status?.time_s !== status.time_s;
  return {
    status,
    history: joined(isSame ? before.history : NOTHING, history),
    told: isNew ? now : before.told,
    silent: null,
  };
}

export class Client {
  readonly shown = new Store<Shown>({ status: null, history: NOTHING, told: null, silent: null });
  // What devices are called, by address.
  readonly names = new Store<Names>({});
  #looks = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asks = false;

  start(): void {
    document.addEventListener("visibilitychange", () => this.#look());
    this.#look();
  }

  async #look(): Promise<void> {
    if (this.#asks || document.hidden) return;
    clearTimeout(this.#timer);
    this.#asks = true;
    if (this.#looks++ % NAMES_EACH === 0) this.names.set(await this.#named());
    this.shown.set(await this.#newest());
    this.#asks = false;
    this.#timer = setTimeout(() => this.#look(), INTERVAL);
  }

  async #named(): Promise<Names> {
    try {
      return await asked<Names>("/names.json");
    } catch {
      return this.names.value;
    }
  }

  async #newest(): Promise<Shown> {
    const before = this.shown.value;
    try {
      const status = await asked<Status>("/status.json");
      const isSame = before.status?.process === status.process;
      const since = isSame ? before.history.points.at(-1)?.time_s : undefined;
      const history = await asked<History>(`/history.json${since === undefined ? "" : `?since=${since}`}`);
      return withAnswer(before, status, history, performance.now());
    } catch (error) {
      const isRefused = error instanceof Error && !(error instanceof TypeError) && error.name === "Error";
      return { ...before, silent: isRefused ? error.message : "it cannot be reached" };
    }
  }
}
