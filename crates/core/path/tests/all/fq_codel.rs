//! FQ-CoDel against RFC 8290: turns stepped by hand, isolation, shares, overload, and what must hold
//! whatever comes.

use crate::support::{Offer, Packet, millis, numbers_of};
use gameway_path::{Backlog, Codel, CodelConfig, DropReason, FqCodel, FqCodelConfig, Limit, Queue};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// As Linux has it.
const LIMIT: Limit = Limit::Packets(10_240);

/// CoDel that never acts, to see the turns alone.
fn turns_only() -> FqCodelConfig {
    let codel = CodelConfig { target: Duration::from_secs(3600), ..CodelConfig::default() };
    FqCodelConfig { codel, ..FqCodelConfig::default() }
}

fn seeded(config: FqCodelConfig, limit: Limit, seed: u64) -> FqCodel<Packet> {
    FqCodel::new(config, limit, Xoshiro256PlusPlus::seed_from_u64(seed))
}

/// With seed 1 the few flows of these tests are in queues of their own.
fn queue(config: FqCodelConfig) -> FqCodel<Packet> {
    seeded(config, LIMIT, 1)
}

fn packet(flow: u16, number: u64, size: u64) -> Packet {
    Packet::new(flow, number, size)
}

fn fill(queue: &mut FqCodel<Packet>, flow: u16, numbers: std::ops::Range<u64>, size: u64) {
    for number in numbers {
        assert_eq!(queue.offer(millis(0), packet(flow, number, size)), []);
    }
}

/// The flow and number of the next `count` departures.
fn leave(queue: &mut FqCodel<Packet>, count: usize) -> Vec<(u16, u64)> {
    let mut dropped = Vec::new();
    let left = (0..count).map_while(|_| queue.dequeue(millis(0), &mut dropped));
    let left = left.map(|next| (next.packet.flow, next.packet.number)).collect();
    assert_eq!(dropped, []);
    left
}

#[test]
fn turns_are_taken_as_the_deficits_say() {
    let mut queue = queue(turns_only());
    fill(&mut queue, 1, 0..4, 1000);
    fill(&mut queue, 2, 0..4, 1000);
    // 1 has 1514 B: after one packet 514 are left, after two it owes 486, and is then an old queue with
    // 1028. The same for 2.
    assert_eq!(leave(&mut queue, 4), [(1, 0), (1, 1), (2, 0), (2, 1)]);
    // 1028 B again are two packets.
    assert_eq!(leave(&mut queue, 2), [(1, 2), (1, 3)]);
    // 3 is new: before 2, which is old and has its turn; with packets of 1514 B one is its quantum.
    fill(&mut queue, 3, 0..2, 1514);
    assert_eq!(leave(&mut queue, 1), [(3, 0)]);
    // Now 3 is behind 2 and behind 1, which is empty and leaves its list.
    assert_eq!(leave(&mut queue, 3), [(2, 2), (2, 3), (3, 1)]);
    assert_eq!(leave(&mut queue, 1), []);
    assert_eq!(queue.backlog(), Backlog::default());
}

#[test]
fn a_new_queue_that_runs_empty_must_wait_for_the_old_ones() {
    let mut queue = queue(turns_only());
    fill(&mut queue, 1, 0..20, 400);
    // After four packets 1 owes 86 B and becomes an old queue with 1428, of which one takes 400.
    assert_eq!(leave(&mut queue, 5).last(), Some(&(1, 4)));
    fill(&mut queue, 2, 0..1, 100);
    assert_eq!(leave(&mut queue, 1), [(2, 0)]);
    // 2 comes again before its next turn: it is still new, and goes on with what its quantum left.
    fill(&mut queue, 2, 1..2, 100);
    assert_eq!(leave(&mut queue, 1), [(2, 1)]);
    // It comes again after a turn in which it was empty: now it is old, behind all that 1 may send.
    assert_eq!(leave(&mut queue, 1), [(1, 5)]);
    fill(&mut queue, 2, 2..3, 100);
    assert_eq!(leave(&mut queue, 3), [(1, 6), (1, 7), (2, 2)]);
    // It comes again when it has been in no list: it is new again.
    assert_eq!(leave(&mut queue, 1), [(1, 8)]);
    fill(&mut queue, 2, 3..4, 100);
    assert_eq!(leave(&mut queue, 2), [(2, 3), (1, 9)]);
}

