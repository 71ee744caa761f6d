//! What stands in the bytes of an IP packet, and the fields that a path writes: the traffic class (code point and
//! ECN) and TCP's window.
//!
//! Source: RFC 791 section 3.1 (IPv4), RFC 8200 sections 3 and 4 (IPv6 and its extension headers), RFC 3168 section
//! 5 (ECN field), RFC 9293 section 3.1 (TCP), RFC 7323 sections 2 and 3 (window scale, timestamps), RFC 768 (UDP).
//! Checksums are mended, not computed anew (RFC 1624 section 3, equation 3): a damaged packet stays damaged.
//!
//! | deviation | why |
//! |---|---|
//! | ports of fragments behind the first are 0 | they are not there; no reassembly in a path |
//! | protocols beside TCP and UDP count as echoes | they have no ports either |

use gameway_gateway::{Flags, QuicHeader, Segment, Timestamps};
use gameway_path::{Dscp, Endpoint, Header, Protocol};
use gameway_units::{Bytes, Ecn};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a packet's headers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed {
    /// Addresses, ports, protocol and code point.
    pub header: Header,
    /// The ECN field.
    pub ecn: Ecn,
    /// Its length.
    pub size: Bytes,
    /// Where its TCP header begins, if it has one.
    pub tcp: Option<usize>,
    /// Identifier and number of an echo request or its reply.
    pub echo: Option<u32>,
    /// Of a datagram of UDP, what begins as a QUIC packet, if it does.
    pub quic: Option<QuicHeader>,
}

/// Numbers of protocols (IANA).
const HOP_BY_HOP: u8 = 0;
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ICMP_V6: u8 = 58;
const DESTINATION: u8 = 60;

/// Of ICMP (RFC 792) and ICMPv6 (RFC 4443): a reply and a request.
const ECHOES: [u8; 2] = [0, 8];
const ECHOES_V6: [u8; 2] = [129, 128];

/// Extension headers that are looked through: hosts send none to three.
const MAX_EXTENSIONS: usize = 8;

const IPV4_CHECKSUM: usize = 10;
const UDP_HEADER: usize = 8;
const MIN_TCP_HEADER: usize = 20;
const TCP_WINDOW: usize = 14;
const TCP_CHECKSUM: usize = 16;

/// The headers of a packet; `None` if it is no whole IP packet.
#[must_use]
pub fn parse(packet: &[u8]) -> Option<Parsed> {
    match packet.first()? >> 4 {
        4 => parse_ipv4(packet),
        6 => parse_ipv6(packet),
        _ => None,
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn parse_ipv4(packet: &[u8]) -> Option<Parsed> {
    let header_length = usize::from(packet[0] & 0xf) * 4;
    let length = usize::from(word(packet, 2)?);
    if header_length < 20 || length < header_length || length > packet.len() {
        return None;
    }
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(long(packet, at)?)));
    let behind_first = word(packet, 6)? & 0x1fff != 0;
    let inside = (!behind_first).then_some((packet[9], header_length));
    let traffic_class = packet[1];
    parsed(&packet[..length], traffic_class, (address(12)?, address(16)?), inside)
}

fn parse_ipv6(packet: &[u8]) -> Option<Parsed> {
    let length = 40 + usize::from(word(packet, 4)?);
    if packet.len() < 40 || length > packet.len() {
        return None;
    }
    let packet = &packet[..length];
    let address = |at: usize| {
        let bytes: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(bytes)))
    };
    let traffic_class = packet[0] << 4 | packet[1] >> 4;
    parsed(packet, traffic_class, (address(8)?, address(24)?), behind_extensions(packet))
}

/// The protocol behind an IPv6 packet's extension headers and where it begins; `None` if it cannot be reached.
fn behind_extensions(packet: &[u8]) -> Option<(u8, usize)> {
    let (mut kind, mut at) = (packet[6], 40);
    for _ in 0..MAX_EXTENSIONS {
        let length = match kind {
            HOP_BY_HOP | ROUTING | DESTINATION => 8 + 8 * usize::from(*packet.get(at + 1)?),
            FRAGMENT if word(packet, at + 2)? & 0xfff8 == 0 => 8,
            FRAGMENT => return None,
            _ => return Some((kind, at)),
        };
        kind = *packet.get(at)?;
        at += length;
    }
    None
}

