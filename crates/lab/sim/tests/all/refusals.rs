//! Specifications that make no sense are refused, and the message names the field.

use crate::support::{empty_path, try_run, with, with_ping, with_stream, with_tcp};
use gameway_experiment::RunSpec;
use serde_json::{Value, json};

fn whole() -> Value {
    let spec = with_stream(empty_path(1), json!("pudica"), json!({}));
    let spec = with_tcp(with_ping(spec, "100 ms"), "cubic", json!({}));
    let spec = with(spec, "/path/jitter", json!({ "mean": "1 ms", "deviation": "1 ms" }));
    let spec = with(spec, "/record", json!({}));
    with(spec, "/path/loss", json!({ "kind": "bursty", "probability": "1 %", "burst_length": 2.0 }))
}

/// A video with these fields.
fn video(more: Value) -> Value {
    let mut video = json!({ "kind": "dash", "name": "video", "congestion_control": "cubic" });
    video.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    video
}

#[test]
fn a_wrong_download_over_quic_is_refused_with_its_field() {
    let cases = [
        (json!({ "datagram_size": "1199 B" }), "competitor \"quic\": datagram_size"),
        (json!({ "datagram_size": "1473 B" }), "competitor \"quic\": datagram_size"),
        (json!({ "ack_packets": 0 }), "competitor \"quic\": ack_packets"),
        (json!({ "max_ack_delay": "2 s" }), "competitor \"quic\": max_ack_delay"),
        (json!({ "bytes": "0 B" }), "competitor \"quic\": bytes"),
        (json!({ "congestion_control": "qubic" }), "competitor \"quic\": congestion_control"),
        (json!({ "congestion_control": "prague", "ecn": "off" }), "competitor \"quic\": ecn"),
        (json!({ "stop": "1 s", "start": "2 s" }), "competitor \"quic\": stop"),
    ];
    for (more, field) in cases {
        let mut quic = json!({ "kind": "quic", "name": "quic" });
        quic.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = try_run(&with(empty_path(1), "/competitor", json!([quic]))).unwrap_err();
        assert!(refused.contains(field), "{more}: {refused}");
    }
}

#[test]
fn a_gateway_that_sets_a_rate_needs_a_shaper_now_and_after_a_change() {
    let shaper = json!({ "kind": "cake", "bandwidth": "1 Gb/s" });
    for gateway in ["shape", "both"] {
        let spec = with(empty_path(1), "/path/gateway", json!(gateway));
        for queue in [json!({ "kind": "fq-codel" }), json!({ "kind": "cake" })] {
            let refused = try_run(&with(spec.clone(), "/path/queue", queue)).unwrap_err();
            assert!(refused.contains("path.queue") && refused.contains(gateway), "{refused}");
        }
        let spec = with(spec, "/path/queue", shaper.clone());
        assert!(try_run(&spec).is_ok());
        let change = json!([{ "at": "500 ms", "queue": { "kind": "drop-tail" } }]);
        let refused = try_run(&with(spec, "/path/change", change)).unwrap_err();
        assert!(refused.contains("path.queue"), "{refused}");
    }
}

#[test]
fn there_is_one_hop_on_the_way_out_at_most_and_none_with_a_medium() {
    let hop = |name| json!({ "name": name, "capacity": "1 Gb/s", "place": "out" });
    let of = |hops| with(empty_path(1), "/path/hop", hops);
    assert!(try_run(&of(json!([hop("a")]))).is_ok());
    let refused = try_run(&of(json!([hop("a"), hop("b")]))).unwrap_err();
    assert!(refused.contains("path.hop \"b\": place: another hop is"), "{refused}");
    let wifi = with(of(json!([hop("a")])), "/path/capacity", json!({ "wifi": "802.11n" }));
    let refused = try_run(&wifi).unwrap_err();
    assert!(refused.contains("path.hop \"a\": place: what goes up passes"), "{refused}");
}

#[test]
fn the_specification_that_the_others_are_made_from_runs() {
    assert!(try_run(&whole()).is_ok());
}

