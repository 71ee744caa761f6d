//! What the data path tells, as `bpf/shared.h` lays it out.

use gameway_gateway::{Flags, Limit, QuicHeader, Segment, Timestamps};
use gameway_path::{Dscp, Endpoint, Header, Protocol};
use gameway_units::Bytes;
use std::net::{IpAddr, Ipv6Addr};

/// Bytes of a flow: the key of the maps.
pub const FLOW_BYTES: usize = 40;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 80;
/// Bytes of a datagram.
pub const DATAGRAM_BYTES: usize = 72;
/// Bytes of a limit.
pub const LIMIT_BYTES: usize = 24;
/// Bytes of what was told, which the data path alone reads and writes.
pub const TOLD_BYTES: usize = 16;
/// The value of `scale` without the option.
const NO_SCALE: u8 = 0xff;

/// A TCP segment that passed, or several that the kernel had joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When, of `CLOCK_MONOTONIC`.
    pub at_ns: i64,
    /// Towards the home.
    pub to_home: bool,
    /// Payload of each of those that were joined; 0: it is one.
    pub joined: u32,
    /// Of the headers of IP and TCP.
    pub headers: Bytes,
    /// The whole, with the window that its sender wrote.
    pub segment: Segment,
    /// How it wants to be treated.
    pub dscp: Dscp,
    /// What the data path knows of its flow.
    pub verdict: Verdict,
}

/// What the program thinks of a flow, as the data path knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Whether it is a game; `None`: nobody has said so by hand or by behaviour.
    pub game: Option<bool>,
    /// Whether it is told of in samples.
    pub quiet: bool,
}

const GAME: u8 = 1;
const NO_GAME: u8 = 2;
const QUIET: u8 = 4;

impl Verdict {
    const fn of(bits: u8) -> Self {
        let game = match bits & (GAME | NO_GAME) {
            0 => None,
            kind => Some(kind & GAME != 0),
        };
        Self { game, quiet: bits & QUIET != 0 }
    }

    /// As the map has it.
    #[must_use]
    pub const fn bits(self) -> u32 {
        let kind = match self.game {
            None => 0,
            Some(true) => GAME,
            Some(false) => NO_GAME,
        };
        (kind | if self.quiet { QUIET } else { 0 }) as u32
    }
}

/// A datagram of UDP that passed, or several that the kernel had joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// When, of `CLOCK_MONOTONIC`.
    pub at_ns: i64,
    /// Towards the home.
    pub to_home: bool,
    /// Its flow, and its DSCP.
    pub header: Header,
    /// Congestion experienced, or able to (RFC 3168): the lower two bits of the traffic class.
    pub ecn: u8,
    /// Of the headers of IP and UDP.
    pub headers: Bytes,
    /// Bytes of all that were joined.
    pub length: u32,
    /// Payload of each of those that were joined; 0: it is one.
    pub joined: u16,
    /// The first byte of the payload.
    pub first: Option<u8>,
    /// What the data path knows of its flow.
    pub verdict: Verdict,
    /// Datagrams of this flow that passed since the last one that was told, and their bytes with the headers of IP and UDP.
    pub untold: (u32, Bytes),
}

/// Numbers in the machine's order, at their places.
struct Fields<'a, const SIZE: usize>(&'a [u8; SIZE]);

impl<const SIZE: usize> Fields<'_, SIZE> {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    fn long(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    fn endpoint(&self, address: usize, port: usize) -> Endpoint {
        let address = IpAddr::V6(Ipv6Addr::from(self.array::<16>(address))).to_canonical();
        Endpoint { address, port: u16::from_be_bytes(self.array(port)) }
    }

    /// Of the flow, which both kinds have at the same place.
    fn header(&self, protocol: Protocol, traffic_class: u8) -> Header {
        Header {
            source: self.endpoint(8, 40),
            destination: self.endpoint(24, 42),
            protocol,
            dscp: Dscp(traffic_class >> 2),
        }
    }
}

