//! Queue disciplines at the bottleneck, with real senders: what each is there for.

use crate::support::{Run, empty_path, fixed, run, with, with_stream, with_tcp};
use serde_json::{Value, json};

/// 25 Mb/s and 40 ms with this queue and a Cubic download.
fn download(queue: &Value) -> Value {
    let spec = with(with_tcp(empty_path(40), "cubic", json!({})), "/path/queue", queue.clone());
    with(spec, "/path/base_rtt", json!("40 ms"))
}

fn queue(kind: &str) -> Value {
    json!({ "kind": kind, "size": "1000 packets" })
}

/// Mean queueing delay in ms of a flow's packets after the start.
fn mean_wait(run: &Run, flow: &str) -> f64 {
    run.mean_wait(flow, 10.0, 40.0)
}

#[test]
fn a_download_meets_the_delay_that_each_discipline_allows() {
    // 1000 packets are 480 ms; Cubic keeps 0.7 of BDP and queue and more.
    let bounds = [
        ("drop-tail", 300.0..=470.0),
        ("codel", 1.0..=12.0),
        ("fq-codel", 1.0..=12.0),
        ("pie", 8.0..=22.0),
        ("dual-pi2", 8.0..=22.0),
        ("cake", 1.0..=12.0),
    ];
    for (kind, bounds) in bounds {
        let run = run(&download(&queue(kind)));
        let (wait, used) = (mean_wait(&run, "download"), run.utilization(10.0, 40.0));
        assert!(bounds.contains(&wait), "{kind}: {wait} ms");
        // A single Cubic flow cannot fill what a short queue does not hold.
        assert!((0.8..=1.001).contains(&used), "{kind}: {used}");
    }
}

#[test]
fn a_game_stream_is_spared_by_a_queue_of_its_own() {
    let wait = |kind: &str| {
        let spec = with_stream(download(&queue(kind)), fixed("6 Mb/s"), json!({}));
        mean_wait(&run(&spec), "game")
    };
    let (shared, own) = (wait("drop-tail"), wait("fq-codel"));
    assert!(own < 3.0 && shared > 100.0, "{own} {shared}");
}

#[test]
fn an_l4s_stream_hardly_waits_beside_a_download_that_does() {
    let scream = |ecn: &str| json!({ "kind": "scream", "ecn": ecn });
    let waits = |ecn: &str| {
        let run = run(&with_stream(download(&queue("dual-pi2")), scream(ecn), json!({})));
        let rates = ["game", "download"].map(|flow| run.received_mbps(flow, 10.0, 40.0));
        (mean_wait(&run, "game"), mean_wait(&run, "download"), rates)
    };
    let (l4s, download, rates) = waits("l4s");
    assert!(l4s < 1.5, "{l4s} ms");
    assert!((8.0..=25.0).contains(&download), "{download} ms");
    assert!(rates.iter().all(|rate| *rate > 3.0), "{rates:?}");
    // The twin: without its mark it waits where the download waits.
    let (classic, _, _) = waits("off");
    assert!(classic > 5.0, "{classic} ms");
}
