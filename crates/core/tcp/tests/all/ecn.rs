//! Marks end to end: who may be marked, what is fed back, and what each congestion control makes of it.

use crate::common::{Flow, Mark, Meter, Network, shared};
use gameway_tcp::{
    EcnMode, Flags, MAXIMUM_SEGMENT_SIZE, Receiver, ReceiverConfig, SackBlock, Segment, Sender,
    SenderConfig,
};
use gameway_testbed::Random;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::cell::RefCell;
use std::rc::Rc;

const SIZE: u64 = MAXIMUM_SEGMENT_SIZE as u64;
const CAPACITY: Rate = Rate::from_mbps(40);

fn flow(algorithm: &str, ecn: EcnMode) -> Flow {
    Flow::ecn(gameway_tcp::build(algorithm, MAXIMUM_SEGMENT_SIZE, 7).unwrap(), ecn)
}

fn network(rtt: Duration, flows: Vec<Flow>) -> Network {
    let queue = Bytes::new((CAPACITY * rtt).get() * 4);
    shared(CAPACITY, rtt, queue, flows)
}

fn seconds(count: i64) -> Instant {
    Instant::ZERO + Duration::from_secs(count)
}

/// Marks at random, whatever the queue.
fn at_random(probability: f64) -> Option<Mark> {
    let mut random = Random::new(11);
    Some(Box::new(move |_, _| random.unit() < probability))
}

/// Marks whatever meets a backlog above this.
fn above(step: Bytes) -> Option<Mark> {
    Some(Box::new(move |_, backlog| backlog > step))
}

const fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Both ends after a handshake over 20 ms, in which SYN and SYN-ACK arrive as given; with the flags of
/// the SYN-ACK and of its ACK.
fn handshake(
    algorithm: &str,
    ecn: (EcnMode, EcnMode),
    syn: Ecn,
    syn_ack: Ecn,
) -> (Sender, Receiver, [u8; 2]) {
    let config = SenderConfig { ecn: ecn.1, ..SenderConfig::default() };
    let mut sender =
        Sender::new(config, gameway_tcp::build(algorithm, config.segment_size, 1).unwrap());
    let config = ReceiverConfig { ecn: ecn.0, ..ReceiverConfig::default() };
    let mut receiver = Receiver::new(config, at(0));
    let first = receiver.poll_transmit(at(0)).expect("SYN");
    assert_eq!(first.ecn, Ecn::NotEct);
    sender.on_segment(at(10), &Segment { ecn: syn, ..first });
    let second = sender.poll_transmit(at(10)).expect("SYN-ACK");
    assert_eq!(second.ecn, Ecn::NotEct);
    receiver.on_segment(at(20), &Segment { ecn: syn_ack, ..second });
    let third = receiver.poll_transmit(at(20)).expect("ACK");
    sender.on_segment(at(30), &third);
    (sender, receiver, [second.flags.ecn(), third.flags.ecn()])
}

