//! What is asked of the kernel for the gateway's own queue: that pieces are added and changed, that the queue goes, and figures.
//!
//! Source: rtnetlink(7) and `net/sched/sch_api.c` of Linux 6.1; numbers of `linux/rtnetlink.h`, `linux/gen_stats.h` and
//! `linux/pkt_sched.h`.

use super::layout::{GAME_LEAF, HANDLE, OTHERS_LEAF, Piece};
use super::{Class, Discipline, KernelQueues};
use crate::netlink::{
    ROOT, TC_HEAD, attribute, attributes, find, tc_request, traffic_control, traffic_control_all,
    u32_at,
};
use std::io;

const ACK: u16 = 0x4;
/// The answer goes to who asks, also on kernels before 6.6.
const ECHO: u16 = 0x8;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
const GET_QDISC: u16 = 38;
const NEW_CLASS: u16 = 40;
const KIND: u16 = 1;

/// Adds pieces that are not there, parents first: all, or none.
pub(super) fn put(interface: u32, pieces: &[Piece]) -> io::Result<()> {
    let put = pieces.iter().try_for_each(|piece| add(interface, piece));
    if put.is_err() {
        let _ = remove(interface);
    }
    put
}

fn add(interface: u32, piece: &Piece) -> io::Result<()> {
    traffic_control_all(&[request(interface, piece, CREATE | EXCLUSIVE)])
}

/// Changes the options of pieces that are there; what waits in them stays.
pub(super) fn change<'a>(
    interface: u32,
    pieces: impl Iterator<Item = &'a Piece>,
) -> io::Result<()> {
    let requests: Vec<_> = pieces.map(|piece| request(interface, piece, 0)).collect();
    traffic_control_all(&requests)
}

fn request(interface: u32, piece: &Piece, flags: u16) -> Vec<u8> {
    let kind = if piece.is_class { NEW_CLASS } else { NEW_QDISC };
    tc_request(kind, ACK | flags, interface, [piece.handle, piece.parent], &piece.attributes)
}

/// Takes the gateway's queue away, if it is there; another one is not touched. The kernel then puts its default there.
/// Gives whether it was.
pub(super) fn remove(interface: u32) -> io::Result<bool> {
    match traffic_control(DELETE_QDISC, ACK, interface, [HANDLE, ROOT], &[]) {
        Ok(_) => Ok(true),
        // No queue but the default, another's, and no interface.
        Err(error) if matches!(raw(&error), Some(NO_ENTRY | WRONG | NO_DEVICE)) => Ok(false),
        Err(error) => Err(error),
    }
}

const NO_ENTRY: i32 = 2;
const NO_DEVICE: i32 = 19;
const WRONG: i32 = 22;
const NOT_SUPPORTED: i32 = 95;
const NO_PERMISSION: i32 = 1;

fn raw(error: &io::Error) -> Option<i32> {
    error.raw_os_error()
}

/// Whether the kernel says that this queue, or the interface, is not there.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(raw(error), Some(NO_ENTRY | NO_DEVICE))
}

/// Whether the kernel has a kind of queue; one in a module is loaded by that.
///
/// The question is a request that no kernel can fulfil: a queue at the loopback that takes filters of a block at its way in, which
/// those that shape do not. The kernel looks for the kind first (`qdisc_create`), so that nothing changes.
fn has(kind: &str) -> io::Result<bool> {
    const LOOPBACK: u32 = 1;
    const INGRESS_BLOCK: u16 = 13;
    let name = attribute(KIND, &[kind.as_bytes(), b"\0"].concat());
    let attributes = [name, attribute(INGRESS_BLOCK, &1_u32.to_ne_bytes())].concat();
    let flags = ACK | CREATE | REPLACE | EXCLUSIVE;
    match traffic_control(NEW_QDISC, flags, LOOPBACK, [0, ROOT], &attributes) {
        Err(error) if raw(&error) == Some(NOT_SUPPORTED) => Ok(true),
        Err(error) if raw(&error) == Some(NO_ENTRY) => Ok(false),
        Err(error) if raw(&error) == Some(NO_PERMISSION) => Err(error),
        Err(error) => Err(io::Error::other(format!("it answers {error} to a question for {kind}"))),
        Ok(_) => Err(io::Error::other(format!("it made a queue of the kind {kind} at lo"))),
    }
}

/// What the kernel has of all that a queue of the gateway can use.
pub(super) fn queues() -> io::Result<KernelQueues> {
    Ok(KernelQueues { cake: has("cake")?, htb: has("htb")?, fq_codel: has("fq_codel")? })
}

/// What was counted at the root of an interface; `None` if nothing can wait there.
pub(super) fn at_root(interface: u32) -> io::Result<Option<Class>> {
    let answer = traffic_control(GET_QDISC, ECHO, interface, [0, ROOT], &[])?;
    let kind = answer.get(TC_HEAD..).and_then(|rest| find(rest, KIND));
    if kind.is_some_and(|kind| kind.starts_with(b"noqueue\0")) {
        return Ok(None);
    }
    let figures = counted(&answer);
    figures.map(Some).ok_or_else(|| io::Error::other("the kernel's answer has no figures"))
}

/// What was counted of games and of the others.
pub(super) fn classes(interface: u32, discipline: Discipline) -> io::Result<[Class; 2]> {
    let ask = |handle| {
        let answer = traffic_control(GET_QDISC, ECHO, interface, [handle, 0], &[])?;
        counted(&answer).ok_or_else(|| io::Error::other("the kernel's answer has no figures"))
    };
    match discipline {
        Discipline::Cake { .. } => {
            let answer = traffic_control(GET_QDISC, ECHO, interface, [HANDLE, 0], &[])?;
            tins(&answer).ok_or_else(|| io::Error::other("the kernel's answer has no tins"))
        }
        Discipline::Htb { .. } => Ok([ask(GAME_LEAF)?, ask(OTHERS_LEAF)?]),
    }
}

