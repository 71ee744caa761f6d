//! Flows that do not all go the same way: further bottlenecks, the way back, upstream media, own RTTs.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{
    Run, empty_path, fixed, max, mean, min, quantile, run, with, with_ping, with_stream, with_tcp,
};
use serde_json::{Value, json};

fn bottleneck(capacity: &str) -> Value {
    json!({ "capacity": capacity, "queue": { "kind": "drop-tail", "size": "300 ms" } })
}

fn hop(name: &str, capacity: &str) -> Value {
    with(bottleneck(capacity), "/name", json!(name))
}

fn busy_share(run: &Run, link: &str, from: f64, to: f64) -> f64 {
    let link = run.table("link").only("link", link).between("bin_start_ns", from, to);
    link.sum("transmitted_bytes") / link.sum("capacity_bytes")
}

/// One-way delays in ms of complete frames.
fn frame_delays(run: &Run, stream: &str) -> Vec<f64> {
    let frames = run.table("frames").only("stream", stream);
    let (sent, complete) = (frames.column("first_sent_ns"), frames.column("complete_ns"));
    sent.iter()
        .zip(complete)
        .filter_map(|(from, to)| Some((to.as_ref()? - from.as_ref()?) / 1e6))
        .collect()
}

#[test]
fn a_flow_passes_only_the_hops_that_it_names() {
    let spec = with_stream(empty_path(20), fixed("6 Mb/s"), json!({ "name": "both" }));
    let spec = with_stream(spec, fixed("5 Mb/s"), json!({ "name": "first", "via": "path" }));
    let spec = with_stream(spec, fixed("3 Mb/s"), json!({ "name": "last", "via": "last" }));
    let hops = json!([hop("middle", "40 Mb/s"), hop("last", "10 Mb/s")]);
    let run = run(&with(spec, "/path/hop", hops));
    let expected = [("path", 11.0 / 25.0), ("middle", 6.0 / 40.0), ("last", 9.0 / 10.0)];
    for (link, share) in expected {
        let found = busy_share(&run, link, 2.0, 20.0);
        assert!((found / share - 1.0).abs() < 0.01, "{link}: {found}");
    }
    // What three bottlenecks serialize takes longer than what one does: 10 Mb/s and 40 Mb/s add 1.2 ms
    // for a full packet, and one of the other stream may be before it.
    let (both, first) = (min(&frame_delays(&run, "both")), min(&frame_delays(&run, "first")));
    assert!((1.2..=2.2).contains(&(both - first)), "{both} {first}");
}

#[test]
fn the_tightest_hop_bounds_what_passes_and_its_queue_is_part_of_the_delay() {
    let spec = with_stream(empty_path(20), fixed("12 Mb/s"), json!({}));
    let run = run(&with(spec, "/path/hop", json!([hop("narrow", "10 Mb/s")])));
    let rate = run.received_mbps("game", 5.0, 20.0);
    assert!((9.9..=10.01).contains(&rate), "{rate}");
    assert!(busy_share(&run, "path", 5.0, 20.0) < 0.5);
    let waits = run.table("frames").between("captured_ns", 5.0, 20.0);
    let waits = waits.present("first_packet_queue_delay_ns");
    assert!((285e6..=301e6).contains(&mean(&waits)), "{}", mean(&waits));
    assert!(run.summary.dropped_packets > 0);
}

/// Of two links that are as slow, the first one has the queue.
#[test]
fn a_hop_in_front_is_passed_before_the_paths_own_bottleneck() {
    let max_waiting = |place: Value| {
        let spec = with_stream(empty_path(10), fixed("12 Mb/s"), json!({}));
        let spec = with(spec, "/path/capacity", json!("10 Mb/s"));
        let hop = with(hop("provider", "10 Mb/s"), "/place", place);
        let run = run(&with(spec, "/path/hop", json!([hop])));
        let link = run.table("link");
        let at = |name| max(&link.only("link", name).present("queue_max_bytes"));
        (at("provider"), at("path"))
    };
    let (provider, path) = max_waiting(json!("in-front"));
    assert!(provider > 30_000.0 && path <= 1_500.0, "{provider} {path}");
    for behind in [json!("behind"), Value::Null] {
        let (provider, path) = max_waiting(behind);
        assert!(path > 30_000.0 && provider <= 1_500.0, "{provider} {path}");
    }
}

