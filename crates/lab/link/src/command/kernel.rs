//! What tc must do for a path: `--backend tc`, for what the kernel offers.
//!
//! HTB has the path's capacity and the path's queue below it, and `netem` in front of either way delays. What the kernel
//! has no qdisc for, or what HTB cannot do (traces, steps, gateways, hops), is refused.

use crate::link::LinkConfig;
use gameway_experiment::spec::{BackSpec, CapacitySpec, ClassifierSpec, GatewaySpec};
use gameway_experiment::spec::{PathSpec, QueueSpec};
use gameway_experiment::{RunError, spec_error};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, QueueSize, Rate, SignedBytes};
use serde_json::Value;
use std::fmt::Display;
use std::str::FromStr;

/// A packet of 1500 bytes as a qdisc on a veth counts it: with its Ethernet header.
pub const PACKET: u64 = 1514;
/// The same on the wire of the path.
pub const IP_PACKET: u64 = 1500;
/// Disciplines here and in tc.
const NAMES: [(&str, &str); 5] = [
    ("codel", "codel"),
    ("fq-codel", "fq_codel"),
    ("pie", "pie"),
    ("cake", "cake"),
    ("dual-pi2", "dualpi2"),
];
/// Options that tc spells as experiment files do.
const TIMES: [&str; 3] = ["target", "interval", "rtt"];
/// Options of CAKE whose values are tc's own words.
const CAKE_WORDS: [&str; 3] = ["isolation", "diffserv", "framing"];
/// Options of CAKE that are words in tc: for each value its word.
const CAKE_SWITCHES: [(&str, &[(&str, &str)]); 4] = [
    ("cells", &[("none", "noatm"), ("atm", "atm"), ("ptm", "ptm")]),
    (
        "ack_filter",
        &[("off", "no-ack-filter"), ("on", "ack-filter"), ("aggressive", "ack-filter-aggressive")],
    ),
    ("ingress", &[("off", "egress"), ("on", "ingress")]),
    ("wash", &[("off", "nowash"), ("on", "wash")]),
];
const NOT_FOR_TC: &str = "is not for --backend tc";
const ONLY_HERE: &str = "leave it out, or leave out --backend tc: the user-space path has it";

/// What tc is asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// Towards the command.
    pub down: Shaper,
    /// From the command, if that way has a bottleneck.
    pub up: Option<Shaper>,
    /// Delays down and up.
    pub delays: [Duration; 2],
}

/// HTB at a rate, with a queue below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Shaper {
    /// On the wire, IP headers included.
    pub rate: Rate,
    /// The words of tc for the queue.
    pub queue: Vec<String>,
}

/// What tc must do for a path.
///
/// # Errors
/// The first key that tc has no word for.
pub fn plan(path: &PathSpec) -> Result<Plan, RunError> {
    let gateway = path.gateway.as_ref().is_some_and(|one| one.kind != GatewaySpec::NONE);
    let given = [
        ("path.jitter", path.jitter.is_some()),
        ("path.loss", path.loss.is_some()),
        ("path.duplicate", path.duplicate.is_some()),
        ("path.reorder", path.reorder.is_some()),
        ("path.stalls", path.stalls.is_some()),
        ("path.hop", !path.hop.is_empty()),
        ("path.gateway", gateway),
        ("path.classifier", path.classifier != ClassifierSpec::None),
    ];
    refuse_given(&given)?;
    let nominal = path.nominal_rtt();
    let down = path.forward_delay.unwrap_or(path.base_rtt / 2);
    Ok(Plan {
        down: shaper("path", &path.capacity, &path.queue, nominal)?,
        up: path.back.as_ref().map_or(Ok(None), |back| up(back, nominal))?,
        delays: [down, path.base_rtt - down],
    })
}

fn up(back: &BackSpec, nominal: Duration) -> Result<Option<Shaper>, RunError> {
    let given = [
        ("path.back.jitter", back.jitter.is_some()),
        ("path.back.loss", back.loss.is_some()),
        ("path.back.duplicate", back.duplicate.is_some()),
        ("path.back.reorder", back.reorder.is_some()),
    ];
    refuse_given(&given)?;
    let Some(capacity) = &back.capacity else { return Ok(None) };
    let queue = back.queue.clone().unwrap_or_else(QueueSpec::of_back);
    shaper("path.back", capacity, &queue, nominal).map(Some)
}

fn refuse_given(given: &[(&str, bool)]) -> Result<(), RunError> {
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => Err(spec_error(*field, format!("{NOT_FOR_TC}; {ONLY_HERE}"))),
        None => Ok(()),
    }
}

