// Keys of this page: with Control, Alt and Shift no game has them, and the program is not told.
export function listenForShortcuts(actions: Readonly<Record<string, () => void>>): void {
  const onKey = (event: KeyboardEvent) => {
    const action = actions[event.code];
    if (!action || !event.ctrlKey || !event.altKey || !event.shiftKey || event.repeat) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    action();
  };
  addEventListener("keydown", onKey, { capture: true });
}
