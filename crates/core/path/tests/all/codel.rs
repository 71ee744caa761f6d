//! CoDel against RFC 8289: its pseudo-code stepped by hand, its control law to the nanosecond, and what
//! must hold whatever comes.

use crate::support::{Offer, Packet, millis};
use gameway_path::{
    Backlog, Codel, CodelConfig, DropReason, DropTail, Dropped, Limit, PathPacket, Queue,
};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use proptest::prelude::*;
use std::collections::VecDeque;

const INTERVAL: i64 = 100_000_000;
const NANO: Duration = Duration::from_nanos(1);

fn at(nanos: i64) -> Instant {
    Instant::from_nanos(nanos)
}

/// interval / √count, by another way than the queue's.
fn spacing(count: i64) -> Duration {
    Duration::from_nanos((INTERVAL as f64 / (count as f64).sqrt()).floor() as i64)
}

/// A queue and a count of what has come.
struct Bench {
    queue: Codel<Packet>,
    sent: u64,
}

impl Bench {
    fn new(config: CodelConfig) -> Self {
        Self { queue: Codel::new(config, Limit::Packets(100_000)), sent: 0 }
    }

    fn fill(&mut self, now: Instant, count: u64, ecn: Ecn) {
        for _ in 0..count {
            let packet = Packet::new(0, self.sent, 1500).with_ecn(ecn);
            assert_eq!(self.queue.offer(now, packet), []);
            self.sent += 1;
        }
    }

    /// How many packets the departure at `now` costs, and the field of the one that leaves.
    fn leave(&mut self, now: Instant) -> (usize, Option<Ecn>) {
        let mut dropped = Vec::new();
        let next = self.queue.dequeue(now, &mut dropped);
        assert!(dropped.iter().all(|drop| drop.reason == DropReason::Early));
        (dropped.len(), next.map(|next| next.packet.ecn))
    }

    fn drops(&mut self, now: Instant) -> usize {
        self.leave(now).0
    }

    /// A standing queue from `start`, until the signal that begins a spell; when the second is due if
    /// the spell starts at `count`.
    fn enter(&mut self, start: Instant, count: i64) -> Instant {
        self.fill(start, 60, Ecn::NotEct);
        assert_eq!(self.drops(start + Duration::from_millis(5)), 0);
        let entry = start + Duration::from_millis(105);
        assert_eq!(self.drops(entry - NANO), 0);
        assert_eq!(self.drops(entry), 1);
        entry + spacing(count)
    }

    /// Checks the drop that is due at `due`, to the nanosecond.
    fn expect_drop(&mut self, due: Instant) {
        assert_eq!(self.drops(due - NANO), 0, "before {due}");
        assert_eq!(self.drops(due), 1, "at {due}");
    }

    /// Empties the queue without another drop.
    fn drain(&mut self, now: Instant) {
        while self.queue.backlog().packets > 0 {
            assert_eq!(self.drops(now), 0);
        }
    }
}

#[test]
fn the_first_drop_comes_an_interval_after_the_target_was_exceeded() {
    let mut bench = Bench::new(CodelConfig::default());
    bench.fill(millis(0), 100, Ecn::NotEct);
    // Below the target, then at it: from here an interval counts.
    assert_eq!(bench.drops(millis(5) - NANO), 0);
    assert_eq!(bench.drops(millis(5)), 0);
    assert_eq!(bench.drops(millis(60)), 0);
    bench.expect_drop(millis(105));
    bench.expect_drop(millis(205));
}

#[test]
fn one_packet_below_the_target_starts_the_interval_anew() {
    let mut bench = Bench::new(CodelConfig::default());
    bench.fill(millis(0), 3, Ecn::NotEct);
    bench.fill(millis(90), 1, Ecn::NotEct);
    bench.fill(millis(90), 20, Ecn::NotEct);
    for now in [5, 50, 90] {
        assert_eq!(bench.drops(millis(now)), 0);
    }
    // The fourth has waited 4 ms: what was due at 105 ms is forgotten.
    assert_eq!(bench.drops(millis(94)), 0);
    assert_eq!(bench.drops(millis(110)), 0);
    bench.expect_drop(millis(210));
}

