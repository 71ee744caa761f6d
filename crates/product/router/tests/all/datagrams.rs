//! What the data path reads of datagrams of UDP, which of them it tells, and what it gives to games.

use crate::kernel::{Loaded, Passed, loaded, now_ns};
use crate::packets::{Below, Wanted, any_segment, datagram, ip_of, packet, plain};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use gameway_path::{Dscp, Endpoint, Header, Protocol};
use gameway_router::data_path::Settings;
use gameway_router::record::{Datagram, Verdict};
use gameway_units::Bytes;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::net::IpAddr;

const GAME: u32 = 0x4757_0004;
/// Ethernet and the longest header of IP that is made here.
const SHORTEST: usize = 14 + 40;

fn name(to_home: bool) -> &'static str {
    if to_home { "to_home" } else { "from_home" }
}

/// What the rings have of a packet that passed unchanged.
fn told(loaded: &Loaded, to_home: bool, bytes: &[u8]) -> Option<Datagram> {
    let passed = loaded.pass(name(to_home), bytes);
    assert_eq!((passed.verdict, passed.priority), (-1, 0));
    assert_eq!(passed.packet, bytes);
    loaded.next_datagram()
}

/// Of the flow of [`plain`] to the home.
fn header() -> Header {
    let end = |address: [u8; 4], port| Endpoint { address: IpAddr::from(address), port };
    Header {
        source: end([203, 0, 113, 9], 443),
        destination: end([192, 168, 7, 2], 40_000),
        protocol: Protocol::Udp,
        dscp: Dscp::default(),
    }
}

fn with_class(mut bytes: Vec<u8>, wanted: &Wanted, class: u8) -> Vec<u8> {
    let at = bytes.len() - ip_of(&bytes, wanted.below).len();
    if wanted.six {
        bytes[at] = 0x60 | class >> 4;
        bytes[at + 1] = class << 4;
        return bytes;
    }
    bytes[at + 1] = class;
    mend_header(&mut bytes[at..]);
    bytes
}

/// The checksum of an IPv4 header of 20 bytes, by etherparse.
fn mend_header(ip: &mut [u8]) {
    let (header, _) = etherparse::Ipv4Header::from_slice(ip).expect("a header");
    ip[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
}

/// What etherparse reads: addresses, ports, payload.
fn read(bytes: &[u8], below: Below) -> Option<(Header, usize, u8)> {
    let sliced = SlicedPacket::from_ip(ip_of(bytes, below)).ok()?;
    let TransportSlice::Udp(udp) = sliced.transport? else { return None };
    let (source, destination, class): (IpAddr, IpAddr, u8) = match sliced.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.slice()[1])
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            let class = header.traffic_class();
            (header.source_addr().into(), header.destination_addr().into(), class)
        }
        NetSlice::Arp(_) => return None,
    };
    let header = Header {
        source: Endpoint { address: source, port: udp.source_port() },
        destination: Endpoint { address: destination, port: udp.destination_port() },
        protocol: Protocol::Udp,
        dscp: Dscp(class >> 2),
    };
    Some((header, udp.payload().len(), class & 3))
}

#[test]
fn a_datagram_is_read_as_others_read_it() {
    let Some(loaded) = loaded() else { return };
    let payload = prop::collection::vec(any::<u8>(), 0..1400);
    let cases = (any_segment(), payload, any::<bool>(), any::<u8>());
    let done = TestRunner::deterministic().run(&cases, |(wanted, payload, to_home, class)| {
        let bytes = with_class(datagram(&wanted, to_home, &payload), &wanted, class);
        let one = told(&loaded, to_home, &bytes).expect("it is UDP");
        let others = read(&bytes, wanted.below).expect("it is UDP");
        prop_assert_eq!((one.header, one.length as usize, one.ecn), others);
        prop_assert_eq!((one.to_home, one.first), (to_home, payload.first().copied()));
        let size = ip_of(&bytes, wanted.below).len() as u64;
        prop_assert_eq!(one.sizes_on_the_wire().collect::<Vec<_>>(), vec![Bytes::new(size)]);
        prop_assert_eq!((one.untold, one.verdict), ((0, Bytes::ZERO), Verdict::default()));
        Ok(())
    });
    done.expect("all are read");
    assert_eq!(loaded.data_path().counters().expect("a map").segments, 0);
}

