// What the browser keeps for this host. One that keeps nothing has none after it has loaded the page again.
export class Kept {
  readonly #store: () => Storage;
  readonly #name: string;

  constructor(store: () => Storage, name: string) {
    this.#store = store;
    this.#name = name;
  }

  get(): string | null {
    try {
      return this.#store().getItem(this.#name);
    } catch {
      return null;
    }
  }

  set(value: string): void {
    try {
      this.#store().setItem(this.#name, value);
    } catch {
      // As above.
    }
  }

  forget(): void {
    try {
      this.#store().removeItem(this.#name);
    } catch {
      // As above.
    }
  }
}
