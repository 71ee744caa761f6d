//! Pudica on a path: near-zero queueing at high utilization (Wang et al., NSDI 2024, sections 4 and 6).

use crate::support::{Run, empty_path, min, quantile, run, with, with_stream};
use serde_json::{Value, json};

/// Pudica alone on 20 Mb/s (or what else `capacity` says) and 20 ms for 60 s.
fn alone(controller: Value, video: &str, capacity: Value) -> Run {
    let spec = with_stream(empty_path(60), controller, json!({ "video": video }));
    let spec = with(spec, "/path/base_rtt", json!("20 ms"));
    let spec = with(spec, "/path/queue/size", json!("10 bdp"));
    run(&with(spec, "/path/capacity", capacity))
}

/// Queueing delays in ms that the first packets of frames met, frames captured in `from..to`.
fn queueing(run: &Run, from: f64, to: f64) -> Vec<f64> {
    let frames = run.table("frames").between("captured_ns", from, to);
    frames.present("first_packet_queue_delay_ns").iter().map(|nanos| nanos / 1e6).collect()
}

fn assert_every_frame_takes_its_serialization(run: &Run, nanos_per_byte: f64) {
    let frames = run.table("frames");
    let columns = ["first_sent_ns", "complete_ns", "wire_bytes"].map(|name| frames.column(name));
    for row in 0..frames.rows {
        let [Some(sent), Some(complete), Some(bytes)] = columns.map(|column| column[row]) else {
            continue;
        };
        let min = 10e6 + bytes * nanos_per_byte;
        assert!(complete - sent >= min, "frame {row}: {} ns", complete - sent);
    }
}

fn assert_near_zero_queueing(video: &str, min_utilization: f64, max_utilization: f64) {
    let run = alone(json!("pudica"), video, json!("20 Mb/s"));
    let used = run.utilization(10.0, 60.0);
    assert!((min_utilization..=max_utilization).contains(&used), "{video} {used}");
    let delay = quantile(&queueing(&run, 10.0, 60.0), 0.95);
    assert!((0.0..5.0).contains(&delay), "{video} {delay} ms");
    assert_every_frame_takes_its_serialization(&run, 400.0);
    assert_eq!(run.summary.dropped_packets, 0);
}

#[test]
fn steady_frames_fill_the_link_without_a_queue() {
    assert_near_zero_queueing("steady", 0.93, 1.0);
}

#[test]
fn recorded_frames_fill_most_of_the_link_without_a_queue() {
    // Sizes that vary leave room that steady ones use.
    assert_near_zero_queueing("doom", 0.88, 0.98);
}

/// Of each frame, in ms from its capture to its first packet's departure.
fn ready_after(run: &Run) -> Vec<f64> {
    let frames = run.table("frames");
    let [captured, sent] = ["captured_ns", "first_sent_ns"].map(|name| frames.column(name));
    let times = captured.iter().zip(sent);
    times.filter_map(|(captured, sent)| Some(((*sent)? - (*captured)?) / 1e6)).collect()
}

