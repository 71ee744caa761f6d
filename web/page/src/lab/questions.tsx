import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../store";
import type { Lab } from "./client";
import type { Question } from "./state";

function Group({ name, text, answers }: Question) {
  return (
    <fieldset>
      <legend>{text}</legend>
      {answers.map((answer, at) => (
        <label key={answer}>
          <input type="radio" name={name} value={at + 1} required />
          {answer}
        </label>
      ))}
    </fieldset>
  );
}

function answersOf(form: HTMLFormElement): Record<string, number> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, Number(value)]));
}

// What the lab asks stands before all else until it is answered.
function Dialog({ lab, questions }: { lab: Lab; questions: readonly Question[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string | null>(null);
  const show = () => dialog.current?.showModal();
  useEffect(() => {
    document.exitPointerLock?.();
    show();
  }, []);
  const send = async (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    setError(await lab.tell({ answers: answersOf(event.currentTarget) }));
  };
  return (
    <dialog
      id="questions"
      ref={dialog}
      aria-labelledby="questions-title"
      onKeyDown={(event) => {
        if (event.code === "Escape") event.preventDefault();
      }}
      // A phone closes it by a gesture.
      onClose={show}
    >
      <form onSubmit={send}>
        <h2 id="questions-title">How was it?</h2>
        {questions.map((question) => (
          <Group key={question.name} {...question} />
        ))}
        <p class="wrong" role="alert">
          {error}
        </p>
        <button type="submit">Send</button>
      </form>
    </dialog>
  );
}

export function Questions({ lab }: { lab: Lab }) {
  const questions = useStore(lab.state)?.questions ?? null;
  if (questions === null) return null;
  return <Dialog key={questions.map(({ name }) => name).join(" ")} lab={lab} questions={questions} />;
}
