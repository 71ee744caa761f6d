//! The oracle is the limit: where nothing fills the queue whatever a stream does, no controller has more
//! utilization and less frame delay, and at its own utilization none has less frame delay.

use crate::support::{Run, empty_path, quantile, run, with, with_stream};
use gameway_control::Controllers;
use serde_json::{Value, json};

const SECONDS: u32 = 30;
/// Utilization and delays are those after the start.
const FROM: f64 = 5.0;
/// Bytes of one packet more or less in each frame: 1.2 kB of 41.7 at 20 Mb/s.
const SLACK: f64 = 0.03;
/// How much less delay than the oracle's counts as less: the time of two packets at 20 Mb/s, with which a
/// frame may meet those of pings and of other streams.
const SLACK_MS: f64 = 1.0;

struct Scenario {
    name: &'static str,
    capacity: Value,
    streams: usize,
}

fn scenarios() -> Vec<Scenario> {
    let steps = json!({ "steps": [["0 s", "20 Mb/s"], ["12 s", "10 Mb/s"], ["20 s", "30 Mb/s"]] });
    let trace =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../experiments/cellular/cellular.trace");
    let trace = json!({ "trace": trace });
    vec![
        Scenario { name: "cellular", capacity: trace, streams: 1 },
        Scenario { name: "constant", capacity: json!("20 Mb/s"), streams: 1 },
        Scenario { name: "steps", capacity: steps, streams: 1 },
        Scenario { name: "three streams", capacity: json!("30 Mb/s"), streams: 3 },
    ]
}

fn play(scenario: &Scenario, controller: &Value) -> Run {
    let mut spec = with(empty_path(SECONDS), "/path/capacity", scenario.capacity.clone());
    spec = with(with(spec, "/path/queue/size", json!("300 ms")), "/path/base_rtt", json!("20 ms"));
    for number in 0..scenario.streams {
        spec = with_stream(spec, controller.clone(), json!({ "name": format!("game {number}") }));
    }
    run(&spec)
}

/// Utilization, and the 95th percentile of frame delay in ms; frames that never came whole count as late
/// as can be.
fn axes(run: &Run) -> (f64, f64) {
    let frames = run.table("frames").between("captured_ns", FROM, f64::from(SECONDS) - 1.0);
    let (sent, complete) = (frames.column("first_sent_ns"), frames.column("complete_ns"));
    let delays: Vec<f64> = sent
        .iter()
        .zip(complete)
        .map(|ends| match ends {
            (Some(sent), Some(complete)) => (complete - sent) / 1e6,
            _ => f64::INFINITY,
        })
        .collect();
    (run.utilization(FROM, f64::from(SECONDS)), quantile(&delays, 0.95))
}

#[test]
fn nothing_beats_the_oracle_on_both_axes() {
    for scenario in scenarios() {
        let (max, delay) = axes(&play(&scenario, &json!("oracle")));
        // What a recorded link offers in a millisecond is not always there for a whole packet.
        let min = if scenario.name == "cellular" { 0.95 } else { 0.99 };
        assert!((min..=1.0).contains(&max), "{}: {max}", scenario.name);
        // A frame takes its part of the frame interval, and the way; behind other streams' frames at most
        // the whole interval; on a recorded link what the least bitrate takes where it falls below that.
        let alone = 10.0 + 1000.0 / 60.0 / scenario.streams as f64;
        let late = if scenario.name == "cellular" { 90.0 } else { 28.0 };
        assert!((alone - 0.5..=late).contains(&delay), "{}: {delay} ms", scenario.name);
        for spec in Controllers::standard().descriptions() {
            let (used, late) = axes(&play(&scenario, &json!(spec.name)));
            let beats = used > max + 0.002 && late < delay - SLACK_MS;
            assert!(!beats, "{} on {}: {used} {late} ms", spec.name, scenario.name);
            // And with as much utilization as that controller has, the oracle has no more delay.
            let share = (used + SLACK).min(1.0);
            let same = json!({ "kind": "oracle", "share": share });
            let (own, min) = axes(&play(&scenario, &same));
            assert!(own + 0.005 >= used, "{}: {own} {used}", spec.name);
            assert!(
                min - SLACK_MS <= late,
                "{} on {}: {used} at {late} ms, the oracle {own} at {min} ms",
                spec.name,
                scenario.name
            );
        }
    }
}

#[test]
fn no_packet_of_the_oracle_waits_behind_one_of_its_own_stream() {
    for scenario in scenarios() {
        let run = play(&scenario, &json!("oracle"));
        let delays = run.table("queue_delay").between("window_start_ns", FROM, 30.0);
        let mean = delays.sum("sum_ns") / delays.sum("packets") / 1e6;
        // Of three streams, the last may wait for two thirds of a frame interval, the first not at all;
        // recorded capacity comes in grains, and falls below the least bitrate.
        let max = match (scenario.name, scenario.streams) {
            ("cellular", _) => 15.0,
            (_, 1) => 0.1,
            _ => 0.5 * 2.0 / 3.0 * 1000.0 / 60.0,
        };
        assert!((0.0..=max).contains(&mean), "{}: {mean} ms", scenario.name);
        assert_eq!(run.summary.dropped_packets, 0);
    }
}

#[test]
fn the_oracle_makes_room_for_what_nothing_slows_down() {
    let udp = json!({ "name": "constant", "kind": "udp", "rate": "8 Mb/s", "start": "10 s", "stop": "20 s" });
    let spec = with(empty_path(SECONDS), "/path/capacity", json!("20 Mb/s"));
    let spec = with_stream(with(spec, "/competitor/-", udp), json!("oracle"), json!({}));
    let run = run(&spec);
    let rate = |from, to| run.received_mbps("game", from, to);
    assert!((19.7..=20.0).contains(&rate(2.0, 10.0)), "{}", rate(2.0, 10.0));
    assert!((11.8..=12.05).contains(&rate(10.5, 20.0)), "{}", rate(10.5, 20.0));
    assert!((19.7..=20.0).contains(&rate(20.5, 30.0)), "{}", rate(20.5, 30.0));
}
