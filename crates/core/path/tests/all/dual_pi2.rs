//! DualPI2 against RFC 9332: the pseudo-code of its appendix A.2 run by a timer, its equilibria, its coupling, its
//! behaviour in overload, and what holds for every queue.

use crate::closed_loop::{Law, Record, Source, mean_of, settle};
use crate::support::{Offer, Packet, millis};
use gameway_path::{
    Backlog, Decision, DelayInput, DropReason, Dropped, DualPi2, DualPi2Config, Limit,
    LowLatencyMarking, Queue, Scheduler,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, Ratio};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn micros(count: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(count)
}

fn segment(number: u64, ecn: Ecn) -> Packet {
    Packet::new(0, number, 1500).with_ecn(ecn)
}

/// The RFC's pseudo-code (appendix A.2 with the time-shifted or Linux's weighted scheduler) as a timer runs it,
/// in whole microseconds; arithmetic in the same order.
struct Reference {
    p: f64,
    old: i64,
    next: i64,
    low: VecDeque<(i64, Packet)>,
    classic: VecDeque<(i64, Packet)>,
    low_count: f64,
    classic_count: f64,
    shift: Option<i64>,
    credit: i64,
}

#[derive(Debug, PartialEq)]
enum Out {
    Sent(Packet),
    Dropped(Packet),
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood.min(1.0);
    let whole = *count > 1.0;
    *count -= f64::from(u8::from(whole));
    whole
}

fn head(lane: &VecDeque<(i64, Packet)>, at: i64) -> i64 {
    lane.front().map_or(0, |(came, _)| at - came)
}

impl Reference {
    fn new(shift: Option<i64>) -> Self {
        let (low, classic) = (VecDeque::new(), VecDeque::new());
        let (p, low_count, classic_count) = (0.0, 0.0, 0.0);
        Self {
            p,
            old: 0,
            next: 16_000,
            low,
            classic,
            low_count,
            classic_count,
            shift,
            credit: -1200,
        }
    }

    fn run_timer(&mut self, now: i64) {
        let seconds = |micros: i64| (micros * 1000) as f64 / 1e9;
        while self.next <= now {
            let delay = head(&self.low, self.next).max(head(&self.classic, self.next));
            let change = 0.16 * seconds(delay - 15_000) + 3.2 * seconds(delay - self.old);
            self.p = (self.p + change).clamp(0.0, 1.0);
            self.old = delay;
            self.next += 16_000;
        }
    }

    fn low_is_next(&self) -> bool {
        if self.low.is_empty() || self.classic.is_empty() {
            return !self.low.is_empty();
        }
        match self.shift {
            Some(shift) => self.low[0].0 - shift <= self.classic[0].0,
            None => self.credit <= 0,
        }
    }

    fn dequeue(&mut self, now: i64, out: &mut Vec<Out>) {
        while !self.low.is_empty() || !self.classic.is_empty() {
            let sent =
                if self.low_is_next() { self.send_low(now, out) } else { self.send_classic(out) };
            if sent {
                return;
            }
        }
        self.credit = -1200;
    }

    fn send_low(&mut self, now: i64, out: &mut Vec<Out>) -> bool {
        let (came, mut packet) = self.low.pop_front().unwrap();
        let coupled = 2.0 * self.p;
        if coupled < 1.0 {
            let waited = now - came;
            let native = if self.low.is_empty() || waited <= 800 {
                0.0
            } else if waited >= 1200 {
                1.0
            } else {
                (waited - 800) as f64 / 400.0
            };
            if recur(&mut self.low_count, if native > coupled { native } else { coupled }) {
                packet.ecn = Ecn::Ce;
            }
        } else {
            if recur(&mut self.low_count, self.p * self.p) {
                out.push(Out::Dropped(packet));
                return false;
            }
            if recur(&mut self.low_count, coupled) {
                packet.ecn = Ecn::Ce;
            }
        }
        // In tenths of a byte.
        self.credit += if self.classic.is_empty() { 0 } else { packet.size as i64 / 10 };
        out.push(Out::Sent(packet));
        true
    }

