//! HTB against Linux's sch_htb.c and Devera's theory: borrowing stepped by hand, shares, ceilings, priority
//! and its delay, leaves of all kinds, and what must hold whatever comes.

use gameway_path::{
    Backlog, Bottleneck, Classifier, Codel, CodelConfig, DropTail, Dropped, DualPi2, DualPi2Config,
    FlowId, FqCodel, FqCodelConfig, Header, Htb, HtbClass, HtbConfig, Limit, Link, PathPacket, Pie,
    PieConfig, PortRange, Queue, Rule,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

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

fn refused(rate: Option<u64>, classes: Vec<HtbClass>) -> String {
    let config = HtbConfig { rate: rate.map(Rate::from_mbps), classes };
    config.check().expect_err("it cannot be").to_string()
}

#[test]
fn trees_that_cannot_be_are_refused_by_name_and_rule() {
    let told = |rate, classes: Vec<HtbClass>, words: &[&str]| {
        let error = refused(rate, classes);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let named = |name: &str, class: HtbClass| HtbClass { name: name.to_owned(), ..class };
    told(Some(50), vec![class(30, 50), class(21, 50)], &["rate: 50 Mb/s", "51 Mb/s"]);
    told(Some(50), vec![class(30, 51)], &["ceil: 51 Mb/s", "the rate of all"]);
    told(None, vec![class(30, 50)], &["ceil", "never reached"]);
    told(
        None,
        vec![named("a", class(30, 20))],
        &["class \"a\": ceil: 20 Mb/s is less than its rate"],
    );
    told(None, vec![class(0, 0)], &["rate: must be more than 0 b/s"]);
    told(Some(50), vec![], &["class: 0 classes"]);
    told(Some(50), vec![class(1, 1); 64], &["class: 64 classes"]);
    assert!(HtbConfig { rate: None, classes: vec![class(1, 1); 63] }.check().is_ok());
    told(Some(0), vec![class(1, 1)], &["rate: must be more"]);
    told(
        None,
        vec![HtbClass { priority: 8, ..class(1, 1) }],
        &["priority: 8 is not between 0 and 7"],
    );
    told(None, vec![HtbClass { quantum: Bytes::ZERO, ..class(1, 1) }], &["quantum"]);
    told(None, vec![HtbClass { parent: Some(7), ..class(1, 1) }], &["parent: is no class"]);
    let parent = Some(1);
    let child = || HtbClass { parent, ..class(3, 5) };
    told(
        None,
        vec![child(), named("in", class(5, 5)), child()],
        &["class \"in\": rate: 5 Mb/s", "6 Mb/s"],
    );
    told(
        None,
        vec![HtbClass { parent, ..class(3, 6) }, named("in", class(5, 5))],
        &["ceil: 6 Mb/s", "parent \"in\" (5 Mb/s)"],
    );
    let circle = vec![
        HtbClass { parent: Some(1), ..class(1, 1) },
        HtbClass { parent: Some(0), ..class(1, 1) },
    ];
    told(None, circle, &["parent: leads back"]);
    told(None, vec![HtbClass { parent: Some(0), ..class(1, 1) }], &["parent: leads back"]);
    let chain = |length: usize| -> Vec<HtbClass> {
        (0..length).map(|n| HtbClass { parent: n.checked_sub(1), ..class(1, 1) }).collect()
    };
    told(None, chain(9), &["parent: is too deep"]);
    told(Some(1), chain(8), &["parent: is too deep"]);
    let deepest = |rate: Option<u64>, length| {
        let config = HtbConfig { rate: rate.map(Rate::from_mbps), classes: chain(length) };
        let to_leaf = Classifier::new(Vec::new(), length - 1);
        let mut queue = Htb::new(&config, to_leaf, |_, _| Box::new(DropTail::new(LIMIT))).unwrap();
        let sent = run(&mut queue, millis(1000), |queue, now| {
            while queue.backlog().packets < 3 {
                queue.enqueue(now, packet(length - 1, 0, 1000), &mut Vec::new());
            }
        });
        assert!((124..=127).contains(&sent.len()), "1 Mb/s: {}", sent.len());
    };
    deepest(None, 8);
    deepest(Some(1), 7);
    // Packets go to leaves only.
    let config = HtbConfig { rate: None, classes: chain(2) };
    let leaf = |_: usize, _: &HtbClass| Box::new(DropTail::new(LIMIT)) as Box<dyn Queue<Packet>>;
    assert!(Htb::new(&config, Classifier::new(Vec::new(), 0), leaf).is_err());
}

#[test]
fn defaults_are_those_of_tc_and_the_kernel() {
    // tc -d class show, iproute2 6.1.0 on Linux 6.18: burst and cburst 1600b; quantum 200000 at 50 Mbit.
    let class = HtbClass::new("a", Rate::from_mbps(50));
    assert_eq!(
        (class.burst, class.cburst, class.quantum),
        (Bytes::new(1600), Bytes::new(1600), Bytes::new(200_000))
    );
    assert_eq!(HtbClass::default_quantum(Rate::from_mbps(8)), Bytes::new(100_000));
    assert_eq!(HtbClass::default_quantum(Rate::from_kbps(16)), Bytes::new(1000));
    assert_eq!(HtbClass::default_burst(Rate::from_mbps(16_000)), Bytes::new(1602));
}

fn any_leaf(kind: usize) -> Box<dyn Queue<Packet>> {
    let random = Xoshiro256PlusPlus::seed_from_u64(7);
    let limit = Limit::Packets(30);
    match kind % 5 {
        0 => Box::new(DropTail::new(limit)),
        1 => Box::new(Codel::new(CodelConfig { ecn: true, ..CodelConfig::default() }, limit)),
        2 => Box::new(FqCodel::new(FqCodelConfig::default(), limit, random)),
        3 => Box::new(Pie::new(PieConfig::default(), limit, random)),
        _ => Box::new(DualPi2::new(DualPi2Config::default(), limit, random)),
    }
}

/// Two customers, of which the second has two services below an inner class.
fn any_tree(rates: [u64; 3], spare: u64, bursts: [u64; 3], priorities: [u8; 3]) -> Vec<HtbClass> {
    let total = rates.iter().sum::<u64>() + spare;
    let leaf = |n: usize, parent| HtbClass {
        parent,
        burst: Bytes::new(bursts[n]),
        cburst: Bytes::new(2000),
        priority: priorities[n],
        ..class(rates[n], total)
    };
    let inner = class(rates[1] + rates[2], total);
    vec![leaf(0, None), leaf(1, Some(3)), leaf(2, Some(3)), inner]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Over any interval a class sends no more than its ceiling and burst allow, and all together no more
    /// than theirs; one without a lender no more than its rate and burst. A bucket that is not in debt pays
    /// for a packet of any size, so that one packet comes on top, and a byte
    /// for rounding.
    #[test]
    fn no_bucket_gives_more_than_it_gets(
        rates in prop::array::uniform3(1u64..20),
        spare in 0u64..20,
        bursts in prop::array::uniform3(1u64..20_000),
        priorities in prop::array::uniform3(0u8..8),
        size in 64u64..1500,
        shared in any::<bool>(),
    ) {
        let total = rates.iter().sum::<u64>() + spare;
        let classes = if shared {
            any_tree(rates, spare, bursts, priorities)
        } else {
            let alone = |n: usize| HtbClass {
                burst: Bytes::new(bursts[n]),
                cburst: Bytes::new(1_000_000),
                ..class(rates[n], rates[n])
            };
            (0..3).map(alone).collect()
        };
        let mut queue = tree_of(shared.then_some(total), 3, classes);
        let sent = run(&mut queue, millis(300), greedy(&[0, 1, 2], size));
        for which in 0..3 {
            let own: Vec<_> = sent.iter().filter(|one| one.1 == which).collect();
            let (rate, burst) = if shared { (total, 2000) } else { (rates[which], bursts[which]) };
            for first in (0..own.len()).step_by(7) {
                let mut bytes = 0;
                for last in &own[first..] {
                    bytes += last.2;
                    let most = Rate::from_mbps(rate) * (last.0 - own[first].0);
                    prop_assert!(bytes <= most.get() + 1 + burst + size, "{bytes} B of {which}");
                }
            }
        }
        if shared {
            let bytes: u64 = sent.iter().map(|one| one.2).sum();
            let expected = total as f64 * 1e6 / 8.0 * 0.3;
            // The root gets what it may and no more: leaves that are green do not ask it, so that their
            // bursts are owed; and somebody always wants what there is.
            prop_assert!(bytes as f64 <= expected + (bursts.iter().sum::<u64>() + 1600 + 3 * size) as f64);
            prop_assert!(bytes as f64 >= expected - 2.0 * size as f64, "{bytes} of {expected}");
        }
    }

    /// Whoever always has packets gets what it is assured, whatever the others do.
    #[test]
    fn nobody_starves(
        rates in prop::array::uniform3(1u64..20),
        spare in 0u64..20,
        priorities in prop::array::uniform3(0u8..8),
        busy in 1usize..8,
    ) {
        let total = rates.iter().sum::<u64>() + spare;
        let mut queue = tree_of(Some(total), 3, any_tree(rates, spare, [2000; 3], priorities));
        let busy: Vec<usize> = (0..3).filter(|class| busy >> class & 1 == 1).collect();
        let end = millis(1000);
        let sent = run(&mut queue, end, greedy(&busy, 1000));
        for &which in &busy {
            let assured = rates[which] as f64 * 1e6 / 8.0;
            prop_assert!(bytes_of(&sent, which) as f64 >= assured - 2000.0, "class {which}");
        }
        // Nothing is left while somebody wants it.
        let all: u64 = busy.iter().map(|&which| bytes_of(&sent, which)).sum();
        prop_assert!(all as f64 >= total as f64 * 1e6 / 8.0 - 3000.0);
    }

    /// Every packet leaves, is dropped or waits, once; within a leaf that is first in, first out they keep
    /// their order; only packets that can be marked are (the packet itself says so); and a shaper that holds
    /// some back says until when.
    #[test]
    fn packets_are_conserved(
        arrivals in prop::collection::vec((0i64..3_000_000, 0usize..3, 64u64..1500, 0u8..3), 1..400),
        kinds in prop::array::uniform3(0usize..5),
        rates in prop::array::uniform3(1u64..5),
    ) {
        let classes = any_tree(rates, 3, [1600; 3], [0, 1, 1]);
        let total = Rate::from_mbps(rates.iter().sum::<u64>() + 3);
        let config = HtbConfig { rate: Some(total), classes };
        let queue = Htb::new(&config, by_port(3), |number, _| any_leaf(kinds[number])).unwrap();
        let link = Link::constant(total).unwrap();
        let mut path = Bottleneck::new(link, QueueSize::Packets(1), Duration::ZERO, |_| queue);
        let (mut now, mut out, mut dropped) = (Instant::ZERO, Vec::new(), Vec::new());
        for (number, &(gap, which, size, ecn)) in arrivals.iter().enumerate() {
            now += Duration::from_nanos(gap);
            while path.next_deadline().is_some_and(|due| due <= now) {
                out.extend(path.on_deadline(now));
                dropped.extend(path.drain_dropped());
            }
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][usize::from(ecn)];
            let one = Packet { ecn, ..packet(which, number as u64, size) };
            path.arrive(now, one);
            dropped.extend(path.drain_dropped());
            prop_assert!(path.packets_inside() <= 1 + 3 * 31);
        }
        while let Some(due) = path.next_deadline() {
            out.extend(path.on_deadline(due));
            dropped.extend(path.drain_dropped());
        }
        prop_assert_eq!(path.packets_inside(), 0);
        for which in (0..3u16).filter(|&which| kinds[usize::from(which)] < 2) {
            let own = out.iter().filter(|left| left.packet.class == which);
            prop_assert!(own.map(|left| left.packet.number).is_sorted());
        }
        let numbers = out.iter().map(|left| left.packet.number);
        let mut all: Vec<u64> = numbers.chain(dropped.iter().map(|drop| drop.packet.number)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }
}
