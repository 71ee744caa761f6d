//! The circuit breaker bounds what a controller that hears nothing of losses does to a path.
#![allow(clippy::float_cmp, reason = "what has ended sends nothing at all")]

use crate::support::{Run, empty_path, fixed, run, with, with_stream};
use gameway_events::RunEvent;
use serde_json::{Value, json};

/// A stream that wants 20 Mb/s on a path of so much, for a minute.
fn pressed(capacity: &str, circuit_breaker: &str) -> Run {
    let stream =
        json!({ "circuit_breaker": circuit_breaker, "min_bitrate": "1 Mb/s", "video": "steady" });
    run(&with(
        with_stream(empty_path(60), fixed("20 Mb/s"), stream),
        "/path/capacity",
        json!(capacity),
    ))
}

fn told(run: &Run) -> Vec<(Value, f64)> {
    let events = run.events.iter().map(|event| serde_json::to_value(event).unwrap());
    let row = |event: Value| (event["table"] == "events").then(|| event["row"].clone());
    let breaker = |row: &Value| row["event"].as_str().unwrap().starts_with("breaker");
    let both = |row: Value| (row["event"].clone(), row["time_ns"].as_f64().unwrap() / 1e9);
    events.filter_map(row).filter(breaker).map(both).collect()
}

/// Megabits that entered the queue from a second on, for each second.
fn offered_mbps(run: &Run, from: f64, to: f64) -> f64 {
    let bins = run.table("bins").only("flow", "game").between("bin_start_ns", from, to);
    8e-6 * bins.sum("sent_bytes") / (to - from)
}

#[test]
fn a_stream_of_twenty_times_the_capacity_is_taken_to_its_least_rate() {
    let (without, with_breaker) = (pressed("1 Mb/s", "none"), pressed("1 Mb/s", "rfc8083"));
    let offered = |run| offered_mbps(run, 6.0, 60.0);
    assert!((19.0..=21.0).contains(&offered(&without)), "{}", offered(&without));
    // At most its least rate, and what it tries above that.
    assert!(offered(&with_breaker) < 4.0, "{}", offered(&with_breaker));
    assert_eq!(told(&without), []);
    let (first, at) = told(&with_breaker)[0].clone();
    assert_eq!(first, "breaker-reduced-congestion");
    // Three intervals of a second, from the first frame on.
    assert!((3.0..=3.1).contains(&at), "{at} s");
}

#[test]
fn a_stream_whose_path_is_gone_falls_after_three_seconds_and_ends_after_six() {
    let capacity = json!({ "steps": [["0 s", "30 Mb/s"], ["10 s", "0 b/s"], ["30 s", "30 Mb/s"]] });
    let stream = json!({ "circuit_breaker": "rfc8083", "video": "steady" });
    let spec = with_stream(empty_path(40), fixed("20 Mb/s"), stream);
    let run = run(&with(spec, "/path/capacity", capacity));
    let told = told(&run);
    let causes: Vec<&str> = told.iter().map(|(event, _)| event.as_str().unwrap()).collect();
    assert_eq!(causes, ["breaker-reduced-rtcp-timeout", "breaker-ended-rtcp-timeout"]);
    // The last second in which a report came is the one that the path ended in.
    for (&(_, at), expected) in told.iter().zip([14.0, 17.0]) {
        assert!((expected - 1.0..=expected + 0.1).contains(&at), "{at} s");
    }
    assert!(offered_mbps(&run, 20.0, 40.0) < 1e-6, "what has ended does not begin again");
}

#[test]
fn a_stream_that_fits_does_not_notice() {
    let tables = |circuit_breaker: &str| {
        let stream = json!({ "circuit_breaker": circuit_breaker });
        let loss = json!({ "kind": "random", "probability": "2 %" });
        let run =
            run(&with(with_stream(empty_path(30), fixed("10 Mb/s"), stream), "/path/loss", loss));
        let mut events = run.events;
        // Which table hears first of an instant may differ, what each hears does not.
        events.sort_by_key(RunEvent::table);
        events
    };
    assert!(tables("none") == tables("rfc8083"));
}