    fn send_classic(&mut self, out: &mut Vec<Out>) -> bool {
        let (_, mut packet) = self.classic.pop_front().unwrap();
        let classic = self.p * self.p;
        if recur(&mut self.classic_count, classic) {
            if packet.ecn == Ecn::NotEct || classic >= 0.25 {
                out.push(Out::Dropped(packet));
                return false;
            }
            packet.ecn = Ecn::Ce;
        }
        self.credit -= if self.low.is_empty() { 0 } else { packet.size as i64 / 10 * 9 };
        out.push(Out::Sent(packet));
        true
    }
}

proptest! {
    /// Packet by packet what the RFC's pseudo-code does, from idle to overload.
    #[test]
    fn it_is_the_pseudo_code(
        steps in prop::collection::vec((0i64..5_000, 0usize..4, 4u64..150, prop::bool::weighted(0.6)), 1..1000),
        time_shifted in any::<bool>(),
    ) {
        let scheduler = if time_shifted { Scheduler::TimeShifted } else { Scheduler::Weighted };
        let config = DualPi2Config { scheduler, ..DualPi2Config::default() };
        let mut queue = DualPi2::new(config, Limit::Packets(10_000), random(0));
        let mut reference = Reference::new(time_shifted.then_some(30_000));
        let (mut now, mut got, mut want) = (0, Vec::new(), Vec::new());
        for (number, (gap, codepoint, tens, arrives)) in steps.into_iter().enumerate() {
            now += gap;
            reference.run_timer(now);
            if arrives {
                let ecn = CODEPOINTS[codepoint];
                let packet = Packet::new(0, number as u64, tens * 10).with_ecn(ecn);
                prop_assert_eq!(queue.offer(micros(now), packet), []);
                let low = matches!(ecn, Ecn::Ect1 | Ecn::Ce);
                let lane = if low { &mut reference.low } else { &mut reference.classic };
                lane.push_back((now, packet));
            } else {
                let mut dropped = Vec::new();
                let next = queue.dequeue(micros(now), &mut dropped);
                got.extend(dropped.into_iter().map(|drop| Out::Dropped(drop.packet)));
                got.extend(next.map(|next| Out::Sent(next.packet)));
                reference.dequeue(now, &mut want);
            }
            prop_assert_eq!(queue.classic_probability().to_bits(), (reference.p * reference.p).to_bits());
            prop_assert_eq!(&got, &want);
        }
    }

    /// Every packet leaves once or is dropped with a reason; each side is first in, first out; the limit holds;
    /// only capable packets are marked; and while anything waits, a call sends or drops.
    #[test]
    fn nothing_is_lost_track_of(
        steps in prop::collection::vec((0i64..30, 0usize..4, 40u64..1500, prop::bool::weighted(0.7)), 1..600),
        limit in prop_oneof![
            (1500u64..60_000).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
            (1u64..60).prop_map(Limit::Packets),
        ],
        seed in any::<u64>(),
        linux in any::<bool>(),
    ) {
        let config = if linux { DualPi2Config::linux() } else { DualPi2Config::default() };
        let mut queue = DualPi2::new(config, limit, random(seed));
        let (mut now, mut sent) = (Instant::ZERO, Vec::new());
        let (mut out, mut overflown, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for (gap, codepoint, size, arrives) in steps {
            now += Duration::from_millis(gap);
            let before = queue.backlog().packets;
            if arrives {
                let packet = Packet::new(0, sent.len() as u64, size).with_ecn(CODEPOINTS[codepoint]);
                sent.push(packet);
                for drop in queue.offer(now, packet) {
                    prop_assert_eq!((drop.packet, drop.reason), (packet, DropReason::Overflow));
                    overflown.push(packet.number);
                }
            } else {
                out.extend(queue.dequeue(now, &mut dropped));
                prop_assert!(before == 0 || queue.backlog().packets < before);
            }
            match limit {
                Limit::Bytes(max) => prop_assert!(queue.backlog().bytes <= max),
                Limit::Packets(max) => prop_assert!(queue.backlog().packets <= max),
            }
        }
        while queue.backlog().packets > 0 {
            out.extend(queue.dequeue(now, &mut dropped));
        }
        prop_assert_eq!(queue.backlog(), Backlog::default());
        let is_low = |number: u64| matches!(sent[number as usize].ecn, Ecn::Ect1 | Ecn::Ce);
        for low in [false, true] {
            let numbers = out.iter().map(|next| next.packet.number).filter(|&number| is_low(number) == low);
            prop_assert!(numbers.collect::<Vec<_>>().is_sorted());
        }
        for packet in out.iter().map(|next| next.packet) {
            let was = sent[packet.number as usize].ecn;
            prop_assert!(packet.ecn == was || (packet.ecn == Ecn::Ce && was != Ecn::NotEct));
        }
        prop_assert!(dropped.iter().all(|drop: &Dropped<Packet>| drop.reason == DropReason::Early));
        let early = dropped.iter().map(|drop| drop.packet.number);
        let mut all: Vec<u64> = out.iter().map(|next| next.packet.number).chain(early).chain(overflown).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..sent.len() as u64).collect::<Vec<_>>());
    }

    /// While both sides wait, each gets its share of the bytes within two packets and the first credit,
    /// whatever the sizes.
    #[test]
    fn neither_side_starves(
        sizes in prop::collection::vec((40u64..1500, 40u64..1500), 2000..2001),
        percent in 1u64..100,
    ) {
        let classic_weight = Ratio::from_ppm(percent * 10_000);
        let config = DualPi2Config { classic_weight, ..DualPi2Config::default() };
        let mut queue = DualPi2::new(config, Limit::Packets(10_000), random(0));
        for (number, &(low, classic)) in sizes.iter().enumerate() {
            let number = number as u64;
            queue.offer(Instant::ZERO, Packet::new(1, number, low).with_ecn(Ecn::Ect1));
            queue.offer(Instant::ZERO, Packet::new(0, number, classic));
        }
        let (mut total, mut classic) = (0.0, 0.0);
        for _ in 0..1500 {
            // At zero: the controller has not yet said anything.
            let next = queue.dequeue(Instant::ZERO, &mut Vec::new()).unwrap();
            total += next.packet.size as f64;
            classic += if next.packet.flow == 0 { next.packet.size as f64 } else { 0.0 };
            prop_assert!((classic - total * percent as f64 / 100.0).abs() <= 3000.0);
        }
    }
}