#[test]
fn what_is_cut_short_or_changed_is_read_as_others_read_it_or_left_alone() {
    let Some(loaded) = loaded() else { return };
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let cases = (any_segment(), changes, any::<prop::sample::Index>(), any::<bool>());
    let done = TestRunner::deterministic().run(&cases, |(wanted, changes, length, whole)| {
        let mut bytes = datagram(&wanted, true, &vec![0x41; wanted.payload]);
        for (place, value) in changes {
            let place = 14 + place.index(bytes.len() - 14);
            bytes[place] = value;
        }
        if !whole {
            let shortest = SHORTEST.min(bytes.len());
            bytes.truncate(shortest + length.index(bytes.len() - shortest + 1));
        }
        let passed = loaded.pass("to_home", &bytes);
        prop_assert_eq!((passed.verdict, &passed.packet), (-1, &bytes));
        // A byte may have made TCP of it.
        let of = |one| match one {
            gameway_router::data_path::Passed::Datagram(one) => Some(one),
            gameway_router::data_path::Passed::Segment(_) => None,
        };
        let one = loaded.data_path().next_passed().and_then(of);
        if let (Some(one), Some(others)) = (one, read(&bytes, wanted.below)) {
            prop_assert_eq!((one.header, one.length as usize, one.ecn), others);
        }
        Ok(())
    });
    done.expect("nothing is changed");
}

#[test]
fn fragments_and_wrong_lengths_are_left_alone() {
    let Some(loaded) = loaded() else { return };
    let whole = datagram(&plain(), true, &[0x40; 100]);
    assert!(told(&loaded, true, &whole).is_some());
    let changed = |at: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[at] = value;
        bytes
    };
    // More fragments; an offset; a length beyond the packet; one that is less than a header.
    for bytes in [changed(20, 0x20), changed(21, 10), changed(39, 120), changed(39, 7)] {
        assert_eq!(told(&loaded, true, &bytes), None);
    }
    let counters = loaded.data_path().counters().expect("a map");
    assert_eq!((counters.datagrams, counters.fragments, counters.others), (1, 2, 2));
}

fn passed(loaded: &Loaded, bytes: &[u8]) -> Passed {
    let passed = loaded.pass("to_home", bytes);
    while loaded.data_path().next_passed().is_some() {}
    passed
}

#[test]
fn a_game_has_its_class_to_the_home_and_nothing_once_the_program_is_silent() {
    let Some(loaded) = loaded() else { return };
    let bytes = datagram(&plain(), true, &[0x40; 100]);
    assert_eq!(passed(&loaded, &bytes).priority, 0);
    let game = Verdict { game: Some(true), quiet: false };
    loaded.data_path().judge(&header(), game).expect("a map");
    let one = passed(&loaded, &bytes);
    assert_eq!((one.priority, &one.packet), (GAME, &bytes));
    // What goes out has a class where it leaves; another flow, and the same ends over TCP, are not it.
    let out = loaded.pass("from_home", &datagram(&plain(), false, &[0x40; 100]));
    assert_eq!(out.priority, 0);
    assert_eq!(loaded.next_datagram().expect("it is told").verdict, game);
    let other = Wanted { ports: (40_001, 443), ..plain() };
    assert_eq!(passed(&loaded, &datagram(&other, true, &[0; 9])).priority, 0);
    loaded.data_path().set(Settings { asks_of_tcp: true, ..Settings::default() });
    assert_eq!(passed(&loaded, &packet(&plain(), true)).priority, 0);
    let counters = loaded.data_path().counters().expect("a map");
    assert_eq!(counters.game_packets, 1);
    // The class of another queue.
    loaded.data_path().set(Settings { game_class: 0x8001_0004, ..Settings::default() });
    assert_eq!(passed(&loaded, &bytes).priority, 0x8001_0004);
    // Silent.
    loaded.data_path().beat(now_ns() - 1_100_000_000).expect("a map");
    assert_eq!(loaded.pass_unwatched("to_home", &bytes, 1).0.priority, 0);
    // No longer.
    loaded.data_path().judge(&header(), Verdict::default()).expect("a map");
    assert_eq!(passed(&loaded, &bytes).priority, 0);
}

#[test]
fn connections_of_tcp_are_games_by_verdict_where_there_are_any() {
    let Some(loaded) = loaded() else { return };
    let bytes = packet(&plain(), true);
    let tcp = Header { protocol: Protocol::Tcp, ..header() };
    let game = Verdict { game: Some(true), quiet: false };
    loaded.data_path().judge(&tcp, game).expect("a map");
    for (asks_of_tcp, priority) in [(false, 0), (true, GAME)] {
        loaded.data_path().set(Settings { asks_of_tcp, ..Settings::default() });
        assert_eq!(passed(&loaded, &bytes).priority, priority);
    }
}

