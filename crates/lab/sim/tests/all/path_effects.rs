//! Each property of the path has its effect, of the size that it should have.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{
    Folder, Run, Table, deviation, empty_path, fixed, max, mean, quantile, run, with, with_ping,
    with_stream, with_tcp,
};
use gameway_experiment::{RunSpec, build};
use gameway_units::Instant;
use serde_json::{Value, json};

#[test]
fn capacity_steps_bound_what_passes() {
    let spec = with_stream(empty_path(30), fixed("12 Mb/s"), json!({}));
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["10 s", "8 Mb/s"], ["20 s", "20 Mb/s"]] });
    let run = run(&with(spec, "/path/capacity", steps));
    let rate = |from, to| run.received_mbps("game", from, to);
    for (from, to) in [(2.0, 10.0), (22.0, 30.0)] {
        assert!((11.8..=12.05).contains(&rate(from, to)), "{}", rate(from, to));
    }
    assert!((7.95..=8.05).contains(&rate(11.0, 20.0)), "{}", rate(11.0, 20.0));
    // A third of what a deaf stream sends has no room.
    let bins = run.table("bins").between("bin_start_ns", 11.0, 20.0);
    let dropped = bins.sum("dropped_packets") / bins.sum("sent_packets");
    assert!((0.30..=0.37).contains(&dropped), "{dropped}");
    let link = run.table("link");
    assert_eq!(link.sum("capacity_bytes"), (200e6 + 80e6 + 200e6) / 8.0);
}

#[test]
fn a_blackout_holds_packets_and_lets_them_go() {
    let spec = with_stream(empty_path(12), fixed("2 Mb/s"), json!({}));
    let spec = with(spec, "/path/queue/size", json!("1 MB"));
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["5 s", "0 b/s"], ["7 s", "20 Mb/s"]] });
    let run = run(&with(spec, "/path/capacity", steps));
    assert_eq!(run.received_mbps("game", 5.5, 7.0), 0.0);
    assert_eq!(run.summary.dropped_packets, 0);
    let waits = run.table("frames").present("first_packet_queue_delay_ns");
    // The first that met it waited for nearly all of it.
    assert!((1.9e9..=2.01e9).contains(&max(&waits)), "{}", max(&waits));
}

#[test]
fn a_trace_file_is_played_and_repeated() {
    let folder = Folder::new();
    let path = folder.0.join("steps.trace");
    // Two packets a millisecond (24 Mb/s) for half a second, then one in four (3 Mb/s); 13.5 Mb/s.
    let fast = (1..=500).flat_map(|millis| [millis; 2]);
    let slow = (501..=1000).filter(|millis| millis % 4 == 0);
    let lines: Vec<String> = fast.chain(slow).map(|millis| millis.to_string()).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let spec = with_tcp(empty_path(30), "cubic", json!({}));
    let spec = with(spec, "/path/queue/size", json!("300 ms"));
    let run = run(&with(spec, "/path/capacity", json!({ "trace": path })));
    let link = run.table("link");
    let capacity = link.present("capacity_bytes");
    for (bin, bytes) in capacity.iter().enumerate() {
        // What is at an edge is of the later bin: two at 500 ms, of those at 1 s one in each period.
        let packets = match bin {
            0 => 998.0,
            _ if bin % 2 == 0 => 999.0,
            _ => 126.0,
        };
        assert_eq!(*bytes, packets * 1500.0, "bin {bin}");
    }
    let used = run.utilization(5.0, 30.0);
    assert!((0.95..=1.0).contains(&used), "{used}");
    let carried = link.present("transmitted_bytes").into_iter().zip(capacity).skip(10);
    for (bytes, capacity) in carried {
        assert!(bytes <= capacity, "{bytes} of {capacity}");
    }
}

