//! The windows that the data path writes are those of the crate of algorithms, and nothing else of a packet changes.

use crate::any_bytes::{ETHERNET, SHORTEST};
use crate::kernel::{Loaded, loaded, runner};
use crate::packets::{Below, Wanted, ip_of, packet, read, with_options};
use etherparse::{PacketHeaders, TcpOptionElement};
use gameway_gateway::FlowTable;
use gameway_units::{Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// A step of a connection.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many bytes to the home.
    Data(u16),
    /// A segment of before once more: so many bytes back.
    Again(u16),
    /// The home acknowledges all but so many bytes, with this window; the share of 256.
    Acknowledge(u8, u16),
    /// The same acknowledgment once more.
    Duplicate,
    /// Another limit.
    Want(u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u16..1448).prop_map(Step::Data),
        1 => (1_u16..20_000).prop_map(Step::Again),
        4 => any::<(u8, u16)>().prop_map(|(share, window)| Step::Acknowledge(share, window)),
        1 => Just(Step::Duplicate),
        1 => (0_u32..3_000_000).prop_map(Step::Want),
    ]
}

struct Connection {
    table: FlowTable<()>,
    now: Instant,
    wanted: Option<u64>,
    sent: u32,
    acknowledged: u32,
    window: u16,
    six: bool,
    below: Below,
}

const HOME_START: u32 = 7;
const UNLIMITED: u64 = 1 << 30;

impl Connection {
    fn segment(&self, flags: [bool; 4], sequence: u32, acknowledgment: u32) -> Wanted {
        let (below, six) = (self.below, self.six);
        Wanted {
            below,
            six,
            ports: (40_000, 443),
            sequence,
            acknowledgment,
            window: self.window,
            flags,
            options: vec![],
            payload: 0,
        }
    }

    /// It passes both; gives what became of it in each.
    fn passes(&mut self, loaded: &Loaded, wanted: &Wanted, to_home: bool) -> (u16, u16) {
        self.now += Duration::from_millis(3);
        let bytes = packet(wanted, to_home);
        let name = if to_home { "to_home" } else { "from_home" };
        self.tell_limit(loaded);
        let passed = loaded.pass(name, &bytes);
        assert_eq!(passed.verdict, -1);
        loaded.next_record().expect("it is told");
        let mut segment = read(&bytes, wanted.below).expect("it is one");
        let limit = self.wanted.filter(|_| !to_home);
        self.table.pass(self.now, to_home, &mut segment, |_| limit);
        let written = read(&passed.packet, wanted.below).expect("it is one still");
        is_the_same_but_for_the_window(&bytes, &passed.packet, wanted.below);
        (written.window, segment.window)
    }

    /// Nothing of the case before is left.
    fn release(&self, loaded: &Loaded) {
        for (header, _) in self.table.directions() {
            loaded.data_path().release(&header).expect("a map");
        }
    }

    fn tell_limit(&self, loaded: &Loaded) {
        let wanted = self.wanted;
        self.table.limits(|_| wanted, &mut |limit| {
            // Of the download alone.
            if limit.header.destination.port == 40_000 {
                loaded.data_path().limit(&limit).expect("there is room");
            }
        });
    }
}

fn is_the_same_but_for_the_window(before: &[u8], after: &[u8], below: Below) {
    let tcp = before.len() - ip_of(before, below).len()
        + if ip_of(before, below)[0] >> 4 == 4 { 20 } else { 40 };
    let mut restored = after.to_vec();
    restored[tcp + 14..tcp + 18].copy_from_slice(&before[tcp + 14..tcp + 18]);
    assert_eq!(restored, before, "window and checksum alone");
    let headers = PacketHeaders::from_ip_slice(ip_of(after, below)).expect("a packet");
    let tcp = headers.transport.and_then(etherparse::TransportHeader::tcp).expect("of TCP");
    let payload = headers.payload.slice();
    let right = match headers.net.expect("it has one") {
        etherparse::NetHeaders::Ipv4(ip, _) => tcp.calc_checksum_ipv4(&ip, payload),
        etherparse::NetHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(&ip, payload),
        etherparse::NetHeaders::Arp(_) => unreachable!("it is IP"),
    };
    assert_eq!(Ok(tcp.checksum), right);
}

