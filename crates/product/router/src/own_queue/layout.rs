//! Which queues and classes of Linux the gateway's own queue consists of, for a rate: what is sent to the kernel, and no sending.
//!
//! Source: `linux/pkt_sched.h` for structures and attributes; `net/sched/sch_htb.c`, `sch_fq_codel.c` and `sch_cake.c`
//! of Linux 6.1 for what they mean; Høiland-Jørgensen, Täht, Morton: Piece of CAKE (2018) for CAKE; RFC 8290 for FQ-CoDel.
//!
//! Model of HTB: one class has the whole rate; below it a class for games, which is asked first for what is left over, and one for all others.
//! Each is assured its share, so that what is taken for a game by mistake cannot starve the others. Nor does a
//! joined packet of 64 kB hold a game up for the 26 ms that it is at 20 Mb/s: within its share, its class does not ask its parent.
//!
//! ```text
//! HTB 4757: ── class :1, the rate ─┬─ class :4, games ──── FQ-CoDel or fifo 4758:
//!                                  └─ class :20, others ── FQ-CoDel or fifo 4759:
//! ```
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | [`GAME`] | 4757:4 | | ours; CAKE takes the numbers 1 to 4 for its tins and 4 for Voice (`cake_select_tin`, `bulk_order`) |
//! | share of games | 3/4 | of the rate | ours: HTB gives each class its share before it asks who goes first, so a game that needs more waits behind downloads |
//! | burst of HTB | 1 ms of the rate, two packets at least | | ours: timers of Linux are exact to far less; behind the queue that hurts, a burst goes into the home alone |
//! | CAKE splits joined packets below | 1 | Gb/s | tc-cake(8): what it does by itself |
//! | target of FQ-CoDel and CAKE | 5 ms, 1.5 packets at least; in mode both twice beta | | RFC 8290 section 5.2.1; CAKE's bound for slow links |
//! | wait of a fifo | 50 (others), 10 (games) | ms | ours, where the kernel has no FQ-CoDel |
//!
//! | deviation | why |
//! |---|---|
//! | CAKE does not count what it drops (`ingress`), though that has used the link | a flood above the rate then holds the tin of games, too |
//! | CAKE shares by destination (`dual-dsthost`), on the way out by source before translation (`dual-srchost`, `nat`) | that is the machine at home |

use super::{Discipline, Way};
use crate::netlink::{ROOT, attribute};
use gameway_units::{Bytes, Duration, Rate};

/// The number of the gateway's queue, by which it is recognised.
pub const HANDLE: u32 = 0x4757_0000;
/// What has this as `skb->priority` is a game's: a class of HTB by itself, a tin of CAKE by itself.
pub const GAME: u32 = HANDLE | 0x4;
const WHOLE: u32 = HANDLE | 0x1;
/// What is nobody's else: HTB takes the number as its default class.
const OTHERS: u32 = HANDLE | OTHERS_MINOR;
const OTHERS_MINOR: u32 = 0x20;
/// Games' queue, and others'.
pub(super) const GAME_LEAF: u32 = 0x4758_0000;
pub(super) const OTHERS_LEAF: u32 = 0x4759_0000;

/// Of all, others'.
const OTHERS_PARTS: u64 = 4;
const BURST: Duration = Duration::from_millis(1);
const SPLIT_BELOW: Rate = Rate::from_mbps(1000);
pub(super) const TARGET: Duration = Duration::from_millis(5);
const OTHERS_WAIT: Duration = Duration::from_millis(50);
const GAME_WAIT: Duration = Duration::from_millis(10);
/// With an Ethernet header.
const PACKET: u32 = 1514;
/// No fifo is shorter, in packets.
const FEWEST: u64 = 4;

/// Whether a queue of this number is the gateway's, or a part of it.
#[must_use]
pub fn is_own(handle: u32) -> bool {
    [HANDLE, GAME_LEAF, OTHERS_LEAF].contains(&handle)
}

/// A queue or a class, as it is sent to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub is_class: bool,
    pub handle: u32,
    pub parent: u32,
    /// Its kind and its options.
    pub attributes: Vec<u8>,
}

