//! What the data path reads of a packet is what etherparse reads.

use crate::kernel::Loaded;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement, TransportSlice};
use gameway_gateway::{Flags, Segment, Timestamps};
use gameway_router::record::Record;
use proptest::prelude::*;
use std::net::IpAddr;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Headers below IP.
#[derive(Debug, Clone, Copy)]
pub enum Below {
    Ethernet,
    Vlan,
    TwoVlans,
    Pppoe,
}

/// A segment as a test wants it.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub below: Below,
    pub six: bool,
    pub ports: (u16, u16),
    pub sequence: u32,
    pub acknowledgment: u32,
    pub window: u16,
    /// FIN, SYN, RST, ACK.
    pub flags: [bool; 4],
    pub options: Vec<TcpOptionElement>,
    pub payload: usize,
}

/// A segment with an acknowledgment and a little data.
pub fn plain() -> Wanted {
    Wanted {
        below: Below::Ethernet,
        six: false,
        ports: (40_000, 443),
        sequence: 1,
        acknowledgment: 1,
        window: 500,
        flags: [false, false, false, true],
        options: Vec::new(),
        payload: 100,
    }
}

pub fn options(elements: &[TcpOptionElement]) -> Vec<TcpOptionElement> {
    // The list has 40 bytes.
    let mut room = 40;
    let size = |one: &TcpOptionElement| match one {
        TcpOptionElement::Noop => 1,
        TcpOptionElement::MaximumSegmentSize(_) => 4,
        TcpOptionElement::WindowScale(_) => 3,
        TcpOptionElement::SelectiveAcknowledgementPermitted => 2,
        TcpOptionElement::SelectiveAcknowledgement(_, more) => {
            10 + 8 * more.iter().flatten().count()
        }
        TcpOptionElement::Timestamp(..) => 10,
    };
    let fits = |one: &&TcpOptionElement| {
        let fits = size(one) <= room;
        room -= if fits { size(one) } else { 0 };
        fits
    };
    elements.iter().filter(fits).cloned().collect()
}

/// The packet of it, from the Ethernet header on.
pub fn packet(wanted: &Wanted, to_home: bool) -> Vec<u8> {
    let builder = between(wanted.six, to_home);
    let (from, to) = ports(wanted, to_home);
    let mut tcp = builder.tcp(from, to, wanted.sequence, wanted.window);
    let [fin, syn, rst, ack] = wanted.flags;
    tcp = if fin { tcp.fin() } else { tcp };
    tcp = if syn { tcp.syn() } else { tcp };
    tcp = if rst { tcp.rst() } else { tcp };
    tcp = if ack { tcp.ack(wanted.acknowledgment) } else { tcp };
    let tcp = tcp.options(&options(&wanted.options)).expect("they fit");
    let mut ip = Vec::new();
    tcp.write(&mut ip, &vec![7; wanted.payload]).expect("a vector takes all");
    below_it(wanted, &ip)
}

/// The packet of a segment from the home, with these bytes as its options.
pub fn with_options(wanted: &Wanted, options: &[u8]) -> Vec<u8> {
    let (from, to) = ports(wanted, false);
    let tcp = between(wanted.six, false).tcp(from, to, wanted.sequence, wanted.window);
    let tcp = tcp.ack(wanted.acknowledgment).options_raw(options).expect("they fit");
    let mut ip = Vec::new();
    tcp.write(&mut ip, &vec![7; wanted.payload]).expect("a vector takes all");
    below_it(wanted, &ip)
}

/// A datagram of UDP with the same ends and this payload.
pub fn datagram(wanted: &Wanted, to_home: bool, payload: &[u8]) -> Vec<u8> {
    let (from, to) = ports(wanted, to_home);
    let mut ip = Vec::new();
    let udp = between(wanted.six, to_home).udp(from, to);
    udp.write(&mut ip, payload).expect("a vector takes all");
    below_it(wanted, &ip)
}

fn ports(wanted: &Wanted, to_home: bool) -> (u16, u16) {
    let (near, far) = wanted.ports;
    if to_home { (far, near) } else { (near, far) }
}

fn between(six: bool, to_home: bool) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    let (home, away) =
        if six { ("2001:db8::7", "2001:db8:1::1") } else { ("192.168.7.2", "203.0.113.9") };
    let (source, destination) = if to_home { (away, home) } else { (home, away) };
    let both: (IpAddr, IpAddr) = (source.parse().expect("one"), destination.parse().expect("one"));
    match both {
        (IpAddr::V4(from), IpAddr::V4(to)) => PacketBuilder::ipv4(from.octets(), to.octets(), 64),
        (IpAddr::V6(from), IpAddr::V6(to)) => PacketBuilder::ipv6(from.octets(), to.octets(), 64),
        _ => unreachable!("both are of one kind"),
    }
}

