// What the page's parts share: the connection's figures, whether the host lets this page play, and what is said below the picture.
import { connect } from "./connection/connect";
import { play } from "./connection/playback";
import { facts, statusOf, tell } from "./facts";
import { Sampler } from "./figures/sampler";
import { listen } from "./input/listen";
import { boxOfPicture } from "./input/picture";
import { Player } from "./input/player";
import { Access } from "./pairing/access";
import { Store } from "./store";

const STATUS_INTERVAL = 500;

export const sampler = new Store<Sampler | null>(null);
export const canPlay = new Store(false);
export const status = new Store("connecting");

// Says why something that a person asked for was not done.
export const complain = (what: string) => (error: Error) => status.set(`${what}: ${error.message}`);

function takeConnection(connection: RTCPeerConnection, input: RTCDataChannel, video: HTMLVideoElement): void {
  const own = new Sampler(connection);
  sampler.set(own);
  tell("figures", () => own.newest);
  const player = new Player(input);
  tell("input", () => player.state);
  player.onTaken = () => {
    listen(player, video);
    canPlay.set(true);
  };
}

export async function start(video: HTMLVideoElement): Promise<void> {
  tell("picture", () => boxOfPicture(video));
  try {
    await connect(new Access(), {
      video,
      onConnection: (connection, input) => takeConnection(connection, input, video),
      onVideo: () => play(video),
    });
    setInterval(() => status.set(statusOf(facts)), STATUS_INTERVAL);
  } catch (error) {
    facts.error = String(error);
    status.set(String(error));
  }
}
