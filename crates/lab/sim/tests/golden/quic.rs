//! Downloads over QUIC, alone and beside CUBIC over TCP.

use crate::support::{Run, empty_path, run, with, with_tcp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

const HEAD: &str = "\
25 Mb/s, 16 ms; drop-tail of 2 BDP, or DualPI2 of 100 ms for prague, which needs marks; seed 1. All figures are of 10 s to 25 s of
downloads that begin at 0 s, that of CUBIC over TCP at 1 s. Rates are bytes on the wire at the client, waits are queueing delays.
CUBIC over QUIC has HyStart++; \"acks 10\" is acknowledged after ten packets, \"1200 B\" has datagrams of that size.

                      alone                           beside CUBIC
                      rate  wait   packets            rate Mb/s     mean wait ms  packets
algorithm  variant    Mb/s    ms  dropped marked     own  CUBIC     own  CUBIC  dropped marked
";

const FROM: f64 = 10.0;
const TO: f64 = 25.0;

fn packets(run: &Run) -> String {
    let bins = run.table("bins").between("bin_start_ns", FROM, TO);
    format!("{:>8} {:>6}", bins.sum("dropped_packets"), bins.sum("marked_packets"))
}

fn row(name: &str, variant: &str, more: Value) -> String {
    let queue = if name == "prague" {
        json!({ "kind": "dual-pi2", "size": "100 ms" })
    } else {
        json!({ "kind": "drop-tail", "size": "2 bdp" })
    };
    let mut quic = json!({ "kind": "quic", "name": "download", "congestion_control": name });
    quic.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let spec = with(empty_path(25), "/path/queue", queue);
    let spec = with(spec, "/competitor", json!([quic]));
    let alone = run(&spec);
    let second = json!({ "name": "cubic", "start": "1 s" });
    let beside = run(&with_tcp(spec, "cubic", second));
    let rate = |run: &Run, flow| run.received_mbps(flow, FROM, TO);
    let wait = |run: &Run, flow| run.mean_wait(flow, FROM, TO);
    format!(
        "{name:<10} {variant:<8} {:>6.1} {:>5.1} {} {:>7.1} {:>6.1} {:>7.1} {:>6.1} {}",
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
    let rows = [
        ("cubic", "", json!({})),
        ("cubic", "acks 10", json!({ "ack_packets": 10 })),
        ("cubic", "1200 B", json!({ "datagram_size": "1200 B" })),
        ("newreno", "", json!({})),
        ("bbr", "", json!({})),
        ("bbr", "acks 10", json!({ "ack_packets": 10 })),
        ("bbr2", "", json!({})),
        ("bbr3", "", json!({})),
        ("bic", "", json!({})),
        ("vegas", "", json!({})),
        ("prague", "", json!({})),
    ];
    let all: BTreeSet<&str> = rows.iter().map(|(name, ..)| *name).collect();
    assert_eq!(all, BTreeSet::from(super::tcp::NAMES), "each has a row");
    for (name, variant, more) in rows {
        writeln!(text, "{}", row(name, variant, more)).unwrap();
    }
    text
}
