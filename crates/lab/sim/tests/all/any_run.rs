//! Whatever a specification combines: the run ends, conserves packets, and its tables make sense.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{Run, empty_path, run, with, with_ping, with_stream, with_tcp};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SECONDS: u32 = 3;

fn choice(options: Vec<Value>) -> impl Strategy<Value = Value> {
    prop::sample::select(options)
}

fn capacity() -> impl Strategy<Value = Value> {
    choice(vec![
        json!("300 kb/s"),
        json!("5 Mb/s"),
        json!("25 Mb/s"),
        json!("1 Gb/s"),
        json!({ "steps": [["0 s", "20 Mb/s"], ["1 s", "0 b/s"], ["1.5 s", "10 Mb/s"]] }),
        json!({ "steps": [["0 s", "0 b/s"], ["0.7 s", "10 Mb/s"], ["0.7001 s", "1 Mb/s"]] }),
        json!({ "wifi": "802.11g", "error_rate": "5 %", "rts_above": "1 kB" }),
        json!({ "wifi": "802.11n", "error_rate": "5 %", "station_queue": { "kind": "codel", "size": "20 packets" } }),
        json!({ "wifi": "802.11ac" }),
    ])
}

fn path() -> impl Strategy<Value = Value> {
    let rtt = choice(vec![json!("1 ns"), json!("1 us"), json!("16 ms"), json!("600 ms")]);
    let size = choice(vec![
        json!("1 packet"),
        json!("1 B"),
        json!("0.5 bdp"),
        json!("7 bdp"),
        json!("300 ms"),
        json!("1 GB"),
    ]);
    let jitter = choice(vec![
        json!(null),
        json!({ "mean": "0 s", "deviation": "3 ms" }),
        json!({ "mean": "20 ms", "deviation": "0 s" }),
        json!({ "kind": "half-normal", "deviation": "5 ms" }),
        json!({ "kind": "histogram", "times": 2, "buckets": [["0 us", "20 us", 9], ["1 ms", "2 ms", 1]] }),
        json!({ "kind": "periodic", "delay": "40 ms", "interval": "100 ms" }),
    ]);
    let loss = choice(vec![
        json!(null),
        json!({ "kind": "random", "probability": "3 %" }),
        json!({ "kind": "random", "probability": "100 %" }),
        json!({ "kind": "bursty", "probability": "20 %", "burst_length": 30.0 }),
    ]);
    let queue = choice(vec![
        json!({ "kind": "drop-tail" }),
        json!({ "kind": "drop-tail", "mark_above": "0 s" }),
        json!({ "kind": "drop-tail", "mark_above": "5 ms" }),
        json!({ "kind": "codel" }),
        json!({ "kind": "fq-codel", "flows": 2, "quantum": "300 B" }),
        json!({ "kind": "cake" }),
        json!({ "kind": "cake", "bandwidth": "3 Mb/s", "cells": "atm", "overhead": "44 B" }),
        json!({ "kind": "cake", "bandwidth": "1 Gb/s", "diffserv": "besteffort", "ecn": "off" }),
        json!({ "kind": "cake", "bandwidth": "2 Mb/s", "diffserv": "diffserv8", "framing": "pppoe-ptm", "ingress": "on", "ack_filter": "on" }),
        json!({ "kind": "cake", "diffserv": "diffserv4", "overhead": "-64 B", "wash": "on" }),
        json!({ "kind": "pie" }),
        json!({ "kind": "dual-pi2" }),
        json!({ "kind": "dual-pi2", "marking": "step", "scheduler": "time-shifted" }),
    ]);
    let queue = (queue, size).prop_map(|(queue, size)| with(queue, "/size", size));
    let path = (capacity(), rtt, queue, jitter, loss);
    (path, back(), hops(), gateway(), odd()).prop_map(|(path, back, hops, gateway, odd)| {
        let (capacity, rtt, queue, jitter, loss) = path;
        // What goes up passes a medium alone.
        let is_refused = capacity.get("wifi").is_some() && hops[0]["place"] == "out";
        let hops = if is_refused { json!([]) } else { hops };
        // As a twin has them: both or neither.
        let stalls = match jitter["kind"].as_str() {
            Some("histogram") => {
                json!({ "interval": "20 ms", "lengths": [["0 s", "50 ms", 1]], "connections": "50 %" })
            }
            _ => json!(null),
        };
        json!({
            "capacity": capacity,
            "base_rtt": rtt,
            "queue": queue,
            "jitter": jitter,
            "stalls": stalls,
            "loss": loss,
            "back": back,
            "hop": hops,
            "gateway": gateway,
            "duplicate": odd["duplicate"],
            "reorder": odd["reorder"],
        })
    })
}

