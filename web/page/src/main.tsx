import { render } from "preact";
import { App } from "./app";
import { facts } from "./facts";
import { listenForShortcuts } from "./input/shortcuts";
import { toggleOverlay } from "./overlay/overlay";
import { start } from "./page";
import { toggleText } from "./text/mode";
import { focusToolbar } from "./toolbar";
import "./base.css";
import "./page.css";

window.gameway = facts;
listenForShortcuts({ KeyS: toggleOverlay, KeyM: focusToolbar, KeyT: toggleText });
render(<App />, document.getElementById("app") ?? document.body);
const [video, canvas] = ["video", "canvas"].map((name) => document.getElementById(name));
if (video instanceof HTMLVideoElement && canvas instanceof HTMLCanvasElement) start(video, canvas);