#[test]
fn a_dscp_makes_a_game_where_it_is_trusted_and_nobody_says_otherwise() {
    let Some(loaded) = loaded() else { return };
    let trusted = [46, 32, 40, 34, 36, 38];
    let no_game = Verdict { game: Some(false), quiet: false };
    for (six, protocol) in [(false, 17), (true, 17), (false, 6), (true, 6)] {
        let wanted = Wanted { six, ..plain() };
        for dscp in 0..64_u8 {
            let whole = if protocol == 17 {
                datagram(&wanted, true, &[0; 20])
            } else {
                packet(&wanted, true)
            };
            let bytes = with_class(whole, &wanted, dscp << 2 | 1);
            for trust_dscp in [false, true] {
                loaded.data_path().set(Settings { trust_dscp, ..Settings::default() });
                let expected = if trust_dscp && trusted.contains(&dscp) { GAME } else { 0 };
                let one = passed(&loaded, &bytes);
                assert_eq!((one.priority, one.packet), (expected, bytes.clone()), "{dscp}");
            }
        }
    }
    let bytes = with_class(datagram(&plain(), true, &[0; 20]), &plain(), 46 << 2);
    assert_eq!(passed(&loaded, &bytes).priority, GAME);
    loaded.data_path().judge(&header(), no_game).expect("a map");
    assert_eq!(passed(&loaded, &bytes).priority, 0);
}

#[test]
fn a_mark_is_written_with_the_checksum_and_ecn_stays() {
    let Some(loaded) = loaded() else { return };
    let game = Verdict { game: Some(true), quiet: false };
    let cases = (any_segment(), any::<bool>(), any::<u8>(), 0_u8..64);
    let done = TestRunner::deterministic().run(&cases, |(wanted, is_udp, class, mark)| {
        let whole = if is_udp {
            datagram(&wanted, true, &vec![9; wanted.payload])
        } else {
            packet(&wanted, true)
        };
        let bytes = with_class(whole, &wanted, class);
        let marks = Settings { mark: Some(Dscp(mark)), asks_of_tcp: true, ..Settings::default() };
        loaded.data_path().set(marks);
        let unmarked = passed(&loaded, &bytes);
        prop_assert_eq!((unmarked.priority, &unmarked.packet), (0, &bytes));
        loaded.pass("to_home", &bytes);
        let flow = match loaded.data_path().next_passed().expect("it is told") {
            gameway_router::data_path::Passed::Datagram(one) => one.header,
            gameway_router::data_path::Passed::Segment(one) => one.segment.header,
        };
        loaded.data_path().judge(&flow, game).expect("a map");
        let marked = passed(&loaded, &bytes);
        loaded.data_path().judge(&flow, Verdict::default()).expect("a map");
        prop_assert_eq!(marked.priority, GAME);
        prop_assert_eq!(marked.packet, with_class(bytes, &wanted, mark << 2 | class & 3));
        Ok(())
    });
    done.expect("nothing else is changed");
}

#[test]
fn what_is_quiet_is_told_in_samples_that_sum_up() {
    let Some(loaded) = loaded() else { return };
    let quiet = Verdict { game: None, quiet: true };
    loaded.data_path().judge(&header(), quiet).expect("a map");
    // Long headers of QUIC: nothing turns.
    let bytes = datagram(&plain(), true, &[0xc0; 1200]);
    let times = 100_000_u32;
    let mut sum = (0_u64, 0_u64);
    let mut told = 0_u64;
    let began = now_ns();
    loaded.pass_often("to_home", &bytes, times);
    // One more, later: it has the rest.
    let ended = now_ns();
    while now_ns() < ended + 11_000_000 {}
    loaded.pass("to_home", &bytes);
    while let Some(one) = loaded.next_datagram() {
        assert_eq!(one.verdict, quiet);
        assert_eq!(one.bytes(), one.untold.1.saturating_add(Bytes::new(1228)));
        sum = (sum.0 + 1 + u64::from(one.untold.0), sum.1 + one.bytes().get());
        told += 1;
    }
    let all = u64::from(times) + 1;
    assert_eq!(sum, (all, all * 1228));
    let samples = ((ended - began) / 2_000_000).unsigned_abs();
    assert!((2..samples + 4).contains(&told), "{told} of {samples}");
    // The twin: what is listened to is told whole.
    loaded.data_path().judge(&header(), Verdict::default()).expect("a map");
    loaded.pass_often("to_home", &bytes, 100);
    let whole = std::iter::from_fn(|| loaded.next_datagram()).count();
    assert_eq!(whole, 100);
}

