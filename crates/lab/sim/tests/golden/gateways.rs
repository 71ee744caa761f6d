//! Every home gateway with its variants, on a wired line and on Wi-Fi.

use crate::support::{
    Run, empty_path, fixed, mean, quantile, run, with, with_ping, with_stream, with_tcp,
};
use gameway_sim::Registry;
use gameway_units::declared::Description;
use serde_json::{Value, json};
use std::fmt::Write;

const HEAD: &str = "\
80 ms and a queue of 250 packets; a steady stream of 6 Mb/s; CUBIC downloads: \"far\", \"near\" (40 ms) and a slow one (2 Mb/s
until 15 s). Wi-Fi is 802.11n with one spatial stream; SAP-LAW is told 25 and 40 Mb/s; variants say what differs from the
defaults; the provider's line has the queue of 25 Mb/s in front of the home, which has a shaper with FQ-CoDel (target 30 ms for \"both\"); on the line
\"uplink\" the provider has a queue of 5 Mb/s and 200 ms on the way out, too, the home such a shaper before it, and a CUBIC upload; seed 1. All
figures are of 10 s to 30 s. Rates are bytes on the wire at the client, RTTs those of a ping.

                                     rate Mb/s    stream's mean    RTT ms     dropped
line     gateway  variant             far   near    wait ms      mean    p95  packets
";

const FROM: f64 = 10.0;
const TO: f64 = 30.0;

/// A line: its name, what differs of the path, and the capacity that a gateway is told.
type Line = (&'static str, fn() -> Value, &'static str);

const LINES: [Line; 2] = [
    ("25 Mb/s", || json!({ "capacity": "25 Mb/s" }), "25 Mb/s"),
    ("Wi-Fi", || json!({ "capacity": { "wifi": "802.11n", "streams": 1 } }), "40 Mb/s"),
];

/// The provider's, with a shaper at home.
const IN_FRONT: Line = ("provider", in_front, "25 Mb/s");

fn in_front() -> Value {
    let all = json!({ "rate": "1 Gb/s", "queue": "fq-codel" });
    let queue =
        json!({ "kind": "htb", "rate": "1 Gb/s", "default": "all", "class": { "all": all } });
    let provider = json!({ "name": "provider", "place": "in-front", "capacity": "25 Mb/s",
        "queue": { "kind": "drop-tail", "size": "250 packets" } });
    json!({ "capacity": "1 Gb/s", "forward_delay": "0 s", "queue": queue, "hop": [provider] })
}

/// The same with a queue of the provider's on the way out, and a shaper at home before that.
const UPLINK: Line = ("uplink", uplink, "25 Mb/s");

fn uplink() -> Value {
    let (game, all) = ("750 Mb/s", "250 Mb/s");
    let class = |rate, priority| json!({ "rate": rate, "ceil": "1 Gb/s", "priority": priority, "queue": "fq-codel" });
    let class = json!({ "game": with(class(game, 0), "/match", json!({ "protocol": "icmp" })), "all": class(all, 1) });
    let queue = json!({ "kind": "htb", "rate": "1 Gb/s", "default": "all", "class": class });
    let own = json!({ "name": "wan", "place": "out", "capacity": "1 Gb/s", "queue": queue });
    let back = json!({ "capacity": "5 Mb/s", "queue": { "kind": "drop-tail", "size": "125 kB" } });
    with(with(in_front(), "/back", back), "/hop/-", own)
}

/// What a gateway is told beside what the row is about.
fn needed(gateway: &str, capacity: &str) -> Value {
    match gateway {
        "sap-law" => json!({ "kind": gateway, "capacity": capacity }),
        _ => json!({ "kind": gateway }),
    }
}

/// Each option that is one of several words, with each word but its default.
fn variants(gateway: &Description) -> Vec<(String, String)> {
    let mut variants = Vec::new();
    for option in gateway.options() {
        let words: Vec<&str> = option.kind.split(", ").collect();
        if words.contains(&option.default.as_str()) {
            let others = words.iter().filter(|word| **word != option.default);
            variants.extend(others.map(|word| (option.name.clone(), (*word).to_owned())));
        }
    }
    // The order of a schema's options depends on how serde_json is built.
    variants.sort();
    variants
}

fn scenario(line: &Value, gateway: Value) -> Run {
    let mut spec = with(empty_path(30), "/path/base_rtt", json!("80 ms"));
    spec = with(spec, "/path/queue/size", json!("250 packets"));
    for (key, value) in line.as_object().unwrap() {
        spec = with(spec, &format!("/path/{key}"), value.clone());
    }
    let sends = line.get("back").is_some();
    if gateway["kind"] == "both" {
        // Above beta: what windows let wait is nothing for CoDel.
        let queue = json!({ "kind": "fq-codel", "target": "30 ms" });
        spec = with(spec, "/path/queue/class/all/queue", queue.clone());
        if sends {
            spec = with(spec, "/path/hop/1/queue/class/all/queue", queue);
        }
    }
    if sends {
        spec = with_tcp(spec, "cubic", json!({ "name": "upload", "direction": "up" }));
    }
    let spec = with_stream(spec, fixed("6 Mb/s"), json!({}));
    let spec = with_tcp(spec, "cubic", json!({ "name": "far" }));
    let spec = with_tcp(spec, "cubic", json!({ "name": "near", "base_rtt": "40 ms" }));
    let slow = json!({ "name": "slow", "rate_limit": "2 Mb/s", "stop": "15 s" });
    let spec = with_tcp(spec, "cubic", slow);
    run(&with(with_ping(spec, "20 ms"), "/path/gateway", gateway))
}

fn row(line: &str, (gateway, variant): (&str, &str), run: &Run) -> String {
    let rtts = run.rtts(FROM, TO);
    let bins = run.table("bins").between("bin_start_ns", FROM, TO);
    format!(
        "{line:<8} {gateway:<8} {variant:<18} {:>5.1} {:>6.1} {:>10.1} {:>9.1} {:>6.1} {:>8}",
        run.received_mbps("far", FROM, TO),
        run.received_mbps("near", FROM, TO),
        run.mean_wait("game", FROM, TO),
        mean(&rtts),
        quantile(&rtts, 0.95),
        bins.sum("dropped_packets"),
    )
}

pub fn table() -> String {
    let mut text = HEAD.to_owned();
    let registry = Registry::standard();
    let known = registry.path.known().gateways;
    for (line, path, told) in LINES.into_iter().chain([IN_FRONT, UPLINK]) {
        let is_shaped = [IN_FRONT.0, UPLINK.0].contains(&line);
        let mut add = |gateway: &str, variant: &str, options: Value| {
            let run = scenario(&path(), options);
            writeln!(text, "{}", row(line, (gateway, variant), &run)).unwrap();
        };
        add("none", "-", needed("none", told));
        for gateway in known.descriptions() {
            let needed = needed(gateway.name, told);
            let shapes = ["shape", "both"].contains(&gateway.name);
            if shapes && !is_shaped {
                continue;
            }
            add(gateway.name, "-", needed.clone());
            for (option, word) in variants(gateway).into_iter().filter(|_| !is_shaped) {
                let chosen = with(needed.clone(), &format!("/{option}"), json!(word));
                add(gateway.name, &format!("{option} {word}"), chosen);
            }
        }
    }
    text
}
