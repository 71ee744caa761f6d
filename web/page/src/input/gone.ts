// Whoever looks elsewhere holds nothing: the browser does not tell of the release.
export function whenGone(leave: () => void, back: () => void = () => {}): void {
  addEventListener("blur", leave);
  addEventListener("pagehide", leave);
  addEventListener("focus", back);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) leave();
    else if (document.hasFocus()) back();
  });
}
