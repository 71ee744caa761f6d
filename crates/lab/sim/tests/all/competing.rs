//! Competitors that are no bulk transfer: packets at a constant rate, calls, short transfers, videos.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

use crate::support::{self, empty_path, mean, run, with};
use serde_json::{Value, json};

fn competitor(spec: Value, fields: Value) -> Value {
    with(spec, "/competitor/-", fields)
}

#[test]
fn udp_has_its_rate_to_the_packet() {
    let udp = json!({
        "name": "constant", "kind": "udp", "rate": "4 Mb/s", "packet_size": "1000 B",
        "start": "2 s", "stop": "7 s",
    });
    let run = run(&competitor(empty_path(10), udp));
    // 500 packets a second for five seconds; its phase may cost the last one.
    let bins = run.table("bins");
    let sent = bins.sum("sent_packets");
    assert!((2499.0..=2500.0).contains(&sent), "{sent}");
    assert_eq!(bins.sum("received_bytes"), sent * 1000.0);
    assert_eq!(bins.sum("received_payload_bytes"), sent * 972.0);
    assert_eq!(bins.sum("feedback_bytes"), 0.0);
    assert_eq!(
        run.received_mbps("constant", 0.0, 2.0) + run.received_mbps("constant", 7.5, 10.0),
        0.0
    );
}

