// One end of a WebRTC stream: the first page captures and sends, the second receives. Offer and answer are carried
// by who drives the pages, and have all candidates in them.
"use strict";

const peer = {
  connection: new RTCPeerConnection(),
  samples: [],

  async offer({ frameRate }) {
    const video = { width: 640, height: 360, frameRate };
    const stream = await navigator.mediaDevices.getUserMedia({ video });
    const [track] = stream.getVideoTracks();
    peer.connection.addTrack(track, stream);
    await peer.connection.setLocalDescription();
    return peer.gathered();
  },

  async answer(sdp) {
    peer.connection.ontrack = ({ streams }) => {
      const video = document.querySelector("video");
      video.srcObject = streams[0];
      video.muted = true;
      video.play();
    };
    await peer.connection.setRemoteDescription({ type: "offer", sdp });
    await peer.connection.setLocalDescription();
    return peer.gathered();
  },

  async accept(sdp, rates, sampleMs) {
    await peer.connection.setRemoteDescription({ type: "answer", sdp: bounded(sdp, rates) });
    const [sender] = peer.connection.getSenders();
    const parameters = sender.getParameters();
    parameters.degradationPreference = "maintain-resolution";
    parameters.encodings[0].maxBitrate = rates.most;
    parameters.encodings[0].maxFramerate = rates.frameRate;
    await sender.setParameters(parameters);
    setInterval(() => peer.sample(sender), sampleMs);
  },

  async gathered() {
    while (peer.connection.iceGatheringState !== "complete") {
      await new Promise((done) => setTimeout(done, 20));
    }
    return peer.connection.localDescription.sdp;
  },

  async sample(sender) {
    const row = { time: performance.now() };
    for (const one of (await sender.getStats()).values()) {
      if (one.type === "candidate-pair" && one.nominated) {
        row.available = one.availableOutgoingBitrate;
      } else if (one.type === "outbound-rtp") {
        row.target = one.targetBitrate;
        row.sentBytes = one.bytesSent;
        row.frames = one.framesEncoded;
        row.encoder = one.encoderImplementation;
      } else if (one.type === "remote-inbound-rtp") {
        row.roundTrip = one.roundTripTime;
        row.lost = one.packetsLost;
      }
    }
    peer.samples.push(row);
  },
};

// The bounds of the estimate, which Chromium takes from the other end's description in kb/s.
function bounded(sdp, { most, start, least }) {
  const bounds =
    `x-google-max-bitrate=${most / 1000};x-google-min-bitrate=${least / 1000};` +
    `x-google-start-bitrate=${start / 1000}`;
  const payload = /^m=video \d+ \S+ (\d+)/m.exec(sdp)[1];
  const known = new RegExp(`^a=fmtp:${payload} (.*)$`, "m");
  if (known.test(sdp)) {
    return sdp.replace(known, `a=fmtp:${payload} $1;${bounds}`);
  }
  return sdp.replace(
    new RegExp(`^a=rtpmap:${payload} .*$`, "m"),
    (line) => `${line.trimEnd()}\r\na=fmtp:${payload} ${bounds}`,
  );
}