/// The longest wait, in departures, of a flow that sends a packet of `size` every `gap` departures next
/// to one that always has a hundred full packets.
fn max_wait(config: FqCodelConfig, size: u64, gap: usize) -> usize {
    let mut queue = queue(config);
    let (mut sent, mut waits, mut longest) = (0, VecDeque::new(), 0);
    fill(&mut queue, 1, 0..103, 1500);
    leave(&mut queue, 3);
    for slot in 0..4000 {
        if slot % gap == 0 {
            fill(&mut queue, 2, sent..sent + 1, size);
            waits.push_back(slot);
            sent += 1;
        }
        let (flow, _) = leave(&mut queue, 1)[0];
        if flow == 2 {
            longest = longest.max(slot - waits.pop_front().unwrap());
        } else {
            fill(&mut queue, 1, 0..1, 1500);
        }
    }
    longest.max(waits.front().map_or(0, |since| 4000 - since))
}

#[test]
fn a_sparse_flow_never_waits_behind_bulk() {
    let one_queue = FqCodelConfig { flows: 1, ..turns_only() };
    for (size, gap) in [(200, 20), (1200, 20), (200, 4), (1500, 4)] {
        assert_eq!(max_wait(turns_only(), size, gap), 0, "{size} B every {gap}");
        // The twin with one queue for both: behind all of the bulk.
        assert!(max_wait(one_queue, size, gap) >= 99);
    }
    // What asks for more than half is not sparse: its own packets pile up.
    assert!(max_wait(turns_only(), 1500, 1) > 1000);
}

#[test]
fn greedy_flows_get_the_same_bytes_whatever_their_packets() {
    let shares = |config| {
        let mut queue = seeded(config, Limit::Packets(100_000), 1);
        let sizes = [(1, 1500), (2, 300), (3, 700), (4, 1500)];
        let mut sent = [0u64; 5];
        for round in 0..2000 {
            for (flow, size) in sizes {
                // Flow 4 offers three times the packets of the others.
                for _ in 0..if flow == 4 { 3 } else { 1 } {
                    queue.offer(millis(0), packet(flow, round, size));
                }
            }
        }
        // Always something of each waits: 300 B times 2000 are the least.
        while sent.iter().sum::<u64>() < 2_000_000 {
            let next = queue.dequeue(millis(0), &mut Vec::new()).unwrap().packet;
            sent[usize::from(next.flow)] += next.size;
            let counts = &sent[1..];
            let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
            if config.flows > 1 {
                // Deficit round robin: no more than a quantum and a packet apart.
                assert!(spread <= 1514 + 1500, "{sent:?}");
            }
        }
        sent
    };
    let fair = shares(turns_only());
    assert!(fair[1..].iter().all(|bytes| (498_000..502_000).contains(bytes)), "{fair:?}");
    // The twin with one queue: by what they offer.
    let offered = shares(FqCodelConfig { flows: 1, ..turns_only() });
    assert!(offered[4] > 2 * offered[1] && offered[1] > 4 * offered[2], "{offered:?}");
}

#[test]
fn a_flow_that_comes_back_at_once_does_not_starve_the_others() {
    let mut queue = queue(turns_only());
    fill(&mut queue, 1, 0..1000, 1500);
    fill(&mut queue, 2, 0..1, 1500);
    let mut bulk = 0;
    for number in 1..1000 {
        match leave(&mut queue, 1)[0] {
            (2, _) => fill(&mut queue, 2, number..number + 1, 1500),
            _ => bulk += 1,
        }
    }
    assert!((490..510).contains(&bulk), "{bulk}");
}