fn shaper(
    field: &str,
    capacity: &CapacitySpec,
    queue: &QueueSpec,
    rtt: Duration,
) -> Result<Shaper, RunError> {
    let CapacitySpec::Constant(rate) = *capacity else {
        let why = "give one rate: HTB follows neither steps nor traces nor a medium";
        return Err(spec_error(format!("{field}.capacity"), format!("{NOT_FOR_TC}; {why}")));
    };
    Ok(Shaper { rate, queue: words(&format!("{field}.queue"), queue, rate, rtt)? })
}

fn words(
    field: &str,
    queue: &QueueSpec,
    rate: Rate,
    rtt: Duration,
) -> Result<Vec<String>, RunError> {
    let mut given = RemainingOptions { field, options: queue.options.clone() };
    if queue.kind == "drop-tail" {
        given.refuse()?;
        let size = LinkConfig::queue_size(queue);
        return Ok(match (size, size.in_bytes(rate, rtt)) {
            (QueueSize::Packets(count), _) => words_of(["pfifo", "limit", &count.to_string()]),
            // So many full packets, each with the header that the kernel counts.
            (_, bytes) => {
                let bytes = bytes.map_or(0, Bytes::get) * PACKET / IP_PACKET;
                words_of(["bfifo", "limit", &bytes.to_string()])
            }
        });
    }
    let Some((_, name)) = NAMES.into_iter().find(|(kind, _)| *kind == queue.kind) else {
        let known = NAMES.map(|(kind, _)| kind).join(", ");
        let why = format!("\"{}\" {NOT_FOR_TC}; known are drop-tail, {known}", queue.kind);
        return Err(spec_error(format!("{field}.kind"), why));
    };
    let mut words = words_of([name]);
    for option in TIMES {
        match given.take(option) {
            Some(text) if text.starts_with(|letter: char| letter.is_ascii_digit()) => {
                let span: Duration = given.parsed(option, &text)?;
                words.extend([option.to_owned(), format!("{}us", span.as_nanos() / 1_000)]);
            }
            word => words.extend(word),
        }
    }
    if name == "cake" {
        words.extend(cake(&mut given)?);
    } else if let Some(ecn) = given.take("ecn") {
        words.push(if ecn == "on" { "ecn" } else { "noecn" }.to_owned());
    }
    given.refuse()?;
    // CAKE reckons its own.
    let own = (name != "cake").then(|| LinkConfig::queue_size(queue));
    let size = queue.size.or(own);
    words.extend(size.into_iter().flat_map(|size| limit(name, size, rate, rtt)));
    Ok(words)
}

/// How much a discipline that counts packets may hold, and CAKE, which counts bytes.
fn limit(name: &str, size: QueueSize, rate: Rate, rtt: Duration) -> [String; 2] {
    let (packets, bytes) = match (size, size.in_bytes(rate, rtt)) {
        (QueueSize::Packets(count), _) => (count, count * PACKET),
        (_, bytes) => {
            let bytes = bytes.map_or(0, Bytes::get);
            ((bytes / IP_PACKET).max(1), bytes)
        }
    };
    match name {
        "cake" => ["memlimit".to_owned(), bytes.to_string()],
        _ => ["limit".to_owned(), packets.to_string()],
    }
}

/// What tc has words for of a CAKE's options; overhead and cells come after framing.
fn cake(given: &mut RemainingOptions<'_>) -> Result<Vec<String>, RunError> {
    let mut words = Vec::new();
    if let Some(text) = given.take("bandwidth") {
        let rate: Rate = given.parsed("bandwidth", &text)?;
        words.extend(["bandwidth".to_owned(), format!("{}bit", rate.as_bps())]);
    }
    for option in CAKE_WORDS {
        let text = given.take(option).unwrap_or_default();
        words.extend(text.split_whitespace().map(str::to_owned));
    }
    if let Some(text) = given.take("overhead") {
        let bytes: SignedBytes = given.parsed("overhead", &text)?;
        words.extend(["overhead".to_owned(), bytes.get().to_string()]);
    }
    if let Some(text) = given.take("mpu") {
        let bytes: Bytes = given.parsed("mpu", &text)?;
        words.extend(["mpu".to_owned(), bytes.get().to_string()]);
    }
    for (option, known) in CAKE_SWITCHES {
        if let Some(value) = given.take(option) {
            let word = known.iter().find(|(written, _)| *written == value);
            words.extend(word.map(|(_, word)| (*word).to_owned()));
        }
    }
    Ok(words)
}

