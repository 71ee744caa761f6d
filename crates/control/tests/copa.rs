//! Copa on a simulated bottleneck, as two-sided bounds.

mod common;

use common::{Network, controller, fairness, secs};
use gameway_units::Rate;

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
        assert_eq!(flow.lost_packets, 0);
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
    network.capacity.push((secs(20.0), Rate::from_mbps(10)));
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