/// What is told of datagrams of a new flow that begin so, one after the other: the first byte, and how many were not told before;
/// `None` where the machine was too busy to pass them in time.
fn turns(loaded: &Loaded, port: u16) -> Option<Vec<Option<(u8, u32)>>> {
    let begun = now_ns();
    let mut told = Vec::new();
    let mut pass = |first: u8| {
        let wanted = Wanted { ports: (port, 443), ..plain() };
        loaded.pass("to_home", &datagram(&wanted, true, &[first; 100]));
        let one = loaded.next_datagram();
        told.push(one.map(|one| (one.first.expect("a payload"), one.untold.0)));
    };
    [0x60, 0x65, 0x45, 0x41, 0x60].into_iter().for_each(&mut pass);
    let is_soon = now_ns() - begun < 300_000;
    while now_ns() - begun < 1_400_000 {}
    [0xe0, 0xa0, 0x20].into_iter().for_each(&mut pass);
    (is_soon && now_ns() - begun < 2_000_000).then_some(told)
}

#[test]
fn a_turn_of_the_spin_bit_is_told_at_once_but_not_more_often_than_once_in_a_millisecond() {
    let Some(loaded) = loaded() else { return };
    loaded.data_path().set(Settings { all_quiet: true, ..Settings::default() });
    let told = (1..1000).find_map(|port| turns(&loaded, port)).expect("it is in time once");
    // The first of a flow; a turn; one that comes too soon; long headers, which have no such bit; the turn again, without the fixed bit.
    let (first, turn, again) = (Some((0x60, 0)), Some((0x45, 1)), Some((0x20, 4)));
    assert_eq!(told, [first, None, turn, None, None, None, None, again]);
}

#[test]
fn a_full_ring_is_counted_and_costs_segments_nothing() {
    let Some(loaded) = loaded() else { return };
    loaded.pass_often("to_home", &datagram(&plain(), true, &[1; 20]), 40_000);
    loaded.pass_often("to_home", &packet(&plain(), true), 100);
    let counters = loaded.data_path().counters().expect("a map");
    assert_eq!((counters.datagrams, counters.segments, counters.lost_records), (40_000, 100, 0));
    let told = std::iter::from_fn(|| loaded.data_path().next_passed()).count();
    // 1 MiB of datagrams of 72 bytes, each with a head of 8.
    assert_eq!(told, (1 << 20) / 80 + 100);
    assert_eq!(counters.lost_datagrams, 40_000 - (1 << 20) / 80);
}

#[test]
fn any_order_of_verdicts_is_kept_by_the_data_path() {
    let Some(loaded) = loaded() else { return };
    let verdict = (prop::option::of(any::<bool>()), any::<bool>())
        .prop_map(|(game, quiet)| Verdict { game, quiet });
    let steps = prop::collection::vec((1_u16..5, verdict, any::<bool>()), 1..40);
    let done = TestRunner::deterministic().run(&steps, |steps| {
        let mut known = std::collections::BTreeMap::<u16, Verdict>::new();
        for (port, verdict, judges) in steps {
            let wanted = Wanted { ports: (port, 443), ..plain() };
            let mut flow = header();
            flow.destination.port = port;
            if judges {
                // Either way means both.
                let flow = if verdict.quiet { flow.reversed() } else { flow };
                loaded.data_path().judge(&flow, verdict).expect("a map");
                known.insert(port, verdict);
            }
            let expected = known.get(&port).copied().unwrap_or_default();
            let one = loaded.pass("to_home", &datagram(&wanted, true, &[0xc0; 30]));
            prop_assert_eq!(one.priority, if expected.game == Some(true) { GAME } else { 0 });
            if let Some(told) = loaded.next_datagram() {
                prop_assert_eq!(told.verdict, expected);
            } else {
                prop_assert!(expected.quiet);
            }
        }
        for port in 1..5 {
            let mut flow = header();
            flow.destination.port = port;
            loaded.data_path().judge(&flow, Verdict::default()).expect("a map");
        }
        Ok(())
    });
    done.expect("they agree");
}