impl Record {
    /// Reads one of the ring's; `None` where its size is another.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let fields = Fields::<RECORD_BYTES>(bytes.try_into().ok()?);
        let [headers, flags, scale, stamped, to_home, traffic_class, verdict] = fields.array(72);
        let segment = Segment {
            // What asks a queue for something is no part of a connection.
            header: fields.header(Protocol::Tcp, 0),
            flags: Flags::of(flags),
            sequence: fields.long(48),
            acknowledgment: fields.long(52),
            length: fields.long(64),
            window: fields.word(70),
            window_scale: (scale != NO_SCALE).then_some(scale),
            timestamps: (stamped != 0)
                .then(|| Timestamps { value: fields.long(56), echo: fields.long(60) }),
        };
        Some(Self {
            at_ns: i64::from_ne_bytes(fields.array(0)),
            to_home: to_home != 0,
            joined: fields.word(68).into(),
            headers: Bytes::new(headers.into()),
            segment,
            dscp: Dscp(traffic_class >> 2),
            verdict: Verdict::of(verdict),
        })
    }

    /// Of IP packets, all that the kernel had joined together.
    #[must_use]
    pub fn size_on_the_wire(&self) -> Bytes {
        let payload = u64::from(self.segment.length);
        let segments =
            if self.joined == 0 { 1 } else { payload.div_ceil(self.joined.into()).max(1) };
        Bytes::new(payload + segments * self.headers.get())
    }

    /// The segments as they were on the wire, in order: the kernel joins segments of one size and maybe a shorter last one.
    pub fn on_the_wire(&self) -> impl Iterator<Item = Segment> {
        let whole = self.segment;
        let size = if self.joined == 0 { whole.length } else { self.joined }.max(1);
        let count = whole.length.div_ceil(size).max(1);
        (0..count).map(move |index| {
            let passed = index * size;
            let is_last = index + 1 == count;
            Segment {
                sequence: whole.sequence.wrapping_add(passed),
                length: (whole.length - passed).min(size),
                flags: Flags { fin: whole.flags.fin && is_last, ..whole.flags },
                ..whole
            }
        })
    }
}

impl Datagram {
    /// Reads one of the ring's; `None` where its size is another.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let fields = Fields::<DATAGRAM_BYTES>(bytes.try_into().ok()?);
        let [headers, traffic_class, first, to_home, verdict] = fields.array(62);
        let length = fields.long(48);
        Some(Self {
            at_ns: i64::from_ne_bytes(fields.array(0)),
            to_home: to_home != 0,
            header: fields.header(Protocol::Udp, traffic_class),
            ecn: traffic_class & 3,
            headers: Bytes::new(headers.into()),
            length,
            joined: fields.word(60),
            first: (length > 0).then_some(first),
            verdict: Verdict::of(verdict),
            untold: (fields.long(52), Bytes::new(fields.long(56).into())),
        })
    }

    /// The sizes of the packets of IP as they were on the wire, in order.
    pub fn sizes_on_the_wire(&self) -> impl Iterator<Item = Bytes> {
        let (whole, headers) = (self.length, self.headers);
        let size = if self.joined == 0 { whole } else { self.joined.into() }.max(1);
        let count = whole.div_ceil(size).max(1);
        (0..count).map(move |index| {
            let payload = (whole - index * size).min(size);
            headers.saturating_add(Bytes::new(payload.into()))
        })
    }

    /// All that passed since the last one that was told, this one included.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.sizes_on_the_wire().fold(self.untold.1, Bytes::saturating_add)
    }

    /// What begins as a QUIC packet, if this does: of those that were joined the first.
    #[must_use]
    pub fn quic(&self) -> Option<QuicHeader> {
        let joined = u32::try_from(self.sizes_on_the_wire().count()).unwrap_or(u32::MAX);
        Some(QuicHeader::read(self.first?, self.untold.0.saturating_add(joined)))
    }
}

/// The key of a flow in the maps.
#[must_use]
pub fn flow_bytes(header: &Header) -> [u8; FLOW_BYTES] {
    let address = |end: &Endpoint| match end.address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let mut bytes = [0; FLOW_BYTES];
    bytes[..16].copy_from_slice(&address(&header.source));
    bytes[16..32].copy_from_slice(&address(&header.destination));
    bytes[32..34].copy_from_slice(&header.source.port.to_be_bytes());
    bytes[34..36].copy_from_slice(&header.destination.port.to_be_bytes());
    let protocol: u32 = match header.protocol {
        Protocol::Icmp => 1,
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    };
    bytes[36..].copy_from_slice(&protocol.to_ne_bytes());
    bytes
}

/// A limit in the map.
#[must_use]
pub fn limit_bytes(limit: &Limit) -> [u8; LIMIT_BYTES] {
    let mut bytes = [0; LIMIT_BYTES];
    let min = u32::try_from(limit.min).unwrap_or(u32::MAX);
    bytes[..8].copy_from_slice(&limit.wanted.to_ne_bytes());
    bytes[8..12].copy_from_slice(&min.to_ne_bytes());
    bytes[12..16].copy_from_slice(&limit.highest.to_ne_bytes());
    bytes[16..20].copy_from_slice(&u32::from(limit.shift).to_ne_bytes());
    bytes
}
