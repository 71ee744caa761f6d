//! What holds to the packet, the bit or the nanosecond.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{empty_path, fixed, run, with, with_ping, with_stream, with_tcp};
use serde_json::{Value, json};

/// What every run tells.
const TABLES: [&str; 8] =
    ["frames", "bins", "link", "queue_delay", "pings", "controller", "events", "summary"];

/// All together: every kind of flow, loss and jitter on one path.
fn crowded(controller: &str, congestion_control: &str, queue: &str, loss: Value) -> Value {
    let spec =
        with_stream(empty_path(8), json!(controller), json!({ "video": "doom", "fec": "5 %" }));
    let spec = with_tcp(spec, congestion_control, json!({ "start": "2 s", "stop": "6 s" }));
    let spec = with_ping(spec, "100 ms");
    let spec = with(spec, "/path/queue/size", json!(queue));
    let spec = with(spec, "/path/jitter", json!({ "mean": "1 ms", "deviation": "1 ms" }));
    with(spec, "/path/loss", loss)
}

#[test]
fn packets_are_conserved_and_tables_agree_with_the_totals() {
    let random = json!({ "kind": "random", "probability": "0.5 %" });
    let bursty = json!({ "kind": "bursty", "probability": "0.5 %", "burst_length": 3.0 });
    for (controller, congestion_control, queue, loss) in [
        ("pudica", "cubic", "0.5 bdp", &random),
        ("gcc", "bbr", "2 bdp", &bursty),
        ("fixed", "newreno", "10 packets", &random),
        ("pudica", "bbr", "300 ms", &bursty),
    ] {
        // `run` checks the totals; here the tables must tell the same.
        let run = run(&crowded(controller, congestion_control, queue, loss.clone()));
        let (bins, link, delays) = (run.table("bins"), run.table("link"), run.table("queue_delay"));
        let all = &run.summary;
        assert_eq!(bins.sum("sent_packets"), all.arrived_packets as f64);
        assert_eq!(bins.sum("received_packets"), all.delivered_packets as f64);
        assert_eq!(bins.sum("dropped_packets"), all.dropped_packets as f64);
        assert_eq!(bins.sum("lost_packets"), all.lost_packets as f64);
        assert_eq!(delays.sum("packets"), all.forwarded_packets as f64);
        assert!(all.lost_packets > 0 && all.delivered_packets > 5_000, "{all:?}");
        // What was transmitted was received, lost, is under way, or the part of a packet that has left.
        let missing = link.sum("transmitted_bytes") - bins.sum("received_bytes");
        let max = 1500 * (all.lost_packets + all.under_way_packets + 1);
        assert!((0.0..=max as f64).contains(&missing), "{missing} of {max}");
        let shown = run.table("frames").present("shown_ns").len();
        assert_eq!(bins.sum("frames_shown"), shown as f64);
    }
}

#[test]
fn the_same_specification_tells_the_same_and_another_seed_tells_other_things() {
    let loss = json!({ "kind": "random", "probability": "0.5 %" });
    let spec = crowded("gcc", "cubic", "1 bdp", loss);
    let first = run(&spec);
    assert!(first.events == run(&spec).events);
    let other = run(&with(spec, "/seed", json!(2)));
    for table in TABLES {
        assert_ne!(first.table(table), other.table(table), "{table} does not depend on the seed");
    }
}

#[test]
fn a_ping_leaves_the_sizes_of_the_frames_alone() {
    let spec = with_stream(empty_path(5), fixed("8 Mb/s"), json!({ "video": "doom" }));
    let sizes = |spec: &Value| run(spec).table("frames").column("payload_bytes").to_vec();
    let alone = sizes(&spec);
    assert_eq!(alone, sizes(&with_ping(spec.clone(), "10 ms")));
    // They do depend on the seed: it chooses where the recording begins.
    assert_ne!(alone, sizes(&with(spec, "/seed", json!(2))));
}

#[test]
fn a_ping_on_an_empty_path_takes_base_rtt_and_serialization() {
    // 84 B at 25 Mb/s are 26.88 us.
    for forward_delay in ["8 ms", "0 ms", "16 ms", "3.000001 ms"] {
        let spec = with(empty_path(5), "/path/forward_delay", json!(forward_delay));
        let rtts = run(&with_ping(spec, "50 ms")).table("pings").present("rtt_ns");
        assert!((98..=100).contains(&rtts.len()), "{}", rtts.len());
        assert!(rtts.iter().all(|rtt| *rtt == 16_026_880.0), "{rtts:?}");
    }
}

#[test]
fn a_frame_on_an_empty_path_takes_forward_delay_and_serialization() {
    let spec = with(empty_path(3), "/path/forward_delay", json!("5 ms"));
    // All packets of a frame enter the queue before the first has left it: pace 1000 sends within 17 us.
    let burst = json!({ "kind": "fixed", "bitrate": "12 Mb/s", "pace_multiplier": 1000 });
    for (controller, packets) in [(fixed("500 kb/s"), 1.0..2.0), (burst, 20.0..30.0)] {
        let bounds = json!({ "min_bitrate": "100 kb/s" });
        let frames = run(&with_stream(spec.clone(), controller, bounds)).table("frames");
        assert!((175..=181).contains(&frames.rows), "{}", frames.rows);
        let columns = ["first_sent_ns", "complete_ns", "wire_bytes", "packets"];
        let mut whole = 0;
        for row in 0..frames.rows {
            let [sent, complete, bytes, count] = columns.map(|name| frames.column(name)[row]);
            let (Some(sent), Some(complete)) = (sent, complete) else { continue };
            // 320 ns a byte at 25 Mb/s.
            let expected = 5e6 + bytes.unwrap() * 320.0;
            assert_eq!(complete - sent, expected, "{count:?} packets of {bytes:?} B");
            assert!(packets.contains(&count.unwrap()));
            whole += 1;
        }
        assert!(whole + 1 >= frames.rows, "only the last frame can be under way");
    }
}

#[test]
fn the_queue_delay_of_a_frame_is_that_of_what_stands_before_it() {
    // The queue holds a standing 2 BDP of 100 000 B, 32 ms, less what one frame's gap lets drain.
    let spec = with_stream(empty_path(10), fixed("30 Mb/s"), json!({}));
    let frames = run(&spec).table("frames").between("captured_ns", 5.0, 9.0);
    let waits = frames.present("first_packet_queue_delay_ns");
    let full = 2.0 * 50_000.0 * 320.0;
    assert!(waits.len() > 230);
    // A frame comes when the one before has been in the queue for at most one interval (16.7 ms).
    assert!(waits.iter().all(|wait| (full - 17e6..=full).contains(wait)), "{waits:?}");
}

#[test]
fn a_variable_of_a_controller_has_one_value_at_a_time() {
    for controller in ["pudica", "gcc"] {
        let run = run(&with_stream(empty_path(3), json!(controller), json!({})));
        let log = run.table("controller");
        let times = log.present("time_ns");
        let mut rows: Vec<(u64, &String)> =
            times.iter().map(|time| *time as u64).zip(&log.names["variable"]).collect();
        assert!(rows.iter().filter(|(_, name)| *name == "target_bps").count() >= 5, "{controller}");
        let all = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), all, "{controller}");
    }
}
