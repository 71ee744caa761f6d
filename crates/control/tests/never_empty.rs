//! A queue that never empties: a least bitrate as large as the capacity, or a flow that fills the queue whatever happens.
//! Who measures the queue against the least delay of some seconds takes the full queue for the empty path then. No
//! controller may send most of its packets into loss for good because of that.

mod common;

use common::{ADAPTIVE, FRAME_INTERVAL, Network, Variant, controller, controller_with};
use gameway_control::RateLimits;
use gameway_units::{Bytes, Duration, Rate};

/// The published law, whose end this is (`copa/probe_rtt.rs`).
const AS_PUBLISHED: Variant = ("copa", &[("probe_rtt", "off"), ("reduce_on_loss", "off")]);

/// 2 Mb/s, 20 ms and 100 ms of queue; 30 Mb/s at most. The limits are those of an experiment that says no others.
fn alone(variant: Variant) -> Network {
    let [min, max, start] = [2, 30, 5].map(Rate::from_mbps);
    let limits = RateLimits { min, max, start, frame_interval: FRAME_INTERVAL };
    let rtt = Duration::from_millis(20);
    let mut network = Network::new(Rate::from_mbps(2), rtt, Bytes::new(25_000));
    network.add(controller_with(variant.0, variant.1, limits), 0.0, 0.1);
    network
}

/// Beside as much as the link carries, on 20 Mb/s with 100 ms of queue.
fn beside_what_fills_it(variant: Variant) -> Network {
    let rtt = Duration::from_millis(20);
    let mut network = Network::new(Rate::from_mbps(20), rtt, Bytes::new(250_000));
    network.add(controller(variant.0, variant.1), 0.0, 0.1);
    network.add(controller("fixed", &[("bitrate", "20 Mb/s")]), 0.007, 0.1);
    network
}

/// The share of its packets that a flow lost in the last 30 s of a minute and a half, and what arrived in Mb/s.
fn lost_share(mut network: Network) -> (f64, f64) {
    network.run_until(60.0);
    let before = network.flows[0].lost_packets;
    network.run_until(90.0);
    let lost = (network.flows[0].lost_packets - before) as f64 * 1_248.0 * 8.0 / 30.0 / 1e6;
    let received = network.flows[0].received_mbps(60.0, 90.0);
    (lost / (lost + received), received)
}

fn check(network: Network, least_mbps: f64) -> Result<(), String> {
    let (share, received) = lost_share(network);
    let right = share < 0.5 && received >= least_mbps;
    if right { Ok(()) } else { Err(format!("{share:.2} lost, {received:.2} Mb/s arrive")) }
}

fn failures(network: fn(Variant) -> Network, least_mbps: f64) -> Vec<String> {
    let told = |variant: &Variant| {
        check(network(*variant), least_mbps).err().map(|why| format!("{variant:?} {why}"))
    };
    ADAPTIVE.iter().filter_map(told).collect()
}

#[test]
fn nobody_sends_most_into_loss_where_the_least_bitrate_fills_the_link() {
    assert_eq!(failures(alone, 1.7), Vec::<String>::new());
    let (share, _) = lost_share(alone(AS_PUBLISHED));
    assert!((0.8..0.97).contains(&share), "{share}");
}

/// Pudica with its least delay of 10 s and Salsify have no rule for loss in their papers, and end so beside a flow that
/// answers to nothing; that is what they are, and is said here.
#[test]
fn beside_who_fills_the_queue_whatever_happens_copa_stops_and_not_all_others_do() {
    for options in [&[][..], &[("mode", "competitive")]] {
        let (share, received) = lost_share(beside_what_fills_it(("copa", options)));
        assert!((0.2..0.5).contains(&share) && received > 2.0, "{options:?} {share} {received}");
    }
    let (share, _) = lost_share(beside_what_fills_it(AS_PUBLISHED));
    assert!((0.6..0.9).contains(&share), "{share}");
    let lost = |name| lost_share(beside_what_fills_it((name, &[]))).0;
    for name in ["gcc", "nada", "scream", "sqp"] {
        assert!(lost(name) < 0.5, "{name}");
    }
    for name in ["pudica", "salsify"] {
        assert!((0.6..0.85).contains(&lost(name)), "{name}");
    }
}