#[test]
fn overload_costs_the_fattest_queue_half_of_its_oldest() {
    let mut queue = seeded(turns_only(), Limit::Packets(100), 1);
    // Flow 1 has more packets, flow 2 more bytes.
    fill(&mut queue, 1, 0..60, 100);
    fill(&mut queue, 2, 0..40, 1500);
    let costs = numbers_of(&queue.offer(millis(0), packet(1, 60, 100)));
    assert_eq!(costs, (0..20).map(|number| (2, number)).collect::<Vec<_>>());
    assert_eq!(queue.backlog(), Backlog { bytes: Bytes::new(61 * 100 + 20 * 1500), packets: 81 });
    // The next arrival fits, and a departure drops nothing.
    assert_eq!(queue.offer(millis(0), packet(1, 61, 100)), []);
    let mut dropped = Vec::new();
    let next = queue.dequeue(millis(0), &mut dropped).unwrap().packet;
    assert_eq!((next.flow, next.number, dropped.len()), (1, 0, 0));
}

#[test]
fn a_batch_is_64_packets_at_most_and_one_at_least() {
    let costs = |limit: u64, before: u64, size: u64| {
        let mut queue = seeded(turns_only(), Limit::Packets(limit), 1);
        fill(&mut queue, 1, 0..before, 1500);
        assert!(!queue.offer(millis(0), packet(2, 0, size)).is_empty());
        before + 1 - queue.backlog().packets
    };
    assert_eq!(costs(1000, 1000, 100), 64);
    assert_eq!(costs(127, 127, 100), 63);
    assert_eq!(costs(1, 1, 100), 1);
    // With room for nothing the packet itself goes.
    assert_eq!(costs(0, 0, 100), 1);
}

#[test]
fn a_limit_in_bytes_holds_when_the_arrival_is_larger_than_a_batch() {
    let mut queue = seeded(turns_only(), Limit::Bytes(Bytes::new(10_000)), 1);
    fill(&mut queue, 1, 0..250, 40);
    // 64 packets of 40 B make room for 2560 B: one batch is not enough for 9000 B.
    assert!(numbers_of(&queue.offer(millis(0), packet(2, 0, 9000))).starts_with(&[(1, 0)]));
    assert!(queue.backlog().bytes <= Bytes::new(10_000));
    // A smaller limit holds from the next arrival on.
    queue.set_limit(Limit::Packets(2));
    queue.offer(millis(0), packet(1, 251, 40));
    assert!(queue.backlog().packets <= 2);
}

/// During a blackout nothing departs: what arrives must tell all that it costs.
#[test]
fn arrivals_alone_report_what_they_cost() {
    let mut queue = seeded(turns_only(), Limit::Packets(200), 1);
    let arrivals = 10_000;
    let mut dropped = Vec::new();
    for number in 0..arrivals {
        queue.enqueue(millis(0), packet((number % 3) as u16, number, 1500), &mut dropped);
        assert_eq!(dropped.len() as u64 + queue.backlog().packets, number + 1);
    }
}

#[test]
fn each_queue_has_a_codel_of_its_own() {
    let mut queue = queue(FqCodelConfig::default());
    let send = |queue: &mut FqCodel<Packet>, flow, now, ecn| {
        queue.offer(now, Packet::new(flow, 0, 1500).with_ecn(ecn));
    };
    for _ in 0..400 {
        send(&mut queue, 1, millis(0), Ecn::NotEct);
        send(&mut queue, 2, millis(0), Ecn::Ect0);
    }
    let (mut dropped, mut signals) = (Vec::new(), [[0; 2]; 4]);
    for slot in 0..300 {
        // Flow 3 never stands: one packet at a time.
        if slot % 10 == 0 {
            send(&mut queue, 3, millis(slot), Ecn::Ect0);
        }
        let next = queue.dequeue(millis(slot), &mut dropped).unwrap().packet;
        signals[usize::from(next.flow)][1] += usize::from(next.ecn == Ecn::Ce);
        for drop in dropped.drain(..) {
            signals[usize::from(drop.packet.flow)][0] += 1;
        }
    }
    // Signals at about 105, 205 and 276 ms, in both standing queues, and in each by its packets' kind.
    assert_eq!(signals, [[0, 0], [3, 0], [0, 3], [0, 0]]);
}

