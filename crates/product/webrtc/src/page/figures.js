"use strict";
// Figures over the picture: each as a number and as a line of the last minute, from what the browser counts. They cost nothing
// while they are hidden.
const FIGURES_INTERVAL = 1000, KEPT = 60;
// What is wrong is said in words from these on. Losses that are repaired cost a round trip each; ITU-T G.1072 has an opinion below
// "good" from some 100 ms of delay on.
const MUCH_LOST = 0.02, LONG_ROUND_TRIP = 100, UNEVEN = 30, FROZEN = 1;

const FIGURES = [
  ["rate", "frames/s", 1],
  ["bitrate", "Mb/s", 1],
  ["height", "lines", 0],
  ["roundTrip", "ms round trip", 0],
  ["buffer", "ms in the jitter buffer", 1],
  ["decoding", "ms of decoding", 1],
  ["lost", "% lost", 1],
];

// What two looks at the browser's counters, some seconds apart, say together.
function figuresOf(before, now) {
  const [video, earlier] = [now.video, before.video];
  const seconds = (video.timestamp - earlier.timestamp) / 1000;
  const grown = (name) => Math.max(0, (video[name] ?? 0) - (earlier[name] ?? 0));
  const each = (sum, count) => grown(count) > 0 ? grown(sum) / grown(count) : 0;
  const arrived = grown("packetsReceived"), lost = grown("packetsLost");
  return {
    rate: grown("framesDecoded") / seconds,
    bitrate: 8e-6 * (grown("bytesReceived") + grown("headerBytesReceived")) / seconds,
    height: video.frameHeight ?? 0,
    roundTrip: 1000 * (now.pair?.currentRoundTripTime ?? 0),
    buffer: 1000 * each("jitterBufferDelay", "jitterBufferEmittedCount"),
    decoding: 1000 * each("totalDecodeTime", "framesDecoded"),
    lost: arrived + lost > 0 ? 100 * lost / (arrived + lost) : 0,
    freezes: grown("freezeCount"),
  };
}

// What is wrong, in words; the worst first, nothing if all is well.
function wrongOf(figures) {
  if (figures.freezes >= FROZEN) return "The picture stood still: packets came too late or not at all.";
  if (figures.lost >= 100 * MUCH_LOST) return `Your connection loses ${figures.lost.toFixed(0)} % of the packets.`;
  if (figures.roundTrip >= LONG_ROUND_TRIP) return `The way there and back takes ${figures.roundTrip.toFixed(0)} ms.`;
  if (figures.buffer >= UNEVEN) return "Packets come unevenly: the browser waits for the late ones.";
  return "";
}

class Figures {
  #connection; #element; #wrong; #rows = new Map(); #timer = null; #before = null;
  #history = [];

  constructor(connection, element) {
    this.#connection = connection;
    this.#element = element;
    element.replaceChildren();
    this.#wrong = element.appendChild(document.createElement("p"));
    this.#wrong.setAttribute("role", "status");
    const table = element.appendChild(document.createElement("table"));
    for (const [name, unit] of FIGURES) {
      const row = table.insertRow();
      const [number, what, line] = [row.insertCell(), row.insertCell(), row.insertCell()];
      what.textContent = unit;
      line.innerHTML = '<svg viewBox="0 0 60 16" aria-hidden="true"><polyline /></svg>';
      this.#rows.set(name, { number, line: line.querySelector("polyline") });
    }
  }

  // Whether they are shown now.
  toggle() {
    const isShown = this.#element.hidden;
    this.#element.hidden = !isShown;
    clearInterval(this.#timer);
    if (isShown) {
      this.#before = null;
      this.#history = [];
      this.#timer = setInterval(() => this.#look(), FIGURES_INTERVAL);
      this.#look();
    }
    return isShown;
  }

  // The newest, for who looks at the page from outside.
  get newest() { return this.#history.at(-1) ?? null; }

  async #look() {
    const all = [...(await this.#connection.getStats()).values()];
    const video = all.find(({ type, kind }) => type === "inbound-rtp" && kind === "video");
    if (!video) return;
    const now = { video, pair: all.find(({ type, nominated }) => type === "candidate-pair" && nominated) };
    const before = this.#before;
    this.#before = now;
    if (!before || video.timestamp <= before.video.timestamp) return;
    this.#history = [...this.#history, figuresOf(before, now)].slice(-KEPT);
    this.#draw();
  }

  #draw() {
    for (const [name, , digits] of FIGURES) {
      const { number, line } = this.#rows.get(name);
      const values = this.#history.map((figures) => figures[name]);
      const most = Math.max(...values, 1e-9);
      number.textContent = values.at(-1).toFixed(digits);
      const start = KEPT - values.length;
      line.setAttribute("points", values.map((value, at) => `${start + at},${15 - 14 * value / most}`).join(" "));
    }
    this.#wrong.textContent = wrongOf(this.newest);
  }
}
