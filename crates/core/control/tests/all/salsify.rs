//! The rate part of Salsify on a simulated bottleneck, as two-sided bounds.

use crate::common::{Network, controller};
use gameway_testbed::fairness;
use gameway_units::Rate;

fn alone(delay: &str, noise: f64, seconds: f64) -> Network {
    let mut network = Network::usual();
    network.add(controller("salsify", &[("delay", delay)]), 0.0, noise);
    network.run_until(seconds);
    network
}

/// With D/gap packets in flight after each frame, all are reported D later: the last packet of a frame
/// arrives D less the way back of 10 ms after the frame, on a link that never idles.
#[test]
fn what_is_in_flight_arrives_within_the_set_delay() {
    for (delay, millis) in [("60 ms", 60.0), ("100 ms", 100.0)] {
        let flow = &alone(delay, 0.1, 60.0).flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((0.99..1.001).contains(&utilization), "{delay} {utilization}");
        // The first packet of a frame leaves when those before it have: up to a pause later.
        let half = flow.delay_ms(10.0, 60.0, 0.5) + 10.0;
        assert!((millis - 5.0..millis + 5.0).contains(&half), "{delay} {half}");
        let gap = flow.observed("arrival_gap_us");
        assert!((460.0..502.0).contains(&gap), "{delay} {gap}"); // 499 us a packet at 20 Mb/s
    }
}

/// D of a frame interval and a round trip just fills the link: the queue is empty before each frame.
#[test]
fn a_frame_interval_and_a_round_trip_fill_the_link_without_a_queue_between_frames() {
    for noise in [0.0, 0.1] {
        let network = alone("auto", noise, 120.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 120.0) / 20.0;
        assert!((0.97..1.001).contains(&utilization), "{utilization}");
        let queueing = flow.first_queueing_ms(10.0, 120.0, 0.95);
        assert!((0.2..5.0).contains(&queueing), "{queueing}");
        // The last packet waits for its whole frame.
        let delay = flow.delay_ms(10.0, 120.0, 0.5);
        assert!((25.0..31.0).contains(&delay), "{delay}");
        assert!((flow.observed("min_rtt_ms") - 20.5).abs() < 0.2);
        assert_eq!(network.lost_packets(0), 0);
    }
}

#[test]
fn its_target_is_the_budget_of_one_frame() {
    assert!(controller("salsify", &[]).target().requests.bounds_frame);
    assert!(!controller("gcc", &[]).target().requests.bounds_frame);
}

#[test]
fn it_starts_and_follows_within_a_few_frames() {
    let mut network = Network::usual();
    network.set_capacity(20.0, Rate::from_mbps(10));
    network.set_capacity(30.0, Rate::from_mbps(20));
    network.add(controller("salsify", &[]), 0.0, 0.1);
    network.run_until(40.0);
    let flow = &network.flows[0];
    assert!((0.9..1.001).contains(&(flow.received_mbps(0.5, 5.0) / 20.0)));
    assert!((0.9..1.001).contains(&(flow.received_mbps(20.5, 30.0) / 10.0)));
    assert!((0.9..1.001).contains(&(flow.received_mbps(30.5, 40.0) / 20.0)));
    assert!(flow.first_queueing_ms(20.5, 30.0, 0.95) < 15.0);
}

/// Nothing in the budget steers towards equal shares; frames of two flows that mix at the bottleneck still
/// halve what each takes the link for.
#[test]
fn two_flows_find_about_equal_shares() {
    let mut network = Network::usual();
    network.add(controller("salsify", &[]), 0.0, 0.1);
    network.add(controller("salsify", &[]), 10.007, 0.1);
    network.run_until(60.0);
    let rates: Vec<_> = network.flows.iter().map(|flow| flow.received_mbps(20.0, 60.0)).collect();
    assert!(fairness(&rates) > 0.9, "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 18.0, "{rates:?}");
}
