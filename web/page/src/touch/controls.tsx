// A pad at the left and buttons at the right, for who has no keyboard.
import { useMemo, useState } from "preact/hooks";
import type { Player } from "../input/player";
import { type Settings, settings } from "../settings/settings";
import { useStore } from "../store";
import { HeldKeys } from "./held";
import { keysOfPad } from "./pad";
import "./touch.css";

const BUTTONS = [
  { code: "Escape", label: "Esc" },
  { code: "Enter", label: "Enter" },
  { code: "Space", label: "Space" },
  { code: "ControlLeft", label: "Fire" },
] as const;

type Finger = PointerEvent & { currentTarget: HTMLElement };

// A finger holds what it began on until it is lifted, wherever it goes.
const begin = (event: Finger) => {
  event.preventDefault();
  event.currentTarget.setPointerCapture(event.pointerId);
};

function Pad({ player, pad }: { player: Player; pad: Settings["pad"] }) {
  const held = useMemo(() => new HeldKeys(player), [player]);
  const [codes, setCodes] = useState<readonly string[]>([]);
  const hold = (now: readonly string[]) => {
    held.hold(now);
    setCodes(now);
  };
  const follow = ({ currentTarget, clientX, clientY }: Finger) => {
    const { left, top, width, height } = currentTarget.getBoundingClientRect();
    hold(keysOfPad((2 * (clientX - left)) / width - 1, (2 * (clientY - top)) / height - 1, pad));
  };
  return (
    <div
      class="pad"
      data-held={codes.join(" ")}
      onPointerDown={(event) => {
        begin(event);
        follow(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) follow(event);
      }}
      onLostPointerCapture={() => hold([])}
    >
      <span>▲</span>
      <span>◀</span>
      <span>▶</span>
      <span>▼</span>
    </div>
  );
}

function HoldButton({ player, code, label }: { player: Player; code: string; label: string }) {
  const held = useMemo(() => new HeldKeys(player), [player]);
  return (
    <div
      class="hold"
      data-code={code}
      onPointerDown={(event) => {
        begin(event);
        held.hold([code]);
      }}
      onLostPointerCapture={() => held.hold([])}
    >
      {label}
    </div>
  );
}

// For fingers alone: who has a keyboard or a switch has the keys themselves.
export function TouchControls({ player }: { player: Player }) {
  const { pad } = useStore(settings);
  return (
    <div id="touch-controls" aria-hidden="true">
      <Pad player={player} pad={pad} />
      <div class="buttons">
        {BUTTONS.map((button) => (
          <HoldButton key={button.code} player={player} {...button} />
        ))}
      </div>
    </div>
  );
}
