// What the browser hands over to the program: the mouse, and all keys.

// The mouse turns the view: its motion has no end at the picture's edge, and is raw where the browser has that.
export async function lockPointer(video: HTMLVideoElement): Promise<void> {
  try {
    await video.requestPointerLock({ unadjustedMovement: true });
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotSupportedError") throw error;
    await video.requestPointerLock();
  }
}

interface Keyboard {
  lock?(): Promise<void>;
}

const keyboardOf = (navigator: Navigator) => (navigator as Navigator & { keyboard?: Keyboard }).keyboard;

// How a person leaves full screen: Firefox has no lock of the keyboard and keeps Escape for itself.
export const WAY_OUT = keyboardOf(navigator)?.lock ? "keep Escape pressed to leave" : "Escape leaves it";

// In full screen the browser gives all keys to the program, Escape too, where it can.
export async function fillScreen(element: HTMLElement): Promise<void> {
  await element.requestFullscreen({ navigationUI: "hide" });
  await keyboardOf(navigator)
    ?.lock?.()
    .catch(() => {});
}