#[test]
fn a_standing_queue_is_dropped_from_at_interval_over_root_n() {
    let mut bench = Bench::new(CodelConfig::default());
    bench.fill(millis(0), 3000, Ecn::NotEct);
    assert_eq!(bench.drops(millis(5)), 0);
    let mut due = millis(105);
    for count in 1..=900 {
        bench.expect_drop(due);
        due += spacing(count);
    }
    // The sum of 1 / √k up to n is within 1 of 2 √n - 1.46 (Euler and Maclaurin).
    let intervals = (due - millis(105)).as_nanos() as f64 / INTERVAL as f64;
    assert!((intervals - (60.0 - 1.46)).abs() < 0.03, "{intervals}");
}

#[test]
fn a_spell_soon_after_another_resumes_its_rate() {
    // Six drops, of which the first five after entry are what the spell grew by.
    let after_six_drops = |gap: Duration, second_spell: i64| {
        let mut bench = Bench::new(CodelConfig::default());
        let mut due = bench.enter(millis(0), 1);
        for count in 2..=6 {
            bench.expect_drop(due);
            due += spacing(count);
        }
        bench.drain(due - NANO);
        let mut due = bench.enter(due + gap - Duration::from_millis(105), second_spell);
        for count in [second_spell + 1, second_spell + 2] {
            bench.expect_drop(due);
            due += spacing(count);
        }
        bench.drain(due - NANO);
        (bench, due)
    };
    let intervals = Duration::from_nanos(16 * INTERVAL);
    after_six_drops(intervals, 1);
    let (mut bench, due) = after_six_drops(intervals - NANO, 5);
    // The second spell grew from 5 to 7: a third starts at 2, not at 7.
    let due = bench.enter(due, 2);
    bench.expect_drop(due);
}

#[test]
fn a_spell_that_grew_by_one_starts_over() {
    let mut bench = Bench::new(CodelConfig::default());
    let due = bench.enter(millis(0), 1);
    bench.expect_drop(due);
    bench.drain(due);
    let due = bench.enter(due, 1);
    bench.expect_drop(due);
}

#[test]
fn a_backlog_of_one_packet_is_never_dropped_from() {
    let drops_with = |behind: u64| {
        let mut bench = Bench::new(CodelConfig::default());
        bench.fill(millis(0), behind, Ecn::NotEct);
        let steps = (0..100).map(|step| {
            bench.fill(millis(50 * step), 1, Ecn::NotEct);
            bench.drops(millis(50 * step + 49))
        });
        steps.sum::<usize>()
    };
    // What is left behind the departing packet is 1500 B, for ever 99 ms old; then 3000 B.
    assert_eq!(drops_with(1), 0);
    assert!(drops_with(2) > 0);
}

#[test]
fn what_can_be_marked_is_marked_when_it_would_be_dropped() {
    let signals = |ecn: Ecn, config: CodelConfig| {
        let mut bench = Bench::new(config);
        bench.fill(millis(0), 100, ecn);
        assert_eq!(bench.leave(millis(5)), (0, Some(ecn)));
        let times = [105 * 1_000_000, 205 * 1_000_000, 205 * 1_000_000 + 70_710_678];
        times.map(|time| {
            assert_eq!(bench.leave(at(time - 1)), (0, Some(ecn)), "nothing is due");
            bench.leave(at(time))
        })
    };
    let marks = CodelConfig::default();
    let never = CodelConfig { ecn: false, ..marks };
    assert_eq!(signals(Ecn::Ect0, marks), [(0, Some(Ecn::Ce)); 3]);
    assert_eq!(signals(Ecn::Ect1, marks), [(0, Some(Ecn::Ce)); 3]);
    assert_eq!(signals(Ecn::Ce, marks), [(0, Some(Ecn::Ce)); 3]);
    assert_eq!(signals(Ecn::NotEct, marks), [(1, Some(Ecn::NotEct)); 3]);
    assert_eq!(signals(Ecn::Ect0, never), [(1, Some(Ecn::Ect0)); 3]);
}

