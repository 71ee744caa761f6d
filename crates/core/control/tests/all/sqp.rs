//! SQP on a simulated bottleneck: its fixed point in closed form, and two-sided bounds.

use crate::common::{FRAME_INTERVAL, Network, controller};
use gameway_testbed::fairness;
use gameway_units::{Bytes, Duration, Rate};

const TARGET_FACTOR: f64 = 0.9;

/// Estimate B at the end in Mb/s, utilization, and the 95th percentile of the queue in ms that a frame's
/// first packet meets, over seconds 20 to 60 of one stream.
fn alone(capacity_mbps: u64, round_trip_ms: i64, noise: f64) -> (f64, f64, f64) {
    let capacity = Rate::from_mbps(capacity_mbps);
    let round_trip = Duration::from_millis(round_trip_ms);
    let mut network = Network::new(capacity, round_trip, Bytes::new(500_000));
    network.add(controller("sqp", &[]), 0.0, noise);
    network.run_until(60.0);
    let flow = &network.flows[0];
    let utilization = flow.received_mbps(20.0, 60.0) / capacity.as_mbps_f64();
    (flow.target_at(60.0) / TARGET_FACTOR, utilization, flow.first_queueing_ms(20.0, 60.0, 0.95))
}

/// The estimate rests where the sample equals it (the step's only zero). A frame has F = T B L bits and
/// leaves at 2 B > C, so its last bit arrives F / C after the first was sent, beyond propagation. The least
/// delay is that of the first packet, which meets no queue as T B < C: beyond propagation, p / C for its p
/// bits. So S = F / (F / C - p / C) = C F / (F - p), and B = S gives T B L - p = C T L:
/// B = C + p / (T L), whatever the round-trip time.
fn fixed_point(capacity_mbps: f64) -> f64 {
    let packet_megabits = 1_248.0 * 8.0 / 1e6;
    capacity_mbps + packet_megabits / (TARGET_FACTOR * FRAME_INTERVAL.as_secs_f64())
}

#[test]
fn the_estimate_rests_at_the_fixed_point() {
    for (capacity, round_trip) in [(10, 20), (20, 4), (20, 20), (20, 100), (40, 20)] {
        let (bandwidth, utilization, queue) = alone(capacity, round_trip, 0.0);
        let expected = fixed_point(capacity as f64);
        assert!((bandwidth / expected - 1.0).abs() < 1e-3, "{capacity} {bandwidth} {expected}");
        let expected = TARGET_FACTOR * expected / capacity as f64;
        assert!((utilization / expected - 1.0).abs() < 2e-3, "{utilization} {expected}");
        assert!(queue < 0.5, "{queue}");
    }
}

#[test]
fn a_noisy_encoder_costs_hardly_anything() {
    let (_, utilization, queue) = alone(20, 20, 0.1);
    assert!((0.91..0.94).contains(&utilization), "{utilization}");
    assert!(queue < 1.5, "{queue}");
}

#[test]
fn unhindered_it_grows_by_three_quarters_of_delta_per_frame() {
    // Trains at 2 B give S = 2 B: 320 kb/s (0.25 + 0.5) for each of 60 frames a second, of which the
    // encoder gets 0.9: 12.96 Mb/s in a second.
    let mut network =
        Network::new(Rate::from_mbps(200), Duration::from_millis(20), Bytes::new(1_000_000));
    network.add(controller("sqp", &[]), 0.0, 0.0);
    network.run_until(10.0);
    let flow = &network.flows[0];
    let growth = flow.target_at(1.5) - flow.target_at(0.5);
    assert!((12.5..13.3).contains(&growth), "{growth}");
    assert!(flow.target_at(10.0) > 49.9, "{}", flow.target_at(10.0));
}

#[test]
fn a_halved_capacity_is_drained_in_a_second() {
    let mut network = Network::usual();
    network.set_capacity(10.0, Rate::from_mbps(10));
    network.add(controller("sqp", &[]), 0.0, 0.0);
    network.run_until(20.0);
    let flow = &network.flows[0];
    let worst = flow.first_queueing_ms(10.0, 10.5, 1.0);
    assert!((100.0..250.0).contains(&worst), "{worst}");
    let queue = flow.first_queueing_ms(11.0, 20.0, 0.95);
    assert!(queue < 1.0, "{queue}");
    let rate = flow.received_mbps(14.0, 20.0);
    assert!((9.3..9.8).contains(&rate), "{rate}");
}

#[test]
fn it_has_no_rule_for_loss() {
    let mut network = Network::usual();
    network.path.loss_ppm = 50_000;
    network.add(controller("sqp", &[]), 0.0, 0.0);
    network.run_until(40.0);
    let rate = network.flows[0].received_mbps(20.0, 40.0);
    assert!((16.5..18.6).contains(&rate), "{rate}");
}

/// Rates of three flows that join one after the other, and the 95th percentile of the first flow's queue.
fn three(starts: [f64; 3]) -> (Vec<f64>, f64) {
    let mut network = Network::usual();
    starts.iter().for_each(|start| network.add(controller("sqp", &[]), *start, 0.1));
    network.run_until(120.0);
    let rates = network.flows.iter().map(|flow| flow.received_mbps(90.0, 120.0)).collect();
    (rates, network.flows[0].first_queueing_ms(90.0, 120.0, 0.95))
}

#[test]
fn flows_whose_frames_take_turns_share_fairly_behind_a_standing_queue() {
    let (rates, queue) = three([0.0, 10.005_5, 20.011]);
    assert!(fairness(&rates) > 0.98, "{rates:?}");
    assert!((40.0..110.0).contains(&queue), "{queue}");
}

#[test]
fn flows_whose_frames_leave_together_do_not_share_fairly() {
    // Likely because trains that overlap whole see their share of the bytes: then any split is at rest.
    let (rates, queue) = three([0.0, 10.0, 20.0]);
    assert!((0.6..0.9).contains(&fairness(&rates)), "{rates:?}");
    assert!(queue < 10.0, "{queue}");
}
