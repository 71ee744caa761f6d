//! HTB against Linux's sch_htb.c and Devera's theory: borrowing stepped by hand, shares, ceilings, priority
//! and its delay, leaves of all kinds, and what must hold whatever comes.

use gameway_path::{
    Backlog, Bottleneck, Cake, CakeConfig, Classifier, Codel, CodelConfig, DropTail, Dropped,
    DualPi2, DualPi2Config, FlowId, FqCodel, FqCodelConfig, Header, Htb, HtbClass, HtbConfig,
    Limit, Link, PathPacket, Pie, PieConfig, PortRange, Queue, Rule,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

mod any_tree;
mod declared;

/// A packet of the class of its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    class: u16,
    number: u64,
    size: u64,
    ecn: Ecn,
}

impl PathPacket for Packet {
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> FlowId {
        FlowId(self.class)
    }
    fn header(&self) -> Header {
        Header::numbered(1 + self.class)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        assert!(self.ecn.is_capable(), "marked, but cannot be");
        self.ecn = ecn;
    }
}

fn packet(class: usize, number: u64, size: u64) -> Packet {
    Packet { class: class as u16, number, size, ecn: Ecn::NotEct }
}

fn millis(count: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(count)
}

/// Packets of class n have port n + 1.
fn by_port(classes: usize) -> Classifier {
    let rule = |class: usize| {
        let port: PortRange = (class + 1).to_string().parse().unwrap();
        (Rule { port: Some(port), ..Rule::default() }, class)
    };
    Classifier::new((1..classes).map(rule).collect(), 0)
}

const LIMIT: Limit = Limit::Packets(1000);

/// Of leaves only, or with inner classes which are last: packets go to the first `leaves` classes.
fn tree_of(rate: Option<u64>, leaves: usize, classes: Vec<HtbClass>) -> Htb<Packet> {
    let config = HtbConfig { rate: rate.map(Rate::from_mbps), classes };
    Htb::new(&config, by_port(leaves), |_, _| Box::new(DropTail::new(LIMIT))).unwrap()
}

fn class(rate: u64, ceil: u64) -> HtbClass {
    let ceil = Rate::from_mbps(ceil);
    HtbClass {
        ceil,
        cburst: HtbClass::default_burst(ceil),
        ..HtbClass::new("class", Rate::from_mbps(rate))
    }
}

fn fill(queue: &mut Htb<Packet>, now: Instant, class: usize, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let mut dropped = Vec::new();
        queue.enqueue(now, packet(class, number, 1000), &mut dropped);
        assert_eq!(dropped, []);
    }
}

fn next(queue: &mut Htb<Packet>, now: Instant) -> Option<(u16, u64)> {
    let left = queue.dequeue(now, &mut Vec::new());
    left.map(|next| (next.packet.class, next.packet.number))
}

/// Everything that may leave now.
fn leave(queue: &mut Htb<Packet>, now: Instant) -> Vec<(u16, u64)> {
    std::iter::from_fn(|| next(queue, now)).collect()
}

/// What leaves through an endless link, each as soon as it may, until `end`: time, class and size.
fn run(
    queue: &mut Htb<Packet>,
    end: Instant,
    mut refill: impl FnMut(&mut Htb<Packet>, Instant),
) -> Vec<(Instant, usize, u64)> {
    let mut now = Instant::ZERO;
    let mut sent = Vec::new();
    while now <= end {
        refill(queue, now);
        let mut dropped = Vec::new();
        while let Some(left) = queue.dequeue(now, &mut dropped) {
            sent.push((now, usize::from(left.packet.class), left.packet.size));
            refill(queue, now);
        }
        let Some(release) = queue.next_release(now) else { break };
        assert!(release > now);
        now = release;
    }
    sent
}

/// Keeps `classes` backlogged with packets of `size`.
fn greedy(classes: &[usize], size: u64) -> impl FnMut(&mut Htb<Packet>, Instant) {
    let classes = classes.to_vec();
    move |queue, now| {
        for &class in &classes {
            while queue.class_backlog(class).packets < 3 {
                queue.enqueue(now, packet(class, 0, size), &mut Vec::new());
            }
        }
    }
}

