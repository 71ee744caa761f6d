// What this page shows the host to be let in. There are two kinds:
// - the token of a link. A fragment is sent to nobody, but stands in the address bar: it goes from there at once, and
//   the tab keeps it for when the page is loaded again;
// - else a key of this device's own, which the browser keeps for this host. A device that has none gets it for the code of six
//   digits that the host shows.

import { Kept } from "../kept";
import { Store } from "../store";
import { askForCode } from "./code";
import { tokenOf } from "./link";

export interface Question {
  // Why this device is asked again; empty the first time.
  reason: string;
  onKey(key: string): void;
}

// The code that a person is asked for, while one is.
export const question = new Store<Question | null>(null);

const keptToken = new Kept(() => sessionStorage, "gameway-token");
const keptKey = new Kept(() => localStorage, "gameway-key");

export class Access {
  #token: string | null;
  #key: string | null;
  #reason = "";

  constructor() {
    const token = tokenOf(location);
    if (token) {
      keptToken.set(token);
      history.replaceState(null, "", location.pathname + location.search);
    }
    this.#token = token || keptToken.get();
    this.#key = this.#token ? null : keptKey.get();
    // Another link of this host in the same tab.
    addEventListener("hashchange", () => location.reload());
  }

  // What to show. It may take as long as a person takes to type.
  async secret(): Promise<string> {
    const known = this.#token || this.#key;
    if (known) return known;
    const key = await this.#pair();
    this.#key = key;
    keptKey.set(key);
    return key;
  }

  // The host did not take it: then the other kind is shown, and at last the person is asked.
  refused(): void {
    if (this.#token) {
      this.#token = null;
      keptToken.forget();
      this.#key = keptKey.get();
      this.#reason = "This link is not valid any more. Type the code, or open the host's new link.";
    } else {
      this.#key = null;
      keptKey.forget();
      this.#reason = "This device is not paired any more. Type the code to pair it again.";
    }
  }

  async #pair(): Promise<string> {
    await askForCode();
    const key = await new Promise<string>((fulfil) => question.set({ reason: this.#reason, onKey: fulfil }));
    question.set(null);
    return key;
  }
}
