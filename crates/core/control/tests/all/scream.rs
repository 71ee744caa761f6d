//! SCReAM on a simulated bottleneck and on a smooth fluid path, as two-sided bounds.

use crate::common::{Network, controller, controller_with, limits, secs};
use gameway_control::{
    Ecn, FeedbackBatch, FrameId, PacketReport, RateController, RateLimits, SentPacket,
    SequenceNumber,
};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};

#[test]
fn alone_it_fills_the_link_with_a_queue_of_about_half_its_target() {
    for (noise, max_ms) in [(0.0, 32.0), (0.1, 36.0)] {
        let mut network = Network::usual();
        network.add(controller("scream", &[]), 0.0, noise);
        network.run_until(60.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((0.97..1.001).contains(&utilization), "{utilization}");
        let queueing = flow.first_queueing_ms(10.0, 60.0, 0.95);
        assert!((22.0..max_ms).contains(&queueing), "{queueing}");
        assert_eq!(network.lost_packets(0), 0);
    }
}

#[test]
fn the_queue_follows_the_delay_target() {
    for (target, min_ms, max_ms) in [("20 ms", 4.0, 13.0), ("120 ms", 50.0, 70.0)] {
        let mut network = Network::usual();
        network.add(controller("scream", &[("queue_delay_target", target)]), 0.0, 0.0);
        network.run_until(40.0);
        let flow = &network.flows[0];
        let queueing = flow.first_queueing_ms(10.0, 40.0, 0.95);
        assert!((min_ms..max_ms).contains(&queueing), "{target} {queueing}");
        let utilization = flow.received_mbps(10.0, 40.0) / 20.0;
        assert!((0.9..1.001).contains(&utilization), "{target} {utilization}");
    }
}

/// Frames pass in bursts, so the marks come in bursts at their ends. With the draft's filter that takes
/// few of them (see below); with DCTCP's there are two to three times as many, at the same utilization.
#[test]
fn marks_above_a_threshold_keep_the_queue_below_it() {
    for (threshold, min, max) in [(1, 0.68, 0.8), (4, 0.85, 0.95)] {
        let mut network = Network::usual();
        network.path.mark_above = Some(Duration::from_millis(threshold));
        network.add(controller("scream", &[("ecn", "l4s")]), 0.0, 0.1);
        network.run_until(60.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((min..max).contains(&utilization), "{threshold} {utilization}");
        assert!(flow.first_queueing_ms(10.0, 60.0, 0.95) < 1.0);
        let longest = network.path.queue_ms[1_000..].iter().fold(0.0, |max: f64, ms| max.max(*ms));
        assert!(longest < threshold as f64 + 2.0, "{threshold} {longest}");
        let virtual_rtts = 60.0 / 0.025;
        let marks = flow.marked as f64 / virtual_rtts;
        assert!((0.45..0.85).contains(&marks), "{threshold} {marks}");
    }
}

#[test]
fn frames_are_marked_more_with_the_filter_of_dctcp_and_marks_may_be_random() {
    let marks = |filter: &str, ramp: i64| {
        let mut network = Network::usual();
        network.path.mark_above = Some(Duration::from_millis(4));
        network.path.mark_ramp = Duration::from_millis(ramp);
        network.add(controller("scream", &[("alpha_filter", filter)]), 0.0, 0.1);
        network.run_until(60.0);
        let flow = &network.flows[0];
        let utilization = flow.received_mbps(10.0, 60.0) / 20.0;
        assert!((0.87..0.98).contains(&utilization), "{filter} {ramp} {utilization}");
        flow.marked as f64 / (60.0 / 0.025)
    };
    for ramp in [0, 8] {
        let (draft, dctcp) = (marks("fast-attack", ramp), marks("symmetric", ramp));
        assert!((0.5..0.85).contains(&draft), "{ramp} {draft}");
        assert!((1.4..2.1).contains(&dctcp), "{ramp} {dctcp}");
    }
}

#[test]
fn marks_are_read_as_the_option_says() {
    let run = |ecn: &str| {
        let mut network = Network::usual();
        network.path.mark_above = Some(Duration::from_millis(4));
        network.add(controller("scream", &[("ecn", ecn)]), 0.0, 0.1);
        network.run_until(40.0);
        let flow = &network.flows[0];
        (flow.received_mbps(10.0, 40.0), flow.first_queueing_ms(10.0, 40.0, 0.95))
    };
    let (off, classic, l4s) = (run("off"), run("classic"), run("l4s"));
    assert!(off.1 > 20.0 && classic.1 < 5.0 && l4s.1 < 5.0, "{off:?} {classic:?} {l4s:?}");
    // A fixed cut for each mark costs more than one in proportion to how many there are.
    assert!(classic.0 < 0.97 * l4s.0 && classic.0 > 0.6 * l4s.0, "{classic:?} {l4s:?}");
}

/// A path on which every report tells of packets of 1000 B, sent a round trip ago.
struct SmoothPath {
    controller: Box<dyn RateController>,
    now: Instant,
    carry: f64,
    sequence: u64,
    /// Which packets are marked is random; else they are evenly spread.
    random: bool,
    marks_due: f64,
    marks: u64,
}

impl SmoothPath {
    const STEP: Duration = Duration::from_millis(5);

    fn new(options: &[(&str, &str)]) -> Self {
        let limits = RateLimits { max: Rate::from_mbps(500), ..limits() };
        let controller = controller_with("scream", options, limits);
        let (now, random) = (secs(1.0), false);
        Self { controller, now, carry: 0.0, sequence: 0, random, marks_due: 0.0, marks: 0 }
    }

    fn observed(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.controller.observe(&mut |variable, value| {
            if variable == name {
                found = value;
            }
        });
        found
    }

    /// One report: at this rate (B/s) and round-trip time, this share marked, evenly.
    fn step(&mut self, bytes_per_sec: f64, rtt: Duration, marked_share: f64) {
        self.now += Self::STEP;
        self.carry += bytes_per_sec * Self::STEP.as_secs_f64() / 1_000.0;
        let count = self.carry as u64;
        self.carry -= count as f64;
        let reports: Vec<_> = (0..count).map(|_| self.report(rtt, marked_share)).collect();
        let in_flight = Bytes::from_f64(bytes_per_sec * rtt.as_secs_f64() - 1e3 * count as f64);
        let generated = ReceiverInstant::from_nanos((self.now - rtt / 2).as_nanos());
        let batch = FeedbackBatch::new(&reports, generated, in_flight);
        self.controller.on_feedback(self.now, &batch);
        for report in &reports {
            self.controller.on_sent(self.now, &report.packet);
        }
    }

    fn report(&mut self, rtt: Duration, marked_share: f64) -> PacketReport {
        self.marks_due += marked_share;
        self.sequence += 1;
        let random = gameway_testbed::hash(self.sequence) as f64 / u64::MAX as f64;
        let marked = if self.random { random < marked_share } else { self.marks_due >= 1.0 };
        if marked {
            self.marks_due -= 1.0;
            self.marks += 1;
        }
        let packet = SentPacket::new(
            SequenceNumber(self.sequence),
            self.now - rtt,
            FrameId(0),
            Bytes::new(1_000),
        );
        let arrival = ReceiverInstant::from_nanos((self.now - rtt / 2).as_nanos());
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect1 };
        PacketReport::new(packet, Some(arrival)).with_ecn(ecn)
    }
}

/// How the queue of the smooth path marks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Marking {
    /// All that waited 2 ms.
    Step,
    /// A share from 0 at 1 ms to 1 at 21 ms, evenly spread.
    Even,
    /// With that probability.
    Random,
}