/// RFC 9768 tables 2 to 4: flags and what data then leaves with.
#[test]
fn the_handshake_agrees_and_tells_how_it_arrived() {
    use EcnMode::{Accurate, Classic, Off};
    let cases = [
        (Accurate, Accurate, Ecn::NotEct, Ecn::NotEct, [0b010, 0b010], Ecn::Ect0),
        (Accurate, Accurate, Ecn::Ect1, Ecn::NotEct, [0b011, 0b010], Ecn::Ect0),
        (Accurate, Accurate, Ecn::Ce, Ecn::NotEct, [0b110, 0b010], Ecn::Ect0),
        // What left without ECT arrived with it: something on the path writes the field.
        (Accurate, Accurate, Ecn::NotEct, Ecn::Ce, [0b010, 0b110], Ecn::NotEct),
        (Accurate, Accurate, Ecn::NotEct, Ecn::Ect0, [0b010, 0b100], Ecn::NotEct),
        (Accurate, Classic, Ecn::NotEct, Ecn::NotEct, [0b001, 0b000], Ecn::Ect0),
        (Classic, Accurate, Ecn::NotEct, Ecn::NotEct, [0b001, 0b000], Ecn::Ect0),
        (Accurate, Off, Ecn::NotEct, Ecn::NotEct, [0b000, 0b000], Ecn::NotEct),
        (Off, Accurate, Ecn::NotEct, Ecn::NotEct, [0b000, 0b000], Ecn::NotEct),
    ];
    for (client, server, syn, syn_ack, flags, codepoint) in cases {
        let (mut sender, mut receiver, found) = handshake("cubic", (client, server), syn, syn_ack);
        assert_eq!(found, flags, "{client:?} to {server:?}, {syn:?}, {syn_ack:?}");
        let data = sender.poll_transmit(at(30)).expect("data");
        assert_eq!(data.ecn, codepoint, "{client:?} to {server:?}, {syn:?}, {syn_ack:?}");
        // Nothing that the server receives is ECN-capable.
        let agreed = client == Accurate && server == Accurate;
        assert_eq!(data.flags.ecn(), if agreed { 5 } else { 0 }, "{client:?} to {server:?}");
        // The counter starts at 5, and a marked SYN-ACK was the first mark.
        receiver.on_segment(at(40), &data);
        let ack = receiver.poll_transmit(at(40)).expect("a quick ACK");
        let expected = if !agreed { 0 } else { 5 + u8::from(syn_ack == Ecn::Ce) };
        assert_eq!(ack.flags.ecn(), expected, "{client:?} to {server:?}, {syn_ack:?}");
        sender.on_segment(at(50), &ack);
        assert_eq!(sender.stats().marked_packets, 0, "that of the handshake is known");
    }
}

/// RFC 9768 section 3.2.2.1: an ACK that tells of data has the counter, and not how the SYN-ACK arrived.
#[test]
fn an_ack_with_blocks_says_nothing_of_the_handshake() {
    for (block, expected) in [(false, Ecn::NotEct), (true, Ecn::Ect0)] {
        let config = SenderConfig { ecn: EcnMode::Accurate, ..SenderConfig::default() };
        let mut sender = Sender::new(config, gameway_tcp::build("cubic", 1448, 1).unwrap());
        let syn = Flags { syn: true, ..Flags::default() }.with_ecn(0b111);
        sender.on_segment(at(0), &Segment { flags: syn, window: 60_000, ..Segment::default() });
        let _ = sender.poll_transmit(at(0)).expect("SYN-ACK");
        let flags = Flags { ack: true, ..Flags::default() }.with_ecn(0b100);
        let mut ack = Segment { flags, window: 60_000, ..Segment::default() };
        if block {
            ack.sack.push(SackBlock { start: SIZE, end: 2 * SIZE });
        }
        sender.on_segment(at(20), &ack);
        assert_eq!(sender.poll_transmit(at(20)).expect("data").ecn, expected);
    }
}

/// RFC 9768 table 4: a zero says that the client is not in accurate mode.
#[test]
fn feedback_of_zeros_ends_ecn() {
    let config = SenderConfig { ecn: EcnMode::Accurate, ..SenderConfig::default() };
    let mut sender =
        Sender::new(config, gameway_tcp::build("prague", config.segment_size, 1).unwrap());
    let syn = Flags { syn: true, ..Flags::default() }.with_ecn(0b111);
    sender.on_segment(at(0), &Segment { flags: syn, window: 60_000, ..Segment::default() });
    let _ = sender.poll_transmit(at(0)).expect("SYN-ACK");
    let flags = Flags { ack: true, ..Flags::default() };
    sender.on_segment(at(20), &Segment { flags, window: 60_000, ..Segment::default() });
    assert_eq!(sender.poll_transmit(at(20)).expect("data").ecn, Ecn::NotEct);
}

