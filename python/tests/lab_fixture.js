// A lab that is made up, in place of the host's: its two requests are answered in the page.
window.lab = {
  told: [],
  looks: 0,
  refusal: null,
  state: {
    knobs: {
      capacity: "25 Mb/s", rtt: "20 ms", loss: "0 %", jitter: "0 ms", queue: "drop-tail", size: "2 bdp", gateway: "none",
      controller: "pudica", downloads: ["cubic"],
    },
    choices: {
      capacity: ["2 Mb/s", "10 Mb/s", "25 Mb/s", "50 Mb/s"], rtt: ["5 ms", "20 ms"], loss: ["0 %", "1 %"],
      jitter: ["0 ms", "5 ms"], size: ["1 bdp", "2 bdp"], queue: ["drop-tail", "codel"], gateway: ["none", "voap"],
      controller: ["pudica", "gcc"], downloads: ["cubic", "bbr", "quic", "video"],
    },
    lacking: {},
    remarks: {},
    now: { seconds: 0, capacity_mbps: 25, queue_ms: 3.1, queue_kb: 10, flows: [{ name: "game", mbps: 14.2, dropped: 0 }] },
    keep: false,
    blind: false,
    scenario: null,
    questions: null,
    note: null,
  },
};
const elsewhere = window.fetch;
window.fetch = async (path, options = {}) => {
  if (path !== "/lab") return elsewhere(path, options);
  const { state, told, refusal } = window.lab;
  if (!options.headers?.Authorization?.startsWith("Bearer ")) return new Response("", { status: 401 });
  if (options.method === "POST") {
    const wish = JSON.parse(options.body);
    told.push(wish);
    if (refusal) return Response.json({ error: refusal }, { status: 400 });
    Object.assign(state.knobs, wish.knobs ?? {});
    if ("keep" in wish) state.keep = wish.keep;
    if ("answers" in wish) state.questions = null;
  } else {
    window.lab.looks += 1;
    state.now.seconds = performance.now() / 1000;
  }
  return Response.json(state);
};
