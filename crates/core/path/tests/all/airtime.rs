//! The queue of a Wi-Fi access point: turns by airtime, what shares a frame, what goes first, what the device holds.

use crate::support::{Offer, Packet, millis};
use gameway_path::{
    Airtime, AirtimeConfig, CodelConfig, Dequeued, Dropped, Dscp, Header, Limit, Priority, Queue,
};
use gameway_units::{Bytes, Duration};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::{IpAddr, Ipv4Addr};

const ROOM: Bytes = Bytes::new(65_535);

/// CoDel that never acts, and a device that holds nothing.
fn turns_only() -> AirtimeConfig {
    let codel = CodelConfig { target: Duration::from_secs(3600), ..CodelConfig::default() };
    AirtimeConfig { codel, aql: Duration::ZERO, ..AirtimeConfig::default() }
}

fn queue(config: AirtimeConfig) -> Airtime<Packet> {
    Airtime::new(config, Limit::Packets(8192), Xoshiro256PlusPlus::seed_from_u64(1))
}

/// One whose device below is known to take 10 ns for a byte, as is assumed before the first frame.
fn above_a_device(config: AirtimeConfig) -> Airtime<Packet> {
    let mut queue = queue(config);
    fill(&mut queue, 1, 1);
    assert_eq!(frame(&mut queue, 1, Duration::from_micros(15)).len(), 1);
    queue
}

/// A packet of a flow of its station.
fn packet(station: u16, flow: u16, number: u64) -> Packet {
    let mut header = Header::numbered(flow);
    header.destination.address = IpAddr::V4(Ipv4Addr::from(0xC0A8_0000 + u32::from(station)));
    Packet::new(station, number, 1500).with_header(header)
}

fn marked(packet: Packet) -> Packet {
    packet.with_header(Header { dscp: Dscp(46), ..packet.header })
}

fn fill(queue: &mut Airtime<Packet>, station: u16, count: u64) {
    for number in 0..count {
        assert_eq!(queue.offer(millis(0), packet(station, station, number)), []);
    }
}

fn next(queue: &mut Airtime<Packet>) -> Option<Packet> {
    let mut dropped = Vec::new();
    let next = queue.dequeue(millis(0), &mut dropped).map(|next| next.packet);
    assert_eq!(dropped, []);
    next
}

/// The packets of a frame of at most so many, which takes so long for each packet.
fn frame(queue: &mut Airtime<Packet>, max: usize, each: Duration) -> Vec<Packet> {
    let Some(first) = next(queue) else { return Vec::new() };
    let mut all = vec![first];
    while all.len() < max {
        let more = queue.dequeue_beside(millis(0), &first, ROOM, &mut Vec::new());
        let Some(Dequeued { packet, .. }) = more else { break };
        all.push(packet);
    }
    queue.on_airtime(&first, Bytes::new(1500 * all.len() as u64), each * all.len() as i64);
    all
}

#[test]
fn a_frame_is_for_one_station_and_no_larger_than_its_room() {
    let mut queue = queue(turns_only());
    for number in 0..3 {
        for station in [1, 2] {
            queue.offer(millis(0), packet(station, station, number));
        }
    }
    let first = next(&mut queue).unwrap();
    let mut beside = |room| {
        let more = queue.dequeue_beside(millis(0), &first, Bytes::new(room), &mut Vec::new());
        more.map(|next| (next.packet.flow, next.packet.number))
    };
    assert_eq!(beside(1499), None);
    assert_eq!(beside(1500), Some((first.flow, 1)));
    assert_eq!(beside(1500), Some((first.flow, 2)));
    assert_eq!(beside(1500), None, "the rest is another station's");
    assert_eq!(queue.backlog().packets, 3);
}

