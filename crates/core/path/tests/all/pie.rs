//! PIE against RFC 8033: its pseudo-code run by a timer, its equilibrium, and what holds for every queue.

use crate::closed_loop::{Law, Record, Source, mean_of, settle};
use crate::support::{Offer, Packet, millis};
use gameway_path::{DropReason, DropTail, Limit, Pie, PieConfig, Queue};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, Ratio};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn segment(number: u64, ecn: Ecn) -> Packet {
    Packet::new(0, number, 1500).with_ecn(ecn)
}

/// The RFC's update (sections 4.2, 4.4 and 5.5, and Linux's step above 250 ms) as a timer runs it, in whole
/// milliseconds. Arithmetic in the same order, because the gain jumps at the rungs of its ladder.
#[derive(Debug, Default)]
struct Reference {
    p: f64,
    old: i64,
    burst: i64,
    next: i64,
    arrivals: Vec<i64>,
}

impl Reference {
    fn run_timer(&mut self, now: i64) {
        while self.next <= now {
            let delay = self.arrivals.first().map_or(0, |arrival| self.next - arrival);
            self.update(delay);
            self.next += 15;
        }
    }

    fn update(&mut self, delay: i64) {
        let seconds = |millis: i64| (millis * 1_000_000) as f64 / 1e9;
        let mut step = 0.125 * seconds(delay - 15) + 1.25 * seconds(delay - self.old);
        step /= match self.p {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.p >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if delay > 250 {
            step += 0.02;
        }
        self.p += step;
        if delay == 0 && self.old == 0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.burst = (self.burst - 15).max(0);
        if self.p <= 0.0 && delay <= 7 && self.old <= 7 {
            self.burst = 150;
        }
        self.old = delay;
    }
}

proptest! {
    /// Whatever comes and goes, at whatever times, the probability is what a timer would have computed.
    #[test]
    fn late_updates_are_those_of_a_timer(
        steps in prop::collection::vec((0i64..200, prop::bool::weighted(0.6)), 1..300),
        seed in any::<u64>(),
    ) {
        let mut queue = Pie::new(PieConfig::default(), Limit::Packets(1000), random(seed));
        let mut reference = Reference { burst: 150, next: 15, ..Reference::default() };
        let mut now = 0;
        for (number, (gap, arrives)) in steps.into_iter().enumerate() {
            now += gap;
            reference.run_timer(now);
            if arrives {
                if queue.offer(millis(now), segment(number as u64, Ecn::NotEct)).is_empty() {
                    reference.arrivals.push(now);
                } else {
                    prop_assert!(reference.burst == 0, "nothing is dropped in the allowance");
                    prop_assert!(reference.p >= 0.2 || reference.old > 7);
                    prop_assert!(reference.arrivals.len() > 2);
                }
            } else if queue.dequeue(millis(now), &mut Vec::new()).is_some() {
                reference.arrivals.remove(0);
            }
            prop_assert_eq!(queue.probability().to_bits(), reference.p.to_bits());
        }
    }

    /// Every packet leaves once, in order, or is returned; the queue stays within its limit; only capable
    /// packets are marked; and what waits always leaves.
    #[test]
    fn nothing_is_lost_track_of(
        steps in prop::collection::vec((0i64..30, 0usize..4, 40u64..1500, prop::bool::weighted(0.7)), 1..600),
        limit in prop_oneof![
            (1500u64..60_000).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
            (1u64..60).prop_map(Limit::Packets),
        ],
        seed in any::<u64>(),
    ) {
        let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let mut queue = Pie::new(PieConfig::default(), limit, random(seed));
        let (mut now, mut sent, mut out, mut dropped) = (Instant::ZERO, Vec::new(), Vec::new(), Vec::new());
        for (gap, codepoint, size, arrives) in steps {
            now += Duration::from_millis(gap);
            if arrives {
                let number = sent.len() as u64;
                let packet = Packet::new(0, number, size).with_ecn(codepoints[codepoint]);
                sent.push(packet);
                for drop in queue.offer(now, packet) {
                    prop_assert_eq!(drop.packet, packet);
                    prop_assert_eq!(drop.enqueued, now);
                    dropped.push(number);
                }
            } else if let Some(next) = queue.dequeue(now, &mut Vec::new()) {
                out.push(next.packet);
            } else {
                prop_assert_eq!(queue.backlog().packets, 0, "work-conserving");
            }
            match limit {
                Limit::Bytes(max) => prop_assert!(queue.backlog().bytes <= max),
                Limit::Packets(max) => prop_assert!(queue.backlog().packets <= max),
            }
        }
        out.extend(std::iter::from_fn(|| queue.dequeue(now, &mut Vec::new())).map(|next| next.packet));
        prop_assert_eq!(queue.backlog(), gameway_path::Backlog::default());
        prop_assert!(out.windows(2).all(|pair| pair[0].number < pair[1].number));
        for packet in &out {
            let was = sent[packet.number as usize].ecn;
            prop_assert!(packet.ecn == was || (packet.ecn == Ecn::Ce && was != Ecn::NotEct));
        }
        let mut all: Vec<u64> = out.iter().map(|packet| packet.number).chain(dropped).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..sent.len() as u64).collect::<Vec<_>>());
    }
}

