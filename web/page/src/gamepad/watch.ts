// Looks at gamepads while there are any, tells the host of them, and lets them rumble.
import { whenGone } from "../input/gone";
import type { Lack } from "./message";
import { PADS, rumbleOf } from "./message";
import { GamepadPlayer } from "./player";
import { isStandard, nameOf, readingOf } from "./reading";
import { NONE, seenGamepads } from "./seen";

// Browsers look that often; a frame of the page would be four times as late.
const LOOK_INTERVAL = 4;

const gamepads = () => (navigator.getGamepads?.() ?? []).filter((pad) => pad?.connected === true) as Gamepad[];

export class Watch {
  readonly player: GamepadPlayer;
  readonly #connection: RTCPeerConnection;
  // The browser's number of the gamepad in each of ours.
  readonly #places: (number | null)[] = Array(PADS).fill(null);
  #rumble: RTCDataChannel | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isAway = false;

  constructor(connection: RTCPeerConnection, input: RTCDataChannel) {
    this.#connection = connection;
    this.player = new GamepadPlayer(input);
    this.player.onLack = (lack) => this.#show(lack);
    addEventListener("gamepadconnected", () => this.#find());
    addEventListener("gamepaddisconnected", () => this.#find());
    whenGone(
      () => {
        this.#isAway = true;
        this.player.releaseAll();
      },
      () => {
        this.#isAway = false;
      },
    );
    this.#find();
  }

  #find(): void {
    const there = gamepads();
    const standard = there.filter(isStandard);
    this.#places.forEach((index, place) => {
      if (index === null || standard.some((pad) => pad.index === index)) return;
      this.#places[place] = null;
      this.player.read(place, null);
    });
    for (const { index } of standard) {
      if (!this.#places.includes(index) && this.#places.includes(null))
        this.#places[this.#places.indexOf(null)] = index;
    }
    clearInterval(this.#timer);
    if (standard.length > 0) {
      this.#openRumble();
      this.#timer = setInterval(() => this.#look(), LOOK_INTERVAL);
    }
    this.#show(seenGamepads.value.lack);
  }

  #show(lack: Lack): void {
    const there = gamepads();
    const named = (index: number | null) => there.find((pad) => pad.index === index);
    const told = this.#places.map((index) => named(index) ?? null).map((pad) => pad && nameOf(pad));
    const strange = there.filter((pad) => !isStandard(pad)).map(nameOf);
    const seen = there.length === 0 ? NONE : { told, strange, lack };
    if (JSON.stringify(seen) !== JSON.stringify(seenGamepads.value)) seenGamepads.set(seen);
  }

  #look(): void {
    if (this.#isAway) return;
    for (const pad of gamepads()) {
      const place = this.#places.indexOf(pad.index);
      if (place >= 0) this.player.read(place, readingOf(pad));
    }
  }

  #openRumble(): void {
    if (this.#rumble) return;
    this.#rumble = this.#connection.createDataChannel("rumble");
    this.#rumble.binaryType = "arraybuffer";
    this.#rumble.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      const rumble = rumbleOf(data);
      if (rumble) this.#shake(rumble);
    };
    // A host that is gone lets nothing rumble.
    this.#rumble.onclose = () =>
      this.#places.forEach((_, pad) => void this.#shake({ pad, strong: 0, weak: 0, millis: 0 }));
  }

  #shake({ pad, strong, weak, millis }: NonNullable<ReturnType<typeof rumbleOf>>): void {
    const actuator = gamepads().find(({ index }) => index === this.#places[pad])?.vibrationActuator;
    if (!actuator) return;
    const effect = { duration: millis, strongMagnitude: strong / 65535, weakMagnitude: weak / 65535 };
    // One that cannot is still to be played with.
    (millis === 0 ? actuator.reset() : actuator.playEffect("dual-rumble", effect)).catch(() => {});
  }
}