#[test]
fn the_first_updates_by_hand() {
    let mut queue = DualPi2::new(DualPi2Config::default(), Limit::Packets(1000), random(1));
    let mut at = |now| {
        queue.offer(millis(now), segment(0, Ecn::NotEct));
        (queue.coupled_probability(), queue.classic_probability())
    };
    let close = |got: (f64, f64), p: f64| {
        assert!((got.0 - 2.0 * p).abs() < 1e-12 && (got.1 - p * p).abs() < 1e-12, "{got:?} {p}");
    };
    close(at(0), 0.0);
    // 16 ms: 1 ms above the target, 16 ms more than before.
    close(at(16), 0.16 * 0.001 + 3.2 * 0.016);
    // 32 ms: 17 ms above, 16 ms more.
    close(at(32), 0.16 * 0.018 + 3.2 * 0.032);
    close(at(10_000), 1.0);
}

/// A queue at a base probability of 0.2, and when: one update finds a packet that has waited 10 ms.
fn at_a_fifth(config: DualPi2Config) -> (DualPi2<Packet>, Instant) {
    let config = DualPi2Config { alpha: 0.0, beta: 20.0, ..config };
    let mut queue = DualPi2::new(config, Limit::Packets(1000), random(5));
    queue.offer(millis(150), segment(0, Ecn::NotEct));
    queue.dequeue(millis(160), &mut Vec::new());
    (queue, millis(160))
}

/// The RFC's recur(): at a probability of 0.4, the sums are 0.4, 0.8, 1.2, 0.6, 1.0, 1.4, 0.8, 1.2, ...
#[test]
fn marks_are_evenly_spaced() {
    let (mut queue, update) = at_a_fifth(DualPi2Config::default());
    assert!((queue.coupled_probability() - 0.4).abs() < 1e-12, "{}", queue.coupled_probability());
    let marks: Vec<bool> = (0..8)
        .map(|number| {
            queue.offer(update, segment(number, Ecn::Ect1));
            queue.dequeue(update, &mut Vec::new()).unwrap().packet.ecn == Ecn::Ce
        })
        .collect();
    // A sum that is one but for rounding may fall either way.
    assert_eq!(marks[..4], [false, false, true, false]);
    assert_eq!(marks.iter().filter(|marked| **marked).count(), 3);
}

