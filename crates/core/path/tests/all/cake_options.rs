//! CAKE as people set it: tins of `diffserv4` and `diffserv8`, the filter of acknowledgements, `ingress`, `wash`.

use crate::support::{Offer, Packet, millis};
use gameway_path::{
    AckFilter, Cake, CakeConfig, Diffserv, DropReason, Dscp, Header, Limit, Queue, SackRanges,
    TcpHeader,
};
use gameway_units::{Duration, Ecn, Instant, Rate};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// No packet.
const NONE: [u64; 0] = [];

/// COBALT that never acts, one tin, 8 Mb/s: a byte takes a microsecond.
fn config() -> CakeConfig {
    CakeConfig {
        bandwidth: Some(Rate::from_mbps(8)),
        rtt: Duration::from_secs(36_000),
        diffserv: Diffserv::BestEffort,
        ..CakeConfig::default()
    }
}

fn queue(config: CakeConfig, limit: u64) -> Cake<Packet> {
    Cake::new(config, Limit::Packets(limit), Xoshiro256PlusPlus::seed_from_u64(1))
}

// Tins.

/// Shares of 16 Mb/s in sixteenths, with packets of each code point always there.
fn shares(diffserv: Diffserv, dscps: &[&str]) -> Vec<f64> {
    let bandwidth = Some(Rate::from_mbps(16));
    let mut queue = queue(CakeConfig { diffserv, bandwidth, ..config() }, 1_000_000);
    for (flow, dscp) in (0..).zip(dscps) {
        let header = Header { dscp: dscp.parse().unwrap(), ..Header::numbered(flow) };
        for number in 0..4000 {
            queue.offer(millis(0), Packet::new(flow, number, 1000).with_header(header));
        }
    }
    let mut sent = vec![0.0; dscps.len()];
    let mut now = millis(0);
    for _ in 0..4000 {
        now = queue.next_release(now).unwrap_or(now);
        let next = queue.dequeue(now, &mut Vec::new()).unwrap().packet;
        sent[usize::from(next.flow)] += 16.0 / 4000.0;
    }
    sent
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let close = found.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 0.1);
    assert!(close, "{found:?} and not {expected:?}");
}

#[test]
fn four_tins_have_their_thresholds_and_best_effort_the_rest() {
    let four = |dscps: &[&str]| shares(Diffserv::Four, dscps);
    // Voice a quarter, video a half, bulk a sixteenth.
    near(&four(&["df", "cs1", "af41", "ef"]), &[3.0, 1.0, 8.0, 4.0]);
    near(&four(&["df", "af41"]), &[8.0, 8.0]);
    // CS4, a game's, is voice here and best effort in three tins.
    near(&four(&["df", "cs4"]), &[12.0, 4.0]);
    near(&shares(Diffserv::Three, &["df", "cs4"]), &[8.0, 8.0]);
}

#[test]
fn eight_tins_lend_downwards() {
    let eight = |dscps: &[&str]| shares(Diffserv::Eight, dscps);
    // Control has (7/8)^7 of the bandwidth, least latency (7/8)^6; what is left goes to the next below.
    let latency = 16.0 * [0.875; 6].iter().product::<f64>();
    let control = latency * 0.875;
    near(&eight(&["cs6", "ef", "df"]), &[control, latency, 16.0 - control - latency]);
    near(&eight(&["cs6", "cs1"]), &[control, 16.0 - control]);
    // By precedence CS7 is the last of eight and 0 the first.
    let by_precedence = shares(Diffserv::Precedence, &["cs7", "df"]);
    near(&by_precedence, &[control, 16.0 - control]);
}

#[test]
fn a_tin_saves_nothing_up_while_it_is_empty() {
    // Voice has a quarter of 16 Mb/s. It sends, pauses for a second, and then always has packets as the rest has.
    let bandwidth = Some(Rate::from_mbps(16));
    let config = CakeConfig { diffserv: Diffserv::Three, bandwidth, ..config() };
    let mut queue = queue(config, 1_000_000);
    let header = |dscp: u8| Header { dscp: Dscp(dscp), ..Header::numbered(u16::from(dscp)) };
    let packet = |dscp: u8| Packet::new(u16::from(dscp), 0, 1000).with_header(header(dscp));
    (0..10_000).for_each(|_| assert_eq!(queue.offer(millis(0), packet(0)), []));
    let (mut now, mut voice, mut all) = (millis(0), 0, 0);
    while now < millis(2000) {
        let busy = now < millis(100) || now >= millis(1100);
        // Its next packet is there before the one that leaves.
        if busy && queue.backlog().packets < 20_000 {
            assert_eq!(queue.offer(now, packet(46)), []);
        }
        let next = queue.dequeue(now, &mut Vec::new()).unwrap().packet;
        if now >= millis(1100) {
            voice += u64::from(next.flow == 46);
            all += 1;
        }
        now = queue.next_release(now).unwrap_or(now);
    }
    let share = voice as f64 / all as f64;
    assert!((0.24..0.26).contains(&share), "{voice} of {all}");
}