/// `TCA_STATS2` of a queue: basic figures, its queue, and marks of FQ-CoDel.
pub(crate) fn counted(message: &[u8]) -> Option<Class> {
    const STATS2: u16 = 7;
    const BASIC: u16 = 1;
    const QUEUE: u16 = 3;
    const APPLICATION: u16 = 4;
    const MARKS: usize = 12;
    let rest = message.get(TC_HEAD..)?;
    let figures = find(rest, STATS2)?;
    let (basic, queue) = (find(figures, BASIC)?, find(figures, QUEUE)?);
    let is_fq_codel = find(rest, KIND)?.starts_with(b"fq_codel\0");
    let marks = find(figures, APPLICATION).filter(|_| is_fq_codel);
    let number = |at| u32_at(queue, at).map(u64::from);
    Some(Class {
        sent_bytes: u64_at(basic)?,
        sent_packets: u64::from(u32_at(basic, 8)?),
        backlog_bytes: number(4)?,
        drops: number(8)?,
        marks: marks.and_then(|own| u32_at(own, MARKS)).map_or(0, u64::from),
    })
}

/// CAKE's own figures: the tin Voice, and all others together. What it counts as sent in a tin is what came into it, and it counts no
/// packets that wait there: of games that is told, as nothing waits there for long; the others sent what all sent less that.
pub(crate) fn tins(message: &[u8]) -> Option<[Class; 2]> {
    const STATS2: u16 = 7;
    const APPLICATION: u16 = 4;
    const TINS: u16 = 10;
    const VOICE: u16 = 4;
    let all = counted(message)?;
    let figures = find(find(message.get(TC_HEAD..)?, STATS2)?, APPLICATION)?;
    let mut found = [Class::default(); 2];
    for (number, tin) in attributes(find(figures, TINS)?) {
        let [game, others] = &mut found;
        let class = if number == VOICE { game } else { others };
        class.add(&tin_of(tin)?);
    }
    let [game, others] = &mut found;
    others.sent_packets = all.sent_packets.saturating_sub(game.sent_packets);
    others.sent_bytes = all.sent_bytes.saturating_sub(game.sent_bytes);
    Some(found)
}

fn tin_of(tin: &[u8]) -> Option<Class> {
    let number = |kind| find(tin, kind).and_then(|value| u32_at(value, 0)).map(u64::from);
    Some(Class {
        sent_packets: number(2)?,
        sent_bytes: find(tin, 3).and_then(u64_at)?,
        drops: number(4)?,
        marks: number(8)?,
        backlog_bytes: number(11)?,
    })
}

fn u64_at(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nested(kind: u16, parts: &[Vec<u8>]) -> Vec<u8> {
        attribute(kind, &parts.concat())
    }

    fn word(kind: u16, value: u32) -> Vec<u8> {
        attribute(kind, &value.to_ne_bytes())
    }

    fn numbers(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn message(kind: &str, figures: &[Vec<u8>]) -> Vec<u8> {
        let name = attribute(KIND, &[kind.as_bytes(), b"\0"].concat());
        [vec![0; TC_HEAD], name, nested(7, figures)].concat()
    }

    #[test]
    fn figures_of_a_queue_are_read_as_the_kernel_lays_them_out() {
        let basic = attribute(1, &[5000_u64.to_ne_bytes().to_vec(), numbers(&[4, 0])].concat());
        let queue = attribute(3, &numbers(&[2, 3000, 7, 0, 9]));
        let own = attribute(4, &numbers(&[0, 1514, 0, 11, 0, 0, 0]));
        let figures = [basic, queue, own];
        let expected =
            Class { sent_bytes: 5000, sent_packets: 4, backlog_bytes: 3000, drops: 7, marks: 11 };
        assert_eq!(counted(&message("fq_codel", &figures)), Some(expected));
        // Another kind's own figures are something else.
        let other = counted(&message("tbf", &figures));
        assert_eq!(other, Some(Class { marks: 0, ..expected }));
        assert_eq!(counted(&message("fq_codel", &figures[..1])), None);
    }

    #[test]
    fn the_fourth_tin_of_cake_is_the_games() {
        let tin = |number: u16, sent: u32| {
            let bytes = attribute(3, &u64::from(sent * 100).to_ne_bytes());
            let rest = [word(4, 1), word(8, 2), word(11, 300)].concat();
            nested(number, &[word(2, sent), bytes, rest])
        };
        let all = nested(10, &[tin(1, 1), tin(2, 20), tin(3, 300), tin(4, 4000)]);
        let basic =
            attribute(1, &[450_000_u64.to_ne_bytes().to_vec(), numbers(&[4300, 0])].concat());
        let queue = attribute(3, &numbers(&[9, 1200, 4, 0, 0]));
        let read = tins(&message("cake", &[basic, queue, nested(4, &[all])])).expect("tins");
        // Of what came into the others' tins, some still waits.
        assert_eq!(read.map(|one| one.sent_packets), [4000, 300]);
        assert_eq!(read.map(|one| one.sent_bytes), [400_000, 50_000]);
        assert_eq!(read.map(|one| (one.drops, one.marks)), [(1, 2), (3, 6)]);
        assert_eq!(read.map(|one| one.backlog_bytes), [300, 900]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (counted(&bytes), tins(&bytes), tin_of(&bytes), u64_at(&bytes));
            let inner = message("fq_codel", &[attribute(4, &bytes)]);
            let _ = (counted(&inner), tins(&inner));
        }
    }
}
