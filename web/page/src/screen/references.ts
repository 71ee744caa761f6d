// Which frames can be decoded, by what the host says of each: its number and those to which it refers.

// As far back as an encoder keeps frames, and more.
const KEPT = 64;

export class References {
  #decoded: number[] = [];

  // Whether the frame can be decoded, which it then is; frames are told of in the order of decoding.
  take(frame: number, dependencies: readonly number[], isKey: boolean): boolean {
    const isAble = isKey || (dependencies.length > 0 && dependencies.every((one) => this.#decoded.includes(one)));
    if (isAble) this.#decoded = [...(isKey ? [] : this.#decoded), frame].slice(-KEPT);
    return isAble;
  }
}