/// A queue in which the head came at 0 and nothing leaves, asked at each update.
fn standing(config: PieConfig) -> Pie<Packet> {
    let mut queue = Pie::new(config, Limit::Packets(100_000), random(1));
    for number in 0..3 {
        assert_eq!(queue.offer(Instant::ZERO, segment(number, Ecn::NotEct)), []);
    }
    queue
}

#[test]
fn the_first_updates_by_hand() {
    let mut queue = standing(PieConfig::default());
    let mut at = |now| {
        queue.offer(millis(now), segment(9, Ecn::Ect0));
        queue.probability()
    };
    let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-12, "{got} {want}");
    // 15 ms: on target, 15 ms more than before: 1.25 * 0.015 / 2048.
    close(at(15), 0.018_75 / 2048.0);
    // 30 ms: 15 ms above, 15 ms more; p is 9.2e-6, on the second rung.
    let second = 0.018_75 / 2048.0 + (0.001_875 + 0.018_75) / 512.0;
    close(at(30), second);
    // 45 ms: 30 ms above; p is 4.9e-5, on the third.
    close(at(45), second + (0.003_75 + 0.018_75) / 128.0);
    // Seconds later it stands at one, and stays there.
    close(at(10_000), 1.0);
    close(at(100_000), 1.0);
}

#[test]
fn a_burst_within_the_allowance_is_left_alone() {
    // 100 packets arrive in 140 ms and none leaves: without the allowance some are dropped.
    let drops = |allowance| {
        let config =
            PieConfig { burst_allowance: Duration::from_millis(allowance), ..PieConfig::default() };
        let mut queue = Pie::new(config, Limit::Packets(100_000), random(1));
        let arrivals =
            (0..14_000).map(|number| (number, Instant::ZERO + Duration::from_micros(10) * number));
        let dropped = arrivals.filter(|&(number, now)| {
            !queue.offer(now, segment(number as u64, Ecn::NotEct)).is_empty()
        });
        dropped.count()
    };
    assert_eq!(drops(150), 0);
    assert!(drops(0) > 10, "{}", drops(0));
}

#[test]
fn marks_end_where_congestion_is_heavy() {
    let config = PieConfig { burst_allowance: Duration::ZERO, ..PieConfig::default() };
    let fates = |config: PieConfig, ecn| {
        let mut queue = standing(config);
        let (mut early, mut heavy) = (0, 0);
        for number in 0..60_000 {
            let now = Instant::ZERO + Duration::from_micros(10) * number;
            let dropped = queue.offer(now, segment(number as u64, ecn));
            let count = if queue.probability() < 0.1 { &mut early } else { &mut heavy };
            *count += dropped.iter().filter(|drop| drop.reason == DropReason::Early).count() as u64;
        }
        let marked = std::iter::from_fn(|| queue.dequeue(millis(601), &mut Vec::new()))
            .filter(|next| next.packet.ecn == Ecn::Ce);
        (early, heavy, marked.count())
    };
    let (early, heavy, marked) = fates(config, Ecn::Ect0);
    assert!(early == 0 && heavy > 1000 && marked > 100, "{early} {heavy} {marked}");
    let (early, _, marked) = fates(config, Ecn::NotEct);
    assert!(early > 100 && marked == 0, "{early} {marked}");
    let (early, _, marked) =
        fates(PieConfig { mark_below: Ratio::from_ppm(0), ..config }, Ecn::Ect0);
    assert!(early > 100 && marked == 0, "{early} {marked}");
}