/// Each SYN-ACK tells of the SYN that it answers.
#[test]
fn a_repeated_syn_is_answered_by_how_it_arrived() {
    let config = SenderConfig { ecn: EcnMode::Accurate, ..SenderConfig::default() };
    let mut sender = Sender::new(config, gameway_tcp::build("cubic", 1448, 1).unwrap());
    let flags = Flags { syn: true, ..Flags::default() }.with_ecn(0b111);
    for (arrived, expected) in [(Ecn::NotEct, 0b010), (Ecn::Ce, 0b110), (Ecn::Ect0, 0b100)] {
        sender.on_segment(at(0), &Segment { flags, ecn: arrived, ..Segment::default() });
        let answer = sender.poll_transmit(at(0)).expect("SYN-ACK");
        assert_eq!(answer.flags.ecn(), expected, "{arrived:?}");
    }
}

/// RFC 9768 sections 3.2.2.1 and 3.2.2.5: the counter is read from every ACK that may tell of data and that no other has
/// superseded. A mark is answered as a loss, but by what answers marks itself.
#[test]
fn the_counter_counts_on_the_newest_ack_whatever_that_delivers() {
    for (algorithm, recoveries) in [("cubic", 1), ("prague", 0)] {
        let accurate = (EcnMode::Accurate, EcnMode::Accurate);
        let (mut sender, ..) = handshake(algorithm, accurate, Ecn::NotEct, Ecn::NotEct);
        let sent = std::iter::from_fn(|| sender.poll_transmit(at(30))).count();
        assert_eq!(sent, 10);
        let mut marks_after = |millis, ace, (acknowledgment, blocks): (u64, &[u64])| {
            let flags = Flags { ack: true, ..Flags::default() }.with_ecn(ace);
            let timestamp_value = at(millis);
            let mut ack = Segment { flags, window: 100, timestamp_value, ..Segment::default() };
            ack.acknowledgment = acknowledgment * SIZE;
            for block in blocks {
                ack.sack.push(SackBlock { start: block * SIZE, end: (block + 1) * SIZE });
            }
            sender.on_segment(at(60), &ack);
            sender.stats().marked_packets
        };
        assert_eq!(marks_after(40, 0b110, (0, &[])), 0, "the handshake's again");
        assert_eq!(marks_after(41, 6, (0, &[1])), 1, "the first of all is missing");
        assert_eq!(marks_after(45, 7, (1, &[1])), 2);
        assert_eq!(marks_after(46, 0, (1, &[1])), 3, "a marked one arrived again");
        assert_eq!(marks_after(43, 7, (1, &[1])), 3, "an older ACK comes late");
        assert_eq!(marks_after(46, 1, (3, &[])), 4);
        assert_eq!(sender.stats().recoveries, recoveries, "{algorithm}");
    }
}

/// Segments of 100 bytes, as they are marked: after which of them an ACK leaves, once no ACK is quick.
fn acks_after(ecn: EcnMode, marks: &[Ecn]) -> Vec<usize> {
    let (mut sender, mut receiver, _) = handshake("cubic", (ecn, ecn), Ecn::NotEct, Ecn::NotEct);
    let first = sender.poll_transmit(at(30)).expect("data");
    let small = |number: usize, ecn| Segment {
        sequence: number as u64 * 100,
        length: 100,
        ecn,
        flags: Flags { psh: false, ..first.flags },
        ..first
    };
    for number in 0..40 {
        receiver.on_segment(at(40), &small(number, Ecn::Ect0));
        receiver.poll_transmit(at(40));
    }
    receiver.on_deadline(at(80));
    receiver.poll_transmit(at(80));
    let mut after = Vec::new();
    for (number, mark) in marks.iter().enumerate() {
        receiver.on_segment(at(90), &small(40 + number, *mark));
        after.extend(receiver.poll_transmit(at(90)).map(|_| number));
    }
    after
}

/// RFC 9768 section 3.2.2.5.1: at the first of several marks, and at each second; Linux `tcp_ecn_check_ce`: at the first
/// that the echo tells of.
#[test]
fn marks_are_told_at_once() {
    let (ect, ce) = (Ecn::Ect0, Ecn::Ce);
    let marks = [ect, ce, ce, ce, ce, ect, ect, ce, ect, ce];
    assert_eq!(acks_after(EcnMode::Accurate, &marks), [1, 3, 7, 9]);
    assert_eq!(acks_after(EcnMode::Classic, &marks), [1]);
    assert_eq!(acks_after(EcnMode::Off, &marks), [0; 0]);
}

