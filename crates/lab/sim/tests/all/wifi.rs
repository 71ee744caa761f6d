//! A Wi-Fi medium as the path's bottleneck: what it carries, who waits, and what it cannot be combined with.

use crate::support::{
    Run, empty_path, fixed, max, min, run, try_run, with, with_ping, with_stream, with_tcp,
};
use serde_json::{Value, json};

/// 80 ms, an access point with 250 packets, and a wired link in front: Bujari, Massaro and Palazzi, section V.
fn home(wifi: &Value, seconds: u32) -> Value {
    let spec = with(empty_path(seconds), "/path/capacity", wifi.clone());
    let spec = with(spec, "/path/queue/size", json!("250 packets"));
    let spec = with(spec, "/path/base_rtt", json!("80 ms"));
    let wired = json!({ "name": "wired", "capacity": "100 Mb/s", "queue": { "kind": "drop-tail", "size": "1000 packets" } });
    with(spec, "/path/hop", json!([wired]))
}

fn g() -> Value {
    json!({ "wifi": "802.11g" })
}

fn with_udp(spec: Value, name: &str, rate: &str, size: u32, direction: &str) -> Value {
    let udp = json!({
        "kind": "udp", "name": name, "rate": rate, "packet_size": format!("{size} B"), "direction": direction,
    });
    with(spec, "/competitor/-", udp)
}

/// Milliseconds that a flow's packets wait on average from 5 s on.
fn mean_wait(run: &Run, flow: &str) -> f64 {
    run.mean_wait(flow, 5.0, 1e3)
}

#[test]
fn a_sender_that_fills_the_medium_gets_the_closed_form() {
    // 1500 B in 28 + 67.5 + 298 us of 802.11g. Of 802.11n 42 in 43 + 67.5 + 4032 + 48 us: 64 848 B are 998
    // symbols of 520 bits.
    let n = json!({ "wifi": "802.11n", "mcs": 7, "streams": 2, "width": "20 MHz" });
    for (wifi, expected) in [(g(), 12_000.0 / 393.5), (n, 42.0 * 12_000.0 / 4190.5)] {
        let spec = with_udp(home(&wifi, 20), "flood", "140 Mb/s", 1500, "down");
        let run = run(&with(spec, "/path/hop/0/capacity", json!("1 Gb/s")));
        let rate = run.received_mbps("flood", 5.0, 20.0);
        assert!((rate / expected - 1.0).abs() < 0.005, "{wifi}: {rate}");
        let used = run.utilization(5.0, 20.0);
        assert!((0.995..1.005).contains(&used), "{wifi}: {used}");
        assert!(run.summary.dropped_packets > 0);
    }
}

/// A hop has always been in front of a medium; to say so changes nothing.
#[test]
fn a_hop_is_in_front_of_a_medium() {
    let spec = with_udp(home(&g(), 5), "flood", "40 Mb/s", 1500, "down");
    let said = with(spec.clone(), "/path/hop/0/place", json!("in-front"));
    assert!(run(&spec).events == run(&said).events);
}

#[test]
fn a_damaged_channel_carries_less_and_loses_what_is_given_up() {
    let rate = |wifi: Value| {
        let run = run(&with_udp(home(&wifi, 20), "flood", "60 Mb/s", 1500, "down"));
        (run.received_mbps("flood", 5.0, 20.0), run)
    };
    let (clean, _) = rate(g());
    let (damaged, _) = rate(with(g(), "/error_rate", json!("20 %")));
    // 1.25 transmissions each, a quarter of which costs a longer back-off: 67.5 us more, and no acknowledgement.
    assert!((0.72..0.80).contains(&(damaged / clean)), "{damaged} {clean}");
    let twice = with(with(g(), "/error_rate", json!("20 %")), "/attempts", json!(2));
    let spec = with_udp(home(&twice, 20), "some", "5 Mb/s", 1500, "down");
    let run = run(&spec);
    let share = run.summary.dropped_packets as f64 / run.summary.arrived_packets as f64;
    assert!((0.03..0.05).contains(&share), "0.2^2 are given up: {share}");
}