#[test]
fn every_wrong_value_is_refused_with_its_field() {
    let cases = [
        ("/duration", json!("0 s"), "duration"),
        ("/duration", json!("-5 s"), "duration"),
        ("/duration", json!("200 min and more"), "allowed are ns, us, ms, s, min, h"),
        ("/duration", json!("2000000 h"), "duration"),
        ("/stream/0/max_bitrate", json!("2 Gb/s"), "stream \"game\": max_bitrate"),
        ("/stream/0/frame_rate", json!(1), "stream \"game\": max_bitrate"),
        ("/stream/0/feedback", json!("10 s"), "stream \"game\": feedback"),
        ("/path/base_rtt", json!("-1 ms"), "path.base_rtt"),
        ("/path/base_rtt", json!("2 h"), "path.base_rtt"),
        ("/path/forward_delay", json!("17 ms"), "path.forward_delay"),
        ("/path/forward_delay", json!("-1 ms"), "path.forward_delay"),
        ("/path/capacity", json!("0 b/s"), "path.capacity"),
        ("/path/capacity", json!("18000000000000000000 b/s"), "path.capacity"),
        ("/path/capacity", json!({ "steps": [] }), "path.capacity"),
        ("/path/capacity", json!({ "steps": [["1 s", "5 Mb/s"]] }), "path.capacity"),
        (
            "/path/capacity",
            json!({ "steps": [["0 s", "5 Mb/s"], ["-1 s", "5 Mb/s"]] }),
            "path.capacity",
        ),
        (
            "/path/capacity",
            json!({ "steps": [["0 s", "5 Mb/s"], ["2 s", "0 b/s"]] }),
            "path.capacity",
        ),
        ("/path/capacity", json!({ "trace": "/nowhere/x.trace" }), "/nowhere/x.trace"),
        ("/path/queue", json!({ "kind": "drop-head", "size": "1 bdp" }), "drop-tail"),
        ("/path/queue/size", json!("0 bdp"), "a queue must hold something"),
        ("/path/jitter/mean", json!("-1 ms"), "path.jitter.mean"),
        ("/path/jitter/deviation", json!("-1 ms"), "path.jitter.deviation"),
        ("/path/loss/probability", json!("101 %"), "path.loss.probability"),
        ("/path/loss/probability", json!("90 %"), "at most 66.7 %"),
        ("/path/loss/burst_length", json!(0.5), "path.loss.burst_length"),
        ("/path/los", json!("1 %"), "los"),
        (
            "/stream/0/controller",
            json!("pudcia"),
            "unknown controller \"pudcia\"; known are copa, fixed",
        ),
        (
            "/stream/0/controller",
            json!({ "kind": "gcc", "x": 1 }),
            "controller \"gcc\": x: is no option; known are application_limited_probing, backoff",
        ),
        ("/stream/0/frame_rate", json!(0), "frame_rate"),
        ("/stream/0/frame_rate", json!(1001), "frame_rate"),
        ("/stream/0/min_bitrate", json!("60 Mb/s"), "min_bitrate"),
        ("/stream/0/min_bitrate", json!("0 b/s"), "min_bitrate"),
        ("/stream/0/max_bitrate", json!("2000 Gb/s"), "max_bitrate"),
        ("/stream/0/fec", json!("101 %"), "fec"),
        ("/stream/0/feedback", json!("1 us"), "feedback"),
        ("/stream/0/feedback", json!("often"), "\"often\" is no feedback"),
        ("/stream/0/start", json!("-1 s"), "start"),
        ("/stream/0/stop", json!("0 s"), "stop"),
        ("/stream/0/video", json!({ "file": "/nowhere/x.gwfr" }), "/nowhere/x.gwfr"),
        ("/stream/0/name", json!("download"), "two flows are called \"download\""),
        ("/stream/0/name", json!("ping"), "two flows are called \"ping\""),
        ("/stream/0/encode_times", json!([]), "encode_times"),
        (
            "/stream/0/encode_times",
            json!([["1 s", "1 ms", "2 ms"], ["1 s", "1 ms", "3 ms"]]),
            "encode_times",
        ),
        ("/stream/0/encode_times", json!([["0 s", "-1 ms", "1 ms"]]), "encode_times"),
        ("/stream/0/encode_times", json!([["0 s", "3 ms", "2 ms"]]), "encode_times"),
        ("/stream/0/key_frame_encode_times", json!([]), "key_frame_encode_times"),
        ("/competitor/0/kind", json!("sctp"), "tcp"),
        ("/competitor/0/kind", json!("udp"), "congestion_control"),
        (
            "/competitor/0/on_off",
            json!({ "segment": "0 s", "bitrate": "1 Mb/s" }),
            "on_off.segment",
        ),
        ("/competitor/0/on_off", json!({ "segment": "1 s", "bitrate": "0 b/s" }), "on_off.bitrate"),
        ("/competitor/0/on_off", json!({ "segment": "1 s" }), "bitrate"),
        ("/competitor/0", json!({ "kind": "onlive-ut", "name": "a", "rate": "1 Mb/s" }), "rate"),
        (
            "/competitor/0",
            json!({ "kind": "udp", "name": "a", "rate": "1 Mb/s", "return_rate": "0 b/s" }),
            "return_rate",
        ),
        (
            "/competitor/0",
            json!({ "kind": "video-chat", "name": "a", "frame_rate": 0 }),
            "frame_rate",
        ),
        (
            "/competitor/0",
            json!({ "kind": "short-tcp", "name": "a", "congestion_control": "bbr", "connections": 0 }),
            "connections",
        ),
        ("/competitor/0/receive_window", json!("4095 B"), "receive_window"),
        ("/competitor/0/receive_window", json!("2 GiB"), "receive_window"),
        ("/competitor/0/receive_window", json!("automatic"), "automatic"),
        ("/competitor/0/mss", json!("87 B"), "mss"),
        ("/stream/0/mtu", json!("255 B"), "mtu"),
        ("/stream/0/mtu", json!("1501 B"), "mtu"),
        ("/competitor/0/mss", json!("1461 B"), "mss"),
        ("/competitor/0", video(json!({ "receive_window": "1 B" })), "receive_window"),
        ("/competitor/0", video(json!({ "mss": "9 kB" })), "mss"),
        ("/path/nominal_rtt", json!("2 h"), "nominal_rtt"),
        ("/competitor/0", video(json!({ "congestion_control": "best" })), "\"best\""),
        ("/competitor/0", video(json!({ "adaptation": "guess" })), "guess"),
        ("/competitor/0", video(json!({ "segment_length": "99 ms" })), "segment_length"),
        ("/competitor/0", video(json!({ "segment_length": "61 s" })), "segment_length"),
        ("/competitor/0", video(json!({ "buffer": "3 s" })), "buffer"),
        ("/competitor/0", video(json!({ "top_buffer": "2 h" })), "top_buffer"),
        ("/competitor/0", video(json!({ "video_length": "1 s" })), "video_length"),
        ("/competitor/0", video(json!({ "size_spread": "51 %" })), "size_spread"),
        ("/competitor/0", video(json!({ "ladder": {} })), "ladder"),
        (
            "/competitor/0",
            video(json!({ "ladder": { "small": "1 Mb/s" } })),
            "\"small\" is no size",
        ),
        ("/competitor/0", video(json!({ "ladder": { "2x2": "0 b/s" } })), "ladder"),
        (
            "/competitor/0",
            video(json!({ "ladder": { "20x20": "1 Mb/s", "10x10": "2 Mb/s" } })),
            "no fewer pixels",
        ),
        ("/competitor/0", video(json!({ "rate": "1 Mb/s" })), "rate"),
        ("/competitor/0/via", json!("nowhere"), "neither \"all\" nor \"path\""),
        ("/competitor/0/direction", json!("sideways"), "sideways"),
        ("/competitor/0/base_rtt", json!("2 h"), "base_rtt"),
        ("/stream/0/via", json!("back"), "via"),
        ("/stream/0/clock_drift", json!("1001 ppm"), "no drift"),
        ("/stream/0/clock_drift", json!("1 %"), "no drift"),
        ("/stream/0/ecn", json!("ce"), "ce"),
        ("/stream/0/pause", json!({ "from": "2 s", "to": "1 s" }), "pause.to"),
        ("/stream/0/feedback", json!({ "kind": "rfc8888", "interval": "0 s" }), "feedback"),
        ("/stream/0/controller", json!({ "kind": "oracle", "share": 2 }), "share"),
        ("/path/queue/mark_above", json!("-1 ms"), "mark_above"),
        (
            "/path/queue/target",
            json!("5 ms"),
            "queue.target: is no option; known are mark_above, size",
        ),
        (
            "/path/queue",
            json!({ "kind": "codel", "size": "1 MB", "interval": "0 s" }),
            "queue.interval",
        ),
        ("/path/queue", json!({ "kind": "fq-codel", "size": "1 MB", "flows": 0 }), "queue.flows"),
        ("/path/queue", json!({ "kind": "cake", "bandwidth": "0 b/s" }), "queue.bandwidth"),
        ("/path/queue", json!({ "kind": "cake", "rtt": "0 s" }), "queue.rtt"),
        ("/path/queue", json!({ "kind": "cake", "overhead": "257 B" }), "queue.overhead"),
        ("/path/queue", json!({ "kind": "cake", "mpu": "1 kB" }), "queue.mpu"),
        ("/path/queue", json!({ "kind": "cake", "isolation": "none" }), "flowblind"),
        ("/path/queue", json!({ "kind": "cake", "diffserv": "diffserv5" }), "besteffort"),
        (
            "/path/queue",
            json!({ "kind": "cake", "target": "5 ms" }),
            "queue.target: is no option; known are ack_filter",
        ),
        ("/path/queue", json!({ "kind": "pie", "size": "1 MB", "alpha": -1.0 }), "queue.alpha"),
        (
            "/path/queue",
            json!({ "kind": "dual-pi2", "size": "1 MB", "classic_weight": "101 %" }),
            "classic_weight",
        ),
        ("/path/jitter", json!({ "kind": "periodic", "delay": "2 s", "interval": "1 s" }), "delay"),
        (
            "/path/stalls",
            json!({ "interval": "0 s", "lengths": [["1 ms", "2 ms", 1]], "connections": "1 %" }),
            "path.stalls.interval",
        ),
        (
            "/path/stalls",
            json!({ "interval": "1 s", "lengths": [], "connections": "1 %" }),
            "path.stalls.lengths",
        ),
        (
            "/path/stalls",
            json!({ "interval": "1 s", "lengths": [["1 ms", "2 ms", 1]], "connections": "101 %" }),
            "path.stalls.connections",
        ),
        (
            "/path/hop",
            json!([{ "name": "back", "capacity": "1 Mb/s", "queue": { "kind": "drop-tail", "size": "1 bdp" } }]),
            "path.hop.name",
        ),
        (
            "/path/back",
            json!({ "queue": { "kind": "drop-tail", "size": "1 bdp" } }),
            "path.back.capacity",
        ),
        (
            "/path/back",
            json!({ "loss": { "kind": "random", "probability": "101 %" } }),
            "path.back.loss",
        ),
        (
            "/competitor/0/congestion_control",
            json!("veno"),
            "competitor \"download\": congestion_control",
        ),
        ("/competitor/0/ecn", json!("on"), "unknown variant `on`"),
        ("/competitor/0/rate_limit", json!("0 b/s"), "rate_limit"),
        ("/competitor/0/block", json!("1 kB"), "block: has no meaning without rate_limit"),
        ("/competitor/0/bytes", json!("0 B"), "bytes"),
        ("/competitor/0/start", json!("-1 s"), "start"),
        ("/competitor/0/stop", json!("0 s"), "stop"),
        ("/ping/interval", json!("0 s"), "ping.interval"),
        ("/ping/interval", json!("1 us"), "ping.interval"),
        // A state that is written again at the same time would never let time pass.
        ("/record/controller_interval", json!("0 s"), "record.controller_interval"),
        ("/record/controller_interval", json!("-1 s"), "record.controller_interval"),
        ("/record/delay_window", json!("0 s"), "record.delay_window"),
        ("/record/delay_window", json!("700 ms"), "record.delay_window"),
    ];
    for (pointer, value, named) in cases {
        let spec = with(whole(), pointer, value.clone());
        let refused = try_run(&spec).err();
        let message = refused.unwrap_or_else(|| panic!("{pointer} = {value} was accepted"));
        assert!(message.contains(named), "{pointer} = {value}: {message}");
    }
}

