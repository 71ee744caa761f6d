//! What must hold for every queue and line, whatever comes: nothing is lost track of, order is kept.

use crate::support::{Offer, Packet};
use gameway_path::{
    Airtime, AirtimeConfig, Backlog, Bottleneck, Cake, CakeConfig, Codel, CodelConfig, DelayLine,
    Dequeued, DropReason, DropTail, Dropped, DualPi2, DualPi2Config, FqCodel, FqCodelConfig,
    Jitter, Limit, Link, Loss, LossModel, MeasuredDelays, PathPacket, Pie, PieConfig, Queue,
    Stalls,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, Ratio};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn numbered(number: u64, size: u64) -> Packet {
    Packet::new(0, number, size)
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// One of the seven disciplines.
fn discipline(kind: usize, limit: Limit) -> Box<dyn Queue<Packet>> {
    match kind {
        0 => Box::new(DropTail::new(limit)),
        1 => Box::new(Codel::new(CodelConfig::default(), limit)),
        2 => Box::new(FqCodel::new(FqCodelConfig::default(), limit, random(1))),
        3 => Box::new(Cake::new(CakeConfig::default(), limit, random(1))),
        4 => Box::new(Airtime::new(AirtimeConfig::default(), limit, random(1))),
        5 => Box::new(Pie::new(PieConfig::default(), limit, random(1))),
        _ => Box::new(DualPi2::new(DualPi2Config::default(), limit, random(1))),
    }
}

proptest! {
    /// Every packet is transmitted or dropped, once, in order, and the queue never exceeds its size.
    #[test]
    fn a_bottleneck_conserves_packets(
        arrivals in prop::collection::vec((0i64..2_000_000, 40u64..1500), 1..300),
        limit in prop_oneof![
            (1500u64..20_000).prop_map(|bytes| QueueSize::Bytes(Bytes::new(bytes))),
            (1u64..30).prop_map(QueueSize::Packets),
        ],
    ) {
        let link = Link::constant(Rate::from_mbps(10)).unwrap();
        let mut path = Bottleneck::new(link, limit, Duration::from_millis(16), DropTail::<Packet>::new);
        let (mut now, mut out, mut dropped) = (Instant::ZERO, Vec::new(), Vec::new());
        let mut busy = Duration::ZERO;
        for (number, &(gap, size)) in arrivals.iter().enumerate() {
            now += Duration::from_nanos(gap);
            while let Some(done) = path.on_deadline(now) {
                busy += done.finished - done.started;
                prop_assert_eq!(done.finished - done.started,
                    Rate::from_mbps(10).time_for(done.packet.wire_size()));
                out.push(done.packet.number);
            }
            let packet = numbered(number as u64, size);
            path.arrive(now, packet);
            dropped.extend(path.drain_dropped().map(|drop| drop.packet.number));
            if let QueueSize::Bytes(bytes) = limit {
                prop_assert!(path.queued_bytes() <= bytes);
            }
        }
        while let Some(due) = path.next_deadline() {
            out.extend(path.on_deadline(due).map(|done| done.packet.number));
        }
        prop_assert!(out.is_sorted(), "first in, first out");
        prop_assert!(busy <= now - Instant::ZERO);
        let mut all = [out, dropped].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }

    /// Every discipline tells the oldest of those that wait.
    #[test]
    fn a_queue_knows_how_long_its_oldest_waits(
        kind in 0usize..7,
        calls in prop::collection::vec((0i64..9_000_000, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let mut queue = discipline(kind, Limit::Packets(20));
        let (mut now, mut came, mut gone) = (Instant::ZERO, Vec::new(), Vec::new());
        for (number, &(gap, enqueues, low_latency)) in calls.iter().enumerate() {
            now += Duration::from_nanos(gap);
            let mut dropped = Vec::new();
            if enqueues {
                let ecn = if low_latency { Ecn::Ect1 } else { Ecn::NotEct };
                came.push(now);
                queue.enqueue(now, numbered(number as u64, 1500).with_ecn(ecn), &mut dropped);
            } else if let Some(next) = queue.dequeue(now, &mut dropped) {
                gone.push(next.enqueued);
            }
            gone.extend(dropped.iter().map(|drop| drop.enqueued));
            let mut waiting = came.clone();
            for time in &gone {
                let place = waiting.iter().position(|one| one == time).expect("it came");
                waiting.remove(place);
            }
            prop_assert_eq!(queue.backlog().packets, waiting.len() as u64);
            prop_assert_eq!(queue.oldest(), waiting.first().copied());
        }
    }

    /// Jitter never reorders and never makes a packet arrive before its propagation delay.
    #[test]
    fn jitter_keeps_order(
        seed in any::<u64>(),
        gaps in prop::collection::vec(0i64..3_000_000, 1..200),
        jitter in prop::sample::select(vec![
            Jitter::Normal { mean: Duration::ZERO, deviation: Duration::from_millis(5) },
            Jitter::HalfNormal { deviation: Duration::from_millis(5) },
            Jitter::Periodic { delay: Duration::from_millis(40), interval: Duration::from_millis(100) },
        ]),
    ) {
        let delay = Duration::from_millis(8);
        let mut line = DelayLine::new(delay).with_jitter(jitter, random(seed));
        let mut now = Instant::ZERO;
        let mut sent = Vec::new();
        for (number, gap) in gaps.iter().enumerate() {
            now += Duration::from_nanos(*gap);
            sent.push(now);
            line.push(now, number);
        }
        let mut last = Instant::ZERO;
        for (number, &left) in sent.iter().enumerate() {
            let due = line.next_deadline().unwrap();
            prop_assert!(due >= left + delay && due >= last);
            last = due;
            prop_assert_eq!(line.pop(due), Some(number));
        }
        prop_assert!(line.is_empty());
    }
}

#[test]
fn a_full_queue_takes_what_fits_and_no_more() {
    let mut queue = DropTail::new(Limit::Bytes(Bytes::new(3000)));
    let packet = numbered;
    assert_eq!(queue.offer(Instant::ZERO, packet(0, 1500)), []);
    assert_eq!(queue.offer(Instant::ZERO, packet(1, 1400)), []);
    assert_eq!(queue.offer(Instant::ZERO, packet(2, 101)).len(), 1);
    assert_eq!(queue.offer(Instant::ZERO, packet(3, 100)), []);
    assert_eq!(queue.backlog().bytes, Bytes::new(3000));
}

/// Gives the newest of those that wait, and drops the others.
struct Newest(DropTail<Packet>);

impl Queue<Packet> for Newest {
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        self.0.enqueue(now, packet, dropped);
    }
    fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<Dequeued<Packet>> {
        while self.0.backlog().packets > 1 {
            let Dequeued { packet, enqueued } = self.0.dequeue(now, dropped)?;
            dropped.push(Dropped { packet, enqueued, reason: DropReason::Early });
        }
        self.0.dequeue(now, dropped)
    }
    fn drain(&mut self, into: &mut Vec<Dequeued<Packet>>) {
        self.0.drain(into);
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
    fn oldest(&self) -> Option<Instant> {
        self.0.oldest()
    }
    fn set_limit(&mut self, limit: Limit) {
        self.0.set_limit(limit);
    }
}

#[test]
fn drops_of_one_departure_are_told_in_the_order_of_arrival() {
    let link = Link::constant(Rate::from_mbps(12)).unwrap();
    let (size, rtt) = (QueueSize::Packets(100), Duration::ZERO);
    let mut path = Bottleneck::new(link, size, rtt, |limit| Newest(DropTail::new(limit)));
    (0..5).for_each(|number| path.arrive(Instant::ZERO, numbered(number, 1500)));
    assert_eq!(path.drain_dropped().count(), 0, "the first is in transmission, four wait");
    let due = path.next_deadline().unwrap();
    assert_eq!(path.on_deadline(due).map(|done| done.packet.number), Some(0));
    let told: Vec<_> = path.drain_dropped().map(|drop| drop.packet.number).collect();
    assert_eq!(told, [1, 2, 3]);
}

#[test]
fn a_queue_sized_in_time_follows_the_capacity() {
    let second = Instant::from_nanos(1_000_000_000);
    let steps = vec![(Instant::ZERO, Rate::from_mbps(12)), (second, Rate::from_mbps(24))];
    let size = QueueSize::Time(Duration::from_millis(10));
    let max = |kind: usize, at: Instant| {
        let link = Link::steps(steps.clone()).unwrap();
        let queue = |limit| discipline(kind, limit);
        let mut path = Bottleneck::new(link, size, Duration::from_millis(16), queue);
        let inside = (0..100).map(|number| {
            path.arrive(at, numbered(number, 1500));
            path.packets_inside()
        });
        inside.max()
    };
    // 10 ms at 12 Mb/s are 15 000 B: ten packets wait and one is in transmission; then twice that.
    for kind in 0..7 {
        assert_eq!((max(kind, Instant::ZERO), max(kind, second)), (Some(11), Some(21)), "{kind}");
    }
}

#[test]
fn behind_a_shaper_a_link_stands_idle_until_the_next_release() {
    // A byte takes a microsecond at the shaper's 8 Mb/s and a tenth of one on the link.
    let config = CakeConfig { bandwidth: Some(Rate::from_mbps(8)), ..CakeConfig::default() };
    let queue = |limit| -> Box<dyn Queue<Packet>> { Box::new(Cake::new(config, limit, random(1))) };
    let link = Link::constant(Rate::from_mbps(80)).unwrap();
    let mut path = Bottleneck::new(link, QueueSize::Packets(9), Duration::ZERO, queue);
    (0..3).for_each(|number| path.arrive(Instant::ZERO, numbered(number, 1000)));
    assert!(!path.has_dropped());
    let micros = |count| Instant::ZERO + Duration::from_micros(count);
    let mut waiting = Vec::new();
    let mut times = Vec::new();
    while let Some(due) = path.next_deadline() {
        times.extend(path.on_deadline(due).map(|done| (done.started, done.finished)));
        waiting.push((path.queued_bytes().get(), path.oldest()));
    }
    let expected = [(0, 100), (1000, 1100), (2000, 2100)];
    assert_eq!(times, expected.map(|(from, to)| (micros(from), micros(to))));
    // After each of: left, released, left, released, left.
    let (came, none) = (Some(Instant::ZERO), None);
    assert_eq!(waiting, [(2000, came), (1000, came), (1000, came), (0, none), (0, none)]);
}

#[test]
fn loss_has_its_probability_and_burst_length() {
    let draws = 400_000;
    let count = |model| {
        let mut loss = Loss::new(model, random(7));
        let lost: Vec<bool> = (0..draws).map(|_| loss.loses_next()).collect();
        let share = lost.iter().filter(|l| **l).count() as f64 / f64::from(draws);
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        (share, share * f64::from(draws) / bursts as f64)
    };
    let probability = Ratio::from_ppm(20_000);
    let (share, burst) = count(LossModel::Random { probability });
    assert!((0.019..0.021).contains(&share), "{share}");
    assert!((1.0..1.05).contains(&burst), "independent losses come in runs of 1/(1-p): {burst}");
    let (share, burst) = count(LossModel::Bursty { probability, burst_length: 4.0 });
    assert!((0.018..0.022).contains(&share), "{share}");
    assert!((3.8..4.2).contains(&burst), "{burst}");
    // Where much is lost, the times between bursts are short: b (1 - p) / p packets.
    let often = LossModel::Bursty { probability: Ratio::from_ppm(400_000), burst_length: 3.0 };
    let (share, burst) = count(often);
    assert!((0.39..0.41).contains(&share), "{share}");
    assert!((2.95..3.05).contains(&burst), "{burst}");
}

#[test]
fn what_waited_too_long_is_marked_if_it_can_be() {
    let millis = |count| Instant::ZERO + Duration::from_millis(count);
    let leaves = |ecn, mark_above, waited| {
        let mut queue = DropTail::new(Limit::Packets(9)).with_marking(mark_above);
        queue.offer(Instant::ZERO, Packet::new(0, 0, 1500).with_ecn(ecn));
        queue.dequeue(millis(waited), &mut Vec::new()).map(|next| next.packet.ecn)
    };
    let limit = Some(Duration::from_millis(1));
    assert_eq!(leaves(Ecn::Ect1, limit, 2), Some(Ecn::Ce));
    assert_eq!(leaves(Ecn::Ect0, limit, 2), Some(Ecn::Ce));
    assert_eq!(leaves(Ecn::Ect1, limit, 1), Some(Ecn::Ect1), "no longer than the limit");
    assert_eq!(leaves(Ecn::NotEct, limit, 2), Some(Ecn::NotEct), "cannot be marked");
    assert_eq!(leaves(Ecn::Ect1, None, 2), Some(Ecn::Ect1), "the queue does not mark");
}

/// The moments of |N(0, s)| cut at 3 s: its mean is 0.7912 s by integration, its most 3 s.
#[test]
fn half_normal_jitter_has_its_moments() {
    let jitter = Jitter::HalfNormal { deviation: Duration::from_millis(5) };
    let mut line = DelayLine::new(Duration::ZERO).with_jitter(jitter, random(3));
    let gap = Duration::from_millis(100);
    let delays: Vec<f64> = (0..20_000i64)
        .map(|number| {
            let now = Instant::ZERO + gap * number;
            (line.push(now, ()) - now).as_millis_f64()
        })
        .collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let max = delays.iter().copied().fold(0.0, f64::max);
    assert!((3.89..4.0).contains(&mean), "{mean}");
    assert!((14.0..=15.0).contains(&max), "{max}");
}

/// Shares and means of buckets by count: three quarters from 0 to 10 us, a quarter from 40 us to 60 us.
#[test]
fn measured_jitter_has_the_shares_that_were_counted() {
    let us = Duration::from_micros;
    let counted = [(us(0), us(10), 3), (us(20), us(30), 0), (us(40), us(60), 1)];
    let measured = MeasuredDelays::new(counted, 1).unwrap();
    let mut line =
        DelayLine::new(Duration::ZERO).with_jitter(Jitter::Histogram(measured), random(3));
    let delays: Vec<f64> = (0..20_000i64)
        .map(|number| {
            let now = Instant::ZERO + Duration::from_millis(number);
            (line.push(now, ()) - now).as_millis_f64() * 1e3
        })
        .collect();
    let short = delays.iter().filter(|delay| **delay <= 10.0).count() as f64 / 2e4;
    let mean = delays.iter().sum::<f64>() / 2e4;
    assert!((0.74..0.76).contains(&short), "{short}");
    assert!((15.9..16.6).contains(&mean), "0.75 x 5 + 0.25 x 50 us, not {mean}");
    assert!(delays.iter().all(|delay| *delay <= 10.0 || (40.0..=60.0).contains(delay)));
    for nothing in [vec![(us(0), us(10), 0)], vec![(us(-1), us(10), 1)], vec![(us(9), us(8), 1)]] {
        assert_eq!(MeasuredDelays::new(nothing, 1), None);
    }
}

/// 100 s of stalls of 1 to 3 ms, 98 ms apart in the mean.
#[test]
fn stalls_have_their_number_and_lengths_and_hold_all_lines_alike() {
    let ms = Duration::from_millis;
    let lengths = MeasuredDelays::new([(ms(1), ms(3), 1)], 1).unwrap();
    let until = Instant::ZERO + Duration::from_secs(100);
    let stalls = Stalls::draw(ms(98), &lengths, until, &mut random(3));
    let step = Duration::from_micros(10);
    let at = |number: i64| Instant::ZERO + step * number;
    let held: Vec<Duration> =
        (0..10_000_000).map(|number| stalls.held(at(number)) - at(number)).collect();
    let stalled = held.iter().filter(|wait| **wait > Duration::ZERO).count() as f64 / 1e7;
    // 2 ms of each 100 ms; a stall's first wait is all of it, to within a step.
    assert!((0.018..0.022).contains(&stalled), "{stalled}");
    let begins = held.windows(2).filter(|pair| pair[0] == Duration::ZERO && pair[1] > ms(0));
    let first: Vec<f64> = begins.map(|pair| pair[1].as_millis_f64()).collect();
    assert!((900..1100).contains(&first.len()), "{}", first.len());
    assert!(first.iter().all(|wait| (0.99..=3.0).contains(wait)));
    let mean = first.iter().sum::<f64>() / first.len() as f64;
    assert!((1.9..2.1).contains(&mean), "{mean}");
    // What is due in a stall arrives at its end, whatever the line's delay.
    let mut near = DelayLine::new(Duration::ZERO).with_stalls(stalls.clone());
    let mut far = DelayLine::new(ms(7)).with_stalls(stalls.clone());
    for number in 0..100_000 {
        let now = at(number);
        assert_eq!(near.push(now, ()), stalls.held(now));
        assert_eq!(far.push(now, ()), stalls.held(now + ms(7)));
    }
}

#[test]
fn periodic_jitter_holds_and_then_lets_go_at_once() {
    let millis = |count| Instant::ZERO + Duration::from_millis(count);
    let (delay, interval) = (Duration::from_millis(40), Duration::from_millis(500));
    let mut line = DelayLine::new(Duration::from_millis(8))
        .with_jitter(Jitter::Periodic { delay, interval }, random(3));
    let arrivals: Vec<Instant> =
        [400, 491, 492, 510, 531, 532, 540].map(|at| line.push(millis(at), ())).to_vec();
    // 8 ms later is 408, 499, then 500 to 539 are held until 540.
    assert_eq!(arrivals, [408, 499, 540, 540, 540, 540, 548].map(millis));
}