/// At a base probability of 0.2: what share of 20 000 packets of each kind is marked and dropped.
fn shares(config: DualPi2Config) -> (f64, [(f64, f64); 3]) {
    let (mut queue, update) = at_a_fifth(config);
    let base = queue.classic_probability().sqrt();
    let kinds = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1].map(|ecn| {
        let (mut marked, mut dropped) = (0, Vec::new());
        for number in 0..20_000 {
            queue.offer(update, segment(number, ecn));
            let next = queue.dequeue(update, &mut dropped);
            marked += u32::from(next.is_some_and(|next| next.packet.ecn == Ecn::Ce));
        }
        (f64::from(marked) / 20_000.0, dropped.len() as f64 / 20_000.0)
    });
    (base, kinds)
}

#[test]
fn the_queues_are_coupled_by_a_square() {
    let cases = [(DualPi2Config::default(), 0.0002), (DualPi2Config::linux(), 0.012)];
    for (config, slack) in cases {
        let (base, [not_capable, classic, scalable]) = shares(config);
        println!("p' {base:.4}: dropped {not_capable:?}, classic {classic:?}, L4S {scalable:?}");
        assert!((base - 0.2).abs() < 1e-12, "{base}");
        let near = |got: f64, want: f64| assert!((got - want).abs() < slack, "{got} {want}");
        near(not_capable.1, base * base);
        near(classic.0, base * base);
        near(scalable.0, 2.0 * base);
        assert!(not_capable.0 + classic.1 + scalable.1 <= 0.0, "nothing else");
    }
    let (base, [_, classic, scalable]) =
        shares(DualPi2Config { coupling: 1.0, ..DualPi2Config::default() });
    assert!((scalable.0 - base).abs() < 0.0002 && (classic.0 - base * base).abs() < 0.0002);
}

#[test]
fn the_low_latency_queue_marks_by_its_own_delay() {
    // Of a hundred packets that waited so long, with others behind them or alone.
    let marked = |marking, waited, alone: bool| {
        let config = DualPi2Config { marking, ..DualPi2Config::default() };
        let count =
            (0..100).scan(DualPi2::new(config, Limit::Packets(9), random(1)), |queue, number| {
                let came = Instant::ZERO + Duration::from_millis(10) * number;
                queue.offer(came, segment(0, Ecn::Ect1));
                if !alone {
                    queue.offer(came, segment(1, Ecn::Ect1));
                }
                let next = queue.dequeue(came + Duration::from_micros(waited), &mut Vec::new());
                while queue.dequeue(came, &mut Vec::new()).is_some() {}
                next.map(|next| u32::from(next.packet.ecn == Ecn::Ce))
            });
        count.sum::<u32>()
    };
    let ramp = DualPi2Config::default().marking;
    let expected =
        [(800, 0..=0), (900, 24..=25), (1000, 49..=50), (1100, 74..=75), (1200, 99..=100)];
    for (waited, range) in expected {
        let count = marked(ramp, waited, false);
        assert!(range.contains(&count), "{waited} us: {count}");
    }
    assert_eq!(marked(ramp, 5000, true), 0, "alone");
    let step = LowLatencyMarking::Step;
    assert_eq!(marked(step, 1000, false), 0);
    assert!(marked(step, 1001, false) >= 99);
    assert!(marked(step, 1001, true) >= 99, "the step asks for no company");
}

#[test]
fn low_latency_packets_pass_classic_ones() {
    let mut queue = DualPi2::new(DualPi2Config::default(), Limit::Packets(9), random(1));
    for (number, ecn) in CODEPOINTS.into_iter().enumerate() {
        queue.offer(Instant::ZERO, segment(number as u64, ecn));
    }
    let order = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Vec::new()));
    assert_eq!(order.map(|next| next.packet.number).collect::<Vec<_>>(), [2, 3, 0, 1]);
}

