// Text from the game's clipboard and into it, each time by a person's own act: nothing goes by itself.
import { Assembly, askBytes, messageOf, type Outcome, partsOf } from "./message";

const WORDS: Record<Exclude<Outcome, "taken">, string> = {
  nothing: "the game has copied no text",
  "too long": "a text may have 1 MiB at most",
  "no text": "what the game has copied is no text",
  "no answer": "the program that has the text does not give it",
  gone: "the host has no clipboard any more",
};

// Longer than a host waits for a program (2 s) and a text of 1 MiB takes at 2 Mb/s (4.2 s).
const PATIENCE = 15_000;

export type Channel = Pick<RTCDataChannel, "binaryType" | "readyState" | "onmessage" | "onclose"> & {
  send(data: ArrayBuffer): void;
};

interface Wanted {
  done(text: string): void;
  failed(error: Error): void;
}

// Browsers give a page the clipboard of the device on secure pages alone.
function device(): Clipboard {
  if (!navigator.clipboard) throw new Error("the browser gives it on secure pages alone (HTTPS)");
  return navigator.clipboard;
}

// Older versions of Firefox let pages write only; others refuse what a person has not allowed.
async function readText(): Promise<string> {
  const own = device();
  if (!own.readText) throw new Error("this browser lets no page read the clipboard");
  return own.readText().catch(refused);
}

function refused(): never {
  throw new Error("the browser has not allowed this page to use the clipboard");
}

export class GameClipboard {
  // Called once, when the host says that this page may use it.
  onOffered: (() => void) | null = null;
  readonly #channel: Channel;
  readonly #assembly = new Assembly();
  #wanted: Wanted | null = null;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.binaryType = "arraybuffer";
    channel.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.#onMessage(data);
    channel.onclose = () => this.#wanted?.failed(new Error("there is no connection"));
  }

  // What the game has copied becomes the device's.
  async copy(): Promise<void> {
    const own = device();
    const text = await this.#ask([askBytes()]);
    await own.writeText(text).catch(refused);
  }

  // What the device has can be pasted in the game.
  async paste(): Promise<void> {
    const parts = partsOf(await readText());
    if (parts.length === 0) throw new Error(WORDS["too long"]);
    await this.#ask(parts);
  }

  #ask(messages: ArrayBuffer[]): Promise<string> {
    if (this.#wanted) return Promise.reject(new Error("the text before is still on its way"));
    if (this.#channel.readyState !== "open") return Promise.reject(new Error("there is no connection"));
    const wanted = new Promise<string>((done, failed) => {
      this.#wanted = { done, failed };
    });
    const unanswered = setTimeout(() => this.#wanted?.failed(new Error("the host does not answer")), PATIENCE);
    for (const message of messages) this.#channel.send(message);
    return wanted.finally(() => {
      clearTimeout(unanswered);
      this.#wanted = null;
    });
  }

  #onMessage(bytes: ArrayBuffer): void {
    const message = messageOf(bytes);
    if (message?.kind === "offer") {
      this.onOffered?.();
      this.onOffered = null;
    } else if (message?.kind === "part") {
      const text = this.#assembly.on(message.part);
      if (text !== null) this.#wanted?.done(text);
    } else if (message?.outcome === "taken") {
      this.#wanted?.done("");
    } else if (message) {
      this.#wanted?.failed(new Error(WORDS[message.outcome]));
    }
  }
}