/// A station whose bytes take three times as long gets a third of the bytes; on a wire all get the same.
#[test]
fn stations_share_airtime_and_not_bytes() {
    let share = |slow: i64, tells: bool| {
        let mut queue = queue(turns_only());
        (1..=2).for_each(|station| fill(&mut queue, station, 4000));
        let (mut packets, mut airtime) = ([0.0; 2], [0.0; 2]);
        for _ in 0..200 {
            let one = next(&mut queue).unwrap();
            let each = Duration::from_micros(if one.flow == 1 { 20 } else { slow });
            let mut count = 1;
            while tells && count < 16 {
                let more = queue.dequeue_beside(millis(0), &one, ROOM, &mut Vec::new());
                count += i64::from(more.is_some());
            }
            if tells {
                queue.on_airtime(&one, Bytes::new(24_000), each * count);
            }
            let place = usize::from(one.flow - 1);
            packets[place] += count as f64;
            airtime[place] += (each * count).as_secs_f64();
        }
        (packets[0] / packets[1], airtime[0] / airtime[1])
    };
    let (bytes, airtime) = share(60, true);
    assert!((2.7..3.4).contains(&bytes) && (0.9..1.12).contains(&airtime), "{bytes} {airtime}");
    let (bytes, _) = share(60, false);
    assert!((0.9..1.1).contains(&bytes), "{bytes}");
}

/// A game that needs little airtime comes next, without being told; one that needs more than its share does not.
#[test]
fn a_station_that_needs_little_comes_first() {
    let each = Duration::from_micros(20);
    let mut queue = queue(turns_only());
    (1..=4).for_each(|station| fill(&mut queue, station, 640));
    (0..4).for_each(|_| assert_eq!(frame(&mut queue, 64, each).len(), 64));
    for _ in 0..5 {
        queue.offer(millis(0), packet(9, 9, 0));
        assert_eq!(frame(&mut queue, 64, each)[0].flow, 9);
        assert_ne!(frame(&mut queue, 64, each)[0].flow, 9);
    }
    for number in 0..200 {
        queue.offer(millis(0), packet(9, 9, number));
    }
    assert_eq!(frame(&mut queue, 64, each)[0].flow, 9);
    assert_ne!(frame(&mut queue, 64, each)[0].flow, 9, "it owes 1 ms of airtime");
}

#[test]
fn what_has_priority_leaves_first_and_in_frames_of_its_own() {
    for (priority, first) in [(Priority::Marked, true), (Priority::Off, false)] {
        for aql in [Duration::ZERO, Duration::from_millis(12)] {
            let mut queue = above_a_device(AirtimeConfig { priority, aql, ..turns_only() });
            fill(&mut queue, 1, 100);
            let each = Duration::from_micros(20);
            assert_eq!(frame(&mut queue, 10, each).len(), 10);
            let game = [0, 1].map(|number| marked(packet(1, 9, 1000 + number)));
            for packet in game {
                queue.offer(millis(0), packet);
            }
            let numbers: Vec<u64> =
                frame(&mut queue, 10, each).iter().map(|one| one.number).collect();
            assert_eq!(numbers == [1000, 1001], first, "{priority:?}, {aql}: {numbers:?}");
            assert_eq!(frame(&mut queue, 10, each).len(), 10);
        }
    }
}

#[test]
fn what_is_about_to_be_sent_gives_way_to_priority_and_is_the_next() {
    for aql in [Duration::ZERO, Duration::from_millis(12)] {
        let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
        fill(&mut queue, 1, 2);
        let taken = queue.dequeue(millis(0), &mut Vec::new()).unwrap();
        let kept = queue.exchange(taken);
        assert_eq!(kept.map_err(|one| one.packet.number), Err(0), "nothing else is there");
        queue.offer(millis(1), marked(packet(2, 2, 7)));
        let given = queue.exchange(taken).map(|one| (one.packet.flow, one.enqueued));
        assert_eq!(given, Ok((2, millis(1))));
        assert_eq!(queue.backlog().packets, 2);
        let rest: Vec<u64> =
            std::iter::from_fn(|| next(&mut queue)).map(|one| one.number).collect();
        assert_eq!(rest, [0, 1]);
    }
}

/// A packet takes 15 us before anything is measured: 800 of them are 12 ms, 334 are 5 ms.
#[test]
fn the_device_holds_twelve_milliseconds_of_a_station_and_five_of_many() {
    // What the device has of the station that is the so-and-so-many-th to send.
    let held = |stations: u16, turn: usize| {
        let aql = Duration::from_millis(12);
        let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
        (1..=stations).for_each(|station| fill(&mut queue, station, 900));
        let first = std::iter::from_fn(|| next(&mut queue)).nth(turn).unwrap();
        let beside = || queue.dequeue_beside(millis(0), &first, ROOM, &mut Vec::new()).is_some();
        1 + std::iter::repeat_with(beside).take_while(|any| *any).count()
    };
    assert_eq!([held(1, 0), held(2, 0), held(2, 1)], [800, 800, 800]);
    assert_eq!([held(9, 0), held(9, 2), held(9, 8)], [800, 334, 334]);
}

