import { useRef } from "preact/hooks";
import { Overlay } from "./overlay/overlay";
import { sampler, status } from "./page";
import { question } from "./pairing/access";
import { PairForm } from "./pairing/pair-form";
import { useStore } from "./store";
import { Toolbar } from "./toolbar";

function Status() {
  return (
    <pre id="status" role="status">
      {useStore(status)}
    </pre>
  );
}

export function App() {
  const player = useRef<HTMLElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const asked = useStore(question);
  return (
    <>
      {asked ? <PairForm {...asked} /> : null}
      <main id="player" ref={player}>
        {/* biome-ignore lint/a11y/useMediaCaption: nobody has written captions for a game that is being played */}
        <video id="video" ref={video} autoplay playsInline />
        <Toolbar player={player} video={video} />
        <Overlay sampler={useStore(sampler)} />
      </main>
      <Status />
    </>
  );
}
