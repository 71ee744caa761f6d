import type { RefObject } from "preact";
import { isSilenced, playSound } from "./connection/playback";
import { fillScreen, lockPointer } from "./input/screen";
import { isOverlayShown, toggleOverlay } from "./overlay/overlay";
import { canPlay, complain, sampler } from "./page";
import { useStore } from "./store";

type Reference<T> = RefObject<T | null>;

interface Parts {
  player: Reference<HTMLElement>;
  video: Reference<HTMLVideoElement>;
}

// `act` on an element that is there once the page is drawn.
function on<T>(reference: Reference<T>, act: (element: T) => void): () => void {
  return () => {
    if (reference.current) act(reference.current);
  };
}

export function Toolbar({ player, video }: Parts) {
  const isShown = useStore(isOverlayShown);
  const fill = on(player, (element) => fillScreen(element).catch(complain("full screen")));
  const lock = on(video, (element) => lockPointer(element).catch(complain("mouse look")));
  return (
    <div class="bar" role="toolbar" aria-label="Player">
      <button id="sound" type="button" hidden={!useStore(isSilenced)} onClick={on(video, playSound)}>
        Sound on
      </button>
      <button
        id="lock"
        type="button"
        hidden={!useStore(canPlay)}
        title="The mouse turns the view; Escape gives it back"
        onClick={lock}
      >
        Mouse look
      </button>
      <button id="fill" type="button" title="All of the screen; keep Escape pressed to leave" onClick={fill}>
        Full screen
      </button>
      <button
        id="show"
        type="button"
        hidden={useStore(sampler) === null}
        aria-pressed={isShown}
        title="Control, Alt, Shift and S"
        onClick={toggleOverlay}
      >
        Figures
      </button>
    </div>
  );
}