#[test]
fn acknowledgements_contend_with_the_download_that_they_acknowledge() {
    let download = with_tcp(home(&g(), 60), "cubic", json!({}));
    let alone = run(&download);
    let rate = alone.received_mbps("download", 20.0, 60.0);
    // Each two packets of 393.5 us cost an acknowledgement of 28 + 82 us and a back-off that partly runs
    // beside the others': between none of it and all of it, less a percent for collisions.
    let (min, max) = (0.99 * 12_000.0 / (393.5 + 88.75), 12_000.0 / (393.5 + 41.0));
    assert!((min..max).contains(&rate), "{rate} of {min} to {max}");
    // One node sends those, the access point all the others: both wait.
    let acknowledged = alone.table("bins").only("flow", "download").sum("feedback_bytes");
    assert!(acknowledged > 0.01 * 60.0 * rate * 1e6 / 8.0, "{acknowledged}");

    // The game of the paper's Table II keeps what it needs, and waits where the download waits.
    let both = run(&with_udp(download, "game", "6.313 Mb/s", 947, "down"));
    let game = both.received_mbps("game", 20.0, 60.0);
    assert!((6.2..6.35).contains(&game), "{game}");
    let beside = both.received_mbps("download", 20.0, 60.0);
    assert!((0.6..0.85).contains(&(beside / rate)), "{beside} {rate}");
    assert!(mean_wait(&both, "game") > 20.0);
    let quiet = run(&with_udp(home(&g(), 20), "game", "6.313 Mb/s", 947, "down"));
    assert!(mean_wait(&quiet, "game") < 0.2, "{}", mean_wait(&quiet, "game"));
}

#[test]
fn uploads_leave_the_access_point_one_share() {
    let mut spec = with_udp(home(&g(), 20), "down", "40 Mb/s", 1500, "down");
    for name in ["one", "two", "three"] {
        spec = with_udp(spec, name, "40 Mb/s", 1500, "up");
    }
    let run = run(&spec);
    let rates = ["down", "one", "two", "three"].map(|flow| run.received_mbps(flow, 5.0, 20.0));
    let sum: f64 = rates.iter().sum();
    // Bianchi's model with four stations: 29.9 Mb/s; see the tests of the medium.
    assert!((28.5..30.5).contains(&sum), "{sum}");
    assert!(rates.iter().all(|rate| (rate / sum - 0.25).abs() < 0.02), "{rates:?}");
}

#[test]
fn a_ping_crosses_the_medium_twice_and_the_wire_once() {
    let run = run(&with_ping(home(&g(), 20), "100 ms"));
    // 84 B and 36 B of headers are 982 bits: five symbols, 46 us. Each way waits at most a slot, and the wire
    // takes 6.72 us down.
    let rtts = run.rtts(0.0, 20.0);
    let (fastest, slowest) = (80.0 + 0.046 * 2.0 + 0.006_72, 80.0 + 0.055 * 2.0 + 0.006_72);
    assert!(min(&rtts) >= fastest - 1e-6 && max(&rtts) <= slowest + 1e-6, "{rtts:?}");
    let back = run.table("bins").only("flow", "ping");
    assert!(back.sum("feedback_bytes") > 0.0);
}

#[test]
fn a_flow_that_does_not_pass_the_medium_does_not_come_back_by_it() {
    let spec = with_udp(home(&g(), 20), "flood", "60 Mb/s", 1500, "down");
    let wired = json!({ "name": "wired", "via": "wired" });
    let spec = with_tcp(spec, "cubic", with(wired, "/base_rtt", json!("10 ms")));
    let run = run(&spec);
    // 100 Mb/s less what floods the wire on its way to the medium.
    let rate = run.received_mbps("wired", 10.0, 20.0);
    assert!((30.0..45.0).contains(&rate), "{rate}");
    let carried = run.table("link").only("link", "path").sum("transmitted_bytes") * 8.0 / 20e6;
    assert!((30.0..31.0).contains(&carried), "{carried}");
}

