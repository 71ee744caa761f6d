// What a person has set, kept by the browser for this host.
import { Kept } from "../kept";
import { WAYS } from "../screen/ways";
import { Store } from "../store";

const TOUCH = ["auto", "on", "off"] as const;
const PAD = ["arrows", "letters"] as const;
const SCREEN = ["auto", ...WAYS] as const;

export interface Settings {
  figures: boolean;
  // A click on the picture locks the pointer.
  mouseLook: boolean;
  // From 0 to 1.
  volume: number;
  touch: (typeof TOUCH)[number];
  // The keys of the pad: arrows, or W, A, S and D.
  pad: (typeof PAD)[number];
  // By which way pictures come to the screen.
  screen: (typeof SCREEN)[number];
}

export const DEFAULTS: Settings = {
  figures: false,
  mouseLook: false,
  volume: 1,
  touch: "auto",
  pad: "arrows",
  screen: "auto",
};

const oneOf = <T>(allowed: readonly T[], value: unknown, otherwise: T): T =>
  allowed.find((one) => one === value) ?? otherwise;

function record(text: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

// What cannot be read, of an older page or of nobody, is as if it was never set.
export function parseSettings(text: string | null): Settings {
  const { figures, mouseLook, volume, touch, pad, screen } = record(text);
  const isVolume = typeof volume === "number" && volume >= 0 && volume <= 1;
  return {
    figures: figures === true,
    mouseLook: mouseLook === true,
    volume: isVolume ? volume : DEFAULTS.volume,
    touch: oneOf(TOUCH, touch, DEFAULTS.touch),
    pad: oneOf(PAD, pad, DEFAULTS.pad),
    screen: oneOf(SCREEN, screen, DEFAULTS.screen),
  };
}

const kept = new Kept(() => localStorage, "gameway-settings");

export const settings = new Store<Settings>(parseSettings(kept.get()));

export function change(part: Partial<Settings>): void {
  settings.set({ ...settings.value, ...part });
  kept.set(JSON.stringify(settings.value));
}
