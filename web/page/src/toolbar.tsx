import type { RefObject } from "preact";
import { isSilenced, playSound } from "./connection/playback";
import { fillScreen, lockPointer, WAY_OUT } from "./input/screen";
import { toggleOverlay } from "./overlay/overlay";
import { clipboard, complain, complaint, lab, player, sampler } from "./page";
import { isLabOpen, isSettingsOpen, toggle } from "./panels";
import { change, settings } from "./settings/settings";
import { useStore } from "./store";
import { giveBack, isTextOn, toggleText } from "./text/mode";
import { change as changeRole, mayWatch, role } from "./watching/role";

type Reference<T> = RefObject<T | null>;

interface ButtonParts {
  id: string;
  label: string;
  title?: string;
  hidden?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  act(): void;
}

// Who clicks goes on to play: the keys are the game's again. Who came by keys stays.
function release(event: MouseEvent): void {
  if (event.detail > 0) giveBack();
}

function Button({ id, label, title, hidden = false, pressed, expanded, act }: ButtonParts) {
  const onClick = (event: MouseEvent) => {
    complaint.set("");
    act();
    release(event);
  };
  return (
    <button
      id={id}
      type="button"
      hidden={hidden}
      title={title}
      aria-pressed={pressed}
      aria-expanded={expanded}
      onClick={onClick}
    >
      {label}
    </button>
  );
}

const shownButtons = (bar: HTMLElement) => [...bar.querySelectorAll<HTMLElement>("button:not([hidden])")];

export function focusToolbar(): void {
  const bar = document.querySelector<HTMLElement>("[role=toolbar]");
  if (bar) shownButtons(bar)[0]?.focus();
}

// Arrow keys go from button to button (ARIA Authoring Practices, toolbar); Escape gives the keys back to the game.
function onKeyDown(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.code];
  if (step === undefined) return;
  const buttons = shownButtons(event.currentTarget);
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  buttons.at((at + step) % buttons.length)?.focus();
  event.preventDefault();
}

function useMouseLook(video: Reference<HTMLVideoElement>) {
  const { mouseLook } = useStore(settings);
  const act = () => {
    change({ mouseLook: !mouseLook });
    // A phone has no pointer to lock: there a drag turns the view.
    const hasMouse = matchMedia("(any-pointer: fine)").matches;
    if (!mouseLook && hasMouse && video.current) lockPointer(video.current).catch(complain("mouse look"));
  };
  return { pressed: mouseLook, act };
}

function ClipboardButtons() {
  const own = useStore(clipboard);
  return (
    <>
      <Button
        id="copy"
        label="Copy from the game"
        title="What was copied in the game becomes this device's clipboard"
        hidden={own === null}
        act={() => own?.copy().catch(complain("copy from the game"))}
      />
      <Button
        id="paste"
        label="Paste into the game"
        title="What this device has in its clipboard can be pasted in the game"
        hidden={own === null}
        act={() => own?.paste().catch(complain("paste into the game"))}
      />
    </>
  );
}

function PanelButtons() {
  const isLabShown = useStore(isLabOpen);
  const areSettingsShown = useStore(isSettingsOpen);
  return (
    <>
      <Button id="set" label="Settings" expanded={areSettingsShown} act={toggle(isSettingsOpen)} />
      <Button id="show-lab" label="Lab" hidden={useStore(lab) === null} expanded={isLabShown} act={toggle(isLabOpen)} />
    </>
  );
}

// From watching to playing, and back: a player who would rather watch leaves the stream to others.
function RoleButton() {
  const own = useStore(role);
  const isChoice = useStore(mayWatch);
  if (own === "watch") {
    const title = "Takes the stream from who plays now";
    return <Button id="take" label="Play instead" title={title} act={() => changeRole("play")} />;
  }
  return <Button id="watch" label="Watch" hidden={!isChoice || own === null} act={() => changeRole("watch")} />;
}

export function Toolbar({ main, video }: { main: Reference<HTMLElement>; video: Reference<HTMLVideoElement> }) {
  const { figures } = useStore(settings);
  const mouseLook = useMouseLook(video);
  const playAloud = () => video.current && playSound(video.current);
  const fill = () => main.current && fillScreen(main.current).catch(complain("full screen"));
  return (
    <div class="bar" role="toolbar" aria-label="Player" aria-keyshortcuts="Control+Alt+Shift+M" onKeyDown={onKeyDown}>
      <Button id="sound" label="Sound on" hidden={!useStore(isSilenced)} act={playAloud} />
      <Button
        id="lock"
        label="Mouse look"
        title="The mouse turns the view, after each click on the picture; Escape gives it back"
        hidden={useStore(player) === null}
        {...mouseLook}
      />
      <Button
        id="write"
        label="Text"
        title="Type text by this device's own layout; Control, Alt, Shift and T"
        hidden={useStore(player) === null}
        pressed={useStore(isTextOn)}
        act={toggleText}
      />
      <ClipboardButtons />
      <Button id="fill" label="Full screen" title={`All of the screen; ${WAY_OUT}`} act={fill} />
      <Button
        id="show"
        label="Figures"
        title="Control, Alt, Shift and S"
        hidden={useStore(sampler) === null}
        pressed={figures}
        act={toggleOverlay}
      />
      <PanelButtons />
      <RoleButton />
    </div>
  );
}