/// The pieces, parents first; `target` is what CoDel lets others wait.
pub(super) fn layout(discipline: Discipline, rate: Rate, target: Duration) -> Vec<Piece> {
    match discipline {
        Discipline::Cake { way } => vec![queue(HANDLE, ROOT, "cake", &cake(way, rate, target))],
        Discipline::Htb { has_fq_codel } => {
            let leaf = |handle, parent, wait| match has_fq_codel {
                true => queue(handle, parent, "fq_codel", &fq_codel(rate, target)),
                false => queue(handle, parent, "bfifo", &fifo(rate, wait)),
            };
            let others_rate = Rate::from_bps(rate.as_bps() / OTHERS_PARTS);
            vec![
                queue(HANDLE, ROOT, "htb", &htb()),
                class(WHOLE, HANDLE, &htb_class(rate, rate, 0)),
                class(GAME, WHOLE, &htb_class(rate - others_rate, rate, 0)),
                class(OTHERS, WHOLE, &htb_class(others_rate, rate, 1)),
                leaf(GAME_LEAF, GAME, GAME_WAIT),
                leaf(OTHERS_LEAF, OTHERS, OTHERS_WAIT),
            ]
        }
    }
}

fn queue(handle: u32, parent: u32, kind: &str, options: &[u8]) -> Piece {
    piece(false, handle, parent, kind, options)
}

fn class(handle: u32, parent: u32, options: &[u8]) -> Piece {
    piece(true, handle, parent, "htb", options)
}

/// `TCA_KIND` and `TCA_OPTIONS`: a structure of a fifo, attributes of all others.
fn piece(is_class: bool, handle: u32, parent: u32, kind: &str, options: &[u8]) -> Piece {
    const KIND: u16 = 1;
    const OPTIONS: u16 = 2;
    let name = attribute(KIND, &[kind.as_bytes(), b"\0"].concat());
    let attributes = [name, attribute(OPTIONS, options)].concat();
    Piece { is_class, handle, parent, attributes }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn word(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_ne_bytes())
}

