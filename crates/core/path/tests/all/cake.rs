//! CAKE: the shaper's rate, shares of hosts, flows and tins, overload, and what must hold whatever comes.

use crate::support::{Offer, Packet, millis, numbers_of};
use gameway_path::{
    AckFilter, Backlog, Bottleneck, Cake, CakeConfig, Cells, Diffserv, DropReason, Dscp, Endpoint,
    Framing, Header, Isolation, Limit, Link, Queue, TcpHeader,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate, SignedBytes};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod properties;

const ROOM: Limit = Limit::Packets(1_000_000);
const VOICE: u8 = 46;
const BULK: u8 = 8;

/// COBALT that never acts, to see shares and times alone; one tin; no shaper.
fn shares_only() -> CakeConfig {
    CakeConfig {
        rtt: Duration::from_secs(36_000),
        diffserv: Diffserv::BestEffort,
        ..CakeConfig::default()
    }
}

fn seeded(config: CakeConfig, limit: Limit, seed: u64) -> Cake<Packet> {
    Cake::new(config, limit, Xoshiro256PlusPlus::seed_from_u64(seed))
}

fn queue(config: CakeConfig) -> Cake<Packet> {
    seeded(config, ROOM, 1)
}

/// From one host of 192.0.2.0/24 to another of 198.51.100.0/24, or the same in IPv6.
fn between(source: u8, destination: u8, port: u16, six: bool) -> Header {
    let address = |network: [u8; 3], host: u8| match six {
        false => IpAddr::V4(Ipv4Addr::new(network[0], network[1], network[2], host)),
        true => {
            let of = |at: usize| u16::from(network[at]);
            IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, of(0), of(1), of(2), 0, 0, u16::from(host)))
        }
    };
    let source = Endpoint { address: address([192, 0, 2], source), port: 443 };
    let destination = Endpoint { address: address([198, 51, 100], destination), port };
    Header { source, destination, ..Header::numbered(0) }
}

fn marked(flow: u16, dscp: u8) -> Header {
    Header { dscp: Dscp(dscp), ..Header::numbered(flow) }
}

fn fill(queue: &mut Cake<Packet>, flow: u16, header: Header, count: u64, size: u64) {
    for number in 0..count {
        let packet = Packet::new(flow, number, size).with_header(header);
        assert_eq!(queue.offer(millis(0), packet), []);
    }
}

/// The next departure, and when it is: as soon as the shaper lets it go.
fn leave(queue: &mut Cake<Packet>, now: &mut Instant) -> Option<Packet> {
    let mut dropped = Vec::new();
    if let Some(release) = queue.next_release(*now) {
        assert_eq!(queue.dequeue(*now, &mut dropped), None, "before its time");
        *now = release;
    }
    let next = queue.dequeue(*now, &mut dropped).map(|next| next.packet);
    assert_eq!(dropped, []);
    next
}

/// Bytes of each flow among the next `total`.
fn sent(queue: &mut Cake<Packet>, total: u64) -> BTreeMap<u16, u64> {
    let (mut now, mut sent) = (millis(0), BTreeMap::new());
    while sent.values().sum::<u64>() < total {
        let next = leave(queue, &mut now).unwrap();
        *sent.entry(next.flow).or_insert(0) += next.size;
    }
    sent
}

// The shaper.

#[test]
fn over_a_minute_what_leaves_is_the_bandwidth() {
    for (mbps, size) in [(1, 1500), (20, 1500), (20, 333), (950, 1500)] {
        let bandwidth = Some(Rate::from_mbps(mbps));
        let mut queue = queue(CakeConfig { bandwidth, ..shares_only() });
        fill(&mut queue, 1, Header::numbered(1), 2, size);
        let (mut now, mut bytes, until) =
            (millis(0), 0, millis(if mbps > 100 { 2000 } else { 60_000 }));
        while now < until {
            bytes += leave(&mut queue, &mut now).unwrap().size;
            let again = Packet::new(1, 0, size);
            assert_eq!(queue.offer(now, again), []);
        }
        let rate = bytes as f64 * 8.0 / (now - millis(0)).as_secs_f64() / 1e6;
        assert!((rate / mbps as f64 - 1.0).abs() < 0.001, "{rate} of {mbps} Mb/s");
    }
}

