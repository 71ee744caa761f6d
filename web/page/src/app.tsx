import { useRef } from "preact/hooks";
import { CONNECTED } from "./connection/words";
import type { Lab } from "./lab/client";
import { LabPanel } from "./lab/panel";
import { Questions } from "./lab/questions";
import { Overlay } from "./overlay/overlay";
import { complaint, lab, photon, player, sampler, shownBy, state, status } from "./page";
import { question } from "./pairing/access";
import { PairForm } from "./pairing/pair-form";
import { isLabOpen, isPhotonOpen, isSettingsOpen } from "./panels";
import { PhotonPanel } from "./photon/panel";
import { SettingsPanel } from "./settings/panel";
import { useStore } from "./store";
import { TextField } from "./text/field";
import { giveBack } from "./text/mode";
import { Toolbar } from "./toolbar";
import { TouchControls } from "./touch/controls";
import { touchControls } from "./touch/shown";
import { isNobodyPlaying } from "./watching/alone";
import { roleQuestion } from "./watching/role";
import { RoleForm } from "./watching/role-form";

function Note({ lab }: { lab: Lab }) {
  return (
    <p id="note" class="banner" role="status">
      {useStore(lab.state)?.note}
    </p>
  );
}

// How the stream is: always told to who listens, shown while it is not as it should be.
function State() {
  const said = useStore(state);
  return (
    <p id="state" class={said === CONNECTED ? "spoken" : "banner"} role="status">
      {said}
    </p>
  );
}

function Banners() {
  const found = useStore(lab);
  return (
    <div class="banners">
      <State />
      <p id="alone" class="banner" role="status">
        {useStore(isNobodyPlaying) ? "Nobody plays. The picture stands still until somebody does." : ""}
      </p>
      <p id="complaint" class="banner" role="alert">
        {useStore(complaint)}
      </p>
      {found ? <Note lab={found} /> : null}
    </div>
  );
}

function Panels() {
  const found = useStore(lab);
  const areSettingsOpen = useStore(isSettingsOpen);
  const isLabShown = useStore(isLabOpen);
  const delay = useStore(photon);
  const isDelayShown = useStore(isPhotonOpen);
  return (
    <div class="panels">
      {areSettingsOpen ? <SettingsPanel /> : null}
      {isDelayShown && delay ? <PhotonPanel photon={delay} /> : null}
      {isLabShown && found ? <LabPanel lab={found} /> : null}
    </div>
  );
}

function Touch() {
  const isShown = useStore(touchControls);
  const own = useStore(player);
  return isShown && own ? <TouchControls player={own} /> : null;
}

function Text() {
  const own = useStore(player);
  return own ? <TextField player={own} /> : null;
}

// What a person has to say before there is a stream.
function Entrance() {
  const asked = useStore(question);
  const asksForRole = useStore(roleQuestion);
  return asked || asksForRole ? (
    <main>
      <h1 class="spoken">Gameway</h1>
      {asked ? <PairForm {...asked} /> : null}
      {asksForRole ? <RoleForm {...asksForRole} /> : null}
    </main>
  ) : null;
}

// Escape gives the keys back to the game.
function onKeyDown(event: KeyboardEvent): void {
  if (event.code !== "Escape" || !(event.target instanceof HTMLElement) || event.target.closest("dialog")) return;
  event.target.blur();
  giveBack();
}

export function App() {
  const main = useRef<HTMLElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const found = useStore(lab);
  const isPairing = useStore(question) !== null;
  const isAsking = useStore(roleQuestion) !== null || isPairing;
  return (
    <>
      <Entrance />
      <main id="player" ref={main} hidden={isAsking} onKeyDown={onKeyDown}>
        <h1 class="spoken">Gameway</h1>
        <div id="screen-box">
          {/* biome-ignore lint/a11y/useMediaCaption: nobody has written captions for a game that is being played */}
          <video id="video" ref={video} aria-label="The stream" autoplay playsInline />
          <canvas id="canvas" hidden />
        </div>
        <Text />
        <Touch />
        <Toolbar main={main} video={video} />
        <Overlay sampler={useStore(sampler)} lab={found} shownBy={useStore(shownBy)} />
        <Panels />
        <Banners />
        {found ? <Questions lab={found} /> : null}
      </main>
      <footer hidden={isAsking}>
        <p id="status">{useStore(status)}</p>
      </footer>
    </>
  );
}
