//! What reports and clocks do to a stream: coarse times, loss of reports, drift; and marks.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{Run, empty_path, fixed, mean, run, with, with_stream};
use serde_json::{Value, json};

/// A stream of 20 Mb/s and 20 ms alone.
fn alone(controller: Value, more: Value) -> Run {
    let spec = with_stream(empty_path(30), controller, more);
    let spec = with(spec, "/path/base_rtt", json!("20 ms"));
    run(&with(spec, "/path/capacity", json!("20 Mb/s")))
}

#[test]
fn what_a_receiver_sends_back_is_what_its_style_costs() {
    let overhead = |feedback: Value| {
        let run = alone(fixed("10 Mb/s"), json!({ "feedback": feedback }));
        let bins = run.table("bins").between("bin_start_ns", 1.0, 30.0);
        bins.sum("feedback_bytes") * 8.0 / 29.0 / 1e3
    };
    // 10 Mb/s are 60 frames of 17 packets a second: 1012 packets/s. Each report has 48 B and, with the
    // overlap of two reports, tells of each packet three times, in 2 B: 48.6 kb/s, and 384 b a report.
    for (feedback, reports) in [
        // A frame takes 13 ms to leave, and the receiver waits for its end for 10 ms: two reports.
        (json!("per-frame"), 120.0),
        (json!({ "kind": "rfc8888", "interval": "10 ms" }), 100.0),
        (json!({ "kind": "transport-wide" }), 1.0 / 0.06),
    ] {
        let expected = 48.6 + 0.384 * reports;
        let found = overhead(feedback.clone());
        assert!((found / expected - 1.0).abs() < 0.12, "{feedback}: {found} {expected}");
    }
}

#[test]
fn a_controller_sees_marks_only_where_its_packets_carry_them() {
    let marked = |controller: Value, ecn: &str| {
        let spec = with_stream(empty_path(20), controller, json!({ "ecn": ecn }));
        let run = run(&with(spec, "/path/queue/mark_above", json!("2 ms")));
        run.table("bins").sum("marked_packets")
    };
    // 30 Mb/s into 25: the queue stands, so nearly every packet that can be is marked.
    let full = fixed("30 Mb/s");
    assert!(marked(full.clone(), "ect1") > 30_000.0);
    assert!(marked(full.clone(), "ect0") > 30_000.0);
    assert_eq!(marked(full.clone(), "none"), 0.0);
    assert_eq!(marked(full, "native"), 0.0, "it asks for none");
    let scream = |ecn: &str| json!({ "kind": "scream", "ecn": ecn });
    assert!(marked(scream("l4s"), "native") > 0.0);
    assert_eq!(marked(scream("off"), "native"), 0.0);
}

#[test]
fn marks_keep_a_queue_short_that_delay_alone_does_not() {
    let waits = |ecn: &str| {
        let controller = json!({ "kind": "scream", "ecn": ecn });
        let spec = with_stream(empty_path(30), controller, json!({}));
        let spec = with(
            spec,
            "/path/queue",
            json!({ "kind": "drop-tail", "size": "300 ms", "mark_above": "1 ms" }),
        );
        let run = run(&spec);
        let delays = run.table("queue_delay").between("window_start_ns", 10.0, 30.0);
        let used = run.utilization(10.0, 30.0);
        (delays.sum("sum_ns") / delays.sum("packets") / 1e6, used)
    };
    let (marked, off) = (waits("l4s"), waits("off"));
    assert!(marked.0 < 0.5 * off.0, "{marked:?} {off:?}");
    assert!(
        (0.6..=1.0).contains(&marked.1) && (0.8..=1.001).contains(&off.1),
        "{marked:?} {off:?}"
    );
}

#[test]
fn lost_reports_delay_news_and_lose_none_of_it() {
    let shown = |loss: Value| {
        let spec = with_stream(empty_path(30), json!("pudica"), json!({}));
        let run = run(&with(spec, "/path/back", json!({ "loss": loss })));
        (run.received_mbps("game", 15.0, 30.0), run.table("frames").present("shown_ns").len())
    };
    let none = shown(json!(null));
    let some = shown(json!({ "kind": "random", "probability": "10 %" }));
    let all = shown(json!({ "kind": "random", "probability": "100 %" }));
    assert!((22.0..=24.5).contains(&none.0), "{none:?}");
    assert!((0.85..=1.03).contains(&(some.0 / none.0)), "{some:?} {none:?}");
    assert!(some.1 + 5 >= none.1, "{some:?} {none:?}");
    // The twin: without any report it stays where it began.
    assert!((4.0..=5.2).contains(&all.0), "{all:?}");
}

#[test]
fn a_drifting_clock_looks_like_a_queue_that_grows() {
    let rate = |drift: &str| {
        let spec = with_stream(empty_path(60), json!("pudica"), json!({ "clock_drift": drift }));
        run(&with(spec, "/path/queue/size", json!("10 bdp"))).received_mbps("game", 20.0, 60.0)
    };
    let right = rate("0 ppm");
    // 50 millionths are 0.5 ms within the 10 s for which a least delay is believed: 3 % of a frame
    // interval. A thousand are 10 ms: more than half of one, so that little else fits below one.
    let (near, far) = (rate("50 ppm") / right, rate("1000 ppm") / right);
    assert!((0.94..=1.01).contains(&near), "{near}");
    assert!((0.1..=0.5).contains(&far), "{far}");
}

#[test]
fn coarse_arrival_times_are_coarse() {
    // Frame delays are of the path; the controller's idea of them is what gets coarse.
    let delay = |feedback: Value| {
        let run = alone(json!("pudica"), json!({ "feedback": feedback }));
        mean(&run.variable("game", "target_bps", 10.0, 30.0)) / 1e6
    };
    let exact = delay(json!("10 ms"));
    let coarse = delay(json!({ "kind": "rfc8888", "interval": "10 ms" }));
    assert!((17.0..=20.0).contains(&exact), "{exact}");
    assert!((0.8..=1.05).contains(&(coarse / exact)) && coarse != exact, "{coarse} {exact}");
}