#[test]
fn after_a_stall_all_drops_that_were_due_come_at_once() {
    let mut bench = Bench::new(CodelConfig::default());
    let mut due = bench.enter(millis(0), 1);
    let mut expected = 0;
    while due <= millis(700) {
        expected += 1;
        due += spacing(1 + expected);
    }
    assert!(expected > 10);
    assert_eq!(bench.drops(millis(700)), expected as usize);
    bench.expect_drop(due);
    // Marks are one a packet: they catch up over the departures that follow.
    let mut bench = Bench::new(CodelConfig::default());
    bench.fill(millis(0), 100, Ecn::Ect0);
    bench.leave(millis(5));
    assert_eq!(bench.leave(millis(105)), (0, Some(Ecn::Ce)));
    for _ in 0..expected {
        assert_eq!(bench.leave(millis(700)), (0, Some(Ecn::Ce)));
    }
    assert_eq!(bench.leave(millis(700)), (0, Some(Ecn::Ect0)));
}

#[test]
fn the_target_and_the_interval_can_be_set() {
    let (target, interval) = (Duration::from_millis(1), Duration::from_millis(10));
    let mut bench = Bench::new(CodelConfig { target, interval, ecn: false });
    bench.fill(millis(0), 100, Ecn::Ect0);
    assert_eq!(bench.drops(millis(1)), 0);
    bench.expect_drop(millis(11));
    bench.expect_drop(millis(21));
    bench.expect_drop(at(21_000_000 + 7_071_067));
}

#[test]
fn what_does_not_fit_is_dropped_at_the_tail() {
    let packet = |number, size| Packet::new(0, number, size).with_ecn(Ecn::Ect0);
    let mut queue = Codel::new(CodelConfig::default(), Limit::Bytes(Bytes::new(3000)));
    assert_eq!(queue.offer(millis(0), packet(0, 1500)), []);
    assert_eq!(queue.offer(millis(0), packet(1, 1500)), []);
    let reason = DropReason::Overflow;
    let refused = Dropped { packet: packet(2, 1), enqueued: millis(1), reason };
    assert_eq!(queue.offer(millis(1), packet(2, 1)), [refused]);
    queue.set_limit(Limit::Packets(3));
    assert_eq!(queue.offer(millis(1), packet(3, 9000)), []);
    assert_eq!(queue.backlog(), Backlog { bytes: Bytes::new(12_000), packets: 3 });
}

/// The mean wait behind `queue` of a source that halves its window on loss, over a 20 Mb/s link with
/// 40 ms of round trip, and what share of the link it uses.
fn with_a_responsive_source(queue: &mut dyn Queue<Packet>) -> (f64, f64) {
    let (slot, slots, rtt) = (600_000, 50_000, 40_000_000 / 600_000);
    let (mut window, mut in_flight, mut recovers) = (10.0, 0, 0);
    let mut returning: VecDeque<(i64, bool)> = VecDeque::new();
    let (mut waited, mut carried, mut dropped) = (0.0, 0.0, Vec::new());
    for number in 0..slots {
        let now = at(number * slot);
        while let Some(&(due, lost)) = returning.front()
            && due <= number
        {
            returning.pop_front();
            in_flight -= 1;
            if !lost {
                window += 1.0 / window;
            } else if number >= recovers {
                (window, recovers) = (window / 2.0, number + 2 * rtt);
            }
        }
        while f64::from(in_flight) < window {
            in_flight += 1;
            let packet = Packet::new(0, number as u64, 1500);
            for _ in queue.offer(now, packet) {
                returning.push_back((number + rtt, true));
            }
        }
        if let Some(next) = queue.dequeue(now, &mut dropped) {
            (waited, carried) = (waited + (now - next.enqueued).as_millis_f64(), carried + 1.0);
            returning.push_back((number + rtt, false));
        }
        returning.extend(dropped.drain(..).map(|_| (number + rtt, true)));
    }
    (waited / carried, carried / slots as f64)
}