#[test]
fn prague_is_refused_without_accurate_ecn() {
    let prague = with(whole(), "/competitor/0/congestion_control", json!("prague"));
    for (ecn, runs) in [("off", false), ("classic", false), ("accurate", true)] {
        let spec = with(prague.clone(), "/competitor/0/ecn", json!(ecn));
        let message = try_run(&spec).err().unwrap_or_default();
        assert_eq!(message.is_empty(), runs, "{ecn}: {message}");
        let told = message.contains("competitor \"download\": ecn")
            && message.contains("congestion_control = \"prague\" needs \"accurate\"");
        assert_eq!(told, !runs, "{message}");
    }
    assert!(try_run(&prague).is_ok(), "without the key it has what it needs");
}

#[test]
fn stalls_that_would_fill_memory_are_refused() {
    let stalls =
        json!({ "interval": "1 ms", "lengths": [["1 ms", "2 ms", 1]], "connections": "1 %" });
    let spec = with(whole(), "/path/stalls", stalls);
    assert!(try_run(&spec).is_ok());
    let refused = try_run(&with(spec, "/duration", json!("1 h"))).unwrap_err();
    assert!(refused.contains("path.stalls.interval: 1 ms is not between 3.6 ms"), "{refused}");
}

#[test]
fn marks_that_a_controller_is_told_to_read_need_packets_that_can_have_them() {
    let run = |reads: &str, ecn: &str| {
        let controller = json!({ "kind": "scream", "ecn": reads });
        let spec = with_stream(empty_path(1), controller, json!({ "ecn": ecn }));
        try_run(&spec).err().unwrap_or_default()
    };
    for (reads, ecn) in [("l4s", "none"), ("l4s", "ect0"), ("classic", "none")] {
        let message = run(reads, ecn);
        assert!(message.contains("stream \"game\": ecn") && message.contains(reads), "{message}");
    }
    for (reads, ecn) in [("l4s", "native"), ("l4s", "ect1"), ("classic", "ect1"), ("off", "ect0")] {
        assert_eq!(run(reads, ecn), "");
    }
}

