//! GCC on a simulated bottleneck, as two-sided bounds.

mod common;

use common::{Network, controller, controller_with, limits, secs};
use gameway_control::RateLimits;
use gameway_units::Rate;

#[test]
fn start_probes_reach_the_capacity_within_a_second() {
    let slow = RateLimits { min: Rate::from_kbps(500), start: Rate::from_mbps(1), ..limits() };
    let mut network = Network::usual();
    network.add(controller_with("gcc", &[], slow), 0.0, 0.0);
    network.run_until(30.0);
    let flow = &network.flows[0];
    let reached = flow.targets.iter().find(|(_, rate)| *rate > Rate::from_mbps(17));
    let (at, rate) = reached.copied().unwrap_or_default();
    assert!(at > secs(0.1) && at < secs(1.0), "{at}");
    assert!(rate < Rate::from_mbps(22), "{rate}");
    // The last train's queue is taken for overuse before anything is known of what arrives: one halving,
    // and growth by 8 % a second from there.
    let second = flow.target_at(2.0);
    assert!((9.0..14.0).contains(&second), "{second}");
    let utilization = flow.received_mbps(10.0, 30.0) / 20.0;
    assert!((0.8..1.0).contains(&utilization), "{utilization}");
}

#[test]
fn without_start_probes_it_grows_by_eight_percent_a_second() {
    let slow = RateLimits { start: Rate::from_mbps(2), ..limits() };
    let mut network = Network::usual();
    network.add(controller_with("gcc", &[("startup_probing", "off")], slow), 0.0, 0.0);
    network.run_until(12.0);
    let flow = &network.flows[0];
    let growth = flow.target_at(11.0) / flow.target_at(1.0);
    assert!((2.0..2.35).contains(&growth), "{growth}"); // 1.08^10 = 2.16
}

#[test]
fn alone_it_uses_most_of_the_link() {
    for noise in [0.0, 0.1] {
        let mut network = Network::usual();
        network.add(controller("gcc", &[]), 0.0, noise);
        network.run_until(60.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((0.75..0.98).contains(&utilization), "{utilization}");
        let queueing = flow.first_queueing_ms(10.0, 60.0, 0.95);
        assert!(queueing < 20.0, "{queueing}");
    }
}

#[test]
fn a_halved_capacity_is_followed_within_a_second() {
    let mut network = Network::usual();
    network.capacity.push((secs(20.0), Rate::from_mbps(10)));
    network.add(controller("gcc", &[]), 0.0, 0.0);
    network.run_until(30.0);
    let flow = &network.flows[0];
    assert!(flow.target_at(20.0) > 14.0, "{}", flow.target_at(20.0));
    assert!((7.0..10.0).contains(&flow.target_at(21.5)), "{}", flow.target_at(21.5));
    assert!((0.75..1.0).contains(&(flow.received_mbps(22.0, 30.0) / 10.0)));
}

/// A decrease is to `backoff` times what arrives (draft-ietf-rmcat-gcc-02 section 5.5), less 5 kb/s.
#[test]
fn a_decrease_leaves_its_share_of_what_arrives() {
    for (backoff, share) in [("0.85", 0.85), ("0.7", 0.7)] {
        let mut network = Network::usual();
        network.capacity.push((secs(20.0), Rate::from_mbps(10)));
        network.add(controller("gcc", &[("backoff", backoff)]), 0.0, 0.0);
        network.run_until(21.0);
        let after = network.flows[0].targets.iter().filter(|(at, _)| *at > secs(20.0));
        let least = after.map(|(_, rate)| rate.as_mbps_f64()).fold(f64::INFINITY, f64::min);
        // What arrives is measured over windows of 150 ms, to a few packets.
        let expected = share * 10.0 - 0.005;
        assert!((least / expected - 1.0).abs() < 0.02, "{backoff} {least}");
    }
}

#[test]
fn heavy_loss_lowers_it_and_light_loss_does_not() {
    let run = |loss_ppm: u64| {
        let mut network = Network::usual();
        network.loss_ppm = loss_ppm;
        network.add(controller("gcc", &[]), 0.0, 0.0);
        network.run_until(30.0);
        network.flows[0].target_at(30.0)
    };
    let (light, heavy) = (run(10_000), run(250_000));
    assert!(light > 12.0, "{light}");
    assert!(heavy < 5.0, "{heavy}");
}
