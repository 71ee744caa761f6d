const themes = JSON.parse(document.getElementById("themes").textContent);
const root = document.documentElement;
const button = document.getElementById("mode");
const charts = [...document.querySelectorAll(".chart")];
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map();

function setMode(mode) {
  root.dataset.mode = mode;
  button.textContent = mode === "dark" ? "Light" : "Dark";
  for (const chart of [...drawn.keys()]) draw(chart);
}

async function draw(chart) {
  drawn.get(chart)?.finalize();
  const spec = JSON.parse(document.getElementById("spec-" + chart.dataset.spec).textContent);
  const mode = root.dataset.mode;
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { config: themes[mode], actions, renderer: "canvas", tooltip: { theme: mode } };
  drawn.set(chart, await window.gamewayEmbed(chart, spec, options));
  chart.classList.remove("waiting");
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "400px" });

button.addEventListener("click", () => {
  const mode = root.dataset.mode === "dark" ? "light" : "dark";
  root.dataset.chosen = "yes";
  try { localStorage.setItem("gameway-mode", mode); } catch { /* private window */ }
  setMode(mode);
});
prefersDark.addEventListener("change", (event) => {
  if (!root.dataset.chosen) setMode(event.matches ? "dark" : "light");
});

for (const select of document.querySelectorAll("select[data-figure]")) {
  select.addEventListener("change", () => {
    const panels = document.querySelectorAll(`[data-panel="${select.dataset.figure}"]`);
    panels.forEach((panel, index) => { panel.hidden = index !== Number(select.value); });
  });
}

function sortBy(header) {
  const table = header.closest("table");
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const body = table.tBodies[0];
  const value = (row) => row.cells[header.cellIndex].dataset.sort;
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
    return ascending ? order : -order;
  };
  body.append(...[...body.rows].sort(compare));
}
for (const trigger of document.querySelectorAll("th button")) {
  trigger.addEventListener("click", () => sortBy(trigger.closest("th")));
}

setMode(root.dataset.mode);
for (const chart of charts) { chart.classList.add("waiting"); watcher.observe(chart); }