#[test]
fn what_crosses_the_edge_of_a_bin_is_split_there() {
    let folder = Folder::new();
    let path = folder.0.join("outage.trace");
    // 12 Mb/s, nothing from 1.2 s to 4.5 s, 12 Mb/s until 5 s.
    let lines = (1..=1200).chain(4500..=5000).map(|millis| millis.to_string());
    std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let spec = with_stream(empty_path(5), fixed("2 Mb/s"), json!({ "video": "steady" }));
    let spec = with(spec, "/path/queue/size", json!("2 MB"));
    let run = run(&with(spec, "/path/capacity", json!({ "trace": path })));
    let (link, bins) = (run.table("link"), run.table("bins"));
    let busy = link.present("busy_ns");
    assert!(busy.iter().all(|span| (0.0..=0.5e9).contains(span)), "{busy:?}");
    // From 1.5 s to 4.5 s a packet waits for its opportunity all the time.
    assert!(busy[3..9].iter().all(|span| *span == 0.5e9), "{busy:?}");
    // What it carried is what came out of it, the packet in transmission at the end but for its part.
    let carried = link.present("transmitted_bytes");
    assert!(carried[3..9].iter().all(|bytes| *bytes == 0.0), "{carried:?}");
    let missing = link.sum("transmitted_bytes") - bins.sum("received_bytes");
    assert!((0.0..=1500.0 * (run.summary.under_way_packets + 1) as f64).contains(&missing));
    for (bytes, capacity) in carried.iter().zip(link.present("capacity_bytes")) {
        assert!(*bytes <= capacity, "{carried:?}");
    }
}

fn jittered(spec: Value) -> Value {
    with(spec, "/path/jitter", json!({ "mean": "5 ms", "deviation": "1 ms" }))
}

#[test]
fn jitter_has_its_mean_and_deviation() {
    let rtts = run(&jittered(with_ping(empty_path(60), "20 ms"))).rtts(0.0, 60.0);
    assert!(rtts.len() > 2_990);
    // 3000 draws: the mean's standard error is 0.018 ms, the deviation's 0.013 ms.
    assert!((mean(&rtts) - 21.027).abs() < 0.08, "{}", mean(&rtts));
    assert!((deviation(&rtts) - 1.0).abs() < 0.06, "{}", deviation(&rtts));
}

#[test]
fn jitter_does_not_reorder() {
    // Without loss or a full queue a receiver that sees packets in order never makes TCP repair anything.
    let limited = json!({ "rate_limit": "8 Mb/s" });
    let spec = with_stream(empty_path(30), fixed("8 Mb/s"), json!({}));
    let spec = jittered(with_tcp(spec, "cubic", limited));
    let spec = with(spec, "/path/queue/size", json!("10 bdp"));
    let calm = run(&spec);
    assert_eq!((calm.count("download", "fast-recovery"), calm.count("download", "rto")), (0, 0));
    let frames = calm.table("frames").between("captured_ns", 0.0, 29.5);
    assert_eq!(frames.present("shown_ns").len(), frames.rows, "every frame is shown");
    // The twin: real loss does.
    let loss = json!({ "kind": "random", "probability": "1 %" });
    let lossy = run(&with(spec, "/path/loss", loss));
    assert!(lossy.count("download", "fast-recovery") > 50);
    let frames = lossy.table("frames").between("captured_ns", 0.0, 29.5);
    assert!(frames.present("shown_ns").len() < frames.rows * 9 / 10);
}

/// What a stalled processor does: nothing arrives, and a connection of TCP on it sends nothing either. A host's own
/// pacer goes on.
#[test]
fn in_a_stall_nothing_arrives_and_tcp_sends_nothing() {
    let spec = with_stream(empty_path(20), fixed("6 Mb/s"), json!({}));
    let spec = with_tcp(spec, "bbr", json!({ "rate_limit": "8 Mb/s" }));
    let stalls = |connections: &str| {
        let lengths = [("1 ms", "4 ms", 1)];
        json!({ "interval": "40 ms", "lengths": lengths, "connections": connections })
    };
    let spec = with(spec, "/record", json!({ "packets": true }));
    let sent_in_stalls = |spec: &Value| {
        let stalling = with(spec.clone(), "/path/stalls", stalls("0 %"));
        let spec_of = RunSpec::try_from(stalling).unwrap();
        let stalls = build::stalls(&spec_of.path, spec_of.seed, spec_of.duration).unwrap();
        let is_held = |at: &f64| {
            let at = Instant::from_nanos(*at as i64);
            stalls.held(at) != at
        };
        let packets = run(spec).table("packets").only("fate", "delivered");
        let share = |packets: &Table, column: &str| {
            let times = packets.present(column);
            times.iter().filter(|at| is_held(at)).count() as f64 / times.len() as f64
        };
        let of = |kind: &str| packets.only("kind", kind);
        [
            share(&of("tcp"), "came_ns"),
            share(&of("media"), "came_ns"),
            share(&packets, "arrived_ns"),
        ]
    };
    let both = sent_in_stalls(&with(spec.clone(), "/path/stalls", stalls("100 %")));
    let link_only = sent_in_stalls(&with(spec.clone(), "/path/stalls", stalls("0 %")));
    assert_eq!((both[0], both[2], link_only[2]), (0.0, 0.0, 0.0));
    // 2.5 ms of each 42.5 ms: 5.9 %. The twin has no stalls: in those times as much is sent and arrives as in any.
    let [tcp, media, arrived] = sent_in_stalls(&spec);
    for share in [both[1], link_only[0], link_only[1], tcp, media, arrived] {
        assert!((0.02..=0.1).contains(&share), "{share}");
    }
}

