//! What travels between the ends, and how large it is.
//!
//! Source: RFC 9000 sections 14.1 (sizes of datagrams), 16 (integers of variable length), 17.3.1 (short header),
//! 19.8 (STREAM); RFC 9001 section 5.3 (tag).
//! Model: one packet in a datagram. A size is that of UDP's payload, which is what congestion control counts
//! (RFC 9002 appendix B.2); on the wire are IPv4 and UDP, too.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | IPv4 and UDP | 28 B | RFC 791, RFC 768 |
//! | short header | 11 B: flags, a connection ID of 8 B, a packet number of 2 B | RFC 9000 section 17.3.1; 2 B number 16,384 packets in flight (section 17.1) |
//! | tag | 16 B | RFC 9001 section 5.3 |
//! | least datagram that every path carries | 1200 B | RFC 9000 section 14 |
//! | datagram by default | 1452 B | 1500 B less the headers of IPv6 and UDP: what implementations probe for |
//! | Initial and its answer | 1200 B | RFC 9000 section 14.1 |
//! | Finished with the request | 150 B | TLS's Finished (36 B), a HEADERS frame, headers of two packets |

use crate::ack::{AckFrame, integer_size};
use gameway_units::{Bytes, Ecn};

const IPV4_AND_UDP: u32 = 28;
const SHORT_HEADER: u32 = 11;
const TAG: u32 = 16;
/// Of a packet with a short header, what is no frame.
const PACKET_OVERHEAD: u32 = SHORT_HEADER + TAG;
const HANDSHAKE: u32 = 1200;
const FINISHED: u32 = 150;
const PING: u32 = 1;

/// The least size of a datagram that both ends must be able to send.
pub const MIN_DATAGRAM_SIZE: u32 = 1200;
/// The size of a full datagram if nothing else is given: with IPv4 and UDP 1480 B.
pub const MAX_DATAGRAM_SIZE: u32 = 1452;

/// A piece of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamFrame {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub length: u32,
    /// Whether the stream ends with it.
    pub fin: bool,
}

impl StreamFrame {
    /// Behind its last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.length as u64)
    }

    /// Type, stream and offset; the length is left out, since the frame goes on to the packet's end.
    const fn header(offset: u64) -> u32 {
        2 + integer_size(offset)
    }

    /// How much of the stream from `offset` on fits into a datagram of this size.
    pub(crate) const fn room(datagram_size: u32, offset: u64) -> u32 {
        datagram_size.saturating_sub(PACKET_OVERHEAD + Self::header(offset))
    }

    /// The datagram that carries it.
    pub(crate) const fn datagram_size(&self) -> u32 {
        PACKET_OVERHEAD + Self::header(self.offset) + self.length
    }
}

/// What the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerDatagram {
    /// UDP's payload.
    pub size: u32,
    /// Its ECN field: as it left, or as it arrived.
    pub ecn: Ecn,
    /// The spin bit, which a handshake has none of.
    pub spin: bool,
    /// What it carries.
    pub content: ServerContent,
}

/// What a datagram of the server carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerContent {
    /// The answer to an Initial.
    Handshake,
    /// A packet with data.
    Packet {
        /// Its number.
        number: u64,
        /// The data.
        frame: StreamFrame,
        /// The largest packet number of the client that this one acknowledges, if it does.
        acknowledged: Option<u64>,
    },
}

impl ServerDatagram {
    /// What an observer reads of its spin bit; `None`: it is a long header, which has none.
    #[must_use]
    pub const fn seen_spin(&self) -> Option<bool> {
        match self.content {
            ServerContent::Packet { .. } => Some(self.spin),
            ServerContent::Handshake => None,
        }
    }

    /// The number of its packet; the handshake has none.
    #[must_use]
    pub const fn number(&self) -> Option<u64> {
        match self.content {
            ServerContent::Packet { number, .. } => Some(number),
            ServerContent::Handshake => None,
        }
    }

    pub(crate) const fn handshake() -> Self {
        let (ecn, content) = (Ecn::NotEct, ServerContent::Handshake);
        Self { size: HANDSHAKE, ecn, spin: false, content }
    }

    /// What it is on the wire.
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.size + IPV4_AND_UDP))
    }
}

/// What the client sends. It is never ECN-capable: hardly any of it is data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientDatagram {
    /// UDP's payload.
    pub size: u32,
    /// The spin bit, which a handshake has none of.
    pub spin: bool,
    /// What it carries.
    pub content: ClientContent,
}

/// What a datagram of the client carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientContent {
    /// It wants a connection.
    Initial,
    /// The handshake's end, and the request.
    Finished,
    /// What has arrived.
    Ack {
        /// Its packet number.
        number: u64,
        /// The frame.
        frame: AckFrame,
        /// Whether it has a PING, so that the server acknowledges it.
        elicits: bool,
    },
}

impl ClientDatagram {
    pub(crate) const fn initial() -> Self {
        Self { size: HANDSHAKE, spin: false, content: ClientContent::Initial }
    }

    pub(crate) const fn finished() -> Self {
        Self { size: FINISHED, spin: false, content: ClientContent::Finished }
    }

    pub(crate) fn ack(number: u64, frame: AckFrame, elicits: bool) -> Self {
        let size = PACKET_OVERHEAD + frame.size() + if elicits { PING } else { 0 };
        Self { size, spin: false, content: ClientContent::Ack { number, frame, elicits } }
    }

    /// The same with the spin bit.
    pub(crate) fn with_spin(self, spin: bool) -> Self {
        Self { spin, ..self }
    }

    /// What an observer reads of its spin bit; `None`: it begins with a long header, which has none.
    #[must_use]
    pub const fn seen_spin(&self) -> Option<bool> {
        match self.content {
            ClientContent::Ack { .. } => Some(self.spin),
            ClientContent::Initial | ClientContent::Finished => None,
        }
    }

    /// What it is on the wire.
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.size + IPV4_AND_UDP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_datagram_is_as_large_as_is_given() {
        for offset in [0, 100, 20_000, 1 << 31] {
            let length = StreamFrame::room(MAX_DATAGRAM_SIZE, offset);
            let frame = StreamFrame { offset, length, fin: false };
            assert_eq!(frame.datagram_size(), MAX_DATAGRAM_SIZE);
            // By hand: 27 B of packet, 2 B of frame, and the offset.
            assert_eq!(length, 1452 - 27 - 2 - integer_size(offset));
        }
        let content =
            ServerContent::Packet { number: 0, frame: StreamFrame::default(), acknowledged: None };
        let datagram = ServerDatagram { size: 1452, ecn: Ecn::Ect0, spin: false, content };
        assert_eq!(datagram.wire_size(), Bytes::new(1480));
        assert_eq!(ClientDatagram::initial().wire_size(), Bytes::new(1228));
    }

    /// By hand: 27 B of packet, 5 B of frame (type, largest, delay, count, length), and 1 B of PING.
    #[test]
    fn an_ack_is_as_large_as_its_frames() {
        let frame = AckFrame { ranges: vec![(0, 10)], ..AckFrame::default() };
        assert_eq!(ClientDatagram::ack(0, frame.clone(), false).size, 27 + 5);
        assert_eq!(ClientDatagram::ack(0, frame, true).size, 27 + 5 + 1);
    }
}