fn words_of<const COUNT: usize>(words: [&str; COUNT]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// Options of a queue that tc was not told of so far.
struct RemainingOptions<'a> {
    field: &'a str,
    options: Options,
}

impl RemainingOptions<'_> {
    fn take(&mut self, option: &str) -> Option<String> {
        self.options.remove(option).map(|value| match value {
            Value::String(text) => text,
            Value::Bool(on) => if on { "on" } else { "off" }.to_owned(),
            other => other.to_string(),
        })
    }

    fn parsed<T: FromStr<Err: Display>>(&self, option: &str, text: &str) -> Result<T, RunError> {
        let refused =
            |error: T::Err| spec_error(format!("{}.{option}", self.field), error.to_string());
        text.parse().map_err(refused)
    }

    /// Refuses what is left: tc has no word for it.
    fn refuse(&self) -> Result<(), RunError> {
        match self.options.keys().next() {
            Some(option) => {
                let field = format!("{}.{option}", self.field);
                Err(spec_error(field, format!("{NOT_FOR_TC}; {ONLY_HERE}")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn planned(given: Value) -> Result<Plan, String> {
        let mut path = json!({
            "capacity": "20 Mb/s", "base_rtt": "20 ms", "queue": { "kind": "drop-tail", "size": "60 kB" },
        });
        for (key, value) in given.as_object().expect("a table") {
            path[key] = value.clone();
        }
        plan(&path.try_into().expect("a path")).map_err(|error| error.to_string())
    }

    #[test]
    fn tc_is_asked_for_what_the_path_is() {
        let found = planned(json!({ "forward_delay": "12 ms", "back": { "capacity": "5 Mb/s" } }));
        let fifo = |mbps, bytes: u64| Shaper {
            rate: Rate::from_mbps(mbps),
            queue: words_of(["bfifo", "limit", &(bytes * PACKET / IP_PACKET).to_string()]),
        };
        let delays = [12, 8].map(Duration::from_millis);
        let expected = Plan { down: fifo(20, 60_000), up: Some(fifo(5, 187_500)), delays };
        assert_eq!(found, Ok(expected));
        for (queue, expected) in [
            (
                json!({ "kind": "fq-codel", "size": "100 packets", "target": "5 ms", "ecn": "off" }),
                "fq_codel target 5000us noecn limit 100",
            ),
            (json!({ "kind": "drop-tail", "size": "50 packets" }), "pfifo limit 50"),
            (json!({ "kind": "codel", "size": "30 kB" }), "codel limit 20"),
            (
                json!({
                    "kind": "cake", "bandwidth": "18 Mb/s", "rtt": "regional", "diffserv": "diffserv4",
                    "framing": "pppoe-ptm ether-vlan", "overhead": "-4 B", "mpu": "64 B", "cells": "none",
                    "ack_filter": "aggressive", "ingress": "on", "wash": "off",
                }),
                "cake regional bandwidth 18000000bit diffserv4 pppoe-ptm ether-vlan overhead -4 mpu 64 noatm \
                 ack-filter-aggressive ingress nowash",
            ),
        ] {
            let found = planned(json!({ "queue": queue })).map(|plan| plan.down.queue.join(" "));
            assert_eq!(found.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_tc_has_not_is_refused() {
        for (given, told) in [
            (json!({ "capacity": { "steps": [["0 s", "2 Mb/s"]] } }), "path.capacity: is not for"),
            (
                json!({ "loss": { "kind": "random", "probability": "1 %" } }),
                "path.loss: is not for --backend tc; leave it out",
            ),
            (json!({ "jitter": { "kind": "normal", "deviation": "1 ms" } }), "path.jitter: "),
            (
                json!({ "queue": { "kind": "drop-tail", "size": "1 bdp", "mark_above": "1 ms" } }),
                "path.queue.mark_above: is not for",
            ),
            (json!({ "queue": { "kind": "htb" } }), "path.queue.kind: \"htb\" is not for"),
            (
                json!({ "back": { "loss": { "kind": "random", "probability": "1 %" } } }),
                "path.back.loss: ",
            ),
            (json!({ "gateway": { "kind": "voap" } }), "path.gateway: "),
            (json!({ "classifier": "behaviour" }), "path.classifier: "),
        ] {
            let error = planned(given.clone()).expect_err("refused");
            assert!(error.starts_with(told), "{given}: {error}");
        }
        assert!(planned(json!({ "gateway": { "kind": "none" }, "classifier": "none" })).is_ok());
    }
}