/// The whole window in flight, self-clocked, at 20 Mb/s: what exceeds the base round trip waits. Gives, per
/// round trip, the marks, and alpha in packets of the window summed over reactions; and the mean round trip.
fn steady_state(filter: &str, marking: Marking, base: Duration) -> (f64, f64, f64) {
    let capacity = 2.5e6;
    let mut path = SmoothPath::new(&[("ecn", "l4s"), ("alpha_filter", filter)]);
    path.random = marking == Marking::Random;
    let (mut round_trips, mut believed) = (0.0, 0.0);
    for step in 0..24_000 {
        let window = path.observed("reference_window_bytes");
        let queue = (window / capacity - base.as_secs_f64()).max(0.0);
        let rtt = base + Duration::from_secs_f64(queue);
        let share = match marking {
            Marking::Step => f64::from(u8::from(queue > 0.002)),
            Marking::Even | Marking::Random => ((queue - 0.001) / 0.02).clamp(0.0, 1.0),
        };
        if step == 12_000 {
            (path.marks, round_trips, believed) = (0, 0.0, 0.0);
        }
        path.step(window / rtt.as_secs_f64(), rtt, share);
        round_trips += SmoothPath::STEP / rtt;
        if path.observed("reference_window_bytes") < window {
            believed += path.observed("l4s_alpha") * window / 1e3;
        }
    }
    let mean_rtt = 12_000.0 * SmoothPath::STEP.as_millis_f64() / round_trips;
    (path.marks as f64 / round_trips, believed / round_trips, mean_rtt)
}

