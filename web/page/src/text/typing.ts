// The field that a browser writes into while text is typed: what comes is typed at the host, and the field is as before.
import { USAGES } from "../input/keys";
import { KEY } from "../input/message";
import type { Player } from "../input/player";
import { meantBy, placeOf } from "./meaning";

// A phone's keyboard deletes only what is there.
const FILLER = " ";
const isMac = () => /^Mac/.test(navigator.platform);

export class Typing {
  readonly #player: Player;
  readonly #refuse: () => void;

  // `refuse` is called when a text is not typed, since too much waits.
  constructor(player: Player, refuse: () => void) {
    this.#player = player;
    this.#refuse = refuse;
  }

  attach(field: HTMLInputElement): () => void {
    const empty = () => {
      field.value = FILLER;
      field.setSelectionRange(FILLER.length, FILLER.length);
    };
    const listeners: { [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void } = {
      keydown: (event) => this.#onKey(event),
      beforeinput: (event) => this.#onInput(event),
      input: (event) => {
        if (event instanceof InputEvent && !event.isComposing) empty();
      },
      compositionend: ({ data }) => {
        this.type(data);
        empty();
      },
    };
    const all = Object.entries(listeners) as [string, EventListener][];
    for (const [name, listener] of all) field.addEventListener(name, listener);
    empty();
    return () => {
      for (const [name, listener] of all) field.removeEventListener(name, listener);
    };
  }

  // A new line and a tabulator are keys.
  type(text: string): void {
    for (const part of text.split(/(\r\n|[\r\n\t])/)) {
      if (part === "\t") this.#tap("Tab");
      else if (/^[\r\n]/.test(part)) this.#tap("Enter");
      else if (!this.#player.type(part)) this.#refuse();
    }
  }

  #tap(code: string): void {
    const usage = USAGES.get(code);
    if (usage === undefined) return;
    this.#player.set(KEY, usage, true);
    this.#player.set(KEY, usage, false);
  }

  #onKey(event: KeyboardEvent): void {
    const usage = placeOf(event, isMac());
    if (usage === null) return;
    this.#player.set(KEY, usage, true);
    // One without a place tells of no release.
    if (!USAGES.has(event.code)) this.#player.set(KEY, usage, false);
    // The page does not hear of it, as Escape; releases are heard wherever the focus is.
    event.preventDefault();
    event.stopPropagation();
  }

  #onInput(event: InputEvent): void {
    const data = event.data ?? event.dataTransfer?.getData("text/plain") ?? null;
    const meant = event.isComposing ? null : meantBy(event.inputType, data);
    if (meant === null) return;
    if ("text" in meant) this.type(meant.text);
    else this.#tap(meant.key);
    event.preventDefault();
  }
}