#[test]
fn a_packet_counts_as_the_link_below_frames_it() {
    let next = |size, overhead, min, cells| {
        let (overhead, min) = (SignedBytes::new(overhead), Bytes::new(min));
        let framing = Framing { overhead, min, cells };
        let bandwidth = Some(Rate::from_mbps(8));
        let mut queue = queue(CakeConfig { bandwidth, framing, ..shares_only() });
        fill(&mut queue, 1, Header::numbered(1), 2, size);
        assert_eq!(queue.next_release(millis(0)), None);
        leave(&mut queue, &mut millis(0)).unwrap();
        // At 8 Mb/s a byte takes a microsecond.
        (queue.next_release(millis(0)).unwrap() - millis(0)).as_nanos() / 1000
    };
    assert_eq!(next(1000, 0, 0, Cells::None), 1000);
    assert_eq!(next(1000, 38, 84, Cells::None), 1038);
    assert_eq!(next(40, 38, 84, Cells::None), 84);
    assert_eq!(next(1000, -14, 0, Cells::None), 986);
    assert_eq!(next(40, -64, 20, Cells::None), 20);
    // 144 B are three cells, 145 B four.
    assert_eq!(next(100, 44, 0, Cells::Atm), 3 * 53);
    assert_eq!(next(101, 44, 0, Cells::Atm), 4 * 53);
    assert_eq!(next(128, 0, 0, Cells::Ptm), 130);
    assert_eq!(next(129, 0, 0, Cells::Ptm), 132);
}

#[test]
fn behind_a_faster_link_packets_leave_at_the_bandwidth_and_without_it_at_the_link_s() {
    let finished = |bandwidth| {
        let link = Link::constant(Rate::from_mbps(100)).unwrap();
        let config = CakeConfig { bandwidth, ..shares_only() };
        let size = QueueSize::Packets(10_000);
        let mut path =
            Bottleneck::new(link, size, Duration::ZERO, |limit| seeded(config, limit, 1));
        for number in 0..1001 {
            path.arrive(millis(0), Packet::new(1, number, 1250));
        }
        assert_eq!(path.drain_dropped().count(), 0);
        let mut last = millis(0);
        while let Some(at) = path.next_deadline() {
            last = path.on_deadline(at).map_or(last, |done| done.finished);
        }
        (last - millis(0)).as_nanos()
    };
    // A packet takes 100 us on the link and 500 us in the shaper, after the last only on the link.
    assert_eq!(finished(Some(Rate::from_mbps(20))), 500_000_000 + 100_000);
    assert_eq!(finished(None), 100_100_000);
    // Above the link's capacity the link decides.
    assert_eq!(finished(Some(Rate::from_mbps(200))), 100_100_000);
}

#[test]
fn nothing_is_saved_up_while_nothing_waits() {
    let bandwidth = Some(Rate::from_mbps(12));
    let mut queue = queue(CakeConfig { bandwidth, ..shares_only() });
    fill(&mut queue, 1, Header::numbered(1), 1, 1500);
    let mut now = millis(0);
    leave(&mut queue, &mut now).unwrap();
    // Ten seconds later a burst comes: it leaves a millisecond apart.
    for number in 0..10 {
        queue.offer(millis(10_000), Packet::new(1, number, 1500));
    }
    now = millis(10_000);
    for number in 0..10 {
        assert_eq!(leave(&mut queue, &mut now).unwrap().number, number);
        assert_eq!(now, millis(10_000 + number as i64));
    }
    // A packet that comes before the last one's time is over waits for it.
    queue.offer(now, Packet::new(1, 10, 1500));
    assert_eq!(queue.next_release(now), Some(millis(10_010)));
}

// Hosts and flows.

/// The share of host 1, which has eight flows, beside host 2, which has one; by sender or by receiver.
fn share_of_eight(isolation: Isolation, at_sender: bool, six: bool) -> f64 {
    let mut queue = queue(CakeConfig { isolation, ..shares_only() });
    for flow in 0..9u16 {
        let host = if flow < 8 { 1 } else { 2 };
        let (source, destination) = if at_sender { (host, 9) } else { (9, host) };
        fill(&mut queue, flow, between(source, destination, flow, six), 2000, 1000);
    }
    let sent = sent(&mut queue, 2_000_000);
    let of_eight: Vec<u64> = sent.iter().filter(|(flow, _)| **flow < 8).map(|(_, b)| *b).collect();
    let (min, max) = (of_eight.iter().min().unwrap(), of_eight.iter().max().unwrap());
    assert!(max - min < 15_000, "the flows of a host are equal: {sent:?}");
    of_eight.iter().sum::<u64>() as f64 / 2e6
}

