//! A small matrix as one readable table: what a change does to results is seen in the diff of a review.
//!
//! `UPDATE_GOLDEN=1 cargo test -p gameway-sim --test golden` writes the table anew.

mod support;

use serde_json::json;
use std::fmt::Write;
use std::path::Path;
use support::{Run, empty_path, fixed, mean, run, with, with_ping, with_stream, with_tcp};

const HEAD: &str = "\
25 Mb/s, 16 ms, one download from 10 s to 20 s of 30 s; recorded frames; seed 1. Alone: 5 s to 10 s;
competing: 12 s to 20 s. Rates are bytes on the wire at the client, RTTs those of a ping.

                         stream Mb/s        TCP Mb/s  mean RTT ms        frames      queue
controller tcp   queue   alone   competing             alone   competing  shown  of   drops
";

fn scenario(controller: &str, congestion_control: &str, queue: &str) -> Run {
    let chosen = if controller == "fixed" { fixed("12 Mb/s") } else { json!(controller) };
    let spec = with_stream(empty_path(30), chosen, json!({ "video": "doom" }));
    let times = json!({ "start": "10 s", "stop": "20 s" });
    let spec = with_tcp(spec, congestion_control, times);
    run(&with(with_ping(spec, "50 ms"), "/path/queue/size", json!(queue)))
}

fn row(controller: &str, congestion_control: &str, queue: &str) -> String {
    let run = scenario(controller, congestion_control, queue);
    let (alone, competing) = ((5.0, 10.0), (12.0, 20.0));
    let rate = |flow, (from, to)| run.received_mbps(flow, from, to);
    let rtt = |(from, to)| mean(&run.rtts(from, to));
    let frames = run.table("frames");
    format!(
        "{controller:<10} {congestion_control:<5} {queue:<7} {:>5.1} {:>11.1} {:>9.1} {:>10.1} {:>11.1} {:>6} {:>4} {:>6}",
        rate("game", alone),
        rate("game", competing),
        rate("download", competing),
        rtt(alone),
        rtt(competing),
        frames.present("shown_ns").len(),
        frames.rows,
        run.summary.dropped_packets,
    )
}

fn matrix() -> String {
    let mut text = HEAD.to_owned();
    for controller in ["fixed", "gcc", "pudica"] {
        for congestion_control in ["bbr", "cubic"] {
            for queue in ["0.5 bdp", "2 bdp"] {
                writeln!(text, "{}", row(controller, congestion_control, queue)).unwrap();
            }
        }
    }
    text
}

/// Lines that differ, as a diff shows them.
fn difference(expected: &str, found: &str) -> String {
    let mut text = String::new();
    let longest = expected.lines().count().max(found.lines().count());
    for index in 0..longest {
        let (old, new) = (expected.lines().nth(index), found.lines().nth(index));
        if old != new {
            let lines = [("-", old), ("+", new)];
            lines.into_iter().filter_map(|(sign, line)| Some((sign, line?))).for_each(
                |(sign, line)| {
                    writeln!(text, "{sign} {line}").unwrap();
                },
            );
        }
    }
    text
}

#[test]
fn the_matrix_is_as_committed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/matrix.txt");
    let found = matrix();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == found,
        "tests/golden/matrix.txt differs (UPDATE_GOLDEN=1 writes it anew):\n{}",
        difference(&expected, &found)
    );
}