#[test]
fn a_time_shift_lets_classic_packets_wait_that_much_longer() {
    let first = |gap| {
        let config =
            DualPi2Config { scheduler: Scheduler::TimeShifted, ..DualPi2Config::default() };
        let mut queue = DualPi2::new(config, Limit::Packets(9), random(1));
        queue.offer(Instant::ZERO, segment(0, Ecn::NotEct));
        queue.offer(millis(gap), segment(1, Ecn::Ect1));
        queue.dequeue(millis(gap), &mut Vec::new()).map(|next| next.packet.number)
    };
    assert_eq!((first(30), first(31)), (Some(1), Some(0)));
}

fn source(law: Law, ecn: Ecn, rtt: i64) -> Source {
    Source { law, ecn, rtt: Duration::from_millis(rtt), window: 20.0 }
}

/// 60 s after 20 s.
fn run(config: DualPi2Config, rate: u64, sources: &[Source]) -> Vec<Record> {
    let size = QueueSize::Time(Duration::from_millis(250));
    settle(Rate::from_mbps(rate), size, sources, |limit| DualPi2::new(config, limit, random(rate)))
}

#[test]
fn the_delay_of_classic_flows_settles_at_the_target() {
    for (rate, ecn, config) in [
        (10, Ecn::NotEct, DualPi2Config::default()),
        (20, Ecn::NotEct, DualPi2Config::default()),
        (20, Ecn::Ect0, DualPi2Config::default()),
        (20, Ecn::NotEct, DualPi2Config::linux()),
        (50, Ecn::NotEct, DualPi2Config::linux()),
    ] {
        let flows = [40, 45, 50, 55, 60].map(|rtt| source(Law::Reno, ecn, rtt));
        let records = run(config, rate, &flows);
        let mean = mean_of(&records);
        println!("dual-pi2 {rate} Mb/s {ecn:?} {:?}: {mean:.2} ms", config.decision);
        assert!((13.0..17.0).contains(&mean), "{rate} Mb/s: {mean} ms");
    }
    let config = DualPi2Config { target: Duration::from_millis(30), ..DualPi2Config::default() };
    let mean = mean_of(&run(
        config,
        20,
        &[40, 45, 50, 55, 60].map(|rtt| source(Law::Reno, Ecn::NotEct, rtt)),
    ));
    assert!((27.0..33.0).contains(&mean), "{mean}");
}

#[test]
fn l4s_flows_wait_little_beside_classic_ones_and_share() {
    for config in [DualPi2Config::default(), DualPi2Config::linux()] {
        let classic = [30, 33, 36, 39].map(|rtt| source(Law::Reno, Ecn::NotEct, rtt));
        let scalable = [30, 33, 36, 39].map(|rtt| source(Law::Scalable, Ecn::Ect1, rtt));
        let records = run(config, 40, &[classic, scalable].concat());
        let (classic, scalable) = (mean_of(&records[..4]), mean_of(&records[4..]));
        let within = records[4].share_within(1.0);
        // Windows, not rates, are what the coupling makes equal: a classic round trip has the queue on top.
        let window =
            |record: &Record, rtt: f64| record.delivered() as f64 * (rtt + record.mean_delay());
        let ratio = window(&records[4], 30.0) / window(&records[0], 30.0);
        let (marked, dropped) = (records[4].signalled(), records[0].signalled());
        println!(
            "dual-pi2 40 Mb/s: C {classic:.2} ms, L {scalable:.3} ms, {within:.3} within 1 ms, \
             windows L/C {ratio:.2}, L marked {marked:.3}, C dropped {dropped:.4}"
        );
        assert!((13.0..17.0).contains(&classic), "{classic}");
        assert!(scalable < 1.0 && within > 0.9, "{scalable} {within}");
        // The square root law of Reno and k = 2 make it 0.8; marks of L's own for bursts come on top.
        assert!((0.35..1.0).contains(&ratio), "{ratio}");
        assert!(marked >= 2.0 * dropped.sqrt() * 0.95, "{marked} {dropped}");
        assert!(records[4..].iter().all(|record| record.dropped == 0));
    }
}

