// One end of a stream by the browser's own libwebrtc. The receiving page offers, the sending page answers; who drives the pages
// carries the descriptions from one to the other.
//
// Times are milliseconds since 1970 by this page's monotonic clock. What is told:
//   captured  frame timestamp                     a picture was drawn and handed to the encoder
//   encoded, received   rtp source bytes key came timestamp  an encoded frame passed; when its last packet came; its picture's timestamp
//   shown     rtp                                 a picture is on the screen
//   sent, got                                     what the browser's statistics say, at an interval
"use strict";

const gameway = (() => {
  const connection = new RTCPeerConnection();
  const told = [];
  const now = () => performance.timeOrigin + performance.now();
  let sender = null;
  let scene = null;
  let writer = null;
  let running = false;

  function watch(what) {
    const worker = new Worker("transform.js");
    worker.onmessage = ({ data }) => told.push(...data);
    return new RTCRtpScriptTransform(worker, { what });
  }

  async function gathered() {
    while (connection.iceGatheringState !== "complete") {
      await new Promise((done) => setTimeout(done, 10));
    }
    return connection.localDescription.sdp;
  }

  async function offer() {
    const { receiver } = connection.addTransceiver("video", { direction: "recvonly" });
    receiver.transform = watch("received");
    const video = document.querySelector("video");
    video.srcObject = new MediaStream([receiver.track]);
    const onPicture = (_, { rtpTimestamp, presentationTime }) => {
      told.push({ what: "shown", at: performance.timeOrigin + presentationTime, rtp: rtpTimestamp });
      video.requestVideoFrameCallback(onPicture);
    };
    video.requestVideoFrameCallback(onPicture);
    video.play();
    await connection.setLocalDescription();
    return gathered();
  }

  async function answer(sdp, { maxBitrate, frameRate }) {
    await connection.setRemoteDescription({ type: "offer", sdp });
    const [transceiver] = connection.getTransceivers();
    transceiver.direction = "sendonly";
    ({ sender } = transceiver);
    sender.transform = watch("encoded");
    await connection.setLocalDescription();
    const parameters = sender.getParameters();
    // A smaller picture, or fewer, would need fewer bits than the controller grants: the quantizer alone follows the rate.
    parameters.degradationPreference = "maintain-framerate-and-resolution";
    Object.assign(parameters.encodings[0], { maxBitrate, maxFramerate: frameRate });
    await sender.setParameters(parameters);
    return gathered();
  }

  const accept = (sdp) => connection.setRemoteDescription({ type: "answer", sdp });

  async function prepare(settings) {
    scene = makeScene(settings);
    const track = new MediaStreamTrackGenerator({ kind: "video" });
    writer = track.writable.getWriter();
    await sender.replaceTrack(track);
  }

  function send(frameRate) {
    const interval = 1000 / frameRate;
    let due = performance.now();
    let number = 0;
    running = true;
    const capture = () => {
      if (!running) return;
      scene.draw(number);
      const at = performance.now();
      const timestamp = Math.round(1000 * at);
      told.push({ what: "captured", at: performance.timeOrigin + at, frame: number, timestamp });
      writer.write(new VideoFrame(scene.canvas, { timestamp })).catch(() => {});
      number += 1;
      // What a busy machine missed is left out: two pictures at once would be one to the encoder.
      due = Math.max(due + interval, performance.now() + interval / 2);
      setTimeout(capture, due - performance.now());
    };
    capture();
  }

  async function stop() {
    running = false;
    await sender.replaceTrack(null);
  }

  async function sample(take) {
    const all = [...(await connection.getStats()).values()];
    const of = (type) => all.find((one) => one.type === type && (one.kind ?? "video") === "video") ?? {};
    const pair = all.find((one) => one.type === "candidate-pair" && one.nominated) ?? {};
    told.push({ at: now(), ...take(of, pair) });
  }

  const ofSender = (of, pair) => {
    const [out, source, far] = ["outbound-rtp", "media-source", "remote-inbound-rtp"].map(of);
    return {
      what: "sent", available: pair.availableOutgoingBitrate, target: out.targetBitrate, captured: source.frames,
      encoded: out.framesEncoded, encoding: out.totalEncodeTime, cpu: out.qualityLimitationDurations?.cpu,
      quantizer: out.qpSum, asked: out.pliCount, round_trip: far.roundTripTime, height: out.frameHeight,
    };
  };

  const ofReceiver = (of) => {
    const into = of("inbound-rtp");
    return {
      what: "got", waited: into.jitterBufferDelay, emitted: into.jitterBufferEmittedCount, freezes: into.freezeCount,
      frozen: into.totalFreezesDuration, decoded: into.framesDecoded, decoding: into.totalDecodeTime,
    };
  };

  function observe(interval) {
    const take = sender === null ? ofReceiver : ofSender;
    setInterval(() => sample(take), interval);
  }

  async function facts() {
    const all = [...(await connection.getStats()).values()];
    const by = (id) => all.find((one) => one.id === id) ?? {};
    const pair = all.find((one) => one.type === "candidate-pair" && one.nominated) ?? {};
    const out = all.find((one) => one.type === "outbound-rtp") ?? {};
    return { state: connection.connectionState, local: by(pair.localCandidateId).address ?? null,
      codec: by(out.codecId).mimeType ?? null, encoder: out.encoderImplementation ?? null };
  }

  return {
    offer, answer, accept, prepare, send, stop, observe, facts,
    state: () => connection.connectionState,
    origin: () => performance.timeOrigin,
    take: () => told.splice(0),
  };
})();
