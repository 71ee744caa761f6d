// What fingers hold: keys are told through the same player's end as those of a keyboard.
import { USAGES } from "../input/keys";
import { KEY } from "../input/message";
import type { Player } from "../input/player";

export class HeldKeys {
  readonly #player: Player;
  #held: readonly string[] = [];

  constructor(player: Player) {
    this.#player = player;
  }

  // From now on these are held, and no others of this finger.
  hold(codes: readonly string[]): void {
    for (const code of this.#held) if (!codes.includes(code)) this.#set(code, false);
    for (const code of codes) this.#set(code, true);
    this.#held = codes;
  }

  #set(code: string, isHeld: boolean): void {
    const usage = USAGES.get(code);
    if (usage !== undefined) this.#player.set(KEY, usage, isHeld);
  }
}