/// Packets of best effort, which always has some and is marked, to those of voice, which has more than its share and
/// loses some to COBALT: of those that were sent, and of all. No bandwidth; the weights are 1024 and 256.
fn to_one_of_voice(ingress: bool) -> [f64; 2] {
    let rtt = Duration::from_millis(100);
    let config =
        CakeConfig { diffserv: Diffserv::Three, bandwidth: None, ingress, rtt, ..config() };
    let mut queue = queue(config, 1_000_000);
    let header = |dscp: u8| Header { dscp: Dscp(dscp), ..Header::numbered(u16::from(dscp)) };
    let packet = |dscp: u8| Packet::new(u16::from(dscp), 0, 1000).with_header(header(dscp));
    let (mut sent, mut dropped) = ([0.0, 0.0], [0.0, 0.0]);
    for slot in 0..20_000 {
        let mut lost = queue.offer(millis(slot), packet(0).with_ecn(Ecn::Ect0));
        if slot % 9 < 2 {
            lost.extend(queue.offer(millis(slot), packet(46)));
        }
        let next = queue.dequeue(millis(slot), &mut lost).unwrap().packet;
        sent[usize::from(next.flow == 46)] += 1.0;
        lost.iter().for_each(|lost| dropped[usize::from(lost.packet.flow == 46)] += 1.0);
    }
    [sent[0] / sent[1], (sent[0] + dropped[0]) / (sent[1] + dropped[1])]
}

#[test]
fn what_a_tin_drops_counts_for_its_share_in_ingress_mode() {
    let [sent, all] = to_one_of_voice(false);
    assert!((3.99..4.01).contains(&sent) && (3.5..3.7).contains(&all), "{sent} {all}");
    let [sent, all] = to_one_of_voice(true);
    assert!((7.0..9.0).contains(&sent) && (3.99..4.01).contains(&all), "{sent} {all}");
}

#[test]
fn a_flow_that_has_used_up_its_quantum_waits_for_its_next_turn() {
    let mut queue = queue(CakeConfig { bandwidth: None, ..config() }, 1000);
    for number in 0..10 {
        for flow in [1, 2] {
            queue.offer(millis(0), Packet::new(flow, number, 1514));
        }
    }
    let left = (0..20).map(|_| queue.dequeue(millis(0), &mut Vec::new()).unwrap().packet.flow);
    let left: Vec<u16> = left.collect();
    // A packet of a quantum each.
    assert!(left.chunks(2).all(|pair| pair[0] != pair[1]), "{left:?}");
}

// Acknowledgements.

fn ack(number: u32) -> TcpHeader {
    TcpHeader {
        acknowledges: true,
        is_plain: true,
        acknowledgment: number,
        timestamps: Some((number, 7)),
        ..TcpHeader::default()
    }
}

fn sacked(number: u32, blocks: &[(u32, u32)]) -> TcpHeader {
    let mut sack = SackRanges::default();
    blocks.iter().for_each(|(start, end)| sack.push(*start, *end));
    TcpHeader { sack, ..ack(number) }
}

/// Which of the packets, all of one flow, are dropped when they come at once.
fn filtered(filter: AckFilter, headers: &[TcpHeader]) -> Vec<u64> {
    let mut queue = queue(CakeConfig { ack_filter: filter, ..config() }, 1000);
    let mut dropped = Vec::new();
    for (number, header) in (0..).zip(headers) {
        let packet = Packet::new(1, number, 52).with_tcp(*header);
        for drop in queue.offer(millis(0), packet) {
            assert_eq!(drop.reason, DropReason::Needless);
            dropped.push(drop.packet.number);
        }
    }
    let left: Vec<u64> = std::iter::from_fn(|| {
        let next = queue.dequeue(millis(10_000), &mut Vec::new())?;
        Some(next.packet.number)
    })
    .collect();
    // Nothing is lost otherwise, and the rest keeps its order.
    let kept = (0..headers.len() as u64).filter(|number| !dropped.contains(number));
    assert_eq!(left, kept.collect::<Vec<u64>>());
    dropped
}