fn open(loaded: &Loaded, scales: (u8, u8), (six, below): (bool, Below)) -> Connection {
    let mut connection = Connection {
        table: FlowTable::default(),
        now: Instant::ZERO,
        wanted: None,
        sent: u32::MAX - 5000,
        acknowledged: u32::MAX - 5000,
        window: 64_000,
        six,
        below,
    };
    let mut syn = connection.segment([false, true, false, false], HOME_START - 1, 0);
    syn.options = vec![TcpOptionElement::WindowScale(scales.0)];
    connection.passes(loaded, &syn, false);
    let mut answer =
        connection.segment([false, true, false, true], connection.sent - 1, HOME_START);
    answer.options = vec![TcpOptionElement::WindowScale(scales.1)];
    connection.passes(loaded, &answer, true);
    connection.release(loaded);
    connection
}

#[test]
fn windows_are_those_of_the_algorithms_crate() {
    let Some(loaded) = loaded() else { return };
    let kinds = prop_oneof![
        Just((false, Below::Ethernet)),
        Just((true, Below::Pppoe)),
        Just((true, Below::Vlan))
    ];
    let cases = ((0_u8..=14, 0_u8..=14), kinds, prop::collection::vec(any_step(), 1..60));
    let mut runner = runner(64);
    let lowered = Cell::new(0);
    let done = runner.run(&cases, |(scales, kind, steps)| {
        let mut one = open(&loaded, scales, kind);
        // The data path knows no acknowledgment that passed before the first limit, so it cannot repeat what was told there.
        one.wanted = Some(UNLIMITED);
        for step in steps {
            let (ack, data) = ([false, false, false, true], [false, false, false, true]);
            let (ours, theirs) = match step {
                Step::Data(length) => {
                    let mut segment = one.segment(data, one.sent, HOME_START);
                    segment.payload = usize::from(length);
                    one.sent = one.sent.wrapping_add(u32::from(length));
                    one.passes(&loaded, &segment, true)
                }
                Step::Again(back) => {
                    let mut segment =
                        one.segment(data, one.sent.wrapping_sub(u32::from(back)), HOME_START);
                    segment.payload = usize::from(back.min(1448));
                    one.passes(&loaded, &segment, true)
                }
                Step::Acknowledge(share, window) => {
                    let open = one.sent.wrapping_sub(one.acknowledged);
                    one.acknowledged = one.acknowledged.wrapping_add(open / 256 * u32::from(share));
                    one.window = window;
                    let segment = one.segment(ack, HOME_START, one.acknowledged);
                    one.passes(&loaded, &segment, false)
                }
                Step::Duplicate => {
                    let segment = one.segment(ack, HOME_START, one.acknowledged);
                    one.passes(&loaded, &segment, false)
                }
                Step::Want(bytes) => {
                    one.wanted = Some(u64::from(bytes));
                    continue;
                }
            };
            prop_assert_eq!(ours, theirs, "{:?}", step);
            lowered.set(lowered.get() + u32::from(ours < one.window));
        }
        Ok(())
    });
    done.expect("they agree");
    assert!(lowered.get() > 100, "{} windows were lowered", lowered.get());
}

/// A connection of which a kilobyte has come, its acknowledgment, and a limit of 50 kB that is told.
fn limited(loaded: &Loaded) -> (Connection, Wanted) {
    let mut one = open(loaded, (7, 7), (false, Below::Ethernet));
    let mut data = one.segment([false, false, false, true], one.sent, HOME_START);
    (data.payload, one.sent) = (1000, one.sent.wrapping_add(1000));
    one.passes(loaded, &data, true);
    let ack = one.segment([false, false, false, true], HOME_START, one.sent);
    one.wanted = Some(50_000);
    one.tell_limit(loaded);
    (one, ack)
}