/// RFC 9768 section 3.2.3.3: the option is worth more than a third block.
#[test]
fn the_option_takes_the_place_of_the_third_block() {
    let accurate = (EcnMode::Accurate, EcnMode::Accurate);
    let (mut sender, mut receiver, _) = handshake("cubic", accurate, Ecn::NotEct, Ecn::NotEct);
    let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(at(30))).collect();
    let mut told = |number: usize, ecn| {
        receiver.on_segment(at(40), &Segment { ecn, ..sent[number] });
        let ack = receiver.poll_transmit(at(40)).expect("an ACK");
        (ack.accurate_ecn.fields, ack.sack.as_slice().len())
    };
    let found = [1, 3, 5].map(|number| told(number, Ecn::Ect0));
    assert_eq!(found, [(1, 1), (1, 2), (1, 2)]);
    // What is sent again moves no counter.
    assert_eq!(told(7, Ecn::NotEct), (0, 3));
}

/// RFC 3168 section 6.1.3: until CWR arrives each ACK echoes; a lost CWR costs one more reduction.
#[test]
fn the_echo_goes_on_until_the_sender_says_that_it_has_reduced() {
    let modes = (EcnMode::Classic, EcnMode::Classic);
    let (mut sender, mut receiver, _) = handshake("cubic", modes, Ecn::NotEct, Ecn::NotEct);
    let mut now = at(30);
    let (mut lost, mut echoes, mut reductions) = (false, 0, 0);
    for round in 0..6 {
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
        now += Duration::from_millis(20);
        for (index, segment) in sent.iter().enumerate() {
            let ecn = if (round, index) == (0, 5) { Ecn::Ce } else { segment.ecn };
            // The first CWR arrives without its flag, as if another segment had been lost in its place.
            let hidden = segment.flags.cwr && !lost;
            lost |= hidden;
            let cwr = segment.flags.cwr && !hidden;
            let flags = Flags { cwr, ..segment.flags };
            receiver.on_segment(now, &Segment { ecn, flags, ..*segment });
            while let Some(ack) = receiver.poll_transmit(now) {
                echoes += u32::from(ack.flags.ece);
                sender.on_segment(now, &ack);
            }
        }
        reductions = sender.stats().recoveries;
    }
    assert!(lost && echoes > 5, "{echoes}");
    assert_eq!((reductions, sender.stats().retransmissions), (2, 0));
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
            let mut net = network(rtt, vec![flow("prague", EcnMode::Accurate)]);
            net.set_capacity(Rate::from_mbps(1000));
            net.path.mark = at_random(p);
            net.run_until(seconds(20));
            let marked = net.path.marked;
            net.run_for(Duration::from_secs(60));
            let rounds = 60_000.0 / f64::from(round);
            let ratio = (net.path.marked - marked) as f64 / rounds / marks_per_round(p);
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
        let mut net = network(rtt, vec![flow("prague", EcnMode::Accurate)]);
        net.path.mark = above(CAPACITY * Duration::from_millis(1));
        net.run_until(seconds(20));
        let marked = net.path.marked;
        net.restart_measurement();
        net.run_for(Duration::from_secs(40));
        let rounds = 40.0 / rtt.as_secs_f64();
        let (per_round, window) =
            ((net.path.marked - marked) as f64 / rounds, net.bdp().as_f64() / 1500.0);
        let virtual_rounds = (25.0 / rtt.as_millis_f64()).max(1.0);
        let bounds = 2.0..(2.0 * window).sqrt();
        assert!(bounds.contains(&(per_round * virtual_rounds)), "{rtt}: {per_round} marks");
        let (used, queued) = (net.utilization(), net.mean_backlog() / 5000.0);
        assert!(used > 0.975, "{rtt}: {used} of the capacity");
        assert!((0.2..1.0).contains(&queued), "{rtt}: {queued} ms");
        assert!(
            net.path.queue.max_backlog() < CAPACITY * Duration::from_micros(2500),
            "{}",
            net.path.queue.max_backlog()
        );
        assert_eq!(net.flows[0].sender.stats().retransmissions, 0);
    }
}

