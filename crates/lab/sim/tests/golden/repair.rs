//! Every way of repair, over paths that lose packets and beside a download.

use crate::support::{Run, empty_path, fixed, run, with, with_loss, with_stream, with_tcp};
use gameway_units::Repair;
use serde_json::{Value, json};
use std::fmt::Write;

const HEAD: &str = "\
A stream over 25 Mb/s with a queue of 2 BDP: 15 Mb/s of steady frames while packets are lost one by one or in bursts of 3 in the
mean, Pudica beside a CUBIC download; seed 1, 20 s. Shares are of media packets; all figures are of the whole run.

                                     frames/s  key frames     lost   repair     sent  in time
path                      repair        shown   asked for        %        %  again %        %
";

const RECOVERY: &str = "
What is lost for good is answered by a frame that refers to one which the receiver has (recovery = \"reference\"), not by a key frame:

";

const SECONDS: u32 = 20;
/// Frames whole so much later than the tenth that comes first are late; with 100 ms there is time for one round trip.
const DEADLINE_MS: f64 = 154.0;

/// A path: its name, round-trip time, and loss in percent and mean burst; without loss there is a download.
type Lossy = (&'static str, &'static str, Option<(f64, f64)>);

const PATHS: [Lossy; 4] = [
    ("20 ms, 2 %", "20 ms", Some((2.0, 1.0))),
    ("100 ms, 5 %", "100 ms", Some((5.0, 1.0))),
    ("100 ms, 5 % in bursts", "100 ms", Some((5.0, 3.0))),
    ("20 ms, CUBIC", "20 ms", None),
];

/// All words that a stream's `repair` can be.
fn words() -> Vec<String> {
    fn collect(schema: &Value, words: &mut Vec<String>) {
        let listed = schema["enum"].as_array().into_iter().flatten();
        words.extend(listed.chain([&schema["const"]]).filter_map(Value::as_str).map(str::to_owned));
        let forms = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array());
        forms.flatten().for_each(|form| collect(form, words));
    }
    let mut words = Vec::new();
    collect(schemars::schema_for!(Repair).as_value(), &mut words);
    words
}

fn scenario((repair, recovery): (&str, &str), base_rtt: &str, loss: Option<(f64, f64)>) -> Run {
    let keys = json!({ "repair": repair, "recovery": recovery });
    let spec = with(empty_path(SECONDS), "/path/base_rtt", json!(base_rtt));
    let spec = with(spec, "/record", json!({ "packets": true }));
    if let Some((percent, burst_length)) = loss {
        let spec = with_loss(spec, percent, burst_length);
        return run(&with_stream(spec, fixed("15 Mb/s"), keys));
    }
    let spec = with_stream(spec, json!("pudica"), keys);
    run(&with_tcp(spec, "cubic", json!({ "start": "5 s" })))
}

fn row(path: &str, repair: &str, run: &Run) -> String {
    let packets = run.table("packets").only("flow", "game");
    let media = packets.only("kind", "media");
    let lost = media.only("fate", "lost").rows + media.only("fate", "dropped").rows;
    let share = |count: usize| 100.0 * count as f64 / media.rows as f64;
    format!(
        "{path:<25} {repair:<10} {:>8.2} {:>11} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
        run.table("frames").present("shown_ns").len() as f64 / f64::from(SECONDS),
        run.count("game", "key-frame-request"),
        share(lost),
        share(packets.only("kind", "repair").rows),
        share(packets.only("kind", "retransmission").rows),
        100.0 * run.in_time(1.0, f64::from(SECONDS) - 1.0, DEADLINE_MS),
    )
}

pub fn table() -> String {
    let mut table = HEAD.to_owned();
    for (path, base_rtt, loss) in PATHS {
        for repair in words() {
            let run = scenario((&repair, "key-frame"), base_rtt, loss);
            writeln!(table, "{}", row(path, &repair, &run)).unwrap();
        }
    }
    table.push_str(RECOVERY);
    for (path, base_rtt, loss) in PATHS.into_iter().filter(|(.., loss)| loss.is_some()) {
        for repair in ["none", "nack"] {
            let run = scenario((repair, "reference"), base_rtt, loss);
            writeln!(table, "{}", row(path, repair, &run)).unwrap();
        }
    }
    table
}