fn short(more: Value) -> Value {
    let mut flow = json!({ "name": "web", "kind": "short-tcp", "congestion_control": "cubic" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    competitor(empty_path(600), flow)
}

#[test]
fn short_transfers_have_the_sizes_and_gaps_of_rfc_8868() {
    let run = run(&short(json!({ "begins": "on" })));
    let transfers = run.table("events").only("event", "transfer");
    let count = transfers.rows as f64;
    // A transfer takes 0.1 s here: 600 s hold 59 of them, with a deviation of 7.7 (Poisson).
    assert!((36.0..=83.0).contains(&count), "{count}");
    let payload = run.table("bins").sum("received_payload_bytes");
    // Uniform from 30 to 50 kB: mean 40, deviation 5.8 / sqrt(59).
    assert!((38e3..=42e3).contains(&(payload / count)), "{}", payload / count);
    let times = transfers.present("time_ns");
    assert!(times[0] < 0.2e9, "it begins with a transfer");
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 1e9).collect();
    assert!((6.0..=15.0).contains(&mean(&gaps)), "{}", mean(&gaps));
    // 30 to 50 kB over 25 Mb/s take 10 to 17 ms; a handshake and the round trips of a slow start come to that.
    let took = run.table("events").only("event", "transfer-took").present("value");
    assert_eq!(took.len(), times.len());
    assert!(took.iter().all(|seconds| (0.02..0.3).contains(seconds)), "{took:?}");
    assert_eq!(took[0], times[0] / 1e9, "the first begins with the run");
    assert_eq!(run.summary.dropped_packets, 0);
}

#[test]
fn short_transfers_stop_and_may_begin_with_a_gap() {
    let busy = json!({ "mean_gap": "100 ms", "start": "5 s", "stop": "8 s" });
    let run = run(&short(busy));
    let transfers = run.table("events").only("event", "transfer").present("time_ns");
    assert!((5..=30).contains(&transfers.len()), "{}", transfers.len());
    assert!(transfers.iter().all(|at| (5.05e9..8.3e9).contains(at)), "{transfers:?}");
}

/// Packets of the log that `flow` sent each way: times in seconds and sizes.
fn packets(run: &support::Run, flow: &str, kinds: &[&str]) -> Vec<(f64, f64)> {
    let table = run.table("packets").only("flow", flow);
    let (times, sizes) = (table.present("arrived_ns"), table.present("size_bytes"));
    let of_kind = |place: &usize| kinds.contains(&table.names["kind"][*place].as_str());
    let places = (0..table.rows).filter(of_kind);
    places.map(|place| (times[place] / 1e9, sizes[place])).collect()
}

#[test]
fn onlive_has_the_sizes_and_intervals_of_its_table() {
    for (kind, size, micros) in [("onlive-ut", 947.0, 1_200.0), ("onlive-rome", 914.0, 1_600.0)] {
        let run = run(&competitor(empty_path(12), json!({ "name": "game", "kind": kind })));
        let bins = run.table("bins").only("flow", "game");
        let sent = bins.sum("sent_packets");
        assert!((sent - 12e6 / micros).abs() <= 1.0, "{kind}: {sent}");
        assert_eq!(bins.sum("sent_bytes"), sent * size);
        // 150 B each 12 ms.
        let back = bins.sum("feedback_bytes");
        assert!((back - 150_000.0).abs() <= 150.0, "{kind}: {back}");
    }
}

#[test]
fn exponential_spacing_has_the_rate_of_even_spacing_and_varies() {
    let deviations = |spacing: &str| {
        let udp = json!({
            "name": "noise", "kind": "udp", "rate": "4 Mb/s", "packet_size": "1000 B",
            "return_rate": "100 kb/s", "return_packet_size": "125 B", "spacing": spacing,
        });
        let spec = with(competitor(empty_path(40), udp), "/record", json!({ "packets": true }));
        let run = run(&spec);
        let bins = run.table("bins").only("flow", "noise");
        // 20000 and 4000 packets: 3 deviations of a Poisson count are 424 and 190.
        assert!((bins.sum("sent_packets") - 20_000.0).abs() < 424.0);
        assert!((bins.sum("feedback_bytes") / 125.0 - 4_000.0).abs() < 190.0);
        let times = packets(&run, "noise", &["udp"]);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let square = |gap: &f64| (gap / 0.002 - 1.0) * (gap / 0.002 - 1.0);
        mean(&gaps.iter().map(square).collect::<Vec<_>>())
    };
    assert!(deviations("even") < 1e-6);
    let exponential = deviations("exponential");
    assert!((0.9..1.1).contains(&exponential), "{exponential}");
}

#[test]
fn a_video_chat_has_frames_and_sound_both_ways() {
    let chat = json!({
        "name": "call", "kind": "video-chat", "bitrate": "1.2 Mb/s", "return_bitrate": "600 kb/s",
    });
    let spec = with(competitor(empty_path(60), chat), "/record", json!({ "packets": true }));
    let run = run(&spec);
    let bins = run.table("bins").only("flow", "call");
    // 1.248 Mb/s and 0.648 Mb/s for 60 s; the mean of 1800 frames is known to 0.5 %.
    let (down, up) = (bins.sum("sent_bytes"), bins.sum("feedback_bytes"));
    assert!((down / 9.36e6 - 1.0).abs() < 0.02, "{down}");
    assert!((up / 4.86e6 - 1.0).abs() < 0.02, "{up}");
    let sound = packets(&run, "call", &["udp"]).iter().filter(|(_, size)| *size == 120.0).count();
    assert!((2_999..=3_010).contains(&sound), "{sound}");
    let large = packets(&run, "call", &["udp"]).iter().filter(|(_, size)| *size > 1_200.0).count();
    assert_eq!(large, 0);
}

#[test]
fn a_call_without_a_camera_is_sound_only() {
    let call = json!({ "name": "call", "kind": "video-chat", "bitrate": "0 b/s" });
    let run = run(&competitor(empty_path(10), call));
    let bins = run.table("bins").only("flow", "call");
    assert_eq!((bins.sum("sent_packets"), bins.sum("sent_bytes")), (500.0, 60_000.0));
    assert_eq!(bins.sum("feedback_bytes"), 60_000.0);
}

#[test]
fn a_page_opens_several_connections_at_once() {
    let page = |connections: u32| {
        let spec = short(json!({ "begins": "on", "connections": connections }));
        run(&with(spec, "/duration", json!("60 s")))
    };
    let (one, six) = (page(1), page(6));
    let payload = |run: &support::Run| run.table("bins").sum("received_payload_bytes");
    let loads = |run: &support::Run| run.count("web", "transfer") as f64;
    // Each load of six is six times 30 to 50 kB.
    let each = payload(&six) / loads(&six);
    assert!((210e3..=270e3).contains(&each), "{each}");
    assert!((30e3..=50e3).contains(&(payload(&one) / loads(&one))));
    let numbers = six.table("events").only("event", "transfer").present("value");
    assert_eq!(numbers[0], 6.0);
}

#[test]
fn a_video_is_fetched_segment_by_segment() {
    let video = json!({
        "name": "film", "kind": "tcp", "congestion_control": "cubic",
        "on_off": { "segment": "2 s", "bitrate": "5 Mb/s" },
    });
    let run = run(&competitor(empty_path(20), video));
    // 1.25 MB each 2 s over 25 Mb/s: 0.4 s and the slow start, then nothing.
    let payload = run.table("bins").only("flow", "film").sum("received_payload_bytes");
    assert_eq!(payload, 12_500_000.0);
    for segment in 1..9 {
        let start = f64::from(segment) * 2.0;
        let (on, off) = (start..start + 1.0, start + 1.0..start + 2.0);
        assert!(run.received_mbps("film", on.start, on.end) > 9.9);
        assert_eq!(run.received_mbps("film", off.start, off.end), 0.0);
    }
}