#[test]
fn a_queue_sized_in_time_is_sized_by_what_one_sender_gets() {
    let wait = |size: &str| {
        let spec = with_udp(home(&g(), 20), "flood", "60 Mb/s", 1500, "down");
        mean_wait(&run(&with(spec, "/path/queue/size", json!(size))), "flood")
    };
    let (time, bdp) = (wait("100 ms"), wait("0.5 bdp"));
    assert!((97.0..101.0).contains(&time), "{time}");
    assert!((38.0..41.0).contains(&bdp), "{bdp}");
}

#[test]
fn a_stream_lives_on_each_generation() {
    for wifi in ["802.11g", "802.11n", "802.11ac"] {
        let spec = home(&json!({ "wifi": wifi }), 10);
        let run = run(&with_ping(with_stream(spec, fixed("10 Mb/s"), json!({})), "50 ms"));
        let rate = run.received_mbps("game", 2.0, 10.0);
        assert!((9.8..10.2).contains(&rate), "{wifi}: {rate}");
        let link = run.table("link").only("link", "path").between("bin_start_ns", 2.0, 10.0);
        let busy = link.sum("busy_ns") / 8e9;
        // 10 Mb/s and 60 reports a second: two thirds of what a packet costs is on the air.
        let max = if wifi == "802.11g" { 0.35 } else { 0.2 };
        assert!((0.01..max).contains(&busy), "{wifi}: {busy}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_field() {
    let wifi = |key: &str, value: Value| with(g(), key, value);
    let n = |key: &str, value: Value| with(json!({ "wifi": "802.11n" }), key, value);
    let cases = [
        (json!({ "wifi": "802.11b" }), "802.11ac"),
        (wifi("/rate", json!("11 Mb/s")), "path.capacity.rate"),
        (wifi("/rate", json!("5.5 Mb/s")), "path.capacity.rate"),
        (wifi("/basic_rate", json!("1 Mb/s")), "path.capacity.basic_rate"),
        (wifi("/mcs", json!(7)), "path.capacity.mcs"),
        (wifi("/aggregate", json!(8)), "path.capacity.aggregate"),
        (wifi("/slot", json!("0 s")), "path.capacity.slot"),
        (wifi("/error_rate", json!("100 %")), "path.capacity.error_rate"),
        (wifi("/attempts", json!(0)), "path.capacity.attempts"),
        (wifi("/cw_min", json!(2000)), "path.capacity.cw_max"),
        (wifi("/colour", json!("blue")), "colour"),
        (
            wifi("/station_queue", json!({ "kind": "pie", "size": "1 MB", "alpha": -1.0 })),
            "station_queue.alpha",
        ),
        (n("/rate", json!("54 Mb/s")), "path.capacity.rate"),
        (n("/mcs", json!(8)), "path.capacity.mcs"),
        (n("/width", json!("80 MHz")), "path.capacity.width"),
        (n("/width", json!("20")), "MHz"),
        (n("/guard_interval", json!("500 ns")), "path.capacity.guard_interval"),
        (n("/aggregate", json!(65)), "path.capacity.aggregate"),
    ];
    let refused = |spec: &Value| try_run(spec).err();
    for (wifi, named) in cases {
        let message = refused(&home(&wifi, 1)).unwrap_or_else(|| panic!("{wifi} was accepted"));
        assert!(message.contains(named), "{wifi}: {message}");
    }
    let combinations = [
        ("/path/back", json!({ "capacity": "1 Mb/s" }), "shares the Wi-Fi medium"),
        ("/path/hop/0/capacity", g(), "only path.capacity"),
        ("/path/hop/0/place", json!("behind"), "path.hop \"wired\": place: the clients are on"),
        (
            "/stream",
            json!([{
                "name": "game", "controller": "oracle", "video": "steady", "frame_rate": 60,
                "min_bitrate": "2 Mb/s", "max_bitrate": "50 Mb/s", "start_bitrate": "5 Mb/s",
            }]),
            "foresee",
        ),
    ];
    for (pointer, value, named) in combinations {
        let spec = with(home(&g(), 1), pointer, value);
        let message = refused(&spec).unwrap_or_else(|| panic!("{pointer} was accepted"));
        assert!(message.contains(named), "{pointer}: {message}");
    }
}
