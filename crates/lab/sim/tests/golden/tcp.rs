//! Every congestion control of TCP, alone and beside CUBIC.

use crate::support::{Run, empty_path, run, with, with_tcp};
use gameway_tcp::{ConfiguredTcp, CongestionControls};
use gameway_units::declared::Options;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "\
25 Mb/s, 16 ms; drop-tail of 2 BDP, or DualPI2 of 100 ms for those that need accurate ECN; seed 1. All figures are of 10 s
to 25 s of downloads that begin at 0 s, CUBIC's at 1 s. Rates are bytes on the wire at the client, waits are queueing delays.

                      alone                           beside CUBIC
                      rate  wait   packets            rate Mb/s     mean wait ms  packets
algorithm queue       Mb/s    ms  dropped marked     own  CUBIC     own  CUBIC  dropped marked
";

pub const NAMES: [&str; 8] = ["cubic", "newreno", "bbr", "bbr2", "bbr3", "bic", "vegas", "prague"];

const FROM: f64 = 10.0;
const TO: f64 = 25.0;

fn queue(algorithm: &ConfiguredTcp) -> Value {
    if algorithm.needs_accurate_ecn() {
        json!({ "kind": "dual-pi2", "size": "100 ms" })
    } else {
        json!({ "kind": "drop-tail", "size": "2 bdp" })
    }
}

fn packets(run: &Run) -> String {
    let bins = run.table("bins").between("bin_start_ns", FROM, TO);
    format!("{:>8} {:>6}", bins.sum("dropped_packets"), bins.sum("marked_packets"))
}

fn row(algorithm: &ConfiguredTcp) -> String {
    let (name, queue) = (algorithm.name(), queue(algorithm));
    let spec = with_tcp(with(empty_path(25), "/path/queue", queue.clone()), name, json!({}));
    let alone = run(&spec);
    let second = json!({ "name": "cubic", "start": "1 s" });
    let beside = run(&with_tcp(spec, "cubic", second));
    let rate = |run: &Run, flow| run.received_mbps(flow, FROM, TO);
    let wait = |run: &Run, flow| run.mean_wait(flow, FROM, TO);
    format!(
        "{name:<9} {:<9} {:>6.1} {:>5.1} {} {:>7.1} {:>6.1} {:>7.1} {:>6.1} {}",
        queue["kind"].as_str().unwrap(),
        rate(&alone, "download"),
        wait(&alone, "download"),
        packets(&alone),
        rate(&beside, "download"),
        rate(&beside, "cubic"),
        wait(&beside, "download"),
        wait(&beside, "cubic"),
        packets(&beside),
    )
}

pub fn table() -> String {
    let mut text = HEAD.to_owned();
    let known = CongestionControls::standard();
    let all: BTreeSet<&str> = known.descriptions().map(|one| one.name).collect();
    assert_eq!(all, BTreeSet::from(NAMES), "each has a row");
    for name in NAMES {
        writeln!(text, "{}", row(&known.configure(name, &Options::new()).unwrap())).unwrap();
    }
    text
}