/// A signature covers the window (RFC 2385, RFC 5925), that of MPTCP is of the whole connection (RFC 8684), and of others nobody knows.
#[test]
fn a_segment_with_an_option_that_is_not_understood_keeps_its_window() {
    let Some(loaded) = loaded() else { return };
    let (_, ack) = limited(&loaded);
    let stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1];
    let with = |kind: u8, length: u8| {
        let mut bytes = vec![kind, length];
        bytes.resize(usize::from(length), 3);
        bytes.resize(usize::from(length).next_multiple_of(4), 1);
        [&stamps[..], &bytes].concat()
    };
    // No option at all, the usual ones, accurate ECN; then the two signatures, MPTCP, an experiment, and a length that cannot be.
    let understood = [Vec::new(), stamps.to_vec(), with(172, 11), with(34, 2)];
    let others = [with(19, 18), with(29, 16), with(30, 20), with(253, 4), vec![8, 1, 1, 1]];
    for (options, is_lowered) in
        understood.iter().map(|one| (one, true)).chain(others.iter().map(|one| (one, false)))
    {
        let bytes = with_options(&ack, options);
        let passed = loaded.pass("from_home", &bytes);
        loaded.next_record().expect("it is told");
        let window = read(&passed.packet, Below::Ethernet).map(|segment| segment.window);
        assert_eq!(passed.packet == bytes, !is_lowered, "{options:?}");
        if is_lowered {
            assert_eq!(window, Some(50_000 >> 7), "{options:?}");
        }
    }
}

#[test]
fn of_what_is_changed_or_cut_short_a_limit_changes_windows_alone() {
    let Some(loaded) = loaded() else { return };
    let (_, ack) = limited(&loaded);
    let whole = with_options(&ack, &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1]);
    let index = any::<prop::sample::Index>;
    let changes = prop::collection::vec((index(), any::<u8>()), 0..3);
    let lowered = Cell::new(0);
    let mut runner = TestRunner::deterministic();
    let done = runner.run(&(changes, prop::option::of(index())), |(changes, length)| {
        let mut bytes = whole.clone();
        for (place, value) in changes {
            let place = ETHERNET + place.index(bytes.len() - ETHERNET);
            bytes[place] = value;
        }
        if let Some(length) = length {
            bytes.truncate(SHORTEST + length.index(bytes.len() - SHORTEST + 1));
        }
        let passed = loaded.pass("from_home", &bytes);
        while loaded.data_path().next_passed().is_some() {}
        prop_assert_eq!((passed.verdict, passed.packet.len()), (-1, bytes.len()));
        let differ = (0..bytes.len()).filter(|&at| bytes[at] != passed.packet[at]);
        let window = ETHERNET + usize::from(bytes[ETHERNET] & 0xf) * 4 + 14;
        let differ: Vec<usize> = differ.collect();
        lowered.set(lowered.get() + u32::from(!differ.is_empty()));
        let is_window = |at: &usize| (window..window + 4).contains(at);
        prop_assert!(differ.iter().all(is_window), "{differ:?} of {bytes:?}");
        Ok(())
    });
    done.expect("windows and checksums alone");
    assert!(lowered.get() > 20, "{} windows were lowered", lowered.get());
}

#[test]
fn what_is_released_keeps_its_windows() {
    let Some(loaded) = loaded() else { return };
    let (mut one, ack) = limited(&loaded);
    assert_eq!(one.passes(&loaded, &ack, false).0, 50_000 >> 7);
    one.release(&loaded);
    one.wanted = None;
    let passed = loaded.pass("from_home", &packet(&ack, false));
    assert_eq!(passed.packet, packet(&ack, false));
}
