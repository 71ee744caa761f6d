// Plays the stream by WHEP.
import { facts } from "../facts";
import type { Access } from "../pairing/access";
import type { Screen } from "../screen/screen";
import { leaveOutLate } from "../sound/leave-out";
import { chooseRole, PLACES, placesOf } from "../watching/role";
import { asCarrier, isCarrier } from "./carried";
import { describe, ON_REQUEST } from "./description";
import { gathered, watchReach } from "./reach";
import { Reports } from "./reports";
import { Wires } from "./wires";

export interface Watcher {
  screen: Screen;
  // There is a connection, with its channels for what the player does and for the pointer's shape; no message is sent before
  // its answer. Others may be added.
  onConnection(connection: RTCPeerConnection, input: RTCDataChannel, pointer: RTCDataChannel): void;
  onVideo(): void;
}

type Authorization = { Authorization: string };

interface Parts {
  connection: RTCPeerConnection;
  wires: Wires;
  reports: Reports;
}

// As little delay as the network allows; for the video alone, since sound needs what its receiver takes for jitter.
function waitForNothing(receiver: RTCRtpReceiver): void {
  if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
  if ("playoutDelayHint" in receiver) receiver.playoutDelayHint = 0;
}

function receive(connection: RTCPeerConnection, { screen, onVideo }: Watcher): void {
  const stream = new MediaStream();
  screen.element.srcObject = stream;
  connection.ontrack = ({ track, receiver }) => {
    if (track.kind === "video") waitForNothing(receiver);
    // A video that is drawn elsewhere would hide the element's own.
    if (track.kind === "video" && !screen.isOwn(receiver)) return;
    for (const former of stream.getTracks()) if (former.kind === track.kind) stream.removeTrack(former);
    stream.addTrack(track);
    if (track.kind === "video") onVideo();
  };
}

function assemble(watcher: Watcher, servers: RTCIceServer[]): Parts {
  const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle", iceServers: servers });
  window.connection = connection;
  connection.onconnectionstatechange = () => {
    facts.connection = connection.connectionState;
  };
  receive(connection, watcher);
  const wires = new Wires(connection);
  const reports = new Reports(connection, watcher.screen.progress);
  // All is carried by the transport of the first section (BUNDLE), and goes with it: that of a video is stopped at a change of the way.
  leaveOutLate(connection.addTransceiver("audio", { direction: "recvonly" }).receiver);
  watcher.screen.open(wires, reports);
  const input = connection.createDataChannel("input", { ordered: false, maxRetransmits: 0 });
  watcher.onConnection(connection, input, connection.createDataChannel("pointer"));
  return { connection, wires, reports };
}

function endWithPage(session: string, authorization: Authorization): void {
  addEventListener("pagehide", () => {
    fetch(session, { method: "DELETE", headers: authorization, keepalive: true });
  });
}

// Gives what the host takes as this page's right to ask.
export async function connect(access: Access, watcher: Watcher): Promise<Authorization> {
  const authorization = { Authorization: `Bearer ${await access.secret()}` };
  const places = await placesOf(authorization);
  if (places === null) {
    access.refused();
    return connect(access, watcher);
  }
  const servers = places.iceServers;
  const path = (await chooseRole(places)) === "watch" ? PLACES : "/whep";
  const { connection, wires } = assemble(watcher, servers);
  await describe(connection);
  await gathered(connection, servers);
  const own = connection.localDescription?.sdp ?? "";
  const body = watcher.screen.areCarried ? asCarrier(own) : own;
  const headers = { "Content-Type": "application/sdp", ...authorization };
  const response = await fetch(path, { method: "POST", headers, body });
  const answer = await response.text();
  if (response.status !== 201) throw new Error(`${response.status}: ${answer}`);
  if (watcher.screen.areCarried && !isCarrier(answer)) throw new Error("the host sends no pictures to such a browser");
  endWithPage(response.headers.get("Location") ?? "", authorization);
  // A transform makes each frame wait for its worker: only where the host is told of frames no other way.
  if (!answer.includes(ON_REQUEST)) await watcher.screen.observe();
  watchReach(connection, answer, servers);
  await wires.answered(answer);
  return authorization;
}