#[test]
fn frames_that_take_their_time_to_encode_leave_later_and_less_evenly() {
    let link = |times: Value| {
        let video = json!({ "video": "steady", "encode_times": times });
        let spec =
            with_stream(empty_path(30), json!({ "kind": "fixed", "bitrate": "6 Mb/s" }), video);
        run(&with(spec, "/path/capacity", json!("20 Mb/s")))
    };
    let at_once = ready_after(&link(json!(null)));
    assert!(at_once.iter().all(|&ms| ms == 0.0));
    // Quick ones for ten seconds, then every other one slow.
    let quick = std::iter::once(json!(["0 s", "4 ms", "4 ms"]));
    let uneven = (0..1_200).map(|frame| {
        let from = 10_000_000_000_i64 + frame * 16_666_667;
        let took = if frame % 2 == 0 { "16 ms" } else { "5 ms" };
        json!([format!("{from} ns"), took, took])
    });
    let late = ready_after(&link(quick.chain(uneven).collect()));
    assert!((1_798..=1_801).contains(&late.len()), "{}", late.len());
    assert!(late[..598].iter().all(|&ms| (ms - 4.0).abs() < 1e-9));
    // One that is ready soon after a late one waits for it in the pacer, which spreads a frame over most of
    // the interval: instead of after 5 ms it leaves after 13 to 15.
    assert!(late[602..].iter().all(|&ms| (13.0..=16.5).contains(&ms)));
    let mean = late[602..].iter().sum::<f64>() / (late.len() - 602) as f64;
    assert!((14.0..16.0).contains(&mean), "{mean}");
    // Key frames have times of their own.
    let key_frames = json!({ "video": "steady", "encode_times": [["0 s", "8 ms", "8 ms"]],
        "key_frame_encode_times": [["0 s", "3 ms", "3 ms"]] });
    let fixed = json!({ "kind": "fixed", "bitrate": "6 Mb/s" });
    let both = ready_after(&run(&with_stream(empty_path(30), fixed, key_frames)));
    assert!((both[0] - 3.0).abs() < 1e-9 && both[1..].iter().all(|&ms| (ms - 8.0).abs() < 1e-9));
    // Slices leave before the rest is made.
    let slices = json!({ "video": "scene", "encode_times": [["0 s", "3 ms", "8 ms"]] });
    let fixed = json!({ "kind": "fixed", "bitrate": "6 Mb/s" });
    let sliced = ready_after(&run(&with_stream(empty_path(30), fixed, slices)));
    assert!(sliced.iter().all(|&ms| (ms - 3.0).abs() < 1e-9), "{:?}", &sliced[..9]);
    // Longer than from frame to frame: every second picture is not captured.
    let slow = ready_after(&link(json!([["0 s", "28 ms", "28 ms"]])));
    assert!((895..=905).contains(&slow.len()), "{}", slow.len());
}

/// Queueing delays in ms in the two seconds after the capacity halved.
fn after_halving(controller: Value) -> Vec<f64> {
    let capacity = json!({ "steps": [["0 s", "20 Mb/s"], ["30 s", "10 Mb/s"]] });
    let delays = queueing(&alone(controller, "steady", capacity), 30.0, 32.0);
    assert!(delays.len() > 60, "{}", delays.len());
    delays
}

/// Share of delays above 20 ms.
fn late(delays: &[f64]) -> f64 {
    delays.iter().filter(|delay| **delay > 20.0).count() as f64 / delays.len() as f64
}

#[test]
fn draining_and_fallback_are_what_empties_the_queue_when_capacity_halves() {
    let whole = after_halving(json!("pudica"));
    assert!((0.01..=0.2).contains(&late(&whole)), "{}", late(&whole));
    // Twins. Without fallback the frames until the drain begins are not made smaller: a higher peak.
    let no_fallback = after_halving(json!({ "kind": "pudica", "fallback": "off" }));
    let (peak, higher) = (quantile(&whole, 1.0), quantile(&no_fallback, 1.0));
    assert!((1.2..=2.5).contains(&(higher / peak)), "{peak} {higher}");
    // Without draining as well, the queue stays for as long as it has room.
    let neither = json!({ "kind": "pudica", "draining": "off", "fallback": "off" });
    let without = late(&after_halving(neither));
    assert!(without > 0.9, "{without}");
}

#[test]
fn two_streams_share_the_link_evenly() {
    let spec = with_stream(empty_path(90), json!("pudica"), json!({ "name": "first" }));
    let spec = with_stream(spec, json!("pudica"), json!({ "name": "second", "start": "20 s" }));
    let run = run(&with(spec, "/path/base_rtt", json!("20 ms")));
    let rates = ["first", "second"].map(|name| run.received_mbps(name, 60.0, 90.0));
    let share = min(&rates) / (rates[0] + rates[1]);
    assert!((0.40..=0.5).contains(&share), "{rates:?}");
    let used = run.utilization(60.0, 90.0);
    assert!((0.85..=1.0).contains(&used), "{used}");
}