#[test]
fn the_first_mark_ends_slow_start_and_halves() {
    let mut net = network(Duration::from_millis(30), vec![flow("prague", EcnMode::Accurate)]);
    net.path.mark = above(CAPACITY * Duration::from_millis(1));
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
        ("cubic", EcnMode::Off, Ecn::NotEct),
        ("cubic", EcnMode::Classic, Ecn::Ect0),
        ("cubic", EcnMode::Accurate, Ecn::Ect0),
        ("bbr", EcnMode::Classic, Ecn::Ect0),
        ("prague", EcnMode::Accurate, Ecn::Ect1),
        // Classic feedback cannot carry what L4S promises.
        ("prague", EcnMode::Classic, Ecn::NotEct),
    ];
    for (algorithm, ecn, expected) in cases {
        let mut net = network(Duration::from_millis(20), vec![flow(algorithm, ecn)]);
        let (mut highest, mut random, mut repeated) = (0, Random::new(3), 0);
        let seen = Rc::new(RefCell::new(0));
        let count = Rc::clone(&seen);
        net.path.lose = Some(Box::new(move |segment| {
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
        net.pump();
        net.run_for(Duration::from_secs(5));
        assert!(net.flows[0].sender.is_finished());
        assert!(*seen.borrow() > 10, "{algorithm:?} {ecn:?}: hardly a retransmission");
    }
}

/// A mark reduces as a loss does: for the same probability, the same rate.
#[test]
fn marks_work_as_losses_do_but_nothing_is_sent_again() {
    for algorithm in ["newreno", "cubic", "bic"] {
        let rate = |ecn| {
            let mut net = network(Duration::from_millis(20), vec![flow(algorithm, ecn)]);
            net.set_capacity(Rate::from_mbps(1000));
            net.path.queue.limit = Bytes::new(10_000_000);
            if ecn == EcnMode::Off {
                net.path.loss = 0.002
            } else {
                net.path.mark = at_random(0.002)
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

/// Where nothing can be marked, Prague has losses only, and answers them as Reno.
#[test]
fn prague_without_marks_is_reno() {
    let rate = |algorithm| {
        let mut net = network(Duration::from_millis(40), vec![flow(algorithm, EcnMode::Off)]);
        net.set_capacity(Rate::from_mbps(1000));
        net.path.queue.limit = Bytes::new(10_000_000);
        net.path.loss = 0.002;
        net.run_until(seconds(20));
        delivered(&mut net, Duration::from_secs(400))
    };
    let ratio = rate("prague") / rate("newreno");
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn bbr_ignores_marks_and_says_that_it_has_heard() {
    let rate = |marks: f64| {
        let mut net = network(Duration::from_millis(20), vec![flow("bbr", EcnMode::Classic)]);
        net.path.mark = at_random(marks);
        net.run_until(seconds(20));
        assert_eq!(net.flows[0].sender.stats().recoveries, 0);
        delivered(&mut net, Duration::ZERO) + net.flows[0].receiver.received().as_f64()
    };
    assert!((rate(0.1) / rate(0.0) - 1.0).abs() < 1e-3);
}

/// Many ACKs lost, many marks: what the sender was told is what the path did.
#[test]
fn accurate_feedback_survives_the_loss_of_acks() {
    for (algorithm, probability) in [("prague", 0.3), ("cubic", 0.02)] {
        let mut net = network(Duration::from_millis(20), vec![flow(algorithm, EcnMode::Accurate)]);
        net.path.mark = at_random(probability);
        net.run_until(seconds(1));
        net.path.ack_loss = 0.4;
        net.run_until(seconds(30));
        let stop = net.now;
        net.path.ack_loss = 0.0;
        net.path.mark = None;
        net.flows[0].sender.stop(stop);
        net.pump();
        net.run_for(Duration::from_secs(100));
        assert!(net.flows[0].sender.is_finished());
        assert!(net.path.marked > 50, "{algorithm:?}: {}", net.path.marked);
        assert_eq!(net.flows[0].sender.stats().marked_packets, net.path.marked, "{algorithm:?}");
    }
}