#[test]
fn a_host_with_eight_flows_gets_no_more_than_one_with_one() {
    use Isolation::{DualDestination, DualSource, Triple};
    for six in [false, true] {
        for (isolation, at_sender) in [(DualSource, true), (DualDestination, false)] {
            let share = share_of_eight(isolation, at_sender, six);
            assert!((0.49..0.51).contains(&share), "{isolation:?}: {share}");
        }
        // The twins: by flow, by the hosts of the other side.
        for (isolation, at_sender) in [
            (Isolation::Flows, true),
            (Isolation::Flows, false),
            (DualSource, false),
            (DualDestination, true),
        ] {
            let share = share_of_eight(isolation, at_sender, six);
            assert!((share - 8.0 / 9.0).abs() < 0.01, "{isolation:?}: {share}");
        }
        // With one host on the other side, that one has all nine flows, and all are equal.
        assert!((share_of_eight(Triple, true, six) - 8.0 / 9.0).abs() < 0.01);
    }
}

/// Shares of two hosts of which one has `flows` flows, each host with a server of its own for each flow.
fn shares_of_two(isolation: Isolation, flows: u16) -> f64 {
    let mut queue = queue(CakeConfig { isolation, ..shares_only() });
    for flow in 0..flows {
        fill(&mut queue, flow, between(flow as u8 + 10, 1, flow, false), 2000, 1000);
    }
    fill(&mut queue, 99, between(200, 2, 99, false), 2000, 1000);
    // Each begins as a sparse flow, with a turn of its own.
    sent(&mut queue, 200_000);
    1.0 - sent(&mut queue, 2_000_000)[&99] as f64 / 2e6
}

#[test]
fn triple_isolation_sees_the_host_with_many_flows_on_either_side() {
    for flows in [1, 2, 8, 32] {
        let share = shares_of_two(Isolation::Triple, flows);
        assert!((0.49..0.51).contains(&share), "{flows} flows to one host: {share}");
        let by_flow = shares_of_two(Isolation::Flows, flows);
        let expected = f64::from(flows) / f64::from(flows + 1);
        assert!((by_flow - expected).abs() < 0.01, "{flows}: {by_flow}");
    }
}

#[test]
fn modes_with_a_queue_per_host_serve_a_host_in_order() {
    for (isolation, expected) in [
        (Isolation::SourceHosts, 0.5),
        (Isolation::Hosts, 0.5),
        // One receiver, or one queue at all: by what was offered, which came flow by flow.
        (Isolation::DestinationHosts, 1.0),
        (Isolation::Blind, 1.0),
    ] {
        let mut queue = queue(CakeConfig { isolation, ..shares_only() });
        for flow in 0..9u16 {
            let header = between(if flow < 8 { 1 } else { 2 }, 9, flow, false);
            fill(&mut queue, flow, header, 2000, 1000);
        }
        let of_one = 2_000_000 - sent(&mut queue, 2_000_000).get(&8).copied().unwrap_or(0);
        let share = of_one as f64 / 2e6;
        assert!((share - expected).abs() < 0.01, "{isolation:?}: {share}");
    }
}

#[test]
fn a_host_is_one_again_when_its_flows_have_left() {
    let mut queue = queue(CakeConfig { isolation: Isolation::DualSource, ..shares_only() });
    // Eight flows of host 1 come, stand and leave; then it has one, which is worth as much as host 2's.
    for round in 0..20u16 {
        for flow in 0..8 {
            fill(&mut queue, flow, between(1, 9, round * 8 + flow, false), 9, 1000);
        }
        sent(&mut queue, 72_000);
    }
    fill(&mut queue, 1, between(1, 9, 1000, false), 500, 1000);
    fill(&mut queue, 2, between(2, 9, 1001, false), 500, 1000);
    let sent = sent(&mut queue, 400_000);
    // But for the first round, in which the empty queues of the last flows are found. Were eight still
    // counted, host 1 would get a ninth.
    assert!(sent[&1].abs_diff(sent[&2]) < 15_000, "{sent:?}");
}

#[test]
fn a_sparse_flow_waits_for_one_packet_at_most() {
    let waits = |isolation| {
        let bandwidth = Some(Rate::from_mbps(12));
        let mut queue = queue(CakeConfig { bandwidth, isolation, ..shares_only() });
        for flow in 1..=4 {
            fill(&mut queue, flow, Header::numbered(flow), 500, 1500);
        }
        let mut longest = 0;
        let mut sparse = VecDeque::new();
        for slot in 0..400 {
            let now = millis(slot);
            // 200 B every 20 ms are less than any share.
            if slot % 20 == 19 {
                queue.offer(now, Packet::new(9, 0, 200));
                sparse.push_back(slot);
            }
            let next = queue.dequeue(now, &mut Vec::new());
            if next.is_some_and(|next| next.packet.flow == 9) {
                longest = longest.max(slot - sparse.pop_front().unwrap());
            }
        }
        longest.max(sparse.front().map_or(0, |since| 400 - since))
    };
    assert!(waits(Isolation::Flows) <= 1);
    // The twin with one queue for all.
    assert!(waits(Isolation::Blind) > 300);
}

