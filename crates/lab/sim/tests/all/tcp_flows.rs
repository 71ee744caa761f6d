//! Downloads alone on a path, against the closed forms of their congestion control.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{
    self, Run, empty_path, max, mean, min, quantile, run, with, with_ping, with_stream, with_tcp,
};
use serde_json::{Value, json};

/// BDP and queue of the path, wire bytes, and the window that fills both.
const BDP: f64 = 50_000.0;
const QUEUE: f64 = 100_000.0;
const FULL: f64 = BDP + QUEUE;
/// Wire bytes for each byte of a window, which counts payload.
const WIRE: f64 = 1500.0 / 1448.0;

fn alone(congestion_control: &str, seconds: u32) -> Run {
    let spec = with_tcp(empty_path(seconds), congestion_control, json!({}));
    let spec = with(spec, "/record", json!({ "controller_interval": "10 ms" }));
    run(&with_ping(spec, "20 ms"))
}

/// The mean window of a loss-based flow as a share of the window that fills path and queue: what the
/// round-trip time, proportional to the window while the queue never empties, says of it.
fn mean_window_share(run: &Run, from: f64, to: f64) -> f64 {
    mean(&run.rtts(from, to)) / (FULL * 320e-6)
}

#[test]
fn cubic_keeps_a_queue_of_two_bdp_full() {
    let run = alone("cubic", 70);
    let used = run.utilization(10.0, 70.0);
    assert!((0.99..=1.0).contains(&used), "{used}");
    // RFC 9438 section 4.6: the window falls to 0.7 of what was reached (FULL and the packet on the
    // wire), so the queue never falls below 0.7 FULL - BDP.
    let threshold = run.variable("download", "ssthresh_bytes", 10.0, 70.0);
    let (low, high) = (min(&threshold) * WIRE / FULL, max(&threshold) * WIRE / FULL);
    assert!((0.68..=0.72).contains(&low) && (0.68..=0.75).contains(&high), "{low} {high}");
    let window = run.variable("download", "cwnd_bytes", 10.0, 70.0);
    let top = max(&window) * WIRE / FULL;
    assert!((0.98..=1.06).contains(&top), "{top}");
    let rtts = run.rtts(10.0, 70.0);
    assert!((47.5..=48.1).contains(&max(&rtts)), "{}", max(&rtts));
    assert!((32.0..=34.5).contains(&min(&rtts)), "{}", min(&rtts));
    // A straight line from 0.7 to 1 has its mean at 0.85. With so small a window the Reno-friendly region
    // (section 4.3, half a segment a round trip: 12 a second) overtakes the cubic after 2.5 s of its
    // period of 4.3 s; until then the cubic is above the line, which lifts the mean to 0.876.
    let share = mean_window_share(&run, 10.0, 70.0);
    assert!((0.85..=0.885).contains(&share), "{share}");
}

/// The twin of the test above: a saw-tooth of straight lines from 0.5 to 1 has its mean at 0.75.
#[test]
fn newreno_has_the_mean_of_its_saw_tooth() {
    let run = alone("newreno", 70);
    let used = run.utilization(10.0, 70.0);
    assert!((0.99..=1.0).contains(&used), "{used}");
    let share = mean_window_share(&run, 10.0, 70.0);
    assert!((0.72..=0.79).contains(&share), "{share}");
}

#[test]
fn bbr_alone_leaves_the_queue_nearly_empty() {
    let bbr = alone("bbr", 60);
    let used = bbr.utilization(5.0, 60.0);
    assert!((0.90..=1.0).contains(&used), "{used}");
    let link = bbr.table("link").between("bin_start_ns", 5.0, 60.0);
    // A window of two BDP leaves at most one in the queue; probing with 1.25 leaves a quarter of it.
    let peak = max(&link.present("queue_max_bytes"));
    assert!((0.2 * BDP..=1.05 * BDP).contains(&peak), "{peak}");
    assert_eq!(bbr.table("bins").between("bin_start_ns", 5.0, 60.0).sum("dropped_packets"), 0.0);
    // The twin: Cubic keeps more than that in the queue at all times.
    let cubic = alone("cubic", 20).table("link").between("bin_start_ns", 10.0, 20.0);
    assert!(min(&cubic.present("queue_max_bytes")) > 1.05 * BDP);
}

/// Payload rate of NewReno under random loss, as the constant C of C MSS / (RTT sqrt(p)).
fn mathis_constant(percent: f64) -> f64 {
    let spec = with_tcp(empty_path(240), "newreno", json!({}));
    let spec = with(spec, "/path/capacity", json!("200 Mb/s"));
    let loss = json!({ "kind": "random", "probability": format!("{percent} %") });
    let run = run(&with_ping(with(spec, "/path/loss", loss), "100 ms"));
    let goodput = run.table("bins").only("flow", "download").between("bin_start_ns", 5.0, 240.0);
    let segments_per_second = goodput.sum("received_payload_bytes") / 1448.0 / 235.0;
    assert_eq!(goodput.sum("dropped_packets"), 0.0, "only random loss is to limit it");
    let rtt = mean(&run.rtts(5.0, 240.0)) / 1e3;
    segments_per_second * rtt * (percent / 100.0_f64).sqrt()
}

