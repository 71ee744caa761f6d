{
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("gameway-mode"); } catch { /* private window */ }
  if (chosen) root.dataset.chosen = "yes";
  root.dataset.mode = chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