// Tins.

/// Mb/s of best effort, bulk and voice at 16 Mb/s, all of those `offered` always having packets.
fn tins(offered: &[u8], bandwidth: Option<Rate>) -> [f64; 3] {
    let config = CakeConfig { bandwidth, diffserv: Diffserv::Three, ..shares_only() };
    let mut queue = queue(config);
    for (flow, dscp) in [(0, 0), (1, BULK), (2, VOICE)] {
        if offered.contains(&dscp) {
            fill(&mut queue, flow, marked(flow, dscp), 4000, 1000);
        }
    }
    let sent = sent(&mut queue, 4_000_000);
    [0, 1, 2].map(|flow| sent.get(&flow).map_or(0.0, |bytes| *bytes as f64 * 16.0 / 4e6))
}

#[test]
fn voice_has_a_quarter_and_bulk_a_sixteenth_and_the_rest_is_lent() {
    let close = |shares: [f64; 3], expected: [f64; 3]| {
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 0.1, "{shares:?}");
        }
    };
    let at_16 = |offered: &[u8]| tins(offered, Some(Rate::from_mbps(16)));
    close(at_16(&[0, BULK, VOICE]), [11.0, 1.0, 4.0]);
    close(at_16(&[0, VOICE]), [12.0, 0.0, 4.0]);
    close(at_16(&[0, BULK]), [15.0, 1.0, 0.0]);
    // Above its threshold a tin takes what nobody else wants.
    close(at_16(&[VOICE]), [0.0, 0.0, 16.0]);
    close(at_16(&[BULK]), [0.0, 16.0, 0.0]);
    // Both above theirs: the one that is closer to it. After a packet of 0.5 ms voice is 1.5 ms away when
    // the next may leave, bulk comes that close 13 packets after its last.
    close(at_16(&[BULK, VOICE]), [0.0, 16.0 / 14.0, 16.0 * 13.0 / 14.0]);
    // Without a bandwidth: 1024 to 64 to 256.
    close(
        tins(&[0, BULK, VOICE], None),
        [16.0 * 1024.0 / 1344.0, 16.0 * 64.0 / 1344.0, 16.0 * 256.0 / 1344.0],
    );
}

/// The longest wait in ms of voice at `mbps` of 16 in packets of 1000 B (0.5 ms each), as many flows as it
/// has packets, beside best effort.
fn wait_of_voice(mbps: i64, dscp: u8) -> i64 {
    let bandwidth = Some(Rate::from_mbps(16));
    let config = CakeConfig { bandwidth, diffserv: Diffserv::Three, ..shares_only() };
    let mut queue = queue(config);
    for flow in 1..=20 {
        fill(&mut queue, flow, marked(flow, 0), 400, 1000);
    }
    let (gap, mut longest) = (8_000_000 / mbps, 0);
    let mut due = millis(0);
    for slot in 0..2000 {
        let now = Instant::from_nanos(slot * 500_000);
        while due <= now {
            // Of one flow, which so is bulk and not sparse when it has more than its share.
            let packet = Packet::new(99, 0, 1000).with_header(marked(99, dscp));
            queue.offer(due, packet);
            due += Duration::from_nanos(gap);
        }
        let next = queue.dequeue(now, &mut Vec::new()).unwrap();
        if next.packet.flow == 99 {
            longest = longest.max((now - next.enqueued).as_nanos() / 1_000_000);
        }
    }
    longest
}

#[test]
fn voice_below_its_quarter_does_not_wait_and_above_it_does() {
    // The packet before it and its own gap in the schedule.
    assert!(wait_of_voice(3, VOICE) <= 2, "{}", wait_of_voice(3, VOICE));
    // Above its quarter, and, the other twin, among the rest, of whom there are 20.
    assert!(wait_of_voice(8, VOICE) > 100, "{}", wait_of_voice(8, VOICE));
    assert!(wait_of_voice(3, 0) > 100, "{}", wait_of_voice(3, 0));
}

// COBALT at work, and overload.

