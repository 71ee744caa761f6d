//! What the data path tells, as `bpf/shared.h` lays it out.

use gameway_gateway::{Flags, Limit, Segment, Timestamps};
use gameway_path::{Dscp, Endpoint, Header, Protocol};
use gameway_units::Bytes;
use std::net::{IpAddr, Ipv6Addr};

/// Bytes of a flow: the key of the maps.
pub const FLOW_BYTES: usize = 36;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 80;
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
}

/// Numbers in the machine's order, at their places.
struct Fields<'a>(&'a [u8; RECORD_BYTES]);

impl Fields<'_> {
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
}

impl Record {
    /// Reads one of the ring's; `None` where its size is another.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes.try_into().ok()?);
        let [flags, scale, stamped, to_home] = fields.array(72);
        let header = Header {
            source: fields.endpoint(8, 40),
            destination: fields.endpoint(24, 42),
            protocol: Protocol::Tcp,
            dscp: Dscp::default(),
        };
        let segment = Segment {
            header,
            flags: Flags::of(flags),
            sequence: fields.long(44),
            acknowledgment: fields.long(48),
            length: fields.long(60),
            window: fields.word(68),
            window_scale: (scale != NO_SCALE).then_some(scale),
            timestamps: (stamped != 0)
                .then(|| Timestamps { value: fields.long(52), echo: fields.long(56) }),
        };
        Some(Self {
            at_ns: i64::from_ne_bytes(fields.array(0)),
            to_home: to_home != 0,
            joined: fields.long(64),
            headers: Bytes::new(u64::from(fields.word(70))),
            segment,
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

/// The key of a flow's data in the maps.
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
    bytes[34..].copy_from_slice(&header.destination.port.to_be_bytes());
    bytes
}

/// A limit in the map.
#[must_use]
pub fn limit_bytes(limit: &Limit) -> [u8; LIMIT_BYTES] {
    let mut bytes = [0; LIMIT_BYTES];
    let least = u32::try_from(limit.least).unwrap_or(u32::MAX);
    bytes[..8].copy_from_slice(&limit.wanted.to_ne_bytes());
    bytes[8..12].copy_from_slice(&least.to_ne_bytes());
    bytes[12..16].copy_from_slice(&limit.highest.to_ne_bytes());
    bytes[16..20].copy_from_slice(&u32::from(limit.shift).to_ne_bytes());
    bytes
}