/// Growth is a segment per virtual round trip of 25 ms and a reaction takes alpha / 2 of the window, so
/// alpha times the window, summed over reactions, is two segments: the draft's two marks per round trip.
/// That holds for any marks, either filter and (with the damping of both sides) any round trip.
#[test]
fn reactions_take_two_segments_per_virtual_round_trip() {
    for filter in ["fast-attack", "symmetric"] {
        for marking in [Marking::Step, Marking::Even, Marking::Random] {
            for base in [10, 25, 50] {
                let (marks, believed, rtt) =
                    steady_state(filter, marking, Duration::from_millis(base));
                // Marked packets are no growth; 2.5 packets pass in a millisecond.
                let growth = 1.0 - marks / (2.5 * rtt);
                let segments = believed / (rtt / 25.0) / growth;
                assert!((1.9..2.15).contains(&segments), "{filter} {marking:?} {base} {segments}");
            }
        }
    }
}

/// How many real marks that takes: the closed forms at the head of `l4s_alpha`.
#[test]
fn real_marks_are_two_with_the_filter_of_dctcp_and_one_with_the_drafts() {
    let cases = [
        ("symmetric", Marking::Even, 2.0),
        ("symmetric", Marking::Random, 2.115),
        ("fast-attack", Marking::Even, 0.89),
        ("fast-attack", Marking::Random, 1.0),
    ];
    for (filter, marking, expected) in cases {
        let (marks, _, _) = steady_state(filter, marking, Duration::from_millis(25));
        let ratio = marks / expected;
        assert!((0.94..1.04).contains(&ratio), "{filter} {marking:?} {marks}");
    }
}

#[test]
fn a_source_below_its_target_does_not_inflate_the_window() {
    let rtt = Duration::from_millis(40);
    let run = |bytes_per_sec: f64| {
        let mut path = SmoothPath::new(&[]);
        let mut largest: f64 = 0.0;
        for _ in 0..12_000 {
            path.step(bytes_per_sec, rtt, 0.0);
            largest = largest.max(path.observed("reference_window_bytes"));
        }
        (path.observed("reference_window_bytes"), largest)
    };
    // 2 Mb/s for a minute: 10000 B in flight, so at most 1000 + 1.5 x 10000. The start at 5 Mb/s is more.
    let (end, largest) = run(250_000.0);
    assert!((29_000.0..33_000.0).contains(&largest), "{largest}");
    assert!((end - largest).abs() < 1.0, "{end} {largest}");
    // 10 Mb/s: 50000 B in flight.
    let (end, _) = run(1_250_000.0);
    assert!((74_000.0..78_000.0).contains(&end), "{end}");
}

#[test]
fn after_a_long_time_at_the_largest_bitrate_it_still_notices_a_narrow_link() {
    let mut network = Network::usual();
    network.set_capacity(30.0, Rate::from_mbps(4));
    let limits = RateLimits { max: Rate::from_mbps(8), ..limits() };
    network.add(controller_with("scream", &[], limits), 0.0, 0.0);
    network.run_until(40.0);
    let flow = &network.flows[0];
    assert!(flow.target_at(29.0) > 7.999, "{}", flow.target_at(29.0));
    assert!((2.0..4.5).contains(&flow.target_at(31.5)), "{}", flow.target_at(31.5));
    assert!((0.9..1.001).contains(&(flow.received_mbps(34.0, 40.0) / 4.0)));
}

#[test]
fn loss_lowers_it_and_the_option_says_how_much() {
    let run = |loss_ppm: u64, beta: &str| {
        let mut network = Network::usual();
        network.path.loss_ppm = loss_ppm;
        network.add(controller("scream", &[("loss_beta", beta)]), 0.0, 0.0);
        network.run_until(40.0);
        network.flows[0].received_mbps(10.0, 40.0)
    };
    let (none, rare, frequent) = (run(0, "0.7"), run(1_000, "0.7"), run(10_000, "0.7"));
    let deaf = run(10_000, "1");
    assert!(none > 19.0 && deaf > 19.0, "{none} {deaf}");
    assert!((8.0..19.0).contains(&rare), "{rare}");
    assert!((1.0..6.0).contains(&frequent), "{frequent}");
}

#[test]
fn two_flows_share_the_link() {
    let mut network = Network::usual();
    network.add(controller("scream", &[]), 0.0, 0.1);
    network.add(controller("scream", &[]), 10.0, 0.1);
    network.run_until(90.0);
    let rates = [0, 1].map(|flow: usize| network.flows[flow].received_mbps(60.0, 90.0));
    let fairness = gameway_testbed::fairness(&rates);
    assert!(fairness > 0.7, "{fairness} {rates:?}");
    assert!((18.5..20.01).contains(&(rates[0] + rates[1])), "{rates:?}");
}
