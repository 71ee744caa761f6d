//! Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1), which
//! browsers send: of each packet in a range whether it arrived, and when, in steps of 250 µs.
//!
//! ```text
//! |V=2|P| FMT=15  |   PT = 205    |          length               |
//! |                 SSRC of RTCP packet sender                    |
//! |                 SSRC of the stream                            |
//! |      base sequence number     |      packet status count      |
//! |          reference time (64 ms, signed)       | fb pkt count  |
//! | chunks of 16 bits: runs, or vectors of 14 one-bit or 7 two-bit symbols | differences |
//! ```
//!
//! A symbol is 0 (not arrived), 1 (difference of one byte), 2 (of two bytes, signed). It carries no ECN field, and
//! no time of the report itself: the newest arrival stands for it.

use crate::error::WebrtcError;
use crate::sequence::unwrap_number;
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Ecn, ReceiverInstant};

/// The packet's format; its type is that of transport layer feedback.
pub const FORMAT: u8 = 15;
const STEP_NS: i64 = 250_000;
const REFERENCE_NS: i64 = 64_000_000;
const HEAD: usize = 20;

/// A feedback packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportFeedback {
    /// Who reports.
    pub sender_ssrc: u32,
    /// A stream of the sender.
    pub ssrc: u32,
    /// Number of the first packet.
    pub base: u16,
    /// In 64 ms, 24 bits, signed.
    pub reference: i32,
    /// Counts these packets.
    pub count: u8,
    /// Of each packet from `base` on, its difference to the one before, in 250 µs; `None` if it did not arrive.
    pub packets: Vec<Option<i16>>,
}

fn malformed(problem: &'static str) -> WebrtcError {
    WebrtcError::Malformed { packet: "transport-wide feedback", problem }
}

impl TransportFeedback {
    /// Reads one packet: `bytes` is the whole RTCP packet, header included, without padding.
    ///
    /// # Errors
    /// If it is another kind of packet or shorter than its own counts.
    pub fn parse(bytes: &[u8]) -> Result<Self, WebrtcError> {
        let (head, mut rest) =
            bytes.split_at_checked(HEAD).ok_or_else(|| malformed("shorter than its head"))?;
        if head[0] & 31 != FORMAT || head[1] != crate::rtcp::TRANSPORT_FEEDBACK {
            return Err(malformed("another packet than type 205 format 15"));
        }
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let status_count = usize::from(word(12) as u16);
        if status_count == 0 {
            return Err(malformed("reports on no packet"));
        }
        let symbols = symbols(&mut rest, status_count)?;
        let packets: Result<_, _> = symbols.iter().map(|it| difference(*it, &mut rest)).collect();
        Ok(Self {
            sender_ssrc: word(4),
            ssrc: word(8),
            base: (word(12) >> 16) as u16,
            reference: (word(16) as i32) >> 8,
            count: head[19],
            packets: packets?,
        })
    }

    /// Appends the packet to `bytes`, with vectors of two-bit symbols.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend([0x80 | FORMAT, crate::rtcp::TRANSPORT_FEEDBACK, 0, 0]);
        bytes.extend(self.sender_ssrc.to_be_bytes());
        bytes.extend(self.ssrc.to_be_bytes());
        bytes.extend(self.base.to_be_bytes());
        bytes.extend((self.packets.len() as u16).to_be_bytes());
        bytes.extend(&self.reference.to_be_bytes()[1..]);
        bytes.push(self.count);
        let symbol = |packet: &Option<i16>| match packet {
            None => 0,
            Some(0..=255) => 1,
            Some(_) => 2_u16,
        };
        for seven in self.packets.chunks(7) {
            let fill = |chunk, (at, packet)| chunk | symbol(packet) << (12 - 2 * at);
            bytes.extend(seven.iter().enumerate().fold(0xC000, fill).to_be_bytes());
        }
        for packet in self.packets.iter().flatten() {
            match packet {
                0..=255 => bytes.push(*packet as u8),
                _ => bytes.extend(packet.to_be_bytes()),
            }
        }
        bytes.resize(start + (bytes.len() - start).next_multiple_of(4), 0);
        let words = (bytes.len() - start) / 4 - 1;
        bytes[start + 2..start + 4].copy_from_slice(&(words as u16).to_be_bytes());
    }
}

/// The status symbols of `count` packets.
fn symbols(rest: &mut &[u8], count: usize) -> Result<Vec<u8>, WebrtcError> {
    let mut symbols = Vec::with_capacity(count.min(8 * rest.len()));
    while symbols.len() < count {
        let Some(([high, low], after)) = rest.split_first_chunk() else {
            return Err(malformed("fewer symbols than packets"));
        };
        *rest = after;
        let chunk = u16::from_be_bytes([*high, *low]);
        let left = count - symbols.len();
        let symbol = |shift: usize, mask: u16| (chunk >> shift & mask) as u8;
        if chunk & 0x8000 == 0 {
            let run = usize::from(chunk & 0x1FFF).min(left);
            if run == 0 {
                return Err(malformed("a run of no packets"));
            }
            symbols.resize(symbols.len() + run, symbol(13, 3));
        } else if chunk & 0x4000 == 0 {
            symbols.extend((0..14.min(left)).map(|at| symbol(13 - at, 1)));
        } else {
            symbols.extend((0..7.min(left)).map(|at| symbol(12 - 2 * at, 3)));
        }
    }
    Ok(symbols)
}

fn difference(symbol: u8, rest: &mut &[u8]) -> Result<Option<i16>, WebrtcError> {
    let cut = || malformed("fewer arrival times than packets");
    match symbol {
        0 => Ok(None),
        1 => {
            let (first, after) = rest.split_first().ok_or_else(cut)?;
            *rest = after;
            Ok(Some(i16::from(*first)))
        }
        2 => {
            let (bytes, after) = rest.split_first_chunk().ok_or_else(cut)?;
            *rest = after;
            Ok(Some(i16::from_be_bytes(*bytes)))
        }
        _ => Err(malformed("the reserved symbol 3")),
    }
}

/// Makes session feedback of it on the sender's side: numbers and times are continued.
#[derive(Debug, Clone, Default)]
pub struct TransportFeedbackReader {
    newest_reference: u64,
}

impl TransportFeedbackReader {
    /// The report; `newest_sent` is the transport-wide number of the newest packet sent.
    #[must_use]
    pub fn to_session(
        &mut self,
        packet: &TransportFeedback,
        newest_sent: SequenceNumber,
    ) -> FeedbackPacket {
        let low = u64::from(packet.reference as u32 & 0xFF_FFFF);
        let reference = unwrap_number(self.newest_reference, low, 24);
        self.newest_reference = self.newest_reference.max(reference);
        let mut time = i64::try_from(reference).unwrap_or(i64::MAX).saturating_mul(REFERENCE_NS);
        let mut newest = time;
        let arrivals = packet.packets.iter().map(|difference| {
            time = time.saturating_add(i64::from((*difference)?) * STEP_NS);
            newest = newest.max(time);
            let arrival = ReceiverInstant::from_nanos(time);
            Some(ReceivedPacket { arrival, ecn: Ecn::NotEct })
        });
        let mut packets: Vec<_> = arrivals.collect();
        // The session's reports end with a packet that arrived.
        while packets.last().is_some_and(Option::is_none) {
            packets.pop();
        }
        FeedbackPacket {
            base: SequenceNumber(unwrap_number(newest_sent.0, u64::from(packet.base), 16)),
            packets,
            generated: ReceiverInstant::from_nanos(newest),
            key_frame_request: false,
        }
    }
}
