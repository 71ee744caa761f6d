//! Marks end to end: who may be marked, what is fed back, and what each congestion control makes of it.

mod common;

use common::{Flow, Mark, Network, Random};
use gameway_tcp::{Algorithm, EcnMode, MAXIMUM_SEGMENT_SIZE};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::cell::RefCell;
use std::rc::Rc;

const CAPACITY: Rate = Rate::from_mbps(40);

fn flow(algorithm: Algorithm, ecn: EcnMode) -> Flow {
    Flow::ecn(algorithm.build(MAXIMUM_SEGMENT_SIZE, 7), ecn)
}

fn network(rtt: Duration, flows: Vec<Flow>) -> Network {
    let queue = Bytes::new((CAPACITY * rtt).get() * 4);
    Network::new(CAPACITY, rtt, queue, flows)
}

fn seconds(count: i64) -> Instant {
    Instant::ZERO + Duration::from_secs(count)
}

/// Marks at random, whatever the queue.
fn at_random(probability: f64) -> Option<Mark> {
    let mut random = Random(11);
    Some(Box::new(move |_, _| random.unit() < probability))
}

/// Marks whatever meets a backlog above this.
fn above(step: Bytes) -> Option<Mark> {
    Some(Box::new(move |_, backlog| backlog > step))
}

/// Payload that arrives in `span`.
fn delivered(net: &mut Network, span: Duration) -> f64 {
    let before = net.flows[0].receiver.received();
    net.run_for(span);
    (net.flows[0].receiver.received() - before).as_f64()
}

/// Marks at random with probability `p`: in a round of `w` segments `m = p w` are marked. A reduction
/// by `m / 2` segments waits for a round and then for the next mark, a share `1 / m` of a round, in
/// which `1 - p` segments are added per round: `m / 2 = (1 - p) (1 + 1 / m)`, near 2.7 for small `p`.
fn marks_per_round(p: f64) -> f64 {
    (1.0 - p) + ((1.0 - p) * (1.0 - p) + 2.0 * (1.0 - p)).sqrt()
}

#[test]
fn prague_settles_where_a_round_has_some_two_marks_and_short_rounds_count_as_25_ms() {
    for (rtt, round) in [(10, 25), (20, 25), (30, 30), (50, 50)] {
        for p in [0.02, 0.05] {
            let rtt = Duration::from_millis(rtt);
            let mut net = network(rtt, vec![flow(Algorithm::Prague, EcnMode::Accurate)]);
            net.capacity = Rate::from_mbps(1000);
            net.mark = at_random(p);
            net.run_until(seconds(20));
            let marked = net.marked;
            net.run_for(Duration::from_secs(60));
            let rounds = 60_000.0 / f64::from(round);
            let ratio = (net.marked - marked) as f64 / rounds / marks_per_round(p);
            assert!((0.9..1.05).contains(&ratio), "{rtt}, p = {p}: {ratio} of the closed form");
        }
    }
}

/// A step marks for a whole round once it is passed, so that marks come in runs: then a round has
/// `sqrt(2 w)` of them (Alizadeh et al. 2010, section 3.3). Pacing makes the runs shorter.
#[test]
fn prague_keeps_the_link_full_and_the_queue_below_the_step() {
    for rtt in [10, 30, 50] {
        let rtt = Duration::from_millis(rtt);
        let mut net = network(rtt, vec![flow(Algorithm::Prague, EcnMode::Accurate)]);
        net.mark = above(CAPACITY * Duration::from_millis(1));
        net.run_until(seconds(20));
        let marked = net.marked;
        net.restart_measurement();
        net.run_for(Duration::from_secs(40));
        let rounds = 40.0 / rtt.as_secs_f64();
        let (per_round, window) =
            ((net.marked - marked) as f64 / rounds, net.bdp().as_f64() / 1500.0);
        let virtual_rounds = (25.0 / rtt.as_millis_f64()).max(1.0);
        let bounds = 2.0..(2.0 * window).sqrt();
        assert!(bounds.contains(&(per_round * virtual_rounds)), "{rtt}: {per_round} marks");
        let (used, queued) = (net.utilization(), net.mean_backlog() / 5000.0);
        assert!(used > 0.975, "{rtt}: {used} of the capacity");
        assert!((0.2..1.0).contains(&queued), "{rtt}: {queued} ms");
        assert!(net.backlog_max < CAPACITY * Duration::from_micros(2500), "{}", net.backlog_max);
        assert_eq!(net.flows[0].sender.stats().retransmissions, 0);
    }
}

#[test]
fn the_first_mark_ends_slow_start_and_halves() {
    let mut net =
        network(Duration::from_millis(30), vec![flow(Algorithm::Prague, EcnMode::Accurate)]);
    net.mark = above(CAPACITY * Duration::from_millis(1));
    let mut largest = Bytes::ZERO;
    while net.flows[0].sender.stats().ssthresh > Bytes::new(1 << 40) {
        largest = net.flows[0].sender.stats().cwnd;
        assert!(net.step(seconds(5)), "slow start ends");
    }
    net.run_for(Duration::from_millis(30));
    let ratio = net.flows[0].sender.stats().ssthresh.as_f64() / largest.as_f64();
    assert!((0.45..0.55).contains(&ratio), "{ratio}");
}

