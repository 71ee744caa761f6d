//! What must hold for every queue and line, whatever comes: nothing is lost track of, order is kept.

use gameway_path::{
    Bottleneck, DelayLine, DropTail, FlowId, Jitter, Limit, Link, Loss, LossModel, PathPacket,
    Queue, Verdict,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, Ratio};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered {
    number: u64,
    size: u64,
}

impl PathPacket for Numbered {
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> FlowId {
        FlowId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ecn(&mut self, _ecn: Ecn) {}
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
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
        let mut path = Bottleneck::new(link, limit, Duration::from_millis(16), DropTail::<Numbered>::new);
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
            let packet = Numbered { number: number as u64, size };
            dropped.extend(path.arrive(now, packet).map(|drop| drop.packet.number));
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

    /// Jitter never reorders and never makes a packet arrive before its propagation delay.
    #[test]
    fn jitter_keeps_order(seed in any::<u64>(), gaps in prop::collection::vec(0i64..3_000_000, 1..200)) {
        let jitter = Jitter { mean: Duration::ZERO, deviation: Duration::from_millis(5) };
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
    let packet = |number, size| Numbered { number, size };
    assert_eq!(queue.enqueue(Instant::ZERO, packet(0, 1500)), Verdict::Queued);
    assert_eq!(queue.enqueue(Instant::ZERO, packet(1, 1400)), Verdict::Queued);
    assert!(matches!(queue.enqueue(Instant::ZERO, packet(2, 101)), Verdict::Dropped(_)));
    assert_eq!(queue.enqueue(Instant::ZERO, packet(3, 100)), Verdict::Queued);
    assert_eq!(queue.backlog().bytes, Bytes::new(3000));
}

#[test]
fn a_queue_sized_in_time_follows_the_capacity() {
    let second = Instant::from_nanos(1_000_000_000);
    let steps = vec![(Instant::ZERO, Rate::from_mbps(12)), (second, Rate::from_mbps(24))];
    let size = QueueSize::Time(Duration::from_millis(10));
    let fill = |at: Instant| {
        let link = Link::steps(steps.clone()).unwrap();
        let mut path =
            Bottleneck::new(link, size, Duration::from_millis(16), DropTail::<Numbered>::new);
        let kept =
            (0..100).filter(|&number| path.arrive(at, Numbered { number, size: 1500 }).is_none());
        kept.count()
    };
    // 10 ms at 12 Mb/s are 15 000 B: ten packets wait and one is in transmission; then twice that.
    assert_eq!(fill(Instant::ZERO), 11);
    assert_eq!(fill(second), 21);
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
}
