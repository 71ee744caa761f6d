import { render } from "preact";
import { App } from "./app";
import { facts } from "./facts";
import { listenForOverlay } from "./overlay/overlay";
import { start } from "./page";
import "./page.css";

window.gameway = facts;
listenForOverlay();
render(<App />, document.getElementById("app") ?? document.body);
const video = document.getElementById("video");
if (video instanceof HTMLVideoElement) start(video);