#[test]
fn newreno_under_random_loss_follows_the_square_root() {
    // Mathis et al. 1997: sqrt(3/2) = 1.22 with an ACK for each segment, 0.87 with one for every two.
    // Both are upper ends: they leave out timeouts and the slow start after them.
    let (rare, frequent) = (mathis_constant(0.1), mathis_constant(0.4));
    for constant in [rare, frequent] {
        assert!((0.8..=1.35).contains(&constant), "{constant}");
    }
    // Four times the loss halves the rate: the constant is one, within the chance of some 300 losses.
    let ratio = rare / frequent;
    assert!((0.88..=1.14).contains(&ratio), "{rare} {frequent}");
}

#[test]
fn a_rate_limited_download_gets_its_rate_or_what_the_path_has() {
    let limited = |limit: &str, capacity: &str| {
        let spec = with_tcp(empty_path(30), "cubic", json!({ "rate_limit": limit }));
        let run = run(&with(spec, "/path/capacity", json!(capacity)));
        run.table("bins").between("bin_start_ns", 10.0, 30.0).sum("received_payload_bytes") * 8.0
            / 20e6
    };
    // Blocks of 128 KiB: within one of 20 s times the rate.
    let rate = limited("5 Mb/s", "25 Mb/s");
    assert!((4.94..=5.06).contains(&rate), "{rate}");
    // Its socket buffer is always full: the application waits for acknowledgments, not for time.
    let rate = limited("50 Mb/s", "5 Mb/s");
    assert!((4.7..=5.0 / WIRE).contains(&rate), "{rate}");
}

#[test]
fn a_download_of_so_many_bytes_ends() {
    let spec = with_tcp(empty_path(20), "cubic", json!({ "bytes": "10 MB", "start": "1 s" }));
    let run = run(&spec);
    let bins = run.table("bins");
    assert_eq!(bins.sum("received_payload_bytes"), 10e6);
    // 10 MB of payload at 25 Mb/s less headers take 3.3 s, and slow start some round trips.
    let busy: Vec<f64> = bins
        .column("bin_start_ns")
        .iter()
        .zip(bins.column("received_bytes"))
        .filter(|(_, bytes)| bytes.unwrap() > 0.0)
        .map(|(at, _)| at.unwrap() / 1e9)
        .collect();
    assert_eq!(busy.first(), Some(&1.0));
    assert!((4.0..=5.0).contains(busy.last().unwrap()), "{busy:?}");
}

/// A game at a constant 5 Mb/s beside a download, or without.
fn beside(congestion_control: Option<&str>) -> Vec<f64> {
    let spec = with_stream(empty_path(40), support::fixed("5 Mb/s"), json!({}));
    let spec: Value = match congestion_control {
        Some(name) => with_tcp(spec, name, json!({})),
        None => spec,
    };
    let frames = run(&spec).table("frames").between("captured_ns", 10.0, 39.0);
    frames.present("first_packet_queue_delay_ns").iter().map(|nanos| nanos / 1e6).collect()
}

#[test]
fn a_download_delays_the_game_by_its_queue() {
    // Between the bottom of Cubic's saw-tooth, a share of the path being the game's, and a full queue.
    let delay = quantile(&beside(Some("cubic")), 0.5);
    assert!((20.0..=32.0).contains(&delay), "{delay}");
    assert_eq!(quantile(&beside(None), 1.0), 0.0);
}

#[test]
fn a_receive_window_bounds_a_download_and_an_mss_its_packets() {
    let far = |more: Value| {
        let spec = with(empty_path(12), "/path/base_rtt", json!("200 ms"));
        run(&with_tcp(spec, "cubic", more))
    };
    // 100 kB each 200 ms are 4 Mb/s of 25; on the wire 1500 B for 1448 of them.
    let bounded = far(json!({ "receive_window": "100 kB" })).received_mbps("download", 4.0, 12.0);
    assert!((0.96..=1.001).contains(&(bounded / (4.0 * WIRE))), "{bounded}");
    let tuned = far(json!({ "receive_window": "auto" })).received_mbps("download", 4.0, 12.0);
    assert!((20.0..=25.01).contains(&tuned), "{tuned}");
    // 500 B and 40 B of headers.
    let small = far(json!({ "mss": "500 B", "receive_window": "100 kB" }));
    let bins = small.table("bins").only("flow", "download").between("bin_start_ns", 4.0, 12.0);
    let size = bins.sum("received_bytes") / bins.sum("received_packets");
    assert!((530.0..=540.0).contains(&size), "{size}");
}

/// What `bdp` means is the nominal round-trip time; what packets meet is the run's own.
#[test]
fn a_run_has_its_own_distance_and_the_nominal_queue() {
    let at = |rtt: &str| {
        let spec = with(empty_path(6), "/path/nominal_rtt", json!("16 ms"));
        let spec = with(spec, "/path/base_rtt", json!(rtt));
        run(&with_ping(with_tcp(spec, "cubic", json!({})), "20 ms"))
    };
    for (rtt, own) in [("12 ms", 12.0), ("24 ms", 24.0)] {
        let run = at(rtt);
        // The first ping meets an empty path, two packets' times at most.
        let first = run.rtts(0.0, 0.03)[0];
        assert!((own..own + 1.0).contains(&first), "{first} ms");
        let queue = max(&run.table("link").present("queue_max_bytes"));
        assert!((98_000.0..=100_000.0).contains(&queue), "{rtt}: {queue}");
    }
}
