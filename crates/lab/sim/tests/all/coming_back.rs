//! How soon a stream has the link again behind a path that became another one: by the published law, and by the option that
//! streaming hosts set (`HostConfig::into_streamed`).

use crate::support::{Run, empty_path, run, with, with_stream, with_tcp};
use serde_json::{Value, json};

const MBPS: f64 = 25.0;

/// A stream on 25 Mb/s and 20 ms, whose path changes so.
fn changed(controller: Value, seconds: u32, changes: Value) -> Value {
    let spec = with_stream(empty_path(seconds), controller, json!({ "video": "doom" }));
    let spec = with(spec, "/path/capacity", json!("25 Mb/s"));
    let spec = with(spec, "/path/base_rtt", json!("20 ms"));
    let spec = with(spec, "/path/queue/size", json!("2 bdp"));
    with(spec, "/path/change", changes)
}

/// After a step.
#[derive(Debug)]
struct After {
    /// Share of the capacity in the ten seconds behind it.
    share: f64,
    /// When a second began in which it was 0.9 of what it was in the five seconds before the first step, in seconds.
    back: Option<f64>,
    /// Mean wait of the stream's packets in these ten seconds, ms.
    wait_ms: f64,
}

fn after(run: &Run, step: f64, end: f64) -> After {
    let before = run.received_mbps("game", 5.0, 10.0);
    let starts = std::iter::successors(Some(step), |at| Some(at + 0.5));
    let mut starts = starts.take_while(|at| at + 1.0 <= end);
    After {
        share: run.received_mbps("game", step, step + 10.0) / MBPS,
        back: starts
            .find(|&at| run.received_mbps("game", at, at + 1.0) >= 0.9 * before)
            .map(|at| at - step),
        wait_ms: run.mean_wait("game", step, step + 10.0),
    }
}

/// The round trip goes from 20 to 100 ms after 10 s, and back after 30.
fn longer_and_back(controller: Value) -> [After; 2] {
    let changes =
        json!([{ "at": "10 s", "base_rtt": "100 ms" }, { "at": "30 s", "base_rtt": "20 ms" }]);
    let run = run(&changed(controller, 45, changes));
    [after(&run, 10.0, 30.0), after(&run, 30.0, 45.0)]
}

#[test]
fn pudica_has_a_longer_path_again_at_once_and_not_after_ten_seconds() {
    let [longer, back] = longer_and_back(json!("pudica"));
    let [quick, quick_back] = longer_and_back(json!({ "kind": "pudica", "longer_path": "on" }));
    eprintln!("published {longer:?} {back:?}\nlonger_path {quick:?} {quick_back:?}");
    // The published law: D_min is the least of ten seconds.
    assert!((0.08..0.25).contains(&longer.share), "{longer:?}");
    assert!(longer.back.is_some_and(|after| (9.5..12.0).contains(&after)), "{longer:?}");
    assert!((0.75..0.97).contains(&quick.share), "{quick:?}");
    assert!(quick.back.is_some_and(|after| (0.5..=2.5).contains(&after)), "{quick:?}");
    assert!(quick.wait_ms < 4.0, "{quick:?}");
    for shorter in [&back, &quick_back] {
        assert!(shorter.share > 0.88 && shorter.back == Some(0.0), "{shorter:?}");
    }
}

/// Beside a download that keeps the queue full: share of the capacity and mean wait, ms.
fn beside_a_download(controller: Value) -> (f64, f64) {
    let spec = changed(controller, 60, json!([]));
    let run = run(&with_tcp(spec, "cubic", json!({ "start": "10 s" })));
    (run.received_mbps("game", 20.0, 60.0) / MBPS, run.mean_wait("game", 20.0, 60.0))
}

#[test]
fn a_download_s_queue_is_taken_for_no_longer_path() {
    let (share, wait) = beside_a_download(json!("pudica"));
    let (other_share, other_wait) =
        beside_a_download(json!({ "kind": "pudica", "longer_path": "on" }));
    eprintln!("published {share:.3} {wait:.1} ms, longer_path {other_share:.3} {other_wait:.1} ms");
    assert!((other_share / share - 1.0).abs() < 0.25, "{share} {other_share}");
    assert!((other_wait - wait).abs() < 6.0, "{wait} {other_wait}");
}

/// For ten seconds there is 1 Mb/s.
fn narrow_for_a_while(controller: Value) -> After {
    let changes =
        json!([{ "at": "10 s", "capacity": "1 Mb/s" }, { "at": "20 s", "capacity": "25 Mb/s" }]);
    after(&run(&changed(controller, 80, changes)), 20.0, 80.0)
}

#[test]
fn gcc_has_the_link_again_soon_after_loss_has_limited_it() {
    let upstream = narrow_for_a_while(json!("gcc"));
    let ours = narrow_for_a_while(json!({ "kind": "gcc", "loss_recovery": "on" }));
    eprintln!("upstream {upstream:?}\nloss_recovery {ours:?}");
    assert!(upstream.back.is_none_or(|after| after > 30.0), "{upstream:?}");
    assert!(ours.back.is_some_and(|after| (2.0..12.0).contains(&after)), "{ours:?}");
    assert!(ours.share > 1.5 * upstream.share && ours.share < 0.9, "{ours:?} {upstream:?}");
    assert!(ours.wait_ms < 5.0, "{ours:?}");
}
