import { facts } from "../facts";
import { GamepadsSeen } from "../gamepad/panel";
import { photon } from "../page";
import { isPhotonOpen, isSettingsOpen } from "../panels";
import { useStore } from "../store";
import { change, type Settings, settings } from "./settings";

function Volume({ volume }: Pick<Settings, "volume">) {
  const percent = Math.round(100 * volume);
  return (
    <label>
      Volume
      <input
        id="volume"
        type="range"
        min={0}
        max={100}
        value={percent}
        aria-valuetext={`${percent} %`}
        onInput={({ currentTarget }) => change({ volume: Number(currentTarget.value) / 100 })}
      />
    </label>
  );
}

function Touch({ touch, pad }: Pick<Settings, "touch" | "pad">) {
  return (
    <>
      <label>
        Touch controls
        <select
          id="touch"
          value={touch}
          onChange={({ currentTarget }) => change({ touch: currentTarget.value as Settings["touch"] })}
        >
          <option value="auto">where there is only touch</option>
          <option value="on">shown</option>
          <option value="off">hidden</option>
        </select>
      </label>
      <label>
        Keys of the pad
        <select
          id="pad"
          value={pad}
          onChange={({ currentTarget }) => change({ pad: currentTarget.value as Settings["pad"] })}
        >
          <option value="arrows">arrow keys</option>
          <option value="letters">W, A, S, D</option>
        </select>
      </label>
    </>
  );
}

function Pictures({ screen }: Pick<Settings, "screen">) {
  // One way is all that there is.
  const isOnlyCanvas = facts.screen?.areCarried === true;
  return (
    <label>
      Pictures
      <select
        id="screen"
        value={isOnlyCanvas ? "canvas" : screen}
        disabled={isOnlyCanvas}
        onChange={({ currentTarget }) => change({ screen: currentTarget.value as Settings["screen"] })}
      >
        <option value="auto">by the way that is shorter</option>
        <option value="video">by the browser's buffer</option>
        <option value="canvas">decoded and drawn at once</option>
      </select>
    </label>
  );
}

// Where the host plays a test card.
function Delay() {
  if (useStore(photon) === null) return null;
  const show = () => {
    // Its figures need the room.
    isSettingsOpen.set(false);
    isPhotonOpen.set(true);
  };
  return (
    <button id="show-photon" type="button" onClick={show}>
      Measure the delay
    </button>
  );
}

export function SettingsPanel() {
  const { volume, touch, pad, screen } = useStore(settings);
  return (
    <section id="settings" class="panel" aria-label="Settings">
      <h2>Settings</h2>
      <Volume volume={volume} />
      <Touch touch={touch} pad={pad} />
      <Pictures screen={screen} />
      <GamepadsSeen />
      <Delay />
      <dl>
        <dt>Control, Alt, Shift and M</dt>
        <dd>keys go to this page's buttons; Escape gives them back to the game</dd>
        <dt>Control, Alt, Shift and T</dt>
        <dd>text: what this device's layout writes is typed, not the keys by their place</dd>
        <dt>Control, Alt, Shift and S</dt>
        <dd>figures</dd>
      </dl>
    </section>
  );
}