/// What leaves how: the codepoint of new data, and of all else none (RFC 3168 sections 6.1.1, 6.1.4
/// to 6.1.6).
#[test]
fn only_new_data_is_ecn_capable() {
    let cases = [
        (Algorithm::Cubic, EcnMode::Off, Ecn::NotEct),
        (Algorithm::Cubic, EcnMode::Classic, Ecn::Ect0),
        (Algorithm::Cubic, EcnMode::Accurate, Ecn::Ect0),
        (Algorithm::Bbr, EcnMode::Classic, Ecn::Ect0),
        (Algorithm::Prague, EcnMode::Accurate, Ecn::Ect1),
        // Classic feedback cannot carry what L4S promises.
        (Algorithm::Prague, EcnMode::Classic, Ecn::NotEct),
    ];
    for (algorithm, ecn, expected) in cases {
        let mut net = network(Duration::from_millis(20), vec![flow(algorithm, ecn)]);
        let (mut highest, mut random, mut repeated) = (0, Random(3), 0);
        let seen = Rc::new(RefCell::new(0));
        let count = Rc::clone(&seen);
        net.lose = Some(Box::new(move |segment| {
            let new = segment.length > 0 && segment.sequence >= highest;
            repeated += u32::from(segment.length > 0 && !new);
            assert_eq!(segment.ecn, if new { expected } else { Ecn::NotEct }, "{segment:?}");
            highest = highest.max(segment.end());
            *count.borrow_mut() = repeated;
            segment.length > 0 && random.unit() < 0.01
        }));
        net.run_until(seconds(5));
        let stop = net.now;
        net.flows[0].sender.stop(stop);
        net.pump_all();
        net.run_for(Duration::from_secs(5));
        assert!(net.flows[0].sender.is_finished());
        assert!(*seen.borrow() > 10, "{algorithm:?} {ecn:?}: hardly a retransmission");
    }
}

/// A mark reduces as a loss does: for the same probability, the same rate.
#[test]
fn marks_work_as_losses_do_but_nothing_is_sent_again() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic, Algorithm::Bic] {
        let rate = |ecn| {
            let mut net = network(Duration::from_millis(20), vec![flow(algorithm, ecn)]);
            net.capacity = Rate::from_mbps(1000);
            net.queue_limit = Bytes::new(10_000_000);
            if ecn == EcnMode::Off {
                net.loss = 0.002
            } else {
                net.mark = at_random(0.002)
            }
            net.run_until(seconds(10));
            let rate = delivered(&mut net, Duration::from_secs(200));
            let stats = net.flows[0].sender.stats();
            assert_eq!(stats.retransmissions > 0, ecn == EcnMode::Off);
            rate
        };
        let lossy = rate(EcnMode::Off);
        for ecn in [EcnMode::Classic, EcnMode::Accurate] {
            let ratio = rate(ecn) / lossy;
            assert!((0.9..1.1).contains(&ratio), "{algorithm:?} {ecn:?}: {ratio}");
        }
    }
}

#[test]
fn bbr_ignores_marks_and_says_that_it_has_heard() {
    let rate = |marks: f64| {
        let mut net =
            network(Duration::from_millis(20), vec![flow(Algorithm::Bbr, EcnMode::Classic)]);
        net.mark = at_random(marks);
        net.run_until(seconds(20));
        assert_eq!(net.flows[0].sender.stats().recoveries, 0);
        delivered(&mut net, Duration::ZERO) + net.flows[0].receiver.received().as_f64()
    };
    assert!((rate(0.1) / rate(0.0) - 1.0).abs() < 1e-3);
}

/// Many ACKs lost, many marks: what the sender was told is what the path did.
#[test]
fn accurate_feedback_survives_the_loss_of_acks() {
    for (algorithm, probability) in [(Algorithm::Prague, 0.3), (Algorithm::Cubic, 0.02)] {
        let mut net = network(Duration::from_millis(20), vec![flow(algorithm, EcnMode::Accurate)]);
        net.mark = at_random(probability);
        net.run_until(seconds(1));
        net.ack_loss = 0.4;
        net.run_until(seconds(20));
        let stop = net.now;
        net.ack_loss = 0.0;
        net.mark = None;
        net.flows[0].sender.stop(stop);
        net.pump_all();
        net.run_for(Duration::from_secs(100));
        assert!(net.flows[0].sender.is_finished());
        assert!(net.marked > 50, "{algorithm:?}: {}", net.marked);
        assert_eq!(net.flows[0].sender.stats().marked_packets, net.marked, "{algorithm:?}");
    }
}
