import { useEffect, useRef } from "preact/hooks";
import type { Player } from "../input/player";
import { complaint } from "../page";
import { FIELD, giveBack, isTextOn } from "./mode";
import { Typing } from "./typing";

const refuse = () => complaint.set("text: the host has not taken what was typed before; this was not typed");

// Who looks elsewhere on the page has the focus there; nobody else has it.
function onBlur({ relatedTarget }: FocusEvent): void {
  if (relatedTarget !== null || !isTextOn.value) return;
  setTimeout(() => {
    if (isTextOn.value && document.activeElement === document.body) giveBack();
  });
}

// Nobody sees it: what is written in it is seen where it is typed.
export function TextField({ player }: { player: Player }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => (field.current ? new Typing(player, refuse).attach(field.current) : undefined), [player]);
  return (
    <input
      id={FIELD}
      ref={field}
      class="spoken"
      type="text"
      aria-label="Text for the game"
      tabIndex={-1}
      autocomplete="off"
      autocapitalize="off"
      autocorrect="off"
      spellcheck={false}
      onBlur={onBlur}
    />
  );
}