/// With a probability that a queue of a standing head has grown to, that share of arrivals is dropped.
#[test]
fn arrivals_are_dropped_with_the_probability() {
    let mut queue = standing(PieConfig { burst_allowance: Duration::ZERO, ..PieConfig::default() });
    let (mut now, mut number) = (Instant::ZERO, 3);
    while queue.probability() < 0.25 {
        now += Duration::from_millis(15);
        queue.offer(now, segment(number, Ecn::NotEct));
        number += 1;
    }
    let (probability, arrivals) = (queue.probability(), 20_000);
    assert!((0.25..0.3).contains(&probability), "{probability}");
    // All in one update's interval.
    let drops = (0..arrivals).filter(|_| !queue.offer(now, segment(9, Ecn::NotEct)).is_empty());
    let share = drops.count() as f64 / f64::from(arrivals);
    assert!((share - probability).abs() < 0.01, "{share} of {probability}");
}

#[test]
fn an_empty_queue_forgets() {
    let full = |idle: i64| {
        let mut queue = standing(PieConfig::default());
        queue.offer(millis(2000), segment(3, Ecn::NotEct));
        while queue.dequeue(millis(2000), &mut Vec::new()).is_some() {}
        assert!(queue.probability() > 0.9);
        queue.dequeue(millis(2000 + idle), &mut Vec::new());
        queue.probability()
    };
    // From 1: one step of -1.25 * 1.995 s, which is below zero already: the P part sees the queue go.
    assert!(full(15) <= 0.0);
    // A day later, and at once.
    assert!(full(86_400_000) <= 0.0);
}

fn reno(ecn: Ecn) -> Vec<Source> {
    let rtts = [40, 45, 50, 55, 60];
    let source =
        |rtt| Source { law: Law::Reno, ecn, rtt: Duration::from_millis(rtt), window: 20.0 };
    rtts.map(source).to_vec()
}

/// 60 s of five Reno flows after 20 s.
fn settles(config: PieConfig, ecn: Ecn, rate: u64, seed: u64) -> Vec<Record> {
    let size = QueueSize::Time(Duration::from_millis(500));
    settle(Rate::from_mbps(rate), size, &reno(ecn), |limit| Pie::new(config, limit, random(seed)))
}

#[test]
fn the_delay_of_a_closed_loop_settles_at_the_target() {
    for (rate, ecn) in [(10, Ecn::NotEct), (20, Ecn::NotEct), (20, Ecn::Ect0), (50, Ecn::NotEct)] {
        let records = settles(PieConfig::default(), ecn, rate, rate);
        let mean = mean_of(&records);
        println!("pie {rate} Mb/s {ecn:?}: {mean:.2} ms, signalled {:.4}", records[0].signalled());
        // Above the target: a rung of the gain ladder weighs delays at a high probability more.
        assert!((13.0..19.5).contains(&mean), "{rate} Mb/s: {mean} ms");
        // What is told is told by marks if it can be; the standing queue never fills the buffer.
        let dropped: u64 = records.iter().map(|record| record.dropped).sum();
        let marked: u64 = records.iter().map(|record| record.marked).sum();
        assert!(if ecn == Ecn::NotEct { marked == 0 } else { dropped == 0 }, "{dropped} {marked}");
    }
    // Twice the target, twice the delay; and without it, the buffer stands.
    let config = PieConfig { target: Duration::from_millis(30), ..PieConfig::default() };
    let mean = mean_of(&settles(config, Ecn::NotEct, 20, 3));
    assert!((25.0..36.0).contains(&mean), "{mean}");
    let size = QueueSize::Time(Duration::from_millis(200));
    let tail = settle(Rate::from_mbps(20), size, &reno(Ecn::NotEct), DropTail::new);
    assert!(mean_of(&tail) > 80.0, "{}", mean_of(&tail));
}