#[test]
fn the_fattest_station_pays_for_what_finds_no_room() {
    let limit = Limit::Packets(100);
    let mut queue = Airtime::new(turns_only(), limit, Xoshiro256PlusPlus::seed_from_u64(1));
    queue.offer(millis(0), packet(2, 2, 0));
    let mut dropped = Vec::new();
    for number in 0..500 {
        queue.enqueue(millis(0), marked(packet(1, 1, number)), &mut dropped);
    }
    assert_eq!((dropped.len(), queue.backlog().packets), (401, 100));
    assert!(dropped.iter().all(|one| one.packet.flow == 1));
}

/// Stations of all packets that are left.
fn rest(queue: &mut Airtime<Packet>) -> Vec<u16> {
    std::iter::from_fn(|| next(queue)).map(|one| one.flow).collect()
}

/// The device has packets of several stations: one that has no more does not hold back the others.
#[test]
fn the_device_gives_all_that_it_has() {
    let aql = Duration::from_millis(12);
    let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
    (1..=3).for_each(|station| fill(&mut queue, station, 1));
    let mut stations = rest(&mut queue);
    stations.sort_unstable();
    assert_eq!((stations, queue.backlog().packets), (vec![1, 2, 3], 0));
}

#[test]
fn what_comes_back_is_the_next_whoever_else_waits() {
    for aql in [Duration::ZERO, Duration::from_millis(12)] {
        // Of a station that has nothing else, and beside one that has.
        for others in [0, 1] {
            let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
            fill(&mut queue, 1, 1);
            let taken = queue.dequeue(millis(0), &mut Vec::new()).unwrap();
            assert_eq!(next(&mut queue), None);
            fill(&mut queue, 2, 2 * others);
            if others > 0 {
                assert_eq!(next(&mut queue).unwrap().flow, 2, "the device has both of them");
            }
            queue.offer(millis(0), marked(packet(3, 3, 0)));
            assert_eq!(queue.exchange(taken).map(|one| one.packet.flow), Ok(3));
            let expected: &[u16] = if others > 0 { &[1, 2] } else { &[1] };
            assert_eq!(rest(&mut queue), expected, "{aql}");
        }
    }
}

/// Whoever pays for what finds no room, all the rest leaves: what has priority first, whatever the device has.
#[test]
fn what_the_fattest_station_pays_is_no_loss_of_the_others() {
    for aql in [Duration::ZERO, Duration::from_millis(12)] {
        let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
        (1..=2).for_each(|station| fill(&mut queue, station, 2));
        // With a limit the device takes all four, and gives one.
        assert_eq!(next(&mut queue).unwrap().number, 0);
        queue.set_limit(Limit::Packets(8));
        for station in [4, 5] {
            assert_eq!(queue.offer(millis(0), marked(packet(station, station, 0))), []);
        }
        // Three find room; then each that finds none costs two of four.
        let mut dropped = Vec::new();
        for number in 0..9 {
            queue.enqueue(millis(0), packet(3, 3, number), &mut dropped);
        }
        assert!(dropped.iter().all(|one| one.packet.flow == 3), "{dropped:?}");
        assert_eq!((dropped.len(), queue.backlog().packets), (6, 8));
        let stations = rest(&mut queue);
        assert_eq!(stations[..2], [4, 5]);
        let count = |station| stations.iter().filter(|one| **one == station).count();
        assert_eq!([count(1) + count(2), count(3)], [3, 3], "{aql}");
    }
}

/// A station of which the device has packets pays with those that are not there yet.
#[test]
fn a_station_that_pays_keeps_what_the_device_has() {
    let aql = Duration::from_micros(15);
    let mut queue = above_a_device(AirtimeConfig { aql, ..turns_only() });
    fill(&mut queue, 1, 2);
    fill(&mut queue, 2, 5);
    // The device has one of each, of which one leaves; of the station that has the most, two of four go.
    let first = next(&mut queue).unwrap().flow;
    queue.set_limit(Limit::Packets(5));
    let dropped = queue.offer(millis(0), packet(1, 1, 9));
    assert!(dropped.iter().all(|one| one.packet.flow == 2), "{dropped:?}");
    let left = rest(&mut queue);
    assert_eq!(1 + left.len() + dropped.len(), 8, "{first} {left:?}");
    assert_eq!(queue.backlog().packets, 0);
}