#[test]
fn a_queue_of_one_packet_is_spared_however_much_waits_elsewhere() {
    let lost_with = |behind: u64| {
        let mut queue = queue(FqCodelConfig::default());
        fill(&mut queue, 1, 0..400, 1500);
        fill(&mut queue, 2, 0..1 + behind, 1500);
        let (mut dropped, mut number) = (Vec::new(), 0);
        for slot in 1..100 {
            let left = queue.dequeue(millis(10 * slot), &mut dropped).unwrap().packet;
            // Whenever flow 2 has sent, its next packet comes: each waits 10 ms and more.
            if left.flow == 2 {
                number += 1;
                queue.offer(millis(10 * slot), packet(2, number, 1500));
            }
        }
        dropped.iter().filter(|drop| drop.packet.flow == 2).count()
    };
    assert_eq!(lost_with(0), 0);
    // The twin with two packets behind the one that leaves is not spared.
    assert!(lost_with(2) > 0);
}

#[test]
fn the_seed_decides_which_flows_meet() {
    let config = FqCodelConfig { flows: 2, ..turns_only() };
    let meet = |seed| {
        let mut queue = seeded(config, LIMIT, seed);
        fill(&mut queue, 1, 0..9, 1500);
        fill(&mut queue, 2, 0..1, 1500);
        // In a queue of its own it leaves after the first quantum of flow 1.
        leave(&mut queue, 3).iter().all(|&(flow, _)| flow == 1)
    };
    let meetings = (0..400).filter(|&seed| meet(seed)).count();
    assert!((160..240).contains(&meetings), "four deviations of 10 about a half: {meetings}");
}

#[test]
fn senseless_options_still_make_a_queue() {
    let config = FqCodelConfig { flows: 0, quantum: Bytes::ZERO, ..turns_only() };
    let mut queue = queue(config);
    fill(&mut queue, 1, 0..3, 1500);
    fill(&mut queue, 2, 0..1, 0);
    assert_eq!(leave(&mut queue, 9), [(1, 0), (1, 1), (1, 2), (2, 0)]);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrive(Packet),
    Leave,
}

fn steps(flows: u16) -> impl Strategy<Value = Vec<(i64, Step)>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let step = prop_oneof![
        3 => (0..flows, 40u64..3000, ecn).prop_map(|(flow, size, ecn)| {
            Step::Arrive(Packet::new(flow, 0, size).with_ecn(ecn))
        }),
        2 => Just(Step::Leave),
    ];
    prop::collection::vec((0i64..4_000_000, step), 1..800)
}

