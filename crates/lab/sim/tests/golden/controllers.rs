//! Every controller and the oracle: alone, beside CUBIC, and over a halving of the capacity.

use crate::support::{
    Run, empty_path, fixed, mean, quantile, run, with, with_ping, with_stream, with_tcp,
};
use gameway_control::OracleOptions;
use gameway_sim::Registry;
use gameway_units::declared::Configuration;
use serde_json::{Value, json};
use std::fmt::Write;

const HEAD: &str = "\
25 Mb/s, 16 ms, 2 BDP; recorded frames; \"fixed\" has 15 Mb/s; seed 1. Beside CUBIC: a download from 2 s on. Halved:
12.5 Mb/s from 10 s on. All figures are of 10 s to 25 s. Rates are bytes on the wire at the client, RTTs those of a ping.
Salsify queues up to a frame interval and a base RTT, 32.7 ms, which is the 32 ms that this queue holds, and sends a frame five
times as fast as the link takes it, so beside CUBIC its frames overflow: 339 ± 58 drops over six seeds, 45 ± 11 with 4 BDP.

                      rate Mb/s          RTT ms        frames   queue drops
path       controller stream  TCP    mean    p95   shown  of  stream   TCP
";

const FROM: f64 = 10.0;
const TO: f64 = 25.0;

/// A second longer than what is measured: the last frames have time to be shown.
fn alone(controller: &Value) -> Value {
    let spec = with_stream(empty_path(26), controller.clone(), json!({ "video": "doom" }));
    with_ping(spec, "20 ms")
}

fn beside_cubic(controller: &Value) -> Value {
    with_tcp(alone(controller), "cubic", json!({ "start": "2 s" }))
}

fn halved(controller: &Value) -> Value {
    let steps = json!({ "steps": [["0 s", "25 Mb/s"], ["10 s", "12.5 Mb/s"]] });
    with(alone(controller), "/path/capacity", steps)
}

/// A path's name, and what makes a run of a controller on it.
type Conditions = (&'static str, fn(&Value) -> Value);

const PATHS: [Conditions; 3] = [("alone", alone), ("with CUBIC", beside_cubic), ("halved", halved)];

fn row(path: &str, controller: &str, run: &Run) -> String {
    let bins = run.table("bins").between("bin_start_ns", FROM, TO);
    let drops = |flow| bins.only("flow", flow).sum("dropped_packets");
    let download = bins.names["flow"].iter().any(|flow| flow == "download");
    let of_download = |text: String| if download { text } else { "-".to_owned() };
    let frames = run.table("frames").between("captured_ns", FROM, TO);
    let rtts = run.rtts(FROM, TO);
    format!(
        "{path:<10} {controller:<10} {:>6.1} {:>4} {:>7.1} {:>6.1}   {:>5} {:>3} {:>7} {:>5}",
        run.received_mbps("game", FROM, TO),
        of_download(format!("{:.1}", run.received_mbps("download", FROM, TO))),
        mean(&rtts),
        quantile(&rtts, 0.95),
        frames.present("shown_ns").len(),
        frames.rows,
        drops("game"),
        of_download(drops("download").to_string()),
    )
}

pub fn table() -> String {
    let mut text = HEAD.to_owned();
    let known = Registry::standard().controllers;
    for (path, spec) in PATHS {
        let names = known.descriptions().map(|one| one.name);
        for controller in names.chain([OracleOptions::NAME]) {
            let chosen = if controller == "fixed" { fixed("15 Mb/s") } else { json!(controller) };
            writeln!(text, "{}", row(path, controller, &run(&spec(&chosen)))).unwrap();
        }
    }
    text
}
