// How this browser and the host reach each other, and in words why they do not.
import { facts } from "../facts";

// Milliseconds: a STUN or TURN server that has not answered by then is far away or not there, and the offer goes without.
const GATHERING = 1000;
// Until it is said that there is no connection yet.
const PATIENCE = 4000;

interface Ways {
  // What each side named, by its kinds.
  own: string;
  host: string;
  servers: RTCIceServer[];
}

// Fulfilled once the description names what the servers have told, if there are any. Without them the host learns the browser's
// addresses from its checks.
export function gathered(connection: RTCPeerConnection, servers: RTCIceServer[]): Promise<void> {
  if (servers.length === 0 || connection.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((fulfil) => {
    connection.onicegatheringstatechange = () => {
      if (connection.iceGatheringState === "complete") fulfil();
    };
    setTimeout(fulfil, GATHERING);
  });
}

const names = (sdp: string, pattern: RegExp) => pattern.test(sdp);
const urlsOf = ({ urls }: RTCIceServer) => (typeof urls === "string" ? [urls] : urls);

const ADDRESS = /^a=candidate:\S+ \d+ \S+ \d+ (\S+) /gm;

// Firefox tries no loopback address from others, and has none itself unless the page may use camera or microphone.
function isLoopbackAlone(sdp: string): boolean {
  const addresses = [...sdp.matchAll(ADDRESS)].map(([, address = ""]) => address);
  return addresses.length > 0 && addresses.every((address) => address.startsWith("127.") || address === "::1");
}

export function obstacleOf({ own, host, servers }: Ways): string {
  if (isLoopbackAlone(host)) {
    return (
      "No connection yet. The host listens on a loopback address, which this browser does not try (Firefox never does). Let it listen on " +
      "an address of its machine (its option --listen), and open that one."
    );
  }
  const has = (scheme: RegExp) => servers.flatMap(urlsOf).some((url) => scheme.test(url));
  const reasons = ["Packets of UDP do not pass between this browser and the host."];
  if (!names(host, /^a=candidate:\S+ 1 tcp /m)) reasons.push("The host takes no media by TCP.");
  else reasons.push("No connection of TCP carries media to where this page was loaded from.");
  if (!has(/^stuns?:/) && !has(/^turns?:/)) {
    reasons.push("The host names no STUN or TURN server that could help (its options --stun and --turn).");
  } else if (!names(own, /^a=candidate:.* typ (srflx|relay)/m)) {
    reasons.push("The STUN or TURN server that the host names does not answer this browser.");
  } else if (!has(/^turns?:/)) {
    reasons.push("The host names no TURN server, which hands on where nothing goes straight (its option --turn).");
  }
  return `No connection yet. ${reasons.join(" ")}`;
}

// Says what stands in the way as long as there is no connection.
export function watchReach(connection: RTCPeerConnection, host: string, servers: RTCIceServer[]): void {
  const say = () => {
    const own = connection.localDescription?.sdp ?? "";
    facts.obstacle = obstacleOf({ own, host, servers });
  };
  const timer = setTimeout(say, PATIENCE);
  const listener = () => {
    if (connection.connectionState === "failed") say();
    if (connection.connectionState !== "connected") return;
    clearTimeout(timer);
    facts.obstacle = undefined;
    connection.removeEventListener("connectionstatechange", listener);
  };
  connection.addEventListener("connectionstatechange", listener);
}
