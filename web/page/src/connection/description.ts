// What is changed in the browser's offer. Who refuses what is added goes on without.
type Description = RTCSessionDescriptionInit & { sdp: string };

// By this extension the host asks for a report on packets as soon as a frame is there. Chromium takes it, but offers it only
// if it stands in the description.
export const ON_REQUEST = "http://www.webrtc.org/experiments/rtp-hdrext/transport-wide-cc-02";

// By this extension the host says to which frame one refers, so that a frame that is lost does not stop those that refer to others. Chromium
// takes it likewise.
export const DEPENDENCIES = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";

// RFC 8285 section 4.2: one byte holds numbers from 1 to 14.
const NUMBERS = [...Array(14).keys()].map((number) => number + 1);

function withExtension({ type, sdp }: Description, added: string): Description {
  const numbers = [...sdp.matchAll(/a=extmap:(\d+) (\S+)/g)].map(([, number, name]) => ({
    number: Number(number),
    name,
  }));
  const own = numbers.find(({ name }) => name === added)?.number;
  const free = own ?? NUMBERS.find((one) => numbers.every(({ number }) => number !== one));
  const line = /a=extmap:\d+ \S+transport-wide-cc-extensions-01\r\n/;
  const sections = sdp.split(/^(?=m=)/m).map((section) => {
    const isAsked = !free || section.startsWith("m=audio") || section.includes(added);
    return isAsked ? section : section.replace(line, `$&a=extmap:${free} ${added}\r\n`);
  });
  return { type, sdp: sections.join("") };
}

export const withReportsOnRequest = (offer: Description) => withExtension(offer, ON_REQUEST);
export const withDependencies = (offer: Description) => withExtension(offer, DEPENDENCIES);

// The host answers the time that a browser says, so that the browser knows the round trip: by it Chromium asks again for a packet
// that was lost a second time, else after 100 ms. It says its time only if the description has so.
export function withReferenceTime({ type, sdp }: Description): Description {
  return { type, sdp: sdp.replace(/a=rtcp-fb:(\d+) nack\r\n(?!a=rtcp-fb:\1 rrtr)/g, "$&a=rtcp-fb:$1 rrtr\r\n") };
}

// Chromium decodes both channels only if its own offer says so (RFC 7587 section 7).
export function inStereo({ type, sdp }: Description): Description {
  return { type, sdp: sdp.replace(/(a=fmtp:\d+ [^\r\n]*useinbandfec=1)(?![^\r\n]*stereo=1)/g, "$1;stereo=1") };
}

// Makes an offer and sets the most of it that the browser takes.
export async function describe(connection: RTCPeerConnection): Promise<void> {
  const { type, sdp = "" } = await connection.createOffer();
  const offer = inStereo({ type, sdp });
  const asking = withReportsOnRequest(offer);
  await connection
    .setLocalDescription(withReferenceTime(withDependencies(asking)))
    .catch(() => connection.setLocalDescription(withReferenceTime(asking)))
    .catch(() => connection.setLocalDescription(asking))
    .catch(() => connection.setLocalDescription(offer));
}
