//! Copa over long and short round trips: a full link and the queue that its law asks for, and no more.

use crate::support::{empty_path, mean, run, with, with_stream};
use serde_json::{Value, json};

/// Utilization, and the mean wait as a multiple of 1.25/delta packets (section 2.2 of the paper), from 20 s on.
fn rests(mbps: u32, rtt_ms: u32, video: &str, controller: Value) -> (f64, f64) {
    let path = with(empty_path(45), "/path/capacity", json!(format!("{mbps} Mb/s")));
    let path = with(path, "/path/base_rtt", json!(format!("{rtt_ms} ms")));
    let path = with(path, "/path/queue", json!({ "kind": "drop-tail", "size": "200 ms" }));
    let more = json!({ "video": video, "max_bitrate": "80 Mb/s" });
    let run = run(&with_stream(path, controller, more));
    let link = run.table("link").only("link", "path").between("bin_start_ns", 20.0, 45.0);
    let standing = mean(&link.present("queue_mean_bytes"));
    (run.utilization(20.0, 45.0), standing / (1.25 / 0.1 * 1_248.0))
}

fn check(mbps: u32, rtt_ms: u32, video: &str) {
    let (utilization, packets) = rests(mbps, rtt_ms, video, json!("copa"));
    let what = format!("| {mbps} Mb/s | {rtt_ms} ms | {video} | {utilization:.3} | {packets:.2} |");
    println!("{what}");
    assert!((0.98..1.001).contains(&utilization), "{what}");
    assert!((0.5..2.0).contains(&packets), "{what}");
}

/// What cycled, and the ends of the rest. With a velocity that doubles after three round trips instead of four, 35 Mb/s and
/// 120 ms have 0.927 and 5.15 with recorded frames.
#[test]
fn one_and_a_quarter_over_delta_packets_wait_at_any_round_trip() {
    for (mbps, rtt) in [(20, 20), (20, 120), (35, 20), (35, 80), (35, 120)] {
        ["steady", "doom"].iter().for_each(|video| check(mbps, rtt, video));
    }
}

/// `cargo test -p gameway-sim --test all copa:: -- --ignored --nocapture` prints the table of `experiments/scoreboard/README.md`.
#[test]
#[ignore = "36 runs"]
fn the_whole_table() {
    for mbps in [20, 35] {
        for rtt in [20, 40, 60, 80, 100, 120] {
            ["steady", "doom", "scene"].iter().for_each(|video| check(mbps, rtt, video));
        }
    }
}