/// What becomes of a path while packets are in it.
fn changes() -> impl Strategy<Value = Value> {
    let capacity = choice(vec![
        json!(null),
        json!("100 kb/s"),
        json!("1 Gb/s"),
        json!({ "steps": [["0 s", "0 b/s"], ["0.2 s", "7 Mb/s"]] }),
    ]);
    let queue = choice(vec![
        json!(null),
        json!({ "kind": "codel", "size": "3 packets" }),
        json!({ "kind": "cake", "bandwidth": "2 Mb/s" }),
        json!("fq-codel"),
    ]);
    let loss = choice(vec![json!(null), json!({ "probability": "20 %" })]);
    let one = (capacity, queue, loss, gateway(), odd());
    prop::collection::vec(one, 0..4).prop_map(|all| {
        let numbered = (1..).zip(all).map(|(number, (capacity, queue, loss, gateway, odd))| {
            json!({
                "at": format!("{} ms", 700 * number),
                "base_rtt": format!("{} ms", 1 + 90 * (number % 2)),
                "capacity": capacity,
                "queue": queue,
                "loss": loss,
                "gateway": gateway,
                "duplicate": odd["duplicate"],
                "reorder": odd["reorder"],
            })
        });
        numbered.collect()
    })
}

fn gateway() -> impl Strategy<Value = Value> {
    choice(vec![
        json!(null),
        json!({ "kind": "voap" }),
        json!({ "kind": "voap", "alpha": "0 s", "beta": "0 s", "step": "backlog", "period": "1 ms" }),
        json!({ "kind": "sap-law", "capacity": "5 Mb/s" }),
    ])
}

/// Packets that come twice, or elsewhere.
fn odd() -> impl Strategy<Value = Value> {
    let twice = json!({ "probability": "10 %", "correlation": "50 %" });
    choice(vec![
        json!({}),
        json!({}),
        json!({ "duplicate": twice }),
        json!({ "duplicate": twice, "reorder": { "probability": "25 %", "correlation": "50 %", "gap": 3 } }),
        json!({ "reorder": { "probability": "20 %", "later": "60 ms" } }),
        json!({ "duplicate": { "probability": "100 %" }, "reorder": { "probability": "50 %", "earlier": "3 ms" } }),
    ])
}

fn back() -> impl Strategy<Value = Value> {
    choice(vec![
        json!(null),
        json!({ "loss": { "kind": "random", "probability": "20 %" } }),
        json!({ "jitter": { "kind": "half-normal", "deviation": "5 ms" } }),
        json!({
            "capacity": { "steps": [["0 s", "1 Mb/s"], ["1 s", "0 b/s"], ["1.5 s", "3 Mb/s"]] },
            "queue": { "kind": "drop-tail", "size": "20 packets" },
            "loss": { "kind": "random", "probability": "1 %" },
        }),
        json!({ "capacity": "300 kb/s" }),
        json!({ "duplicate": { "probability": "30 %" }, "reorder": { "probability": "30 %", "later": "40 ms" } }),
        json!({
            "capacity": "1 Mb/s",
            "queue": { "kind": "cake", "bandwidth": "900 kb/s", "ack_filter": "aggressive", "ingress": "on", "wash": "on" },
        }),
    ])
}

fn hops() -> impl Strategy<Value = Value> {
    let hop = |capacity: &str, place: Option<&str>| {
        json!([{
            "name": "last",
            "capacity": capacity,
            "queue": { "kind": "drop-tail", "size": "300 ms" },
            "place": place,
        }])
    };
    let (slow, fast) = ("4 Mb/s", "100 Mb/s");
    let places = [None, Some("in-front"), Some("out")];
    let hops = places.map(|place| hop(slow, place)).into_iter().chain([hop(fast, None)]);
    choice([json!([]), json!([])].into_iter().chain(hops).collect())
}

/// What of a flow's way is its own.
fn way() -> impl Strategy<Value = Value> {
    choice(vec![
        json!({}),
        json!({ "via": "path" }),
        json!({ "direction": "up" }),
        json!({ "base_rtt": "90 ms", "direction": "up", "via": "path" }),
    ])
}