#[test]
fn a_responsive_source_waits_less_than_the_target_and_uses_most_of_the_link() {
    let limit = Limit::Packets(200);
    let (wait, share) = with_a_responsive_source(&mut Codel::new(CodelConfig::default(), limit));
    assert!((0.5..5.0).contains(&wait), "mean wait {wait} ms");
    // A window of about 80 halves to 40, and 67 packets fill the path: it grows through 27 round trips at
    // 80 % of the link on average and 13 at all of it, 0.87; less the start from 10 packets.
    assert!((0.8..0.9).contains(&share), "share {share}");
    // The twin without control keeps the buffer of 120 ms mostly full.
    let (wait, share) = with_a_responsive_source(&mut DropTail::new(limit));
    assert!(wait > 50.0, "mean wait {wait} ms");
    assert!(share > 0.95, "all but the start: {share}");
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive { size: u64, ecn: Ecn },
    Leave,
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let step = prop_oneof![
        3 => (40u64..3000, ecn).prop_map(|(size, ecn)| Step::Arrive { size, ecn }),
        2 => Just(Step::Leave),
    ];
    prop::collection::vec((0i64..8_000_000, step), 1..600)
}

proptest! {
    /// Every packet leaves or is dropped, once and in order; the limit holds; only what is ECN-capable
    /// is marked; a departure from a queue that holds something gives something.
    #[test]
    fn packets_are_conserved_in_order_and_within_bounds(
        steps in steps(),
        ecn in any::<bool>(),
        limit in prop_oneof![
            (3000u64..90_000).prop_map(|max| Limit::Bytes(Bytes::new(max))),
            (1u64..200).prop_map(Limit::Packets),
        ],
    ) {
        let mut queue = Codel::new(CodelConfig { ecn, ..CodelConfig::default() }, limit);
        let (mut now, mut sent, mut waiting) = (Instant::ZERO, Vec::new(), Vec::new());
        let (mut gone, mut early) = (Vec::new(), Vec::new());
        for (gap, step) in steps {
            now += Duration::from_nanos(gap);
            match step {
                Step::Arrive { size, ecn } => {
                    let packet = Packet::new(0, sent.len() as u64, size).with_ecn(ecn);
                    sent.push(packet);
                    let dropped = queue.offer(now, packet);
                    prop_assert!(dropped.len() <= 1);
                    match dropped.first() {
                        None => waiting.push(packet.number),
                        Some(drop) => {
                            prop_assert_eq!((drop.packet, drop.reason), (packet, DropReason::Overflow));
                            gone.push(packet.number);
                        }
                    }
                }
                Step::Leave => {
                    let before = queue.backlog();
                    let next = queue.dequeue(now, &mut early);
                    prop_assert_eq!(next.is_some(), before.packets > 0);
                    let mut left: Vec<u64> = Vec::new();
                    for drop in early.drain(..) {
                        prop_assert_eq!(drop.reason, DropReason::Early);
                        prop_assert!(!ecn || drop.packet.ecn == Ecn::NotEct);
                        prop_assert!(now - drop.enqueued >= Duration::from_millis(5));
                        left.push(drop.packet.number);
                    }
                    if let Some(next) = next {
                        let was = sent[next.packet.number as usize].ecn;
                        let marked = next.packet.ecn != was;
                        prop_assert!(!marked || (ecn && was != Ecn::NotEct && next.packet.ecn == Ecn::Ce));
                        left.push(next.packet.number);
                    }
                    // First in, first out: what left is the front of what waited.
                    prop_assert_eq!(&left[..], &waiting[..left.len()]);
                    gone.extend(waiting.drain(..left.len()));
                }
            }
            let bytes = waiting.iter().map(|&number| sent[number as usize].wire_size()).sum();
            prop_assert_eq!(queue.backlog(), Backlog { bytes, packets: waiting.len() as u64 });
            match limit {
                Limit::Bytes(max) => prop_assert!(bytes <= max),
                Limit::Packets(max) => prop_assert!(waiting.len() as u64 <= max),
            }
        }
        prop_assert_eq!(gone.len() + waiting.len(), sent.len());
    }
}
