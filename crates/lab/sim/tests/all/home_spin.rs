//! A home whose downloads are all over QUIC, behind a provider's queue that nothing but their spin bit tells of: no TCP, and no
//! pings. What waits is what a game's packets wait there.

use crate::support::{Run, empty_path, max, quantile, run, with, with_tcp};
use serde_json::{Value, json};

/// The provider's link in Mb/s, the base RTT and the queue in ms.
type Line = (u32, u32, u32);

const SLOW: Line = (20, 30, 200);

/// So many downloads, that spin or not, and a game that sends each 10 ms.
fn home((mbps, rtt_ms, queue_ms): Line, gateway: &str, count: u32, spin: &str) -> Value {
    let provider = json!({
        "name": "provider", "place": "in-front", "capacity": format!("{mbps} Mb/s"),
        "queue": { "kind": "drop-tail", "size": format!("{} B", mbps * queue_ms * 125) },
    });
    let all = json!({ "rate": "1 Gb/s", "queue": { "kind": "fq-codel", "target": "30 ms" } });
    let shaper =
        json!({ "kind": "htb", "rate": "1 Gb/s", "default": "all", "class": { "all": all } });
    let wire = json!({ "kind": "drop-tail", "size": "2000 packets" });
    let queue = if gateway == "none" { wire } else { shaper };
    let spec = with(empty_path(14), "/path/capacity", json!("1 Gb/s"));
    let spec = with(spec, "/path/base_rtt", json!(format!("{rtt_ms} ms")));
    let spec = with(spec, "/path/forward_delay", json!("0 s"));
    let spec = with(spec, "/path/queue", queue);
    let spec = with(spec, "/path/hop", json!([provider]));
    let spec = with(spec, "/path/gateway", json!(gateway));
    (0..count).fold(spec, |spec, number| {
        let name = format!("quic-{number}");
        let more = json!({ "name": name, "kind": "quic", "start": "1 s", "spin": spin });
        with_tcp(spec, "cubic", more)
    })
}

/// The game: its packets are numbered, and leave each 10 ms.
fn with_game(spec: Value) -> Value {
    let game = json!({ "name": "game", "kind": "udp", "rate": "100 kb/s", "packet_size": "125 B" });
    let competitors = spec["competitor"].as_array().cloned().unwrap_or_default();
    let all: Vec<_> = competitors.into_iter().chain([game]).collect();
    with(with(spec, "/competitor", json!(all)), "/record", json!({ "packets": true }))
}

/// What the game's packets waited that left in `from..to`, in ms: what each took longer than the quickest.
fn waits(run: &Run, from: f64, to: f64) -> Vec<f64> {
    let packets = run.table("packets").only("flow", "game").only("fate", "delivered");
    let (numbers, arrived) = (packets.present("number"), packets.present("arrived_ns"));
    let took: Vec<_> =
        numbers.iter().zip(arrived).map(|(n, at)| (n / 100.0, at / 1e6 - n * 10.0)).collect();
    let quickest = took.iter().map(|(_, took)| *took).fold(f64::MAX, f64::min);
    took.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, took)| took - quickest).collect()
}

fn share(run: &Run, (mbps, ..): Line, from: f64, to: f64) -> f64 {
    let bins = run.table("bins").between("bin_start_ns", from, to);
    bins.sum("received_bytes") * 8.0 / (to - from) / (f64::from(mbps) * 1e6)
}

#[test]
fn a_shaper_follows_the_link_by_the_spin_bit_alone() {
    for (gateway, line, count, max_wait_ms, min_share) in [
        ("both", SLOW, 1, 10.0, 0.95),
        ("shape", SLOW, 1, 10.0, 0.95),
        ("both", SLOW, 4, 10.0, 0.95),
        ("shape", (200, 20, 100), 4, 10.0, 0.95),
        ("both", (50, 60, 150), 2, 10.0, 0.95),
    ] {
        let of = |spin| run(&with_game(home(line, gateway, count, spin)));
        let (spinning, constant) = (of("on"), of("off"));
        let what = format!("{gateway}, {count} on {line:?}");
        let waited = quantile(&waits(&spinning, 4.0, 14.0), 0.99);
        let had = share(&spinning, line, 4.0, 14.0);
        let without = quantile(&waits(&constant, 4.0, 14.0), 0.99);
        assert!((0.5..max_wait_ms).contains(&waited), "{what}: {waited} ms");
        assert!((min_share..1.0).contains(&had), "{what}: {had}");
        // The twin: nobody tells, and nothing is shaped.
        assert!(without > 5.0 * max_wait_ms, "{what}: {without} ms without");
        assert!(constant.variable("gateway", "shaped_rate_bps", 0.0, 14.0).is_empty(), "{what}");
    }
}

/// What the gateway reads is what packets wait: the RTT less its base. Nothing is held here, since `windows` has no hold of QUIC.
#[test]
fn the_wait_that_the_spin_bit_tells_is_what_packets_wait() {
    for line in [SLOW, (200, 20, 100)] {
        let run_of = |spin| run(&with_game(home(line, "windows", 1, spin)));
        let spinning = run_of("on");
        let told = spinning.variable("gateway", "wait_in_front_ms", 3.0, 14.0);
        let waited = waits(&spinning, 3.0, 14.0);
        // After a loss the server is silent until its window has drained: its turn comes later than the queue would have it.
        for (part, near) in [(0.05, 3.0), (0.5, 3.0), (0.95, 15.0)] {
            let (told, waited) = (quantile(&told, part), quantile(&waited, part));
            assert!((told - waited).abs() < near, "{line:?}: {told} of {waited} ms");
        }
        assert!(max(&told) > 0.7 * f64::from(line.2), "{told:?}");
        let constant = run_of("off");
        assert!(constant.variable("gateway", "wait_in_front_ms", 0.0, 14.0).is_empty());
    }
}
