//! Pudica on a simulated bottleneck: what the paper claims, as two-sided bounds.

use crate::common::{Network, controller, controller_with, limits, secs, three_staggered};
use gameway_control::FeedbackStyle;
use gameway_testbed::fairness;
use gameway_units::{Bytes, Duration, Rate};

/// Seconds 10 to 30 of one stream: utilization, and the 95th percentile of the queue in ms that a frame's
/// first packet meets.
fn alone(capacity_mbps: u64, frame_noise: f64, options: &[(&str, &str)]) -> (f64, f64) {
    let capacity = Rate::from_mbps(capacity_mbps);
    let mut network = Network::new(capacity, Duration::from_millis(20), Bytes::new(500_000));
    network.add(controller("pudica", options), 0.0, frame_noise);
    network.run_until(30.0);
    let flow = &network.flows[0];
    let utilization = flow.received_mbps(10.0, 30.0) / capacity.as_mbps_f64();
    (utilization, flow.first_queueing_ms(10.0, 30.0, 0.95))
}

#[test]
fn a_steady_encoder_fills_the_link_with_hardly_a_queue() {
    let (utilization, queueing) = alone(20, 0.0, &[]);
    assert!((0.93..0.99).contains(&utilization), "{utilization}");
    assert!(queueing < 1.0, "{queueing}");
}

#[test]
fn a_noisy_encoder_costs_little() {
    let (utilization, queueing) = alone(20, 0.1, &[]);
    assert!((0.88..0.97).contains(&utilization), "{utilization}");
    assert!(queueing < 5.0, "{queueing}");
}

#[test]
fn above_half_of_the_maximum_the_additive_law_leaves_headroom() {
    // Zero-net point: at 45 Mb/s the step is negative for the first 76 frames after each reset of tau.
    let (utilization, queueing) = alone(45, 0.0, &[]);
    assert!((0.85..0.95).contains(&utilization), "{utilization}");
    assert!(queueing < 1.0, "{queueing}");
}

#[test]
fn a_wide_link_is_filled_to_the_maximum_within_seconds() {
    let mut network =
        Network::new(Rate::from_mbps(200), Duration::from_millis(20), Bytes::new(1_000_000));
    network.add(controller("pudica", &[]), 0.0, 0.0);
    network.run_until(6.0);
    let flow = &network.flows[0];
    assert!(flow.target_at(0.2) < 20.0, "{}", flow.target_at(0.2));
    assert!(flow.target_at(2.0) > 49.0, "{}", flow.target_at(2.0));
}

#[test]
fn a_halved_capacity_is_drained_in_two_hundred_milliseconds() {
    let mut network = Network::usual();
    network.set_capacity(10.0, Rate::from_mbps(10));
    network.add(controller("pudica", &[]), 0.0, 0.0);
    network.run_until(15.0);
    let flow = &network.flows[0];
    let drain =
        flow.targets.iter().find(|(at, rate)| *at > secs(10.0) && *rate < Rate::from_mbps(8));
    let started = drain.map_or(f64::NAN, |(at, _)| at.as_secs_f64());
    assert!((10.05..10.16).contains(&started), "{started}");
    let queue = &network.path.queue_ms[(started * 100.0) as usize..];
    assert!(queue[0] > 50.0, "{}", queue[0]);
    let emptied = queue.iter().position(|ms| *ms < 8.0).unwrap_or(usize::MAX);
    assert!((10..=25).contains(&emptied), "{emptied} bins of 10 ms");
    let utilization = flow.received_mbps(11.0, 15.0) / 10.0;
    assert!((0.9..1.0).contains(&utilization), "{utilization}");
}

#[test]
fn a_doubled_capacity_is_filled_within_a_second() {
    let mut network = Network::usual();
    network.set_capacity(0.0, Rate::from_mbps(10));
    network.set_capacity(10.0, Rate::from_mbps(20));
    network.add(controller("pudica", &[]), 0.0, 0.0);
    network.run_until(13.0);
    let flow = &network.flows[0];
    assert!(flow.target_at(10.0) < 11.0);
    assert!((17.0..21.0).contains(&flow.target_at(10.8)), "{}", flow.target_at(10.8));
}