/// What passes one bottleneck alone does so wherever that is.
#[test]
fn a_flow_passes_only_the_hop_in_front_that_it_names() {
    let spec = with_stream(empty_path(10), fixed("6 Mb/s"), json!({ "name": "both" }));
    let spec = with_stream(spec, fixed("5 Mb/s"), json!({ "name": "first", "via": "provider" }));
    let spec = with_stream(spec, fixed("3 Mb/s"), json!({ "name": "last", "via": "path" }));
    let provider = with(hop("provider", "20 Mb/s"), "/place", json!("in-front"));
    let run = run(&with(spec, "/path/hop", json!([hop("middle", "40 Mb/s"), provider])));
    let expected = [("provider", 11.0 / 20.0), ("path", 9.0 / 25.0), ("middle", 6.0 / 40.0)];
    for (link, share) in expected {
        let found = busy_share(&run, link, 2.0, 10.0);
        assert!((found / share - 1.0).abs() < 0.01, "{link}: {found}");
    }
}

/// A path on which ACKs or reports share the way back with media of so many Mb/s.
fn with_upstream(rate: Option<&str>) -> Value {
    let spec = with(empty_path(30), "/path/back", bottleneck("5 Mb/s"));
    let spec = with(spec, "/path/queue/size", json!("300 ms"));
    match rate {
        Some(rate) => with_stream(spec, fixed(rate), json!({ "name": "up", "direction": "up" })),
        None => spec,
    }
}

#[test]
fn upstream_media_passes_the_way_back_alone() {
    let run = run(&with_upstream(Some("4 Mb/s")));
    let (back, down) = (busy_share(&run, "back", 2.0, 30.0), busy_share(&run, "path", 2.0, 30.0));
    assert!((0.78..=0.82).contains(&back), "{back}");
    // Its reports go down: 60 a second of about 80 B.
    assert!((0.0005..=0.003).contains(&down), "{down}");
    let rate = run.received_mbps("up", 2.0, 30.0);
    assert!((3.9..=4.05).contains(&rate), "{rate}");
}

#[test]
fn a_way_back_that_is_full_delays_what_comes_back() {
    let ping = |upstream| {
        let run = run(&with_ping(with_upstream(upstream), "37 ms"));
        run.rtts(5.0, 30.0)
    };
    // 84 B take 0.13 ms on 5 Mb/s and 0.03 ms on 25 Mb/s.
    let empty = ping(None);
    assert!((16.1..=16.3).contains(&max(&empty)), "{}", max(&empty));
    let shared = ping(Some("3 Mb/s"));
    assert!(min(&shared) < 16.5 && quantile(&shared, 0.9) > 17.0, "{}", quantile(&shared, 0.9));
    let full = ping(Some("6 Mb/s"));
    assert!((300.0..=320.0).contains(&mean(&full)), "{}", mean(&full));
}

#[test]
fn a_download_outlives_a_way_back_too_narrow_for_its_acks() {
    let rate = |capacity: &str| {
        let spec = with_tcp(empty_path(30), "cubic", json!({}));
        run(&with(spec, "/path/back", bottleneck(capacity))).received_mbps("download", 10.0, 30.0)
    };
    // An ACK of 52 B for two segments of 1500 B: 25 Mb/s need 0.43 Mb/s of them. Where more than half find
    // no room, those that pass acknowledge more: little is lost beside the round trips in the queue.
    let (wide, narrow) = (rate("1 Mb/s"), rate("200 kb/s"));
    assert!((24.5..=25.01).contains(&wide), "{wide}");
    assert!((20.0..=24.4).contains(&narrow), "{narrow}");
}

#[test]
fn a_flow_may_have_a_round_trip_of_its_own() {
    let spec = with_stream(empty_path(10), fixed("5 Mb/s"), json!({ "name": "near" }));
    let far = json!({ "name": "far", "base_rtt": "300 ms" });
    let run = run(&with_stream(spec, fixed("5 Mb/s"), far));
    let (near, far) = (min(&frame_delays(&run, "near")), min(&frame_delays(&run, "far")));
    // 8 and 150 ms of propagation.
    assert!((141.5..=142.5).contains(&(far - near)), "{near} {far}");
}

#[test]
fn a_paused_stream_is_silent_and_then_comes_back() {
    let pause = json!({ "pause": { "from": "4 s", "to": "7 s" } });
    let run = run(&with_stream(empty_path(12), fixed("6 Mb/s"), pause));
    let rate = |from, to| run.received_mbps("game", from, to);
    assert!((5.8..=6.1).contains(&rate(1.0, 4.0)) && (5.8..=6.1).contains(&rate(8.0, 12.0)));
    assert_eq!(rate(4.5, 7.0), 0.0);
    let frames = run.table("frames");
    assert!((9 * 60 - 2..=9 * 60 + 2).contains(&(frames.rows as i64)), "{}", frames.rows);
    // A pause is no loss: only what the end of the run cuts off is not shown.
    let shown = frames.present("shown_ns").len();
    assert!((frames.rows - 3..=frames.rows).contains(&shown), "{shown} of {}", frames.rows);
}