fn at_most_u32(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// `tc_htb_glob`: version, divisor of the quantum (each class says its own), default class, and two that the kernel alone writes.
fn htb() -> Vec<u8> {
    const INIT: u16 = 2;
    const VERSION: u32 = 3;
    const DIVISOR: u32 = 10;
    attribute(INIT, &words(&[VERSION, DIVISOR, OTHERS_MINOR, 0, 0]))
}

/// `tc_htb_opt`.
fn htb_class(rate: Rate, ceil: Rate, priority: u32) -> Vec<u8> {
    const PARMS: u16 = 1;
    let times = words(&[burst(rate), burst(ceil), PACKET, 0, priority]);
    attribute(PARMS, &[rate_spec(rate), rate_spec(ceil), times].concat())
}

/// `tc_ratespec` of an Ethernet link, whose packets cost what they are long; without that the kernel asks for a table.
fn rate_spec(rate: Rate) -> Vec<u8> {
    const ETHERNET: u8 = 1;
    let mut bytes = vec![0; 8];
    bytes[1] = ETHERNET;
    bytes.extend(at_most_u32(rate.as_bps() / 8).max(1).to_ne_bytes());
    bytes
}

/// In the ticks of 64 ns in which tc counts.
fn burst(rate: Rate) -> u32 {
    const TICK_NS: u64 = 64;
    let packets = rate.time_for(Bytes::new(2 * u64::from(PACKET)));
    at_most_u32(BURST.max(packets).as_nanos().unsigned_abs() / TICK_NS)
}

fn fq_codel(rate: Rate, target: Duration) -> Vec<u8> {
    const TARGET_US: u16 = 1;
    const ECN: u16 = 4;
    const QUANTUM: u16 = 6;
    let slow = rate.time_for(Bytes::new(u64::from(PACKET) * 3 / 2));
    let target = at_most_u32(target.max(slow).as_nanos().unsigned_abs() / 1000);
    [word(TARGET_US, target), word(ECN, 1), word(QUANTUM, PACKET)].concat()
}

/// `tc_fifo_qopt`: what waits at most, in bytes.
fn fifo(rate: Rate, wait: Duration) -> Vec<u8> {
    let bytes = (rate * wait).get().max(FEWEST * u64::from(PACKET));
    words(&[at_most_u32(bytes)])
}

fn cake(way: Way, rate: Rate, target: Duration) -> Vec<u8> {
    const BASE_RATE64: u16 = 2;
    const DIFFSERV_MODE: u16 = 3;
    const FLOW_MODE: u16 = 5;
    const RTT: u16 = 7;
    const NAT: u16 = 11;
    const INGRESS: u16 = 15;
    /// CAKE's target is so small a part of its rtt (`cake_reconfigure`).
    const RTT_PER_TARGET: i64 = 20;
    const SPLIT_GSO: u16 = 17;
    const DIFFSERV4: u32 = 1;
    const DUAL_SRCHOST: u32 = 5;
    const DUAL_DSTHOST: u32 = 6;
    let (flows, is_translated) = match way {
        Way::ToHome => (DUAL_DSTHOST, false),
        Way::Out => (DUAL_SRCHOST, true),
    };
    [
        attribute(BASE_RATE64, &(rate.as_bps() / 8).to_ne_bytes()),
        word(DIFFSERV_MODE, DIFFSERV4),
        word(FLOW_MODE, flows),
        word(NAT, u32::from(is_translated)),
        word(RTT, at_most_u32((target * RTT_PER_TARGET).as_nanos().unsigned_abs() / 1000)),
        word(INGRESS, 0),
        word(SPLIT_GSO, u32::from(rate < SPLIT_BELOW)),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH_ALL: Discipline = Discipline::Htb { has_fq_codel: true };
    const CAKE: Discipline = Discipline::Cake { way: Way::ToHome };
    const WITH_NOTHING: Discipline = Discipline::Htb { has_fq_codel: false };

    fn handles(discipline: Discipline) -> Vec<(u32, u32)> {
        let pieces = layout(discipline, Rate::from_mbps(20), TARGET);
        pieces.iter().map(|one| (one.handle, one.parent)).collect()
    }

    /// Who shares a link is the machine at home, either way.
    #[test]
    fn cake_shares_by_the_machine_at_home() {
        let [home, out] = [Way::ToHome, Way::Out].map(|way| cake(way, Rate::from_mbps(20), TARGET));
        assert!(
            home.windows(8).any(|one| one == word(5, 6))
                && home.windows(8).any(|one| one == word(11, 0))
        );
        assert!(
            out.windows(8).any(|one| one == word(5, 5))
                && out.windows(8).any(|one| one == word(11, 1))
        );
    }

    /// The places of pieces that another rate changes.
    fn changed(discipline: Discipline, rates: [Rate; 2]) -> Vec<u32> {
        let [old, new] = rates.map(|rate| layout(discipline, rate, TARGET));
        assert_eq!(old.len(), new.len());
        let pairs = old.iter().zip(&new);
        pairs.filter(|(old, new)| old != new).map(|(_, new)| new.handle).collect()
    }

    #[test]
    fn parents_come_first_and_each_part_is_known_by_its_number() {
        for discipline in [WITH_ALL, WITH_NOTHING, CAKE] {
            let all = handles(discipline);
            assert_eq!(all[0], (HANDLE, ROOT));
            for (index, (_, parent)) in all.iter().enumerate().skip(1) {
                let known =
                    |(handle, _): &(u32, u32)| handle == parent || *handle == parent & !0xffff;
                assert!(all[..index].iter().any(known), "{parent:x}");
            }
            let queues = layout(discipline, Rate::from_mbps(20), TARGET);
            assert!(queues.iter().filter(|one| !one.is_class).all(|one| is_own(one.handle)));
        }
        assert!(!is_own(GAME) && !is_own(0x8001_0000));
        assert_eq!(handles(WITH_NOTHING).len(), 6);
    }

    #[test]
    fn a_rate_changes_classes_and_what_is_sized_by_it() {
        let rates = [20, 40].map(Rate::from_mbps);
        assert_eq!(changed(WITH_ALL, rates), [WHOLE, GAME, OTHERS]);
        assert_eq!(changed(WITH_NOTHING, rates), [WHOLE, GAME, OTHERS, GAME_LEAF, OTHERS_LEAF]);
        assert_eq!(changed(CAKE, rates), [HANDLE]);
        // Below 3.6 Mb/s 1.5 packets are longer than 5 ms.
        let slow = [1, 20].map(Rate::from_mbps);
        assert_eq!(changed(WITH_ALL, slow), [WHOLE, GAME, OTHERS, GAME_LEAF, OTHERS_LEAF]);
        assert!(changed(WITH_ALL, [Rate::from_mbps(20); 2]).is_empty());
    }

    #[test]
    fn a_burst_is_a_millisecond_and_two_packets_at_least() {
        // 20 Mb/s: 2 x 1514 B take 1211.2 µs; 1 Gb/s: a millisecond; both in ticks of 64 ns.
        assert_eq!(burst(Rate::from_mbps(20)), 18_925);
        assert_eq!(burst(Rate::from_mbps(1000)), 15_625);
    }

    #[test]
    fn a_class_is_laid_out_as_the_kernel_reads_it() {
        let bytes = htb_class(Rate::from_mbps(5), Rate::from_mbps(20), 1);
        let number = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        assert_eq!(bytes.len(), 4 + 44);
        assert_eq!((bytes[5], bytes[17]), (1, 1));
        assert_eq!([12, 24].map(number), [625_000, 2_500_000]);
        assert_eq!([36, 40, 44].map(number), [1514, 0, 1]);
    }
}