fn bytes_of(sent: &[(Instant, usize, u64)], class: usize) -> u64 {
    sent.iter().filter(|one| one.1 == class).map(|one| one.2).sum()
}

/// Mb/s of a class after the first second.
fn rate_of(sent: &[(Instant, usize, u64)], class: usize, end: Instant) -> f64 {
    let first = millis(1000);
    let later: Vec<_> = sent.iter().copied().filter(|one| one.0 >= first).collect();
    bytes_of(&later, class) as f64 * 8.0 / (end - first).as_secs_f64() / 1e6
}

fn rates(queue: &mut Htb<Packet>, busy: &[usize], count: usize) -> Vec<f64> {
    let end = millis(11_000);
    let sent = run(queue, end, greedy(busy, 1000));
    (0..count).map(|class| rate_of(&sent, class, end)).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() <= 0.02 * other.max(0.5), "{found:?} instead of {expected:?}");
    }
}

#[test]
fn a_class_alone_sends_its_burst_and_then_at_its_rate() {
    // 8 Mb/s are 1000 B in 1 ms. A burst of 3000 B is 3 ms of tokens: after three packets there are none,
    // which is enough for a fourth, and then it must wait until the debt is paid.
    let burst = Bytes::new(3000);
    let mut queue = tree_of(None, 1, vec![HtbClass { burst, cburst: burst, ..class(8, 8) }]);
    fill(&mut queue, millis(0), 0, 0..20);
    assert_eq!(leave(&mut queue, millis(0)), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    assert_eq!(queue.next_release(millis(0)), Some(millis(1)));
    assert_eq!(next(&mut queue, millis(1) - Duration::from_nanos(1)), None);
    assert_eq!(leave(&mut queue, millis(1)), [(0, 4)]);
    // After 2 ms: one packet for each, and one that is owed.
    assert_eq!(leave(&mut queue, millis(3)), [(0, 5), (0, 6)]);
    // After a long pause the bucket is full again, and not fuller.
    assert_eq!(leave(&mut queue, millis(500)).len(), 4);
}

/// Two leaves under a root: as in the picture of Devera's theory in which leaf and parent are yellow and
/// green, stepped by hand with buckets of one packet.
#[test]
fn lending_goes_by_levels() {
    let burst = Bytes::new(1000);
    let make = |rate, ceil, priority| HtbClass {
        burst,
        cburst: Bytes::new(5000),
        priority,
        ..class(rate, ceil)
    };
    // 8 Mb/s: 1 ms for a packet; the root has 16 Mb/s: half of one.
    let mut queue = tree_of(Some(16), 2, vec![make(8, 16, 1), make(8, 16, 0)]);
    fill(&mut queue, millis(0), 0, 0..9);
    fill(&mut queue, millis(0), 1, 0..9);
    // Both are green (level 0): 1 is of the better priority, and stays green for one more packet, with
    // nothing in its bucket; then it is yellow, and 0, green, goes before it.
    assert_eq!(next(&mut queue, millis(0)), Some((1, 0)));
    assert_eq!(next(&mut queue, millis(0)), Some((1, 1)));
    assert_eq!(next(&mut queue, millis(0)), Some((0, 0)));
    assert_eq!(next(&mut queue, millis(0)), Some((0, 1)));
    // Both are yellow now. The root paid for all of them, 4 packets of 0.5 ms out of a bucket of 1600 B or
    // 0.8 ms: it owes 1.2 ms and may not lend.
    assert_eq!(next(&mut queue, millis(0)), None);
    // It owed 0.2 ms when it turned red, and as in Linux is asked again then, for nothing.
    let early = Instant::ZERO + Duration::from_micros(200);
    assert_eq!(queue.next_release(millis(0)), Some(early));
    assert_eq!(next(&mut queue, early), None);
    // At 1 ms the leaves have paid what they owed and send by themselves, 1 before 0, whatever the root may.
    assert_eq!(queue.next_release(early), Some(millis(1)));
    assert_eq!(next(&mut queue, millis(1) - Duration::from_nanos(1)), None);
    assert_eq!(leave(&mut queue, millis(1)), [(1, 2), (0, 2)]);
}

/// Devera's theory: when nobody is green, who borrows is asked by priority, and a class of a worse one gets
/// nothing of the excess as long as one of a better wants it.
#[test]
fn the_excess_goes_to_the_better_priority_first() {
    let first = HtbClass { priority: 0, ..class(10, 40) };
    let second = HtbClass { priority: 1, ..class(10, 40) };
    let mut queue = tree_of(Some(40), 2, vec![first, second]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[30.0, 10.0]);
    let first = HtbClass { priority: 0, ..class(10, 20) };
    let second = HtbClass { priority: 1, ..class(10, 40) };
    let mut queue = tree_of(Some(40), 2, vec![first, second]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[20.0, 20.0]);
}

/// Devera's equation 2: what is borrowed is in proportion to the quanta.
#[test]
fn equals_share_the_excess_as_their_quanta() {
    let classes = vec![class(1, 39), class(2, 39)];
    assert_eq!(classes[0].quantum, Bytes::new(12_500));
    let mut queue = tree_of(Some(39), 2, classes);
    // 36 Mb/s are left, and the second has twice the quantum.
    assert_near(&rates(&mut queue, &[0, 1], 2), &[13.0, 26.0]);

    let quantum = Bytes::new(3000);
    let equal = |rate| HtbClass { quantum, ..class(rate, 39) };
    let mut queue = tree_of(Some(39), 2, vec![equal(1), equal(2)]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[19.0, 20.0]);
}

/// Two customers, one with two services (the example of Devera's user guide, section 2, in Mb/s): what one
/// service leaves is its neighbour's first, because it is lent at the lower level.
#[test]
fn what_a_class_leaves_is_its_siblings_first() {
    let parent = Some(3);
    let classes = || {
        vec![
            HtbClass { parent, ..class(30, 100) },
            HtbClass { parent, ..class(10, 100) },
            class(60, 100),
            class(40, 100),
        ]
    };
    let run = |busy: &[usize]| rates(&mut tree_of(Some(100), 3, classes()), busy, 3);
    assert_near(&run(&[0, 1, 2]), &[30.0, 10.0, 60.0]);
    assert_near(&run(&[1, 2]), &[0.0, 40.0, 60.0]);
    assert_near(&run(&[0, 2]), &[40.0, 0.0, 60.0]);
    assert_near(&run(&[2]), &[0.0, 0.0, 100.0]);
    // B is away: A's services share all of it, 60 in proportion to their quanta of 200 000 and 125 000 B.
    let both = run(&[0, 1]);
    assert!((both[0] + both[1] - 100.0).abs() < 1.0, "{both:?}");
    assert!((both[1] - 10.0 - 60.0 * 125.0 / 325.0).abs() < 1.5, "{both:?}");
}

/// A round of the root has a round of each inner class, and that a turn of each of its leaves: so leaves share the excess
/// as their quanta, whoever their parent is.
#[test]
fn leaves_of_several_parents_share_the_excess_of_the_root_as_their_quanta() {
    let leaf = |parent, quantum| HtbClass {
        parent: Some(parent),
        quantum: Bytes::new(quantum),
        ..class(1, 40)
    };
    let classes = vec![leaf(3, 3000), leaf(3, 6000), leaf(4, 3000), class(2, 40), class(1, 40)];
    let mut queue = tree_of(Some(40), 3, classes);
    // Of 40 Mb/s each has 1, and 37 are left in parts of 3, 6 and 3 of 12.
    assert_near(&rates(&mut queue, &[0, 1, 2], 3), &[10.25, 19.5, 10.25]);
}

#[test]
fn a_ceiling_holds_though_there_is_excess() {
    let mut queue = tree_of(Some(100), 2, vec![class(10, 25), class(10, 30)]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[25.0, 30.0]);
}

#[test]
fn without_a_lender_a_class_keeps_to_its_rate() {
    let mut queue = tree_of(None, 2, vec![class(10, 10), class(20, 20)]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[10.0, 20.0]);
}

#[test]
fn a_middle_class_that_may_not_borrow_does_not_lend() {
    // The inner class has 20 and a ceiling of 20; its only child would have 100.
    let child = HtbClass { parent: Some(2), ..class(5, 20) };
    let mut queue = tree_of(Some(100), 2, vec![child, class(10, 100), class(20, 20)]);
    assert_near(&rates(&mut queue, &[0], 2), &[20.0, 0.0]);
    let child = HtbClass { parent: Some(2), ..class(5, 20) };
    let mut queue = tree_of(Some(100), 2, vec![child, class(10, 100), class(20, 20)]);
    assert_near(&rates(&mut queue, &[0, 1], 2), &[20.0, 80.0]);
}

/// A packet of the class that goes first waits for the one in transmission and no other, while it keeps to
/// its rate.
#[test]
fn a_prioritized_class_waits_for_one_packet() {
    let link = Link::constant(Rate::from_mbps(50)).unwrap();
    let burst = Bytes::new(3000);
    let game = HtbClass { priority: 0, burst, ..class(30, 50) };
    let rest = HtbClass { priority: 1, ..class(20, 50) };
    let queue = tree_of(Some(50), 2, vec![game, rest]);
    let size = QueueSize::Packets(1000);
    let mut path = Bottleneck::new(link, size, Duration::ZERO, |_| queue);
    let one_packet = Rate::from_mbps(50).time_for(Bytes::new(1500));
    let (mut now, mut longest, mut seen) = (Instant::ZERO, Duration::ZERO, 0);
    let gap = Rate::from_mbps(30).time_for(Bytes::new(1200));
    while now < millis(5_000) {
        now += gap;
        while let Some(due) = path.next_deadline().filter(|&due| due <= now) {
            if let Some(left) = path.on_deadline(due).filter(|left| left.packet.class == 0) {
                longest = longest.max(left.queueing_delay());
                seen += 1;
            }
        }
        path.arrive(now, packet(0, 0, 1200));
        while path.packets_inside() < 50 {
            path.arrive(now, packet(1, 0, 1500));
        }
    }
    assert!(seen > 15_000, "{seen}");
    assert!(longest <= one_packet, "{longest} is more than {one_packet}");
    assert!(longest > one_packet / 2, "the other class was there: {longest}");
}

/// A leaf may be a shaper, drop all that it holds, or drop more than one at an arrival.
#[test]
fn a_leaf_that_is_a_shaper_holds_back_only_its_own() {
    let inner = || {
        let config = HtbConfig { rate: None, classes: vec![class(4, 4)] };
        let leaf =
            |_: usize, _: &HtbClass| Box::new(DropTail::new(LIMIT)) as Box<dyn Queue<Packet>>;
        Htb::new(&config, by_port(1), leaf).unwrap()
    };
    let config =
        HtbConfig { rate: Some(Rate::from_mbps(40)), classes: vec![class(10, 40), class(10, 40)] };
    let mut queue = Htb::new(&config, by_port(2), |number, _| -> Box<dyn Queue<Packet>> {
        if number == 0 { Box::new(inner()) } else { Box::new(DropTail::new(LIMIT)) }
    })
    .unwrap();
    assert_near(&rates(&mut queue, &[0, 1], 2), &[4.0, 36.0]);
    let mut alone = Htb::new(&config, by_port(2), |_, _| Box::new(inner()) as _).unwrap();
    assert_near(&rates(&mut alone, &[0], 2), &[4.0, 0.0]);
}

/// Drops all that waits when it is asked for the next.
#[derive(Debug, Default)]
struct Shredder(Vec<Packet>);

impl Queue<Packet> for Shredder {
    fn enqueue(&mut self, _: Instant, packet: Packet, _: &mut Vec<Dropped<Packet>>) {
        self.0.push(packet);
    }
    fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<gameway_path::Dequeued<Packet>> {
        let reason = gameway_path::DropReason::Early;
        dropped.extend(self.0.drain(..).map(|packet| Dropped { packet, enqueued: now, reason }));
        None
    }
    fn drain(&mut self, _: &mut Vec<gameway_path::Dequeued<Packet>>) {
        unreachable!("nothing takes its place");
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.0.iter().map(|packet| Bytes::new(packet.size)).sum();
        Backlog { bytes, packets: self.0.len() as u64 }
    }
    /// It does not know.
    fn oldest(&self) -> Option<Instant> {
        None
    }
    fn set_limit(&mut self, _: Limit) {}
}

#[test]
fn a_leaf_that_drops_all_it_holds_does_not_stop_the_others() {
    let config =
        HtbConfig { rate: Some(Rate::from_mbps(40)), classes: vec![class(10, 40), class(10, 40)] };
    let mut queue = Htb::new(&config, by_port(2), |number, _| -> Box<dyn Queue<Packet>> {
        if number == 0 { Box::new(Shredder::default()) } else { Box::new(DropTail::new(LIMIT)) }
    })
    .unwrap();
    for round in 0..5u64 {
        let now = millis(10 * round as i64);
        fill(&mut queue, now, 0, 0..3);
        fill(&mut queue, now, 1, round..round + 1);
        let mut dropped = Vec::new();
        let left = queue.dequeue(now, &mut dropped).unwrap();
        assert_eq!((left.packet.class, left.packet.number, dropped.len()), (1, round, 3));
        assert_eq!(queue.backlog(), Backlog::default());
        assert_eq!(queue.next_release(now), None);
        // Alone it gives nothing at all, and nothing waits afterwards.
        fill(&mut queue, now, 0, 0..3);
        assert_eq!(queue.dequeue(now, &mut dropped), None);
        assert_eq!((dropped.len(), queue.backlog()), (6, Backlog::default()));
    }
}

/// Whoever begins a round and has dropped all that it held is no longer the end of the round.
#[test]
fn a_round_ends_although_who_began_it_dropped_all_that_it_held() {
    let config =
        HtbConfig { rate: Some(Rate::from_mbps(40)), classes: vec![class(10, 40), class(10, 40)] };
    let bandwidth = Some(Rate::from_kbps(1));
    let shaper = CakeConfig { bandwidth, ..CakeConfig::default() };
    let mut queue = Htb::new(&config, by_port(2), |number, _| -> Box<dyn Queue<Packet>> {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let held: Box<dyn Queue<Packet>> = Box::new(Cake::new(shaper, LIMIT, random));
        if number == 0 { Box::new(Shredder::default()) } else { held }
    })
    .unwrap();
    fill(&mut queue, millis(0), 1, 0..2);
    assert_eq!(next(&mut queue, millis(0)), Some((1, 0)));
    // 1000 B take 8 s: until then the shaper gives nothing, and the other leaf never does.
    for round in 0..4 {
        fill(&mut queue, millis(round), 0, 0..3);
        assert_eq!([0, 1, 2].map(|_| next(&mut queue, millis(round))), [None; 3]);
        assert_eq!(queue.backlog().packets, 1);
    }
    assert_eq!(next(&mut queue, millis(8000)), Some((1, 1)));
}

#[test]
fn every_drop_of_a_leaf_is_told() {
    let config = HtbConfig { rate: None, classes: vec![class(10, 10)] };
    let mut queue = Htb::new(&config, by_port(1), |_, _| {
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        Box::new(FqCodel::new(FqCodelConfig::default(), Limit::Packets(20), random))
    })
    .unwrap();
    let mut told = Vec::new();
    for number in 0..100 {
        queue.enqueue(millis(0), packet(0, number, 1000), &mut told);
        assert_eq!(told.len() as u64 + queue.backlog().packets, number + 1);
    }
}

#[test]
fn the_oldest_is_that_of_all_leaves() {
    let mut queue = tree_of(Some(10), 2, vec![class(1, 10), class(2, 10)]);
    assert_eq!(queue.oldest(), None);
    fill(&mut queue, millis(5), 1, 0..1);
    fill(&mut queue, millis(7), 0, 1..2);
    assert_eq!(queue.oldest(), Some(millis(5)));
    // The leaves have had no turn yet, and the first class begins.
    assert_eq!(next(&mut queue, millis(8)), Some((0, 1)));
    assert_eq!(queue.oldest(), Some(millis(5)));
    assert_eq!(next(&mut queue, millis(8)), Some((1, 0)));
    assert_eq!(queue.oldest(), None);
}
