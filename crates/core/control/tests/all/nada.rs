//! NADA on a simulated bottleneck: the level of its queue in closed form, and two-sided bounds.

use crate::common::{Network, controller, secs};
use gameway_testbed::fairness;
use gameway_units::{Bytes, Duration, Rate};

/// The highest rate of the test network's streams.
const RMAX: f64 = 50.0;

/// Median and 95th percentile of the queue in ms that a frame's first packet meets, and utilization, over
/// seconds 20 to 60 of one stream.
fn alone(capacity_mbps: u64, noise: f64, options: &[(&str, &str)]) -> (f64, f64, f64) {
    let capacity = Rate::from_mbps(capacity_mbps);
    let mut network = Network::new(capacity, Duration::from_millis(20), Bytes::new(500_000));
    network.add(controller("nada", options), 0.0, noise);
    network.run_until(60.0);
    let flow = &network.flows[0];
    let utilization = flow.received_mbps(20.0, 60.0) / capacity.as_mbps_f64();
    let queue = |share| flow.first_queueing_ms(20.0, 60.0, share);
    (queue(0.5), queue(0.95), utilization)
}

#[test]
fn the_queue_stands_at_xref_times_rmax_over_rate() {
    // Equation 5 is zero at x = PRIO XREF RMAX / r, and without loss and marks x is the queueing delay.
    // A frame's first packet meets a little less: the buffer empties faster than the link while it is full.
    let small = [("xref", "3 ms"), ("qeps", "3 ms")];
    let usual = [("xref", "10 ms"), ("qeps", "10 ms")];
    let cases = [
        (10, 10.0, usual),
        (20, 10.0, usual),
        (40, 10.0, usual),
        (20, 3.0, small),
        (40, 3.0, small),
    ];
    for (capacity, xref, options) in cases {
        let level = xref * RMAX / capacity as f64;
        let (median, high, utilization) = alone(capacity, 0.0, &options);
        assert!((level - 1.5..level).contains(&median), "{capacity} {level} {median}");
        assert!(high - median < 0.1, "{capacity} {median} {high}");
        assert!((0.999..1.001).contains(&utilization), "{capacity} {utilization}");
    }
}

#[test]
fn with_a_priority_the_queue_stands_at_priority_times_that() {
    for (capacity, priority, level) in [(20, "2", 50.0), (40, "2", 25.0), (20, "0.5", 12.5)] {
        let (median, high, utilization) = alone(capacity, 0.0, &[("priority", priority)]);
        assert!((level - 1.5..level).contains(&median), "{capacity} {priority} {median}");
        assert!(high - median < 0.1, "{capacity} {priority} {median} {high}");
        assert!((0.999..1.001).contains(&utilization), "{capacity} {utilization}");
    }
}

/// Equation 1 shrinks delays above QTH while losses are recent: from there on the signal falls as the queue
/// grows. So a flow whose level is QTH stays there only until something is lost, and then cycles: the queue
/// grows into the buffer, is cut by the losses, and on the way up is above QTH again.
#[test]
fn a_level_at_qth_does_not_survive_a_loss() {
    let after_losses = |priority: &'static str| {
        let mut network = Network::usual(); // the buffer is 200 ms
        network.feedback_blackout = Some((secs(10.0), secs(15.0)));
        network.add(controller("nada", &[("priority", priority)]), 0.0, 0.0);
        network.run_until(25.0);
        let lost = network.lost_packets(0);
        network.run_until(60.0);
        let flow = &network.flows[0];
        (flow.first_queueing_ms(25.0, 60.0, 0.95), network.lost_packets(0) - lost)
    };
    let (queue, lost) = after_losses("1"); // level 25 ms
    assert!((23.5..25.5).contains(&queue) && lost == 0, "{queue} {lost}");
    let (queue, lost) = after_losses("2"); // level 50 ms; without loss it stands there, see above
    assert!((190.0..200.0).contains(&queue), "{queue}");
    assert!((500..5_000).contains(&lost), "{lost}"); // of 60000
}

#[test]
fn a_level_below_qeps_never_rests() {
    let (_, restless, _) = alone(20, 0.0, &[("xref", "2 ms")]);
    let (_, calm, _) = alone(20, 0.0, &[("xref", "2 ms"), ("qeps", "2 ms")]);
    assert!((40.0..90.0).contains(&restless), "{restless}");
    assert!(calm < 6.0, "{calm}");
}

#[test]
fn a_noisy_encoder_adds_less_than_ten_milliseconds() {
    let (median, high, utilization) = alone(20, 0.1, &[]);
    assert!((22.0..26.0).contains(&median), "{median}");
    assert!((27.0..35.0).contains(&high), "{high}");
    assert!((0.99..1.001).contains(&utilization), "{utilization}");
}

#[test]
fn it_ramps_up_by_a_fifth_of_what_arrives() {
    // Equation 3 at 20 ms: gamma = 50 / 240. What arrives is that of the last 500 ms, a quarter of a second
    // and a round trip behind: per second the rate grows by about 1.2083^(1 / 0.3).
    let mut network = Network::usual();
    network.add(controller("nada", &[]), 0.0, 0.0);
    network.run_until(2.0);
    let flow = &network.flows[0];
    let growth = flow.target_at(1.8) / flow.target_at(0.8);
    assert!((1.6..2.0).contains(&growth), "{growth}");
}

#[test]
fn rates_are_as_priorities() {
    let run = |priority: &'static str| {
        let mut network = Network::usual();
        network.add(controller("nada", &[]), 0.0, 0.0);
        network.add(controller("nada", &[("priority", priority)]), 0.0, 0.0);
        network.run_until(80.0);
        [0, 1].map(|flow: usize| network.flows[flow].received_mbps(60.0, 80.0))
    };
    let equal = run("1");
    assert!(fairness(&equal) > 0.99, "{equal:?}");
    let [light, heavy] = run("2");
    assert!((1.7..2.3).contains(&(heavy / light)), "{light} {heavy}");
}

#[test]
fn a_halved_capacity_is_left_and_then_filled() {
    let mut network = Network::usual();
    network.set_capacity(20.0, Rate::from_mbps(10));
    network.add(controller("nada", &[]), 0.0, 0.0);
    network.run_until(40.0);
    let flow = &network.flows[0];
    assert!((18.0..20.5).contains(&flow.target_at(20.0)), "{}", flow.target_at(20.0));
    assert!((4.0..9.0).contains(&flow.target_at(21.0)), "{}", flow.target_at(21.0));
    let queue = flow.first_queueing_ms(30.0, 40.0, 0.5);
    assert!((47.0..51.0).contains(&queue), "{queue}");
}

#[test]
fn light_loss_costs_nothing_and_heavy_loss_much() {
    // At 1 % loss x gains 10 ms, which is less than the level of 25 ms; at 5 % it gains 250 ms, which is the
    // level at 10 * 50 / 250 = 2 Mb/s.
    let run = |loss_ppm: u64| {
        let mut network = Network::usual();
        network.path.loss_ppm = loss_ppm;
        network.add(controller("nada", &[]), 0.0, 0.0);
        network.run_until(60.0);
        network.flows[0].received_mbps(30.0, 60.0)
    };
    let (light, heavy) = (run(10_000), run(50_000));
    assert!((19.5..20.05).contains(&light), "{light}");
    assert!((1.5..2.5).contains(&heavy), "{heavy}");
}