/// Drops and marks of a queue that stands from 0 ms on, served every ms for so long.
fn signals(ecn: Ecn, until: i64) -> (Vec<i64>, Vec<i64>) {
    let config = CakeConfig { diffserv: Diffserv::BestEffort, ..CakeConfig::default() };
    let mut queue = queue(config);
    for number in 0..2000 {
        queue.offer(millis(0), Packet::new(1, number, 1500).with_ecn(ecn));
    }
    let (mut dropped, mut drops, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    for slot in 0..until {
        let next = queue.dequeue(millis(slot), &mut dropped).unwrap();
        if next.packet.ecn == Ecn::Ce {
            marks.push(slot);
        }
        drops.extend(dropped.drain(..).map(|_| slot));
    }
    (drops, marks)
}

#[test]
fn a_standing_queue_gets_signals_that_close_up() {
    // At 6 ms packets wait too long for the first time; then 100 ms, 100/√2, 100/√3, ...
    let mut due = 106.0;
    let mut expected = Vec::new();
    for count in 2..12 {
        expected.push(f64::ceil(due) as i64);
        due += 100.0 / f64::from(count).sqrt();
    }
    let (drops, marks) = signals(Ecn::NotEct, *expected.last().unwrap() + 1);
    assert_eq!((drops, marks), (expected.clone(), vec![]));
    let (drops, marks) = signals(Ecn::Ect1, *expected.last().unwrap() + 1);
    // A mark that is late by part of a slot moves the next one: within a slot each.
    assert_eq!((drops.len(), marks[..2].to_vec()), (0, expected[..2].to_vec()));
    let late = marks.iter().zip(&expected).enumerate();
    assert!(late.clone().all(|(number, (mark, due))| (*mark - *due) <= number as i64), "{late:?}");
    assert!(marks.len() >= 9, "{marks:?}");
}

#[test]
fn overload_costs_the_longest_queue_its_oldest_in_whatever_tin() {
    let config = CakeConfig { diffserv: Diffserv::Three, ..shares_only() };
    let mut queue = seeded(config, Limit::Bytes(Bytes::new(10_000)), 1);
    let send = |queue: &mut Cake<Packet>, flow, dscp, number, size| {
        let packet = Packet::new(flow, number, size).with_header(marked(flow, dscp));
        numbers_of(&queue.offer(millis(0), packet))
    };
    for number in 0..4 {
        assert_eq!(send(&mut queue, 1, VOICE, number, 1500), []);
        assert_eq!(send(&mut queue, 2, 0, number, 900), []);
    }
    // 9600 B wait: flow 1 has 6000, flow 2 3600.
    assert_eq!(send(&mut queue, 3, BULK, 0, 800), [(1, 0)]);
    // 10 900 B would wait.
    assert_eq!(send(&mut queue, 3, BULK, 1, 2000), [(1, 1)]);
    // Now 2 is the longest, with 3600 B, and the next to lose one.
    assert_eq!(send(&mut queue, 4, 0, 0, 1500), [(2, 0)]);
    // What is larger than the limit goes itself.
    assert_eq!(send(&mut queue, 5, 0, 0, 10_001), [(5, 0)]);
    assert!(queue.backlog().bytes <= Bytes::new(10_000));
    queue.set_limit(Limit::Packets(2));
    let cost = send(&mut queue, 4, 0, 1, 100).len();
    assert!(cost > 0 && queue.backlog().packets == 2);
}

#[test]
fn a_flow_that_does_not_listen_meets_blue() {
    // Twice the rate that it gets, in 100 packets of room: it overflows all the time.
    let run = |ecn| {
        let config = CakeConfig { diffserv: Diffserv::BestEffort, ..CakeConfig::default() };
        let mut queue = seeded(config, Limit::Packets(100), 1);
        let (mut dropped, mut early, mut overflows) = (Vec::new(), 0, 0);
        for slot in 0..8000 {
            for _ in 0..2 {
                let packet = Packet::new(1, 0, 1500).with_ecn(ecn);
                overflows += i32::from(!queue.offer(millis(slot), packet).is_empty());
            }
            queue.dequeue(millis(slot), &mut dropped);
            early += dropped.drain(..).filter(|drop| drop.reason == DropReason::Early).count();
        }
        (early, overflows, queue.backlog().packets)
    };
    // BLUE's share rises by 1/256 every 6 ms of overflow, so that after 0.8 s it drops half of what comes:
    // the queue is short, ECN or not.
    let (early, overflows, left) = run(Ecn::Ect0);
    assert!(early > 6000 && overflows < 1500 && left < 100, "{early} {overflows} {left}");
}