#[test]
fn three_staggered_streams_become_fair() {
    let three = three_staggered("pudica", &[], 6);
    let (min, mean) = (three.min_fairness, three.mean_fairness);
    assert!(mean > 0.97 && min > 0.95, "{mean} {min}");
    assert!((0.93..0.99).contains(&three.min_utilization), "{}", three.min_utilization);
    assert!((28.0..34.0).contains(&three.delay_ms), "{}", three.delay_ms);
}

#[test]
fn frames_in_step_are_shared_less_fairly() {
    // The stream whose frames come first meets what the others left of the interval before, and yields.
    // A property of any end-to-end ratio, not aimed at: the test says when it changes.
    let mut network =
        Network::new(Rate::from_mbps(30), Duration::from_millis(20), Bytes::new(750_000));
    for start in [0.0, 20.001, 40.002] {
        network.add(controller("pudica", &[]), start, 0.0);
    }
    network.run_until(60.0);
    let rates: Vec<_> = network.flows.iter().map(|f| f.received_mbps(45.0, 60.0)).collect();
    assert!(rates[0] < rates[2]);
    assert!((0.75..0.97).contains(&fairness(&rates)), "{rates:?}");
}

#[test]
fn jitter_does_not_cost_bitrate() {
    // Appendix F: 40 ms in each 500 ms.
    let mut network = Network::usual();
    network.path.jitter = Some((Duration::from_millis(500), Duration::from_millis(40)));
    network.add(controller("pudica", &[]), 0.0, 0.0);
    network.run_until(30.0);
    let utilization = network.flows[0].received_mbps(10.0, 30.0) / 20.0;
    assert!((0.9..0.99).contains(&utilization), "{utilization}");
}

#[test]
fn feedback_at_an_interval_serves_too() {
    for millis in [5, 20, 50] {
        let mut network = Network::usual();
        network.feedback_style = Some(FeedbackStyle::Interval(Duration::from_millis(millis)));
        network.add(controller("pudica", &[]), 0.0, 0.0);
        network.run_until(30.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 30.0) / 20.0;
        assert!((0.9..0.99).contains(&utilization), "{millis} ms: {utilization}");
        let queueing = flow.first_queueing_ms(10.0, 30.0, 0.95);
        assert!(queueing < 2.0, "{millis} ms: {queueing}");
    }
}

#[test]
fn without_draining_the_queue_stands() {
    let (utilization, queueing) = alone(20, 0.0, &[("draining", "off")]);
    assert!(utilization > 0.98, "{utilization}");
    assert!(queueing > 20.0, "{queueing}");
}

#[test]
fn random_loss_is_no_reason_to_yield() {
    let mut network = Network::usual();
    network.path.loss_ppm = 20_000;
    network.add(controller("pudica", &[]), 0.0, 0.0);
    network.run_until(30.0);
    let flow = &network.flows[0];
    let lost = network.lost_packets(0) as f64 / flow.frames.len() as f64;
    assert!(lost > 0.3, "{lost} packets per frame");
    let utilization = flow.received_mbps(10.0, 30.0) / 20.0;
    assert!((0.85..0.98).contains(&utilization), "{utilization}");
}

#[test]
fn a_link_below_the_minimum_is_survived() {
    let mut network =
        Network::new(Rate::from_kbps(600), Duration::from_millis(20), Bytes::new(30_000));
    network.add(controller_with("pudica", &[], limits()), 0.0, 0.1);
    network.run_until(20.0);
    let flow = &network.flows[0];
    assert!(flow.targets.iter().all(|(_, rate)| *rate >= limits().min));
    assert!((0.9..1.01).contains(&(flow.received_mbps(10.0, 20.0) / 0.6)));
}
