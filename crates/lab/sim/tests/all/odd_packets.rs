//! Packets that come twice or change their place, and packets that say they can be marked: what becomes of them, and
//! of those who meet them.

#![allow(clippy::float_cmp, reason = "counts are whole numbers")]

use crate::support::{Run, empty_path, fixed, mean, run, with, with_ping, with_stream, with_tcp};
use serde_json::{Value, json};

const SECONDS: u32 = 20;

fn on_path(key: &str, value: Value) -> Value {
    with(empty_path(SECONDS), &format!("/path/{key}"), value)
}

fn udp(spec: Value, more: Value) -> Value {
    let flow = json!({ "kind": "udp", "name": "datagrams", "rate": "4 Mb/s" });
    let flow = more
        .as_object()
        .unwrap()
        .iter()
        .fold(flow, |flow, (key, value)| with(flow, &format!("/{key}"), value.clone()));
    with(spec, "/competitor/-", flow)
}

/// Of the packets that arrived, in the order in which they did: number and fate.
fn arrivals(run: &Run, flow: &str) -> Vec<(u64, String)> {
    let packets = run.table("packets").only("flow", flow);
    let mut found: Vec<(u64, u64, String)> = (0..packets.rows)
        .filter_map(|row| {
            let at = packets.column("arrived_ns")[row]? as u64;
            let number = packets.column("number")[row]? as u64;
            Some((at, number, packets.names["fate"][row].clone()))
        })
        .collect();
    found.sort_by_key(|one| one.0);
    found.into_iter().map(|(_, number, fate)| (number, fate)).collect()
}

#[test]
fn copies_are_counted_and_are_no_new_payload() {
    let spec = udp(on_path("duplicate", json!({ "probability": "1 %" })), json!({}));
    let spec = with(with_ping(spec, "20 ms"), "/record", json!({ "packets": true }));
    let run = run(&with(spec, "/path/back", json!({ "duplicate": { "probability": "50 %" } })));
    let bins = run.table("bins").only("flow", "datagrams");
    let (sent, copies) = (bins.sum("sent_packets"), bins.sum("duplicated_packets"));
    assert!((0.007..=0.013).contains(&(copies / sent)), "{copies} of {sent}");
    let rows = arrivals(&run, "datagrams").iter().filter(|one| one.1 == "copied").count();
    assert_eq!(rows as f64, copies);
    let received = bins.sum("received_packets");
    assert!((sent + copies - received).abs() < 20.0, "{received} of {sent} and {copies}");
    // 1200 B with 28 B of headers, once each.
    let payload = bins.sum("received_payload_bytes") / 1172.0;
    assert!((sent - payload).abs() < 20.0 && payload < received, "{payload}");
    // Each ping is told of once, whatever comes twice.
    assert!((990..=1000).contains(&run.table("pings").rows), "{}", run.table("pings").rows);
}

#[test]
fn packets_overtake_as_netem_lets_them() {
    let arrived = |reorder: Value| {
        let spec = with(
            udp(on_path("reorder", reorder), json!({})),
            "/record",
            json!({ "packets": true }),
        );
        arrivals(&run(&spec), "datagrams").into_iter().map(|one| one.0).collect::<Vec<u64>>()
    };
    let early = |numbers: &[u64]| {
        let mut max = 0;
        let behind = numbers.iter().filter(|number| {
            let is_behind = **number < max;
            max = max.max(**number);
            is_behind
        });
        behind.count() as f64 / numbers.len() as f64
    };
    assert_eq!(early(&arrived(json!({ "probability": "0 %" }))), 0.0);
    // A packet each 2.4 ms that is not delayed by 8 ms overtakes three; each fifth does.
    let at_once = arrived(json!({ "probability": "100 %", "gap": 5 }));
    assert!((0.59..=0.61).contains(&early(&at_once)), "{}", early(&at_once));
    // One that arrives 3 ms later is overtaken by one.
    let later = arrived(json!({ "probability": "25 %", "later": "3 ms" }));
    assert!((0.17..=0.21).contains(&early(&later)), "{}", early(&later));
}

/// A download beside nothing, on 25 Mb/s: Mb/s after the start, and retransmissions per packet sent.
fn download(algorithm: &str, key: &str, value: Value) -> (f64, f64) {
    let spec = with_tcp(on_path(key, value), algorithm, json!({}));
    let run = run(&with(spec, "/path/base_rtt", json!("40 ms")));
    let bins = run.table("bins").only("flow", "download");
    let useful = bins.sum("received_payload_bytes") / 1448.0;
    let spare = bins.sum("sent_packets") - useful;
    (run.received_mbps("download", 5.0, 20.0), spare / bins.sum("sent_packets"))
}