fn parsed(
    packet: &[u8],
    traffic_class: u8,
    (source, destination): (IpAddr, IpAddr),
    inside: Option<(u8, usize)>,
) -> Option<Parsed> {
    let whole_tcp = |at: usize| {
        let length = usize::from(packet.get(at + 12)? >> 4) * 4;
        (length >= MIN_TCP_HEADER && at + length <= packet.len()).then_some(at)
    };
    let echo = match inside {
        Some((ICMP, at)) if packet.get(at).is_some_and(|kind| ECHOES.contains(kind)) => Some(at),
        Some((ICMP_V6, at)) if packet.get(at).is_some_and(|kind| ECHOES_V6.contains(kind)) => {
            Some(at)
        }
        _ => None,
    };
    let (protocol, transport) = match inside {
        Some((TCP, at)) => (Protocol::Tcp, Some(at)),
        Some((UDP, at)) => (Protocol::Udp, Some(at)),
        _ => (Protocol::Icmp, None),
    };
    let port = |offset| transport.and_then(|at| word(packet, at + offset)).unwrap_or(0);
    let udp = transport.filter(|_| protocol == Protocol::Udp);
    let first_of_payload = udp.and_then(|at| packet.get(at + UDP_HEADER));
    let tcp = transport.filter(|_| protocol == Protocol::Tcp).and_then(whole_tcp);
    Some(Parsed {
        header: Header {
            source: Endpoint { address: source, port: port(0) },
            destination: Endpoint { address: destination, port: port(2) },
            protocol,
            dscp: Dscp(traffic_class >> 2),
        },
        ecn: ecn(traffic_class),
        size: Bytes::new(packet.len() as u64),
        tcp,
        echo: echo.and_then(|at| long(packet, at + 4)),
        quic: first_of_payload.map(|first| QuicHeader::read(*first, 1)),
    })
}

const fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 0b11 {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// HC' = ~(~HC + ~m + m') in ones' complement (RFC 1624 section 3, equation 3).
const fn mended(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = !checksum as u32 + !old as u32 + new as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put(packet: &mut [u8], at: usize, value: u16) {
    if let Some(place) = packet.get_mut(at..at + 2) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

/// Writes CE ("congestion experienced") into the ECN field of a packet that [`parse`] took.
pub fn mark(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) => {
            let (Some(old), Some(checksum)) = (word(packet, 0), word(packet, IPV4_CHECKSUM)) else {
                return;
            };
            let new = old | 0b11;
            put(packet, 0, new);
            put(packet, IPV4_CHECKSUM, mended(checksum, old, new));
        }
        Some(6) if packet.len() > 1 => packet[1] |= 0b11 << 4,
        _ => {}
    }
}

/// Writes the code point of a packet that [`parse`] took.
pub fn set_dscp(packet: &mut [u8], dscp: Dscp) {
    match packet.first().map(|first| first >> 4) {
        Some(4) => {
            let (Some(old), Some(checksum)) = (word(packet, 0), word(packet, IPV4_CHECKSUM)) else {
                return;
            };
            let new = old & !0xfc | u16::from(dscp.0) << 2;
            if new != old {
                put(packet, 0, new);
                put(packet, IPV4_CHECKSUM, mended(checksum, old, new));
            }
        }
        Some(6) if packet.len() > 1 => {
            packet[0] = packet[0] & 0xf0 | dscp.0 >> 2;
            packet[1] = packet[1] & 0x3f | dscp.0 << 6;
        }
        _ => {}
    }
}

/// What a home gateway reads of the TCP header that begins at `tcp`, as [`parse`] found it.
#[must_use]
pub fn segment(packet: &[u8], header: Header, size: Bytes, tcp: usize) -> Option<Segment> {
    let length = usize::from(packet.get(tcp + 12)? >> 4) * 4;
    let mut segment = Segment {
        header,
        flags: Flags::of(*packet.get(tcp + 13)?),
        sequence: long(packet, tcp + 4)?,
        acknowledgment: long(packet, tcp + 8)?,
        length: (size.get() as usize).checked_sub(tcp + length)? as u32,
        window: word(packet, tcp + TCP_WINDOW)?,
        window_scale: None,
        timestamps: None,
    };
    read_options(packet.get(tcp + MIN_TCP_HEADER..tcp + length)?, &mut segment);
    Some(segment)
}

/// Kinds: 0 ends the list, 1 fills a byte, 3 is the window scale, 8 the timestamps; all others have a length.
fn read_options(mut options: &[u8], segment: &mut Segment) {
    while let Some(&kind) = options.first() {
        if kind == 1 {
            options = &options[1..];
            continue;
        }
        let length = options.get(1).map_or(0, |length| usize::from(*length));
        if kind == 0 || length < 2 || length > options.len() {
            return;
        }
        let (option, rest) = options.split_at(length);
        match (kind, length) {
            (3, 3) => segment.window_scale = Some(option[2]),
            (8, 10) => {
                let times = long(option, 2).zip(long(option, 6));
                segment.timestamps = times.map(|(value, echo)| Timestamps { value, echo });
            }
            _ => {}
        }
        options = rest;
    }
}

/// Writes the window of the TCP header that begins at `tcp`, and mends its checksum.
pub fn set_window(packet: &mut [u8], tcp: usize, window: u16) {
    let old = word(packet, tcp + TCP_WINDOW);
    if let (Some(old), Some(checksum)) = (old, word(packet, tcp + TCP_CHECKSUM)) {
        put(packet, tcp + TCP_WINDOW, window);
        put(packet, tcp + TCP_CHECKSUM, mended(checksum, old, window));
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