proptest! {
    /// A flow that is alone sees what it would see of CoDel.
    #[test]
    fn one_flow_sees_plain_codel(steps in steps(1), ecn in any::<bool>(), seed in any::<u64>()) {
        let codel = CodelConfig { ecn, ..CodelConfig::default() };
        let limit = LIMIT;
        let mut fair = seeded(FqCodelConfig { codel, ..FqCodelConfig::default() }, limit, seed);
        let mut plain = Codel::new(codel, limit);
        let (mut now, mut number) = (Instant::ZERO, 0);
        for (gap, step) in steps {
            now += Duration::from_nanos(gap);
            match step {
                Step::Arrive(packet) => {
                    number += 1;
                    let packet = Packet { number, ..packet };
                    prop_assert_eq!(fair.offer(now, packet), plain.offer(now, packet));
                }
                Step::Leave => {
                    let (mut from_fair, mut from_plain) = (Vec::new(), Vec::new());
                    prop_assert_eq!(
                        fair.dequeue(now, &mut from_fair), plain.dequeue(now, &mut from_plain));
                    prop_assert_eq!(from_fair, from_plain);
                }
            }
            prop_assert_eq!(fair.backlog(), plain.backlog());
        }
    }

    /// Every packet leaves or is dropped, once, and in order within its flow; the limit holds; only what
    /// is ECN-capable is marked; a departure from queues that hold something gives something.
    #[test]
    fn packets_are_conserved_in_order_and_within_bounds(
        steps in steps(6),
        flows in 1usize..8,
        ecn in any::<bool>(),
        limit in prop_oneof![
            (3000u64..90_000).prop_map(|max| Limit::Bytes(Bytes::new(max))),
            (1u64..100).prop_map(Limit::Packets),
        ],
    ) {
        let codel = CodelConfig { ecn, ..CodelConfig::default() };
        let config = FqCodelConfig { codel, flows, ..FqCodelConfig::default() };
        let mut queue = seeded(config, limit, 1);
        let (mut now, mut sent) = (Instant::ZERO, Vec::<Packet>::new());
        let (mut gone, mut left_of_flow) = (Vec::new(), [None; 6]);
        let mut dropped = Vec::new();
        for (gap, step) in steps.into_iter().chain(std::iter::repeat_n((1, Step::Leave), 801)) {
            now += Duration::from_nanos(gap);
            let before = queue.backlog();
            match step {
                Step::Arrive(packet) => {
                    let packet = Packet { number: sent.len() as u64, ..packet };
                    sent.push(packet);
                    for drop in queue.offer(now, packet) {
                        dropped.push(drop);
                    }
                }
                Step::Leave => {
                    let next = queue.dequeue(now, &mut dropped);
                    prop_assert_eq!(next.is_some(), before.packets > 0);
                    if let Some(next) = next {
                        let Packet { flow, number, .. } = next.packet;
                        let last = left_of_flow[usize::from(flow)].replace(number);
                        prop_assert!(last.is_none_or(|last| last < number), "order of flow {flow}");
                        let was = sent[number as usize];
                        let marked = Packet { ecn: Ecn::Ce, ..was };
                        let may_mark = ecn && was.ecn != Ecn::NotEct;
                        prop_assert!(next.packet == was || (may_mark && next.packet == marked));
                        gone.push(number);
                    }
                }
            }
            for drop in dropped.drain(..) {
                prop_assert_eq!(drop.packet, sent[drop.packet.number as usize]);
                let early = drop.reason == DropReason::Early;
                prop_assert!(!early || !ecn || drop.packet.ecn == Ecn::NotEct);
                gone.push(drop.packet.number);
            }
            match limit {
                Limit::Bytes(max) => prop_assert!(queue.backlog().bytes <= max),
                Limit::Packets(max) => prop_assert!(queue.backlog().packets <= max),
            }
        }
        prop_assert_eq!(queue.backlog(), Backlog::default());
        gone.sort_unstable();
        prop_assert_eq!(gone, (0..sent.len() as u64).collect::<Vec<_>>());
    }

    /// Between two departures of a flow that has packets, each of the others sends no more than its
    /// quantum, its packet and what a new queue has at once.
    #[test]
    fn none_of_few_flows_starves(
        sizes in prop::collection::vec(40u64..1500, 2..6),
        refills in prop::collection::vec((0usize..6, 1u64..20), 1..200),
    ) {
        let mut queue = queue(turns_only());
        let flows = sizes.len();
        let (mut waiting, mut since) = (vec![0u64; flows], vec![vec![0u64; flows]; flows]);
        for (flow, count) in refills {
            let flow = flow % flows;
            fill(&mut queue, flow as u16, 0..count, sizes[flow]);
            if waiting[flow] == 0 {
                since[flow].fill(0);
            }
            waiting[flow] += count;
            for (left, _) in leave(&mut queue, 7) {
                let left = usize::from(left);
                waiting[left] -= 1;
                for row in since.iter_mut() {
                    row[left] += sizes[left];
                }
                since[left].fill(0);
                for (flow, row) in since.iter().enumerate().filter(|(flow, _)| waiting[*flow] > 0) {
                    prop_assert!(row.iter().all(|&bytes| bytes <= 2 * (1514 + 1500)),
                        "flow {flow}: {row:?}");
                }
            }
        }
    }
}
