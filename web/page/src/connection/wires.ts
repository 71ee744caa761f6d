// Leads the host's video to another receiver of this page. In Chromium a receiver that began without a transform takes none any
// more, and one that began with a transform gives nothing without it: each way to the screen has its own. The host knows nothing of
// that: its stream stays as it is, and so does its answer but for where that stands in it.
import { describe } from "./description";

const sectionsOf = (sdp: string) => sdp.split(/^(?=m=)/m);
const midOf = (section: string) => /^a=mid:(.+)$/m.exec(section)?.[1]?.trim() ?? "";
const without = (section: string, line: RegExp) => section.replace(line, "");

function silent(section: string): string {
  const numberless = without(section, /^a=(ssrc|ssrc-group|msid):.*\r\n/gm);
  return numberless.replace(/^a=(sendonly|inactive)\r\n/m, "a=inactive\r\n");
}

// A section whose transceiver was stopped: it stays until another takes its place.
const isOver = (section: string) => /^m=\w+ 0 /.test(section) && !section.includes("a=bundle-only");
const over = (section: string) =>
  `${section.slice(0, section.indexOf("\r\n"))}\r\nc=IN IP4 0.0.0.0\r\na=mid:${midOf(section)}\r\na=inactive\r\n`;

// The host's answer to this page's first offer as one to a later offer, with its video in section `mid`, or
// nowhere.
export function answerAgain(answer: string, offer: string, mid: string | null): string {
  const [head = "", ...answered] = sectionsOf(answer);
  const video = answered.find((section) => section.startsWith("m=video")) ?? "";
  const offered = sectionsOf(offer).slice(1);
  const sections = offered.map((section) => {
    const own = midOf(section);
    if (!section.startsWith("m=video")) return answered.find((other) => midOf(other) === own) ?? "";
    if (isOver(section)) return over(section);
    const here = video.replace(/^a=mid:.*\r\n/m, `a=mid:${own}\r\n`);
    return own === mid ? here : silent(here);
  });
  const alive = offered.filter((section) => !isOver(section));
  const group = `a=group:BUNDLE ${alive.map(midOf).join(" ")}\r\n`;
  return [head.replace(/^a=group:BUNDLE.*\r\n/m, group), ...sections].join("");
}

const OVER = new Set<string>(["stopped", "stopping"]);

export class Wires {
  readonly connection: RTCPeerConnection;
  #answer: string | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(connection: RTCPeerConnection) {
    this.connection = connection;
  }

  async answered(answer: string): Promise<void> {
    await this.connection.setRemoteDescription({ type: "answer", sdp: answer });
    this.#answer = answer;
  }

  // One change after the other. Two sections with the same stream are refused, even if one gives it up in the same answer.
  lead(to: RTCRtpTransceiver): Promise<void> {
    this.#last = this.#last.then(() => this.#agree(null)).then(() => this.#agree(to));
    return this.#last;
  }

  async #agree(to: RTCRtpTransceiver | null): Promise<void> {
    if (this.#answer === undefined) return;
    for (const transceiver of this.connection.getTransceivers()) {
      if (transceiver.receiver.track.kind !== "video" || OVER.has(transceiver.direction)) continue;
      transceiver.direction = transceiver === to ? "recvonly" : "inactive";
    }
    await describe(this.connection);
    const offer = this.connection.localDescription?.sdp ?? "";
    await this.connection.setRemoteDescription({
      type: "answer",
      sdp: answerAgain(this.#answer, offer, to?.mid ?? null),
    });
  }
}
