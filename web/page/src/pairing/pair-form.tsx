import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Question } from "./access";
import { digitsOf, judge, TOO_SHORT } from "./code";

// Asks the person for the code until one is right.
export function PairForm({ reason, onKey }: Question) {
  const code = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(reason);
  const [isAsking, setAsking] = useState(false);
  useLayoutEffect(() => code.current?.focus(), []);

  const send = async (event: Event) => {
    event.preventDefault();
    const digits = digitsOf(code.current?.value ?? "");
    if (digits === null) return setWrong(TOO_SHORT);
    setAsking(true);
    const said = await judge(digits);
    setAsking(false);
    if ("key" in said) return onKey(said.key);
    setWrong(said.wrong);
    code.current?.select();
    code.current?.focus();
  };

  return (
    <form id="pair" noValidate onSubmit={send}>
      <label for="code">Type the six-digit code that the host shows</label>
      <input
        ref={code}
        id="code"
        inputMode="numeric"
        autocomplete="one-time-code"
        required
        maxLength={20}
        aria-describedby="why"
        aria-invalid={wrong !== ""}
      />
      <button type="submit" disabled={isAsking}>
        Pair this device
      </button>
      <p id="why" role="alert">
        {wrong}
      </p>
    </form>
  );
}
