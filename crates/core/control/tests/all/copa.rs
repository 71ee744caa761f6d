//! Copa on a simulated bottleneck, as two-sided bounds.

use crate::common::{FRAME_INTERVAL, Network, controller, controller_with, secs};
use crate::copa_model::{Model, Source};
use gameway_control::RateLimits;
use gameway_testbed::fairness;
use gameway_units::{Bytes, Duration, Rate};

/// Packets of 1248 B that 20 Mb/s carry in a millisecond.
const PACKETS_PER_MS: f64 = 20e6 / 8.0 / 1_248.0 / 1e3;

/// Packets in the queue that half of the first packets of frames meet.
fn queued_packets(delta: &str, flows: usize) -> f64 {
    let mut network = Network::usual();
    for flow in 0..flows {
        network.add(controller("copa", &[("delta", delta)]), 0.007 * flow as f64, 0.1);
    }
    network.run_until(60.0);
    network.flows[0].first_queueing_ms(20.0, 60.0, 0.5) * PACKETS_PER_MS
}

/// Section 2.1: a rate of 1/(delta d) means rate * d = 1/delta packets queued by each flow.
#[test]
fn one_over_delta_packets_stand_in_the_queue_for_each_flow() {
    let (ten, twenty) = (queued_packets("0.1", 1), queued_packets("0.05", 1));
    assert!((8.0..12.5).contains(&ten), "{ten}");
    assert!((16.0..25.0).contains(&twenty), "{twenty}");
    let two_flows = queued_packets("0.1", 2);
    assert!((16.0..25.0).contains(&two_flows), "{two_flows}");
}

#[test]
fn alone_it_uses_the_link_in_either_mode() {
    for (mode, noise) in [("default", 0.0), ("default", 0.1), ("competitive", 0.1)] {
        let mut network = Network::usual();
        network.add(controller("copa", &[("mode", mode)]), 0.0, noise);
        network.run_until(60.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((0.96..1.0).contains(&utilization), "{mode} {utilization}");
        let queueing = flow.first_queueing_ms(10.0, 60.0, 0.95);
        assert!((5.0..13.0).contains(&queueing), "{mode} {queueing}");
        assert!(flow.delay_ms(10.0, 60.0, 0.95) < 50.0);
        assert_eq!(network.lost_packets(0), 0);
    }
}

#[test]
fn two_flows_share_evenly() {
    let mut network = Network::usual();
    network.add(controller("copa", &[]), 0.0, 0.1);
    network.add(controller("copa", &[]), 10.007, 0.1);
    network.run_until(60.0);
    let rates: Vec<_> = network.flows.iter().map(|flow| flow.received_mbps(20.0, 60.0)).collect();
    assert!(fairness(&rates) > 0.95, "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 18.0, "{rates:?}");
}

/// Without the term for what is late, a queue at the sender would stay as long as it once was.
#[test]
fn what_waits_at_the_sender_after_a_halving_drains() {
    let mut network = Network::usual();
    network.set_capacity(20.0, Rate::from_mbps(10));
    network.add(controller("copa", &[]), 0.0, 0.1);
    let (mut longest, mut sum) = (0.0_f64, 0.0);
    for step in 0..1_900 {
        network.run_until(21.0 + f64::from(step) * 0.01);
        let late = network.flows[0].observed("late_bytes") / 1_250.0; // in ms at 10 Mb/s
        (longest, sum) = (longest.max(late), sum + late);
    }
    let mean = sum / 1_900.0;
    assert!(mean > 0.0 && mean < 20.0, "{mean}");
    assert!(longest < 60.0, "{longest}");
    let flow = &network.flows[0];
    let utilization = flow.received_mbps(21.0, 40.0) / 10.0;
    assert!((0.93..1.0).contains(&utilization), "{utilization}");
    assert!(flow.delay_ms(21.0, 40.0, 0.95) < 90.0, "{}", flow.delay_ms(21.0, 40.0, 0.95));
}

/// Against a flow that keeps D of 60 ms in flight whatever Copa does, so that the queue never empties.
#[test]
fn the_mode_switch_keeps_its_share_from_a_flow_that_fills_the_queue() {
    let share = |mode: &str| {
        let mut network = Network::usual();
        network.add(controller("copa", &[("mode", mode)]), 0.0, 0.1);
        network.add(controller("salsify", &[("delay", "60 ms")]), 10.007, 0.1);
        network.run_until(60.0);
        network.flows[0].received_mbps(20.0, 60.0) / 20.0
    };
    let (constant, switching) = (share("default"), share("competitive"));
    assert!((0.15..0.35).contains(&constant), "{constant}");
    assert!((0.4..0.65).contains(&switching), "{switching}");
}

/// Utilization, and the queue that the first packets of frames meet on average as a multiple of 1.25/delta packets.
fn steady_frames(mbps: u64, rtt_ms: i64) -> (f64, f64) {
    let [min, max, start] = [2, 80, 5].map(Rate::from_mbps);
    let limits = RateLimits { min, max, start, frame_interval: FRAME_INTERVAL };
    let queue = Bytes::new(mbps * 25_000); // 200 ms
    let rtt = Duration::from_millis(rtt_ms);
    let mut network = Network::new(Rate::from_mbps(mbps), rtt, queue);
    network.add(controller_with("copa", &[], limits), 0.0, 0.0);
    network.run_until(60.0);
    let flow = &network.flows[0];
    let met = flow.frames.iter().filter(|frame| frame.captured > secs(20.0));
    let met: Vec<_> = met.filter_map(|frame| frame.first_queueing).collect();
    let mean = met.iter().map(|wait| wait.as_secs_f64()).sum::<f64>() / met.len() as f64;
    (flow.received_mbps(20.0, 60.0) / mbps as f64, mean * mbps as f64 * 1e6 / 8.0 / 1_248.0 / 12.5)
}

/// The paper's sender always has data. One that makes frames of window / smoothed round trip leaves a window that grows
/// unfilled for a round trip: the same rules swing then, and the controller would.
#[test]
fn a_window_that_is_kept_full_rests_at_long_round_trips_and_another_swings() {
    let rests = |(utilization, packets): (f64, f64)| utilization >= 0.98 && packets <= 2.0;
    for (mbps, rtt_ms) in [(20, 20), (20, 120), (35, 40), (35, 80), (35, 100), (35, 120)] {
        let (found, model) =
            (steady_frames(mbps, rtt_ms), Model::new(Source::Backlogged, mbps, rtt_ms).run());
        assert!(rests(found) && found.1 > 0.5, "{mbps} Mb/s, {rtt_ms} ms: {found:?}");
        assert!(rests(model) && model.1 > 0.5, "{mbps} Mb/s, {rtt_ms} ms: {model:?}");
    }
    let frames = Model::new(Source::Frames, 35, 120).run();
    assert!(!rests(frames), "{frames:?}");
}
