import { render } from "preact";
import { App } from "./app";
import { Client } from "./client";
import "../base.css";
import "./gateway.css";

const client = new Client();
render(<App client={client} />, document.getElementById("app") ?? document.body);
client.start();