/// 40 s of 12 Mb/s in full packets through this loss: some 48 000 packets.
fn lossy(loss: Value) -> Run {
    let spec = with_stream(empty_path(40), fixed("12 Mb/s"), json!({}));
    run(&with(spec, "/path/loss", loss))
}

/// Share of packets lost, and share of frames that lost any.
fn shares(run: &Run) -> (f64, f64) {
    let bins = run.table("bins");
    let frames = run.table("frames");
    let hit = frames.present("lost_packets").iter().filter(|count| **count > 0.0).count();
    (bins.sum("lost_packets") / bins.sum("sent_packets"), hit as f64 / frames.rows as f64)
}

#[test]
fn random_and_bursty_loss_have_their_share_and_burst_length() {
    let random = lossy(json!({ "kind": "random", "probability": "1 %" }));
    let bursty = lossy(json!({ "kind": "bursty", "probability": "1 %", "burst_length": 5.0 }));
    let (lost, hit) = shares(&random);
    // Four standard errors: sqrt(p/n) = 0.045 %; bursts of b have 2b - 1 times the variance.
    assert!((lost - 0.01).abs() < 0.0018, "{lost}");
    // Frames of 21 packets: 1 - 0.99^21 = 0.19.
    assert!((hit - 0.19).abs() < 0.035, "{hit}");
    let (lost, hit) = shares(&bursty);
    assert!((lost - 0.01).abs() < 0.0055, "{lost}");
    // A burst is in one frame, or in two with chance (5 - 1) / 21: 0.01 * 21 / 5 * 1.19 = 0.05.
    assert!((0.025..=0.08).contains(&hit), "{hit}");
}

#[test]
fn repair_packets_mend_random_loss() {
    let unshown = |fec: &str| {
        let spec = with_stream(empty_path(40), fixed("12 Mb/s"), json!({ "fec": fec }));
        let loss = json!({ "kind": "random", "probability": "1 %" });
        let frames = run(&with(spec, "/path/loss", loss)).table("frames");
        1.0 - frames.present("shown_ns").len() as f64 / frames.rows as f64
    };
    let (without, with_repair) = (unshown("0 %"), unshown("20 %"));
    assert!(without > 0.3, "{without}");
    // Five losses among 25 packets, at 1 %: less than one frame in ten thousand.
    assert!(with_repair < 0.005, "{with_repair}");
}

#[test]
fn a_queue_in_time_holds_that_time_at_any_capacity() {
    let spec = with_stream(empty_path(20), fixed("30 Mb/s"), json!({}));
    let spec = with(spec, "/path/queue/size", json!("80 ms"));
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["10 s", "5 Mb/s"]] });
    let run = run(&with(spec, "/path/capacity", steps));
    for (from, to) in [(2.0, 9.5), (11.0, 19.5)] {
        let frames = run.table("frames").between("captured_ns", from, to);
        let highest = quantile(&frames.present("first_packet_queue_delay_ns"), 1.0) / 1e6;
        assert!((76.0..=80.1).contains(&highest), "{highest} ms from {from} s");
    }
}