/// With the headers below IP.
fn below_it(wanted: &Wanted, ip: &[u8]) -> Vec<u8> {
    let ethertype: u16 = if wanted.six { 0x86dd } else { 0x0800 };
    let mut whole = [MAC, MAC].concat();
    let mut put = |words: &[u16]| whole.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    match wanted.below {
        Below::Ethernet => put(&[ethertype]),
        Below::Vlan => put(&[0x8100, 7, ethertype]),
        Below::TwoVlans => put(&[0x88a8, 7, 0x8100, 9, ethertype]),
        Below::Pppoe => {
            let protocol = if wanted.six { 0x0057 } else { 0x0021 };
            put(&[0x8864, 0x1100, 3, ip.len() as u16 + 2, protocol]);
        }
    }
    whole.extend(ip);
    whole
}

/// Where IP begins.
pub fn ip_of(packet: &[u8], below: Below) -> &[u8] {
    let skip = match below {
        Below::Ethernet => 14,
        Below::Vlan => 18,
        Below::TwoVlans | Below::Pppoe => 22,
    };
    &packet[skip..]
}

/// What etherparse reads of it.
pub fn read(packet: &[u8], below: Below) -> Option<Segment> {
    let sliced = SlicedPacket::from_ip(ip_of(packet, below)).ok()?;
    let TransportSlice::Tcp(tcp) = sliced.transport? else { return None };
    let addresses: (IpAddr, IpAddr) = match sliced.net? {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into())
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into())
        }
        NetSlice::Arp(_) => return None,
    };
    let mut segment = Segment {
        header: gameway_path::Header {
            source: gameway_path::Endpoint { address: addresses.0, port: tcp.source_port() },
            destination: gameway_path::Endpoint {
                address: addresses.1,
                port: tcp.destination_port(),
            },
            protocol: gameway_path::Protocol::Tcp,
            dscp: gameway_path::Dscp::default(),
        },
        flags: Flags { syn: tcp.syn(), ack: tcp.ack(), fin: tcp.fin(), rst: tcp.rst() },
        sequence: tcp.sequence_number(),
        acknowledgment: tcp.acknowledgment_number(),
        length: u32::try_from(tcp.payload().len()).ok()?,
        window: tcp.window_size(),
        window_scale: None,
        timestamps: None,
    };
    for option in tcp.options_iterator() {
        match option {
            Ok(TcpOptionElement::WindowScale(scale)) => segment.window_scale = Some(scale),
            Ok(TcpOptionElement::Timestamp(value, echo)) => {
                segment.timestamps = Some(Timestamps { value, echo });
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Some(segment)
}

/// What the ring has of a packet that passed.
pub fn told(loaded: &Loaded, name: &str, packet: &[u8]) -> Option<Record> {
    let passed = loaded.pass(name, packet);
    assert_eq!(passed.verdict, -1, "whatever else there is comes next");
    assert_eq!(passed.packet, packet, "nothing is limited");
    let record = loaded.next_record();
    assert_eq!(loaded.next_record(), None);
    record
}

pub fn any_option() -> impl Strategy<Value = TcpOptionElement> {
    prop_oneof![
        Just(TcpOptionElement::Noop),
        any::<u16>().prop_map(TcpOptionElement::MaximumSegmentSize),
        (0_u8..16).prop_map(TcpOptionElement::WindowScale),
        Just(TcpOptionElement::SelectiveAcknowledgementPermitted),
        any::<(u32, u32)>().prop_map(|one| TcpOptionElement::SelectiveAcknowledgement(
            one,
            [Some(one), None, None]
        )),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOptionElement::Timestamp(value, echo)),
    ]
}

pub fn any_segment() -> impl Strategy<Value = Wanted> {
    let below = prop_oneof![
        Just(Below::Ethernet),
        Just(Below::Vlan),
        Just(Below::TwoVlans),
        Just(Below::Pppoe),
    ];
    let numbers = any::<(bool, (u16, u16), u32, u32, u16, [bool; 4])>();
    (below, numbers, prop::collection::vec(any_option(), 0..8), 0_usize..1400).prop_map(
        |(below, (six, ports, sequence, acknowledgment, window, flags), options, payload)| Wanted {
            below,
            six,
            ports,
            sequence,
            acknowledgment,
            window,
            flags,
            options,
            payload,
        },
    )
}

#[test]
fn a_segment_is_read_as_others_read_it() {
    let Some(loaded) = crate::kernel::loaded() else { return };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = (any_segment(), any::<bool>());
    let done = runner.run(&cases, |(wanted, to_home)| {
        let packet = packet(&wanted, to_home);
        let name = if to_home { "to_home" } else { "from_home" };
        let record = told(&loaded, name, &packet).expect("it is TCP");
        prop_assert_eq!(Some(record.segment), read(&packet, wanted.below));
        prop_assert_eq!(record.to_home, to_home);
        prop_assert_eq!(record.joined, 0);
        let ip = ip_of(&packet, wanted.below).len() - wanted.payload;
        prop_assert_eq!(record.headers.get() as usize, ip);
        Ok(())
    });
    done.expect("all are read");
}