fn stream() -> impl Strategy<Value = Value> {
    let controller = choice(vec![
        json!("pudica"),
        json!("gcc"),
        json!("fixed"),
        json!("oracle"),
        json!("scream"),
        json!("copa"),
    ]);
    let video = choice(vec![json!("doom"), json!("steady"), json!("scene")]);
    let feedback = choice(vec![
        json!("native"),
        json!("per-frame"),
        json!("7 ms"),
        json!("2 s"),
        json!({ "kind": "rfc8888", "interval": "5 ms" }),
        json!({ "kind": "transport-wide" }),
    ]);
    let clock = choice(vec![json!("0 ppm"), json!("1000 ppm"), json!("-1000 ppm")]);
    let pause = choice(vec![json!(null), json!({ "from": "0.5 s", "to": "1.1 s" })]);
    let more = (clock, pause, choice(vec![json!("native"), json!("ect0"), json!("ect1")]), way());
    let fec = choice(vec![json!("0 %"), json!("7 %"), json!("100 %")]);
    let rate = choice(vec![json!(2), json!(24), json!(60), json!(1000)]);
    let bounds = choice(vec![
        json!(["100 kb/s", "200 kb/s"]),
        json!(["2 Mb/s", "50 Mb/s"]),
        json!(["30 Mb/s", "30 Mb/s"]),
    ]);
    let stop = choice(vec![json!(null), json!("1.7 s")]);
    // The longest takes as long as several frames: what is due meanwhile is late or skipped.
    let encode_times = choice(vec![
        json!(null),
        json!([["0 s", "4 ms", "9 ms"], ["0.7 s", "20 ms", "80 ms"], ["1 s", "15 ms", "15 ms"]]),
    ]);
    let stop = (stop, encode_times);
    (controller, video, feedback, fec, rate, bounds, stop, more).prop_map(
        |(controller, video, feedback, fec, rate, bounds, stop, (clock, pause, ecn, way))| {
            let (stop, encode_times) = stop;
            let mut stream = json!({
                "controller": controller, "video": video, "feedback": feedback, "fec": fec,
                "frame_rate": rate, "min_bitrate": bounds[0], "max_bitrate": bounds[1],
                "start": "0.2 s", "stop": stop, "encode_times": encode_times, "clock_drift": clock, "pause": pause, "ecn": ecn,
            });
            stream.as_object_mut().unwrap().extend(way.as_object().unwrap().clone());
            stream
        },
    )
}

/// UDP, short transfers, videos and QUIC.
fn other() -> impl Strategy<Value = Value> {
    let udp = json!({ "kind": "udp", "rate": "3 Mb/s", "start": "0.3 s", "stop": "2 s" });
    let short = json!({ "kind": "short-tcp", "congestion_control": "cubic", "mean_gap": "100 ms" });
    let flow = choice(vec![
        with(udp.clone(), "/packet_size", json!("64 B")),
        with(udp.clone(), "/ecn", json!("ect1")),
        udp,
        with(short.clone(), "/begins", json!("on")),
        with(short, "/stop", json!("1 s")),
        json!({ "kind": "dash", "congestion_control": "bbr", "segment_length": "100 ms" }),
        json!({ "kind": "quic", "congestion_control": "bbr", "ack_packets": 10, "start": "0.1 s" }),
        json!({ "kind": "quic", "bytes": "100 kB", "datagram_size": "1200 B", "stop": "1 s" }),
        json!({ "kind": "dash", "congestion_control": "cubic", "video_length": "4 s", "stop": "1 s" }),
    ]);
    (flow, way()).prop_map(|(mut flow, way)| {
        flow.as_object_mut().unwrap().extend(way.as_object().unwrap().clone());
        flow
    })
}

fn download() -> impl Strategy<Value = (Value, Value)> {
    let known = ["cubic", "newreno", "bbr", "bbr2", "bbr3", "bic", "vegas", "prague"];
    let kind = choice(known.map(|name| json!(name)).to_vec());
    let more = choice(vec![
        json!({}),
        json!({ "bytes": "1 B" }),
        json!({ "bytes": "1 MB", "start": "0.5 s" }),
        json!({ "ecn": "accurate" }),
        json!({ "rate_limit": "1 b/s" }),
        json!({ "rate_limit": "100 Mb/s", "stop": "1 s" }),
        json!({ "start": "1 s", "stop": "1.000000001 s" }),
        json!({ "start": "10 s" }),
    ]);
    (kind, more)
}