/// Without the coupling, the scalable flow takes all but the classic queue's weight: the twin of the test above.
#[test]
fn without_coupling_scalable_flows_take_all() {
    let flows = [source(Law::Reno, Ecn::NotEct, 30), source(Law::Scalable, Ecn::Ect1, 30)];
    let records = run(DualPi2Config { coupling: 0.0, ..DualPi2Config::default() }, 40, &flows);
    assert!(
        records[1].delivered() > 4 * records[0].delivered(),
        "{} {}",
        records[1].delivered(),
        records[0].delivered()
    );
}

/// Half as much again as 40 Mb/s, whatever it is told.
fn deaf(ecn: Ecn) -> Source {
    Source { law: Law::Deaf, ecn, rtt: Duration::from_micros(200), window: 1.0 }
}

#[test]
fn unresponsive_traffic_is_dropped_and_starves_nobody() {
    for ecn in [Ecn::Ect1, Ecn::Ect0] {
        let flows =
            [source(Law::Reno, Ecn::NotEct, 30), deaf(ecn), source(Law::Scalable, Ecn::Ect1, 30)];
        let records = run(DualPi2Config::default(), 40, &flows);
        for record in &records {
            let (delivered, dropped) = (record.delivered(), record.dropped);
            let (mean, marked) = (record.mean_delay(), record.marked);
            println!(
                "deaf {ecn:?}: {delivered} sent, {dropped} dropped, {mean:.2} ms, {marked} marked"
            );
            // A third must go, whoever sent it; it goes early, not for want of room.
            let lost = dropped as f64 / (delivered + dropped) as f64;
            assert!((0.3..0.4).contains(&lost), "{lost}");
            assert_eq!(record.overflows, 0);
            assert!(delivered > 1000, "starved");
        }
        assert_eq!(records[0].marked, 0);
        assert_eq!(records[2].marked, records[2].delivered(), "L says all it can by marks");
        let held = records[1].mean_delay();
        assert!((14.0..16.0).contains(&held), "{held}");
        // The other queue stays short; and classic ECN is off beyond p_Cmax.
        let (other, short) = if ecn == Ecn::Ect1 { (0, 5.0) } else { (2, 1.0) };
        assert!(records[other].mean_delay() < short);
        assert!(ecn == Ecn::Ect1 || records[1].marked == 0);
    }
}

#[test]
fn the_input_decides_whether_l4s_alone_is_held() {
    let held = |delay_input| {
        let config = DualPi2Config { delay_input, ..DualPi2Config::default() };
        run(config, 40, &[deaf(Ecn::Ect1)])[0].clone()
    };
    let both = held(DelayInput::Both);
    assert!((14.0..16.0).contains(&both.mean_delay()) && both.overflows == 0);
    let classic = held(DelayInput::Classic);
    assert!(classic.mean_delay() > 240.0 && classic.overflows == classic.dropped);
}

#[test]
fn a_day_of_silence_costs_nothing() {
    let mut queue = DualPi2::new(DualPi2Config::default(), Limit::Packets(9), random(1));
    queue.offer(Instant::ZERO, segment(0, Ecn::NotEct));
    queue.offer(millis(10_000), segment(1, Ecn::NotEct));
    assert!(queue.classic_probability() >= 1.0);
    while queue.dequeue(millis(10_000), &mut Vec::new()).is_some() {}
    queue.offer(millis(365 * 86_400_000), segment(2, Ecn::NotEct));
    assert!(queue.classic_probability() <= 0.0);
}

#[test]
fn linux_marks_by_a_step_and_by_chance() {
    let config = DualPi2Config::linux();
    assert_eq!(config.decision, Decision::Random);
    let leaves = |config: DualPi2Config, micros| {
        let mut queue = DualPi2::new(config, Limit::Packets(9), random(1));
        queue.offer(Instant::ZERO, Packet::new(0, 0, 1500).with_ecn(Ecn::Ect1));
        let now = Instant::ZERO + Duration::from_micros(micros);
        queue.dequeue(now, &mut Vec::new()).map(|next| next.packet.ecn)
    };
    // More than a millisecond, also alone; the RFC spares a packet that is alone.
    assert_eq!([1000, 1001].map(|micros| leaves(config, micros)), [Some(Ecn::Ect1), Some(Ecn::Ce)]);
    assert_eq!(leaves(DualPi2Config::default(), 1001), Some(Ecn::Ect1));
}
