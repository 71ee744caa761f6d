// What the page's parts share: the connection's figures, whether the host lets this page play, and what is said of it.
import { GameClipboard } from "./clipboard/clipboard";
import { areCarried } from "./connection/carried";
import { connect } from "./connection/connect";
import { play } from "./connection/playback";
import { stateOf } from "./connection/words";
import { facts, statusOf, tell } from "./facts";
import { Sampler } from "./figures/sampler";
import { seenGamepads, troubles } from "./gamepad/seen";
import { Watch } from "./gamepad/watch";
import { listen } from "./input/listen";
import { boxOfPicture } from "./input/picture";
import { Player } from "./input/player";
import { Lab } from "./lab/client";
import { Access } from "./pairing/access";
import { isLabOpen } from "./panels";
import { CHANNEL } from "./photon/message";
import { onScreen } from "./photon/observed";
import { lookForPhoton, Photon } from "./photon/photon";
import { showShapes } from "./pointer/show";
import type { Choice } from "./screen/choice";
import { Screen } from "./screen/screen";
import { follow, wished } from "./screen/wish";
import { settings } from "./settings/settings";
import { Store } from "./store";
import { touchControls } from "./touch/shown";
import { lookForPlayer } from "./watching/alone";
import { role } from "./watching/role";

const STATUS_INTERVAL = 500;

export const sampler = new Store<Sampler | null>(null);
// The player's end, once the host lets this page play.
export const player = new Store<Player | null>(null);
// The game's clipboard, once the host says that this page may use it.
export const clipboard = new Store<GameClipboard | null>(null);
export const lab = new Store<Lab | null>(null);
// By which way pictures come to the screen.
export const shownBy = new Store<Store<Choice> | null>(null);
// From a key to its picture, where the host plays a test card.
export const photon = new Store<Photon | null>(null);
export const status = new Store("connecting");
export const state = new Store(stateOf(facts));
// Why something that a person asked for was not done.
export const complaint = new Store("");

export const complain = (what: string) => (error: Error) => complaint.set(`${what}: ${error.message}`);

const MANNER = { mouseLook: () => settings.value.mouseLook, touchControls: () => touchControls.value };

function takeConnection(connection: RTCPeerConnection, input: RTCDataChannel, screen: Screen): void {
  const ownSampler = new Sampler(connection, screen, () => photon.value?.summary.value?.whole.median ?? null);
  sampler.set(ownSampler);
  tell("figures", () => ownSampler.newest);
  const ownPlayer = new Player(input);
  tell("input", () => ownPlayer.state);
  ownPlayer.onTaken = () => {
    listen(ownPlayer, screen, MANNER);
    const watch = new Watch(connection, input);
    tell("gamepads", () => watch.player.state);
    player.set(ownPlayer);
  };
  const found = new GameClipboard(connection.createDataChannel("clipboard"));
  found.onOffered = () => clipboard.set(found);
  const channel = connection.createDataChannel(CHANNEL, { ordered: false, maxRetransmits: 0 });
  lookForPhoton(channel, (times) => {
    const measured = new Photon(times, ownPlayer, onScreen(screen));
    photon.set(measured);
    tell("photon", () => measured.summary.value);
  });
}

// A host that has a lab tells its state; then there is a panel for it.
function lookForLab(authorization: Record<string, string>): void {
  const found = new Lab(authorization, {
    isWatched: () => isLabOpen.value || settings.value.figures,
    isOver: () => facts.ended !== undefined,
  });
  const stop = found.state.listen(() => {
    stop();
    lab.set(found);
  });
  found.look();
}

function say(): void {
  status.set([facts.error ?? statusOf(facts), ...troubles(seenGamepads.value)].join(" · "));
  state.set(stateOf(facts));
}

export async function start(video: HTMLVideoElement, canvas: HTMLCanvasElement): Promise<void> {
  const screen = new Screen(video, canvas);
  tell("picture", () => boxOfPicture(screen));
  tell("screen", () => screen);
  shownBy.set(screen.choice);
  const setVolume = () => {
    video.volume = settings.value.volume;
  };
  setVolume();
  settings.listen(setVolume);
  setInterval(say, STATUS_INTERVAL);
  seenGamepads.listen((seen) => complaint.set(troubles(seen).join("; ")));
  let measured: Sampler | undefined;
  try {
    screen.areCarried = await areCarried();
    screen.choice.set(wished(settings.value, screen.areCarried));
    const authorization = await connect(new Access(), {
      screen,
      onConnection: (connection, input, pointer) => {
        takeConnection(connection, input, screen);
        showShapes(pointer, screen);
        measured = new Sampler(connection, screen);
      },
      onVideo: () => play(video),
    });
    if (measured) follow(screen, settings, measured);
    lookForLab(authorization);
    if (role.value === "watch") lookForPlayer(authorization);
  } catch (error) {
    facts.error = error instanceof Error ? error.message : String(error);
  }
}
