import { useLayoutEffect, useRef } from "preact/hooks";
import type { RoleQuestion } from "./role";

// Asks whether to watch or to take the stream from who plays.
export function RoleForm({ hasRoom, onRole }: RoleQuestion) {
  const first = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  return (
    <section id="role-question" class="question" aria-labelledby="role-title">
      <h2 id="role-title">Somebody plays already</h2>
      {hasRoom ? null : <p>No more devices may watch.</p>}
      <button ref={hasRoom ? first : null} type="button" hidden={!hasRoom} onClick={() => onRole("watch")}>
        Watch
      </button>
      <button ref={hasRoom ? null : first} type="button" onClick={() => onRole("play")}>
        Play instead
      </button>
      <p>The device that plays now is told that another one has taken over.</p>
    </section>
  );
}
