// Pictures for a browser whose WebRTC lacks H.264, such as Firefox without its plugin OpenH264: the host sends them as frames of VP8 by
// name, the browser carries these as it would carry encrypted ones, and the page takes them out and decodes them.
import { lackOf } from "../screen/lack";

// Of a frame ahead of its access unit: as long as the header of VP8's key frames, which browsers read (RFC 6386 section 9.1).
export const FRAME_HEADER = 10;
const PARAMETER = "x-gameway-frames=H264";

type Codecs = readonly Pick<RTCRtpCodec, "mimeType">[];

const OWN = ["video/h264", "video/h265"];

export const takesPictures = (codecs: Codecs) => codecs.some(({ mimeType }) => OWN.includes(mimeType.toLowerCase()));

// What the page lacks to decode pictures by itself; empty if nothing.
async function lack(): Promise<string> {
  const found = lackOf(window);
  if (found !== "") return found;
  const asked = { codec: "avc1.42e02a", optimizeForLatency: true };
  const isAble = await VideoDecoder.isConfigSupported(asked).then(
    ({ supported }) => supported,
    () => false,
  );
  return isAble ? "" : "this browser decodes no H.264 for pages either";
}

export const words = (lacking: string) =>
  `The pictures come in H.264, and this browser takes none by WebRTC; ${lacking}. In Firefox turn on the plugin OpenH264 (about:addons, ` +
  "Plugins) or install FFmpeg's libavcodec, or open this page in Chromium.";

// Whether the browser is only to carry the pictures. Says why there can be none.
export async function areCarried(): Promise<boolean> {
  const capabilities = RTCRtpReceiver.getCapabilities("video");
  if (capabilities === null || takesPictures(capabilities.codecs)) return false;
  const lacking = await lack();
  if (lacking !== "") throw new Error(words(lacking));
  return true;
}

// The offer as the host is to read it: frames of VP8 may be H.264.
export function asCarrier(sdp: string): string {
  const type = /^a=rtpmap:(\d+) VP8\/90000\r\n/m.exec(sdp)?.[1];
  if (type === undefined) return sdp;
  const parameters = new RegExp(`^a=fmtp:${type} .*`, "m");
  if (parameters.test(sdp)) return sdp.replace(parameters, `$&;${PARAMETER}`);
  return sdp.replace(`a=rtpmap:${type} VP8/90000\r\n`, `$&a=fmtp:${type} ${PARAMETER}\r\n`);
}

// A host that knows nothing of this takes the offer without its video.
export const isCarrier = (answer: string) => answer.includes(PARAMETER);