fn on(headers: &[TcpHeader]) -> Vec<u64> {
    filtered(AckFilter::On, headers)
}

fn aggressive(headers: &[TcpHeader]) -> Vec<u64> {
    filtered(AckFilter::Aggressive, headers)
}

#[test]
fn of_needless_acknowledgements_one_stays_or_in_the_aggressive_mode_none() {
    let five: Vec<TcpHeader> = (1..=5).map(ack).collect();
    assert_eq!(filtered(AckFilter::Off, &five), NONE);
    // The third finds two that it makes needless.
    assert_eq!(on(&five), [0, 1, 2]);
    assert_eq!(aggressive(&five), [0, 1, 2, 3]);
    assert_eq!(on(&five[..2]), NONE);
    // Numbers wrap.
    assert_eq!(on(&[u32::MAX - 1, u32::MAX, 3].map(ack)), [0]);
}

#[test]
fn what_says_more_than_the_newest_is_kept() {
    // Duplicates: they tell of a loss.
    assert_eq!(aggressive(&[5, 5, 5, 5].map(ack)), NONE);
    // An older number behind a newer one.
    assert_eq!(aggressive(&[ack(9), ack(8), ack(7)]), NONE);
    // Other flags, options or payload; the newest itself may be data.
    let data = |number| TcpHeader { is_plain: false, ..ack(number) };
    assert_eq!(aggressive(&[data(1), data(2), data(3)]), NONE);
    assert_eq!(aggressive(&[ack(1), data(2)]), [0]);
    let opening = TcpHeader { acknowledges: false, ..ack(9) };
    assert_eq!(aggressive(&[ack(1), ack(2), opening]), [0]);
    // Newer timestamps than the newest has.
    let later = TcpHeader { timestamps: Some((100, 7)), ..ack(1) };
    assert_eq!(aggressive(&[later, ack(2), ack(3), ack(4)]), [1, 2]);
    // Another connection of the same queue: the search is by ports and addresses.
    assert_eq!(aggressive(&[TcpHeader { timestamps: None, ..ack(1) }, ack(2)]), [0]);
}

#[test]
fn selective_acknowledgements_go_only_where_the_newest_covers_them() {
    let one = sacked(10, &[(20, 30)]);
    let (grown, other) = (sacked(10, &[(20, 40)]), sacked(10, &[(50, 60)]));
    assert_eq!(aggressive(&[one, grown]), [0]);
    assert_eq!(aggressive(&[one, other]), NONE);
    // A longer block that has one end of it only.
    assert_eq!(aggressive(&[one, sacked(10, &[(25, 60)])]), NONE);
    assert_eq!(aggressive(&[one, sacked(10, &[(11, 25)])]), NONE);
    assert_eq!(aggressive(&[one, sacked(10, &[(50, 60), (20, 30)])]), [0]);
    // The hole is filled: the newest has no blocks any more.
    assert_eq!(aggressive(&[one, ack(30)]), NONE);
    assert_eq!(aggressive(&[ack(10), one]), [0]);
    assert_eq!(aggressive(&[one, one]), NONE);
    assert_eq!(aggressive(&[one, sacked(11, &[(20, 30)])]), [0]);
    // A duplicate (RFC 2883) is below the number.
    assert_eq!(aggressive(&[sacked(10, &[(5, 8)]), sacked(11, &[(5, 8)])]), NONE);
}

#[test]
fn an_echo_of_a_mark_is_never_lost() {
    let echo = |number| TcpHeader { echoes: 1, ..ack(number) };
    assert_eq!(aggressive(&[ack(1), echo(2)]), NONE);
    assert_eq!(aggressive(&[echo(1), ack(2)]), NONE);
    assert_eq!(aggressive(&[echo(1), echo(2)]), [0]);
    // Behind a change the search begins anew.
    assert_eq!(on(&[ack(1), echo(2), ack(3)]), NONE);
    assert_eq!(on(&[echo(1), ack(2), ack(3), ack(4)]), [1]);
}