#[test]
fn reordering_and_copies_are_not_loss_for_tcp() {
    let nothing = json!({ "probability": "0 %" });
    for algorithm in ["cubic", "bbr"] {
        let (best, spare) = download(algorithm, "reorder", nothing.clone());
        assert!(best > 22.0 && spare < 0.03, "{algorithm}: {best} {spare}");
        // 1 ms is two packets: less than three duplicate acknowledgements, and less than RACK's window.
        let slightly = json!({ "probability": "5 %", "later": "1 ms" });
        let (rate, more) = download(algorithm, "reorder", slightly);
        assert!(rate > 0.95 * best && more < spare + 0.01, "{algorithm}: {rate} of {best}, {more}");
        let (rate, more) = download(algorithm, "duplicate", json!({ "probability": "5 %" }));
        assert!(rate > 0.95 * best && more < spare + 0.01, "{algorithm}: {rate} of {best}, {more}");
    }
}

#[test]
fn a_stream_waits_for_packets_that_are_late_and_loses_those_that_are_too_late() {
    let lost = |later: &str| {
        let reorder = json!({ "probability": "2 %", "later": later });
        let spec = with_stream(on_path("reorder", reorder), fixed("8 Mb/s"), json!({}));
        let run = run(&spec);
        let frames = run.table("frames");
        assert_eq!(frames.present("lost_packets").iter().sum::<f64>(), 0.0);
        let shown = frames.present("shown_ns").len() as f64 / frames.rows as f64;
        (shown, run.summary.lost_packets)
    };
    // The player waits 10 ms for a frame that lacks packets.
    assert!(lost("8 ms").0 > 0.995, "{:?}", lost("8 ms"));
    assert!(lost("40 ms").0 < 0.9, "{:?}", lost("40 ms"));
}

#[test]
fn a_stream_s_copies_are_shown_once_and_its_frames_lose_nothing() {
    let spec = on_path("duplicate", json!({ "probability": "20 %" }));
    let run = run(&with_stream(spec, json!("gcc"), json!({})));
    let (frames, bins) = (run.table("frames"), run.table("bins"));
    assert!(bins.sum("duplicated_packets") > 500.0);
    assert_eq!(bins.sum("frames_shown"), frames.present("shown_ns").len() as f64);
    assert!(frames.present("shown_ns").len() + 3 >= frames.rows);
    assert_eq!(frames.present("lost_packets").iter().sum::<f64>(), 0.0);
    assert!(mean(&frames.present("target_bps")) > 5e6);
}

/// Marked, dropped and sent packets of a flow of datagrams at 20 Mb/s in a 10 Mb/s queue.
fn marked(ecn: &str, queue: Value) -> [f64; 3] {
    let spec = with(on_path("capacity", json!("10 Mb/s")), "/path/queue", queue);
    let run = run(&udp(spec, json!({ "rate": "11 Mb/s", "ecn": ecn })));
    let bins = run.table("bins").only("flow", "datagrams");
    ["marked_packets", "dropped_packets", "sent_packets"].map(|column| bins.sum(column))
}

#[test]
fn datagrams_are_marked_by_what_they_say() {
    let step = json!({ "kind": "drop-tail", "size": "100 ms", "mark_above": "5 ms" });
    let [marks, _, sent] = marked("none", step.clone());
    assert_eq!(marks, 0.0);
    for ecn in ["ect0", "ect1"] {
        let [marks, drops, _] = marked(ecn, step.clone());
        // All that leaves but the first.
        assert!(
            marks > 0.98 * (sent - drops) - 200.0 && marks <= sent - drops,
            "{ecn}: {marks} of {sent}"
        );
    }
    // An L4S queue takes ECT(1) into its low-latency part, which marks from 1 ms on, and ECT(0) into the other.
    let l4s = json!({ "kind": "dual-pi2", "size": "100 ms", "marking": "step" });
    let [low, classic, plain] = ["ect1", "ect0", "none"].map(|ecn| marked(ecn, l4s.clone())[0]);
    assert!(low > 0.9 * sent * 10.0 / 11.0, "{low} of {sent}");
    assert!(classic > 0.0 && classic < 0.5 * low, "{classic}");
    assert_eq!(plain, 0.0);
}
