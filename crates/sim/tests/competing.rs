//! Competitors that are no bulk transfer: packets at a constant rate, and short transfers.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

mod support;

use serde_json::{Value, json};
use support::{empty_path, mean, run, with};

fn competitor(spec: Value, fields: Value) -> Value {
    with(spec, "/competitor/-", fields)
}

#[test]
fn udp_has_its_rate_to_the_packet() {
    let udp = json!({
        "name": "constant", "kind": "udp", "rate": "4 Mb/s", "packet_size": "1000 B",
        "start": "2 s", "stop": "7 s",
    });
    let run = run(&competitor(empty_path(10), udp));
    // 500 packets a second for five seconds; its phase may cost the last one.
    let bins = run.table("bins");
    let sent = bins.sum("sent_packets");
    assert!((2499.0..=2500.0).contains(&sent), "{sent}");
    assert_eq!(bins.sum("received_bytes"), sent * 1000.0);
    assert_eq!(bins.sum("received_payload_bytes"), sent * 972.0);
    assert_eq!(bins.sum("feedback_bytes"), 0.0);
    assert_eq!(
        run.received_mbps("constant", 0.0, 2.0) + run.received_mbps("constant", 7.5, 10.0),
        0.0
    );
}

fn short(more: Value) -> Value {
    let mut flow = json!({ "name": "web", "kind": "short-tcp", "congestion_control": "cubic" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    competitor(empty_path(600), flow)
}

#[test]
fn short_transfers_have_the_sizes_and_gaps_of_rfc_8868() {
    let run = run(&short(json!({ "begins": "on" })));
    let transfers = run.table("events").only("event", "transfer");
    let count = transfers.rows as f64;
    // A transfer takes 0.1 s here: 600 s hold 59 of them, with a deviation of 7.7 (Poisson).
    assert!((36.0..=83.0).contains(&count), "{count}");
    let payload = run.table("bins").sum("received_payload_bytes");
    // Uniform from 30 to 50 kB: mean 40, deviation 5.8 / sqrt(59).
    assert!((38e3..=42e3).contains(&(payload / count)), "{}", payload / count);
    let times = transfers.present("time_ns");
    assert!(times[0] < 0.2e9, "it begins with a transfer");
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1e9).collect();
    assert!((6.0..=15.0).contains(&mean(&gaps)), "{}", mean(&gaps));
    assert_eq!(run.summary.dropped_packets, 0);
}

#[test]
fn short_transfers_stop_and_may_begin_with_a_gap() {
    let busy = json!({ "mean_gap": "100 ms", "start": "5 s", "stop": "8 s" });
    let run = run(&short(busy));
    let transfers = run.table("events").only("event", "transfer").present("time_ns");
    assert!((5..=30).contains(&transfers.len()), "{}", transfers.len());
    assert!(transfers.iter().all(|at| (5.05e9..8.3e9).contains(at)), "{transfers:?}");
}