#[derive(Debug, Clone)]
enum Call {
    Enqueue { station: u16, size: u64, marked: bool },
    Dequeue,
    Frame,
    Exchange,
    Airtime(i64),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (1u16..6, 40u64..1500, any::<bool>())
            .prop_map(|(station, size, marked)| Call::Enqueue { station, size, marked }),
        1 => Just(Call::Dequeue),
        2 => Just(Call::Frame),
        1 => Just(Call::Exchange),
        1 => (1i64..10_000).prop_map(Call::Airtime),
    ]
}

proptest! {
    /// Every packet leaves or is dropped, once, those of a station and a class in order; what waits is counted right.
    #[test]
    fn nothing_is_lost_track_of(
        calls in prop::collection::vec((call(), 0i64..20_000), 1..400),
        limit in 1u64..60,
        aql in prop::sample::select(vec![0i64, 50, 12_000]),
    ) {
        let config = AirtimeConfig { aql: Duration::from_micros(aql), ..AirtimeConfig::default() };
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut queue = Airtime::new(config, Limit::Packets(limit), random);
        let (mut now, mut came, mut last) = (millis(0), Vec::new(), None::<Dequeued<Packet>>);
        let (mut gone, mut dropped) = (Vec::<Packet>::new(), Vec::<Dropped<Packet>>::new());
        for (number, (call, gap)) in calls.into_iter().enumerate() {
            now += Duration::from_micros(gap);
            match call {
                Call::Enqueue { station, size, marked: is_marked } => {
                    let packet = Packet { size, ..packet(station, station, number as u64) };
                    came.push(number as u64);
                    queue.enqueue(now, if is_marked { marked(packet) } else { packet }, &mut dropped);
                }
                Call::Dequeue => {
                    let waiting = queue.backlog().packets;
                    last = queue.dequeue(now, &mut dropped);
                    prop_assert_eq!(last.is_some(), waiting > 0, "what waits can leave");
                    gone.extend(last.map(|one| one.packet));
                }
                Call::Frame => if let Some(one) = last {
                    let more = queue.dequeue_beside(now, &one.packet, Bytes::new(900), &mut dropped);
                    prop_assert!(more.is_none_or(|more| more.packet.size <= 900
                        && more.packet.flow == one.packet.flow
                        && more.packet.header.dscp == one.packet.header.dscp));
                    if let Some(more) = more { gone.push(more.packet); last = None; }
                },
                Call::Exchange => if let Some(one) = last.take()
                    && let Ok(other) = queue.exchange(one)
                {
                    prop_assert_eq!(gone.pop(), Some(one.packet));
                    prop_assert_eq!(other.packet.header.dscp, Dscp(46));
                    gone.push(other.packet);
                },
                Call::Airtime(micros) => if let Some(one) = last {
                    queue.on_airtime(&one.packet, Bytes::new(1500), Duration::from_micros(micros));
                },
            }
            let waiting = came.len() - gone.len() - dropped.len();
            prop_assert_eq!(queue.backlog().packets, waiting as u64);
            prop_assert_eq!(queue.oldest().is_some(), waiting > 0);
            prop_assert!(queue.backlog().packets <= limit + 1);
        }
        let mut rest = Vec::new();
        queue.drain(&mut rest);
        prop_assert_eq!(queue.backlog().packets, 0);
        prop_assert!(queue.dequeue(now, &mut dropped).is_none());
        gone.extend(rest.iter().map(|one| one.packet));
        for station in 1..6 {
            for dscp in [Dscp(0), Dscp(46)] {
                let own = gone.iter().filter(|one| one.flow == station && one.header.dscp == dscp);
                prop_assert!(own.map(|one| one.number).is_sorted(), "{:?}", dscp);
            }
        }
        let mut all: Vec<u64> = gone.iter().map(|one| one.number).collect();
        all.extend(dropped.iter().map(|one| one.packet.number));
        all.sort_unstable();
        prop_assert_eq!(all, came);
    }
}
