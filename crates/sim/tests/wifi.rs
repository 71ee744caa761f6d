//! A Wi-Fi medium as the path's bottleneck: what it carries, who waits, and what it cannot be combined with.

mod support;

use serde_json::{Value, json};
use support::{
    Folder, Run, empty_path, fixed, least, mean, run, try_run, with, with_ping, with_stream,
    with_tcp,
};

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
    let delays = run.table("queue_delay").only("flow", flow).between("window_start_ns", 5.0, 1e3);
    delays.sum("sum_ns") / delays.sum("packets") / 1e6
}

#[test]
fn a_sender_that_fills_the_medium_gets_the_closed_form() {
    // 1500 B in 28 + 67.5 + 298 us of 802.11g; 42 of them in one frame of 802.11n.
    let n = json!({ "wifi": "802.11n", "mcs": 7, "streams": 2, "width": "20 MHz" });
    for (wifi, expected) in [(g(), 30.5), (n, 119.0)] {
        let spec = with_udp(home(&wifi, 20), "flood", "140 Mb/s", 1500, "down");
        let spec = with(spec, "/path/hop/0/capacity", json!("1 Gb/s"));
        let run = run(&spec);
        let rate = run.received_mbps("flood", 5.0, 20.0);
        println!("{wifi} {rate} {}", run.utilization(5.0, 20.0));
        assert!((rate / expected - 1.0).abs() < 0.01, "{wifi}: {rate}");
        let used = run.utilization(5.0, 20.0);
        assert!((0.99..1.01).contains(&used), "{wifi}: {used}");
        assert!(run.summary.dropped_packets > 0);
    }
}

#[test]
fn acknowledgements_contend_with_the_download_that_they_acknowledge() {
    let spec = with_tcp(home(&g(), 60), "cubic", json!({}));
    let run = run(&spec);
    let rate = run.received_mbps("download", 20.0, 60.0);
    println!("tcp alone {rate} wait {}", mean_wait(&run, "download"));
    let game = with_udp(spec, "game", "6313333 b/s", 947, "down");
    let run2 = support::run(&game);
    println!(
        "tcp beside ut {} ut {} wait {} loss {}",
        run2.received_mbps("download", 20.0, 60.0),
        run2.received_mbps("game", 20.0, 60.0),
        mean_wait(&run2, "game"),
        run2.summary.dropped_packets
    );
    assert!((20.0..27.0).contains(&rate), "{rate}");
}

#[test]
fn uploads_leave_the_access_point_one_share() {
    let mut spec = with_udp(home(&g(), 20), "down", "40 Mb/s", 1500, "down");
    for name in ["one", "two", "three"] {
        spec = with_udp(spec, name, "40 Mb/s", 1500, "up");
    }
    let run = run(&spec);
    let rates = ["down", "one", "two", "three"].map(|flow| run.received_mbps(flow, 5.0, 20.0));
    println!("{rates:?}");
    let sum: f64 = rates.iter().sum();
    assert!((27.0..32.0).contains(&sum), "{sum}");
    assert!(rates.iter().all(|rate| (rate / sum - 0.25).abs() < 0.02), "{rates:?}");
}
