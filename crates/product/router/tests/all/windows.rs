//! The windows that the data path writes are those of the crate of algorithms, and nothing else of a packet changes.

use crate::kernel::{Loaded, loaded};
use crate::packets::{Below, Wanted, ip_of, packet, read};
use etherparse::{PacketHeaders, TcpOptionElement};
use gameway_gateway::FlowTable;
use gameway_units::{Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
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
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 64, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
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

#[test]
fn what_is_released_keeps_its_windows() {
    let Some(loaded) = loaded() else { return };
    let mut one = open(&loaded, (7, 7), (false, Below::Ethernet));
    let mut data = one.segment([false, false, false, true], one.sent, HOME_START);
    (data.payload, one.sent) = (1000, one.sent.wrapping_add(1000));
    one.passes(&loaded, &data, true);
    let ack = one.segment([false, false, false, true], HOME_START, one.sent);
    one.wanted = Some(50_000);
    assert_eq!(one.passes(&loaded, &ack, false).0, 50_000 >> 7);
    one.release(&loaded);
    one.wanted = None;
    let passed = loaded.pass("from_home", &packet(&ack, false));
    assert_eq!(passed.packet, packet(&ack, false));
}