#[test]
fn connections_that_share_a_queue_are_told_apart() {
    let isolation = gameway_path::Isolation::Blind;
    let filter = AckFilter::Aggressive;
    let mut queue = queue(CakeConfig { ack_filter: filter, isolation, ..config() }, 1000);
    let mut came = |flow, number| {
        let packet = Packet::new(flow, 0, 52).with_tcp(ack(number));
        !queue.offer(millis(0), packet).is_empty()
    };
    assert_eq!([came(1, 1), came(2, 2), came(3, 3), came(3, 4)], [false, false, false, true]);
}

// What is dropped counts.

/// When the second packet that is sent leaves, in us, after one of 1000 B left at once and, while there is room for
/// one, packets of these sizes came.
fn second(ingress: bool, sizes: &[u64]) -> i64 {
    let mut queue = queue(CakeConfig { ingress, ..config() }, 1);
    queue.offer(millis(0), Packet::new(1, 0, 1000));
    queue.dequeue(millis(0), &mut Vec::new()).unwrap();
    for size in sizes {
        queue.offer(millis(0), Packet::new(1, 1, *size));
    }
    (queue.next_release(millis(0)).unwrap() - millis(0)).as_nanos() / 1000
}

#[test]
fn ingress_counts_what_is_dropped_up_to_half_as_much_again() {
    assert_eq!(second(false, &[100, 200, 1000]), 1000);
    assert_eq!(second(true, &[1000]), 1000);
    assert_eq!(second(true, &[100, 200, 1000]), 1300);
    // The failsafe: what is sent takes at most one and a half times its time.
    assert_eq!(second(true, &[1000, 1000, 1000]), 1500);
}

/// Of 12 Mb/s in packets of 1500 B that do not listen: what leaves in the last of `seconds`, Mb/s, at 8 Mb/s.
fn overloaded(ingress: bool, share: f64) -> [f64; 2] {
    let config = CakeConfig { ingress, rtt: Duration::from_millis(100), ..config() };
    let mut queue = queue(config, 50);
    let (mut sent, mut came, mut next) = (0, 0, Instant::ZERO);
    let gap = Duration::from_nanos((1_500_000.0 / share) as i64);
    let (from, until) = (millis(20_000), millis(40_000));
    while next < until {
        let free = queue.next_release(next).filter(|at| *at <= next + gap);
        let mut at = next;
        queue.offer(at, Packet::new(1, 0, 1500));
        came += u64::from(at >= from);
        if let Some(free) = free {
            at = free;
        }
        while queue.next_release(at).is_none() && queue.backlog().packets > 0 && at < next + gap {
            sent += u64::from(queue.dequeue(at, &mut Vec::new()).is_some() && at >= from);
            at = queue.next_release(at).unwrap_or(at);
        }
        next += gap;
    }
    [sent, came].map(|packets| packets as f64 * 1500.0 * 8.0 / 20e6)
}

#[test]
fn behind_a_link_that_is_shaped_for_all_that_comes_counts() {
    // 20 % too much: what leaves is the bandwidth, or what the dropped leave of it.
    let [sent, came] = overloaded(false, 1.2);
    assert!((7.9..=8.01).contains(&sent) && (9.59..=9.61).contains(&came), "{sent} of {came}");
    let [sent, came] = overloaded(true, 1.2);
    // Nothing tells the sender: less leaves until the failsafe's two thirds.
    assert!((5.3..=5.6).contains(&sent) && (9.59..=9.61).contains(&came), "{sent} of {came}");
}

// Code points.

#[test]
fn wash_clears_the_code_point_behind_the_tins_and_keeps_ecn() {
    for wash in [false, true] {
        let bandwidth = Some(Rate::from_mbps(16));
        let config = CakeConfig { diffserv: Diffserv::Three, wash, bandwidth, ..config() };
        let mut queue = queue(config, 1000);
        let header = |dscp: u8| Header { dscp: Dscp(dscp), ..Header::numbered(u16::from(dscp)) };
        for dscp in [0, 46] {
            let packet = Packet::new(u16::from(dscp), 0, 1000).with_header(header(dscp));
            queue.offer(millis(0), packet.with_ecn(Ecn::Ect1));
        }
        let first = queue.dequeue(millis(1), &mut Vec::new()).unwrap().packet;
        // Voice goes first, whatever it is when it leaves.
        assert_eq!(first.flow, 46);
        assert_eq!(first.header.dscp, Dscp(if wash { 0 } else { 46 }));
        assert_eq!(first.ecn, Ecn::Ect1);
    }
}
