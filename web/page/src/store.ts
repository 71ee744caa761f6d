// A value that parts of the page share: who shows it is drawn anew when it changes.
import { useEffect, useState } from "preact/hooks";

type Listener<T> = (value: T) => void;

export class Store<T> {
  #value: T;
  readonly #listeners = new Set<Listener<T>>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener(value);
  }

  // Calls the listener at each change, until what is returned is called.
  listen(listener: Listener<T>): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.value);
  useEffect(() => {
    // It may have changed between drawing and listening.
    setValue(() => store.value);
    return store.listen((next) => setValue(() => next));
  }, [store]);
  return value;
}