/// Each pair of columns, where both are known: the second is not before the first.
fn assert_frames_make_sense(run: &Run) {
    let frames = run.table("frames");
    let order = [
        ("captured_ns", "first_sent_ns"),
        ("first_sent_ns", "last_sent_ns"),
        ("first_sent_ns", "complete_ns"),
        ("complete_ns", "shown_ns"),
    ];
    let mut counts = BTreeMap::new();
    for row in 0..frames.rows {
        let value = |name: &str| frames.column(name)[row];
        for (before, after) in order {
            if let (Some(first), Some(then)) = (value(before), value(after)) {
                assert!(first <= then, "frame {row}: {after} before {before}");
            }
        }
        assert!(value("complete_ns").is_some() || value("shown_ns").is_none(), "frame {row}");
        assert!(value("lost_packets") <= value("packets"), "frame {row}");
        let number = counts.entry(frames.names["stream"][row].as_str()).or_insert(0.0);
        assert_eq!(value("frame"), Some(*number), "a stream's frames are numbered in order");
        *number += 1.0;
    }
}

fn assert_tables_make_sense(run: &Run, flows: usize) {
    let (bins, link) = (run.table("bins"), run.table("link"));
    assert_eq!(link.only("link", "path").rows, 2 * SECONDS as usize);
    assert_eq!(link.rows % (2 * SECONDS as usize), 0);
    assert_eq!(bins.rows, 2 * SECONDS as usize * flows);
    let half_second = 0.5e9;
    assert!(link.present("busy_ns").iter().all(|busy| (0.0..=half_second).contains(busy)));
    let sent = bins.sum("sent_packets");
    let rest = run.summary.queued_packets + run.summary.under_way_packets;
    let gone =
        bins.sum("received_packets") + bins.sum("dropped_packets") + bins.sum("lost_packets");
    let sent = sent + bins.sum("duplicated_packets");
    // What is still on its way may also be reports and acknowledgements, where they meet a bottleneck.
    assert!(sent >= gone && sent <= gone + rest as f64, "{sent} {gone} {rest}");
    if sent == (run.summary.arrived_packets + run.summary.duplicated_packets) as f64 {
        assert_eq!(sent, gone + rest as f64);
    }
    assert!(bins.sum("received_payload_bytes") <= bins.sum("received_bytes"));
    let peaks = link.present("queue_max_bytes");
    let means = link.present("queue_mean_bytes");
    assert!(peaks.iter().zip(&means).all(|(peak, mean)| peak + 1e-6 >= *mean && *mean >= 0.0));
    let state = run.table("controller");
    assert!(state.present("value").iter().all(|value| !value.is_nan()));
}

/// A medium has no way back of its own, stays as it is, and nobody foresees it.
fn settle(mut spec: Value) -> Value {
    let changes = spec["path"]["change"].as_array().is_some_and(|all| !all.is_empty());
    let is_medium = spec["path"]["capacity"].get("wifi").is_some();
    if !changes && !is_medium {
        return spec;
    }
    if is_medium {
        for change in spec["path"]["change"].as_array_mut().into_iter().flatten() {
            change["capacity"] = json!(null);
            change["queue"] = json!(null);
        }
    }
    if let Some(back) = spec["path"]["back"].as_object_mut().filter(|_| is_medium) {
        back.remove("capacity");
        back.remove("queue");
    }
    for stream in spec["stream"].as_array_mut().into_iter().flatten() {
        if stream["controller"] == "oracle" {
            stream["controller"] = json!("gcc");
        }
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn it_ends_and_its_tables_make_sense(
        seed in any::<u64>(),
        path in path(),
        changes in changes(),
        streams in prop::collection::vec(stream(), 0..3),
        downloads in prop::collection::vec(download(), 0..3),
        others in prop::collection::vec(other(), 0..3),
        ping in prop::option::of(Just("7 ms")),
    ) {
        let mut spec = with(with(empty_path(SECONDS), "/seed", json!(seed)), "/path", with(path, "/change", changes));
        let flows = streams.len() + downloads.len() + others.len() + usize::from(ping.is_some());
        for (index, stream) in streams.into_iter().enumerate() {
            let name = json!(format!("game {index}"));
            let controller = stream["controller"].clone();
            spec = with_stream(spec, controller, with(stream, "/name", name));
        }
        for (index, (kind, more)) in downloads.into_iter().enumerate() {
            let more = with(more, "/name", json!(format!("download {index}")));
            spec = with_tcp(spec, kind.as_str().unwrap_or_default(), more);
        }
        for (index, flow) in others.into_iter().enumerate() {
            let flow = with(flow, "/name", json!(format!("other {index}")));
            spec = with(spec, "/competitor/-", flow);
        }
        if let Some(interval) = ping {
            spec = with_ping(spec, interval);
        }
        let run = run(&settle(spec));
        assert_frames_make_sense(&run);
        assert_tables_make_sense(&run, flows);
    }
}