#[test]
fn a_browser_is_checked_for_live_runs_and_not_simulated() {
    let checked = |controller: Value, frame_rate: u32, trials: &str| {
        let own = json!({ "kind": "chromium", "frame_rate": frame_rate, "field_trials": trials });
        let spec = with_stream(empty_path(1), controller, own);
        let simulated = try_run(&spec).unwrap_err();
        let read = RunSpec::try_from(spec).map_err(|error| error.to_string());
        let found =
            read.and_then(|spec| gameway_sim::check(&spec).map_err(|error| error.to_string()));
        (found.err().unwrap_or_default(), simulated)
    };
    let (fine, simulated) = checked(json!("gcc"), 60, "One/Enabled/");
    assert_eq!(fine, "");
    assert!(simulated.contains("stream \"game\": kind: Chromium"), "{simulated}");
    assert!(simulated.contains("--on live"), "{simulated}");
    for (controller, frame_rate, trials, field) in [
        (json!("pudica"), 30, "A/B/", "stream \"game\": controller"),
        (json!({ "kind": "gcc", "backoff": 0.9 }), 30, "A/B/", "stream \"game\": controller"),
        (json!("gcc"), 61, "A/B/", "stream \"game\": frame_rate"),
        (json!("gcc"), 30, "A/B", "no list of field trials"),
    ] {
        let (refused, _) = checked(controller, frame_rate, trials);
        assert!(refused.contains(field), "{field}: {refused}");
    }
}
