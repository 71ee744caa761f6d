// Plays a manifest with dash.js and keeps what the player and the screen tell.
//
// Times are milliseconds since 1970 by this page's monotonic clock. What is told:
//   opened                          the player was given the manifest
//   request  number segment level   a segment of the video is asked for
//   answer   number first end bytes fate   it came, or did not: complete, abandoned, failed
//   picture  segment height         the first picture of a segment is on the screen
//   stood    milliseconds           this picture came so much later than its place in the video
//   playing, waiting, ended         of the browser's video element
//   state    buffer throughput level       at an interval
"use strict";

const gameway = (() => {
  const video = document.querySelector("video");
  const told = [];
  const numbers = new Map();
  let player = null;
  let timer = 0;
  let segmentSeconds = 1;
  let onScreen = -1;
  let shown = null;
  // A browser tells of waiting at every chunk that comes a moment late, whether a picture waited or
  // not. Up to three pictures of 60 a second the screen does not stand still for a viewer.
  const MIN_HALT_MS = 50;

  const now = () => performance.timeOrigin + performance.now();
  const tell = (what, values = {}) => told.push({ at: now(), what, ...values });
  const milliseconds = (date) => (date ? date.getTime() : null);
  const isSegment = (request) => request?.type === "MediaSegment" && request.mediaType === "video";
  const placeOf = (request) => Math.round(request.startTime / segmentSeconds);
  const levelOf = (request) => Number(request.representation.id) + 1;

  function onRequest({ request }) {
    if (!isSegment(request)) return;
    numbers.set(request, numbers.size);
    tell("request", { number: numbers.get(request), segment: placeOf(request), level: levelOf(request) });
  }

  function onAnswer(request, fate) {
    if (!isSegment(request) || !numbers.has(request)) return;
    const first = milliseconds(request.firstByteDate);
    const timing = performance.getEntriesByName(request.url).at(-1);
    // Nothing of an answer from the browser's cache comes over the network.
    const cached = fate === "complete" && timing?.transferSize === 0;
    const bytes = cached ? 0 : request.bytesLoaded || 0;
    tell("answer", { number: numbers.get(request), first, bytes, fate });
  }

  // What is on the screen is asked of the pictures themselves.
  function onPicture(_, picture) {
    const segment = Math.floor((picture.mediaTime + 1e-3) / segmentSeconds);
    const at = performance.timeOrigin + picture.presentationTime;
    if (shown !== null) {
      const stood = at - shown.at - 1000 * (picture.mediaTime - shown.mediaTime);
      if (stood > MIN_HALT_MS) told.push({ at, what: "stood", milliseconds: stood });
    }
    shown = { at, mediaTime: picture.mediaTime };
    if (segment !== onScreen) {
      onScreen = segment;
      told.push({ at, what: "picture", segment, height: picture.height });
    }
    video.requestVideoFrameCallback(onPicture);
  }

  function onState() {
    if (!player?.isReady()) return;
    tell("state", {
      buffer: player.getBufferLength("video"),
      throughput: player.getAverageThroughput("video"),
      level: Number(player.getCurrentRepresentationForType("video")?.id ?? NaN) + 1,
    });
  }

  function open(url, settings, segment, interval) {
    performance.setResourceTimingBufferSize(100_000);
    segmentSeconds = segment;
    const events = dashjs.MediaPlayer.events;
    player = dashjs.MediaPlayer().create();
    player.updateSettings(settings);
    player.on(events.FRAGMENT_LOADING_STARTED, onRequest);
    player.on(events.FRAGMENT_LOADING_COMPLETED, ({ request, response }) =>
      onAnswer(request, response ? "complete" : "failed"));
    player.on(events.FRAGMENT_LOADING_ABANDONED, ({ request }) => onAnswer(request, "abandoned"));
    player.on(events.ERROR, ({ error }) => tell("error", { words: error?.message ?? String(error) }));
    for (const what of ["playing", "waiting", "ended"]) video.addEventListener(what, () => tell(what));
    video.requestVideoFrameCallback(onPicture);
    tell("opened");
    player.initialize(video, url, true);
    timer = setInterval(onState, interval);
  }

  function close() {
    if (player === null) return;
    clearInterval(timer);
    tell("closed");
    player.destroy();
    player = null;
  }

  return { open, close, take: () => told.splice(0) };
})();
