//! Arrival times in microseconds, beside an RFC 8888 packet in the same datagram, for a receiver and a sender that
//! agreed on it (`a=rtcp-fb:* x-gameway-arrival-times`): our own client's reports are then as fine as the
//! simulator's. An application-defined RTCP packet (RFC 3550 section 6.7) named `GWAT`:
//!
//! ```text
//! |V=2|P| subtype   |   PT = 204    |          length             |
//! |                 SSRC of the stream                            |
//! |                 "GWAT"                                        |
//! |                 report time in µs (64 bits)                   |
//! |          begin_seq            |          num_arrivals         |
//! | differences, 7 bits a byte, least first, top bit: more follow | zeros to a word
//! ```
//!
//! For each packet that the RFC 8888 packet says has arrived, in its order: the difference of its arrival to the one
//! before (of the first, to the report), zigzag (0, -1, 1, -2, ...), so that most take one or two bytes.
//!
//! Subtype 1 says that the report goes on in the next datagram, 0 that it ends with this one: a controller that takes
//! one report in a while must not take the older half of it.

use crate::error::WebrtcError;
use crate::rtcp::APPLICATION;
use gameway_session::FeedbackPacket;
use gameway_units::ReceiverInstant;

const NAME: &[u8; 4] = b"GWAT";
const HEAD: usize = 24;
/// The report's last part, or all of it.
pub(super) const LAST: u8 = 0;
pub(super) const MORE: u8 = 1;
/// RFC 8888's limit.
const MAX_ARRIVALS: usize = 16_384;

/// The arrival times of one report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalTimes {
    /// The stream.
    pub ssrc: u32,
    /// Sequence number that the RFC 8888 block begins with.
    pub begin: u16,
    /// When the report was made.
    pub generated: ReceiverInstant,
    /// When each packet that arrived did, to the microsecond.
    pub arrivals: Vec<ReceiverInstant>,
    /// Whether another part of the report is to come.
    pub more: bool,
}

fn malformed(problem: &'static str) -> WebrtcError {
    WebrtcError::Malformed { packet: "GWAT arrival times", problem }
}

fn micros(time: ReceiverInstant) -> i64 {
    time.as_nanos().div_euclid(1_000)
}

impl ArrivalTimes {
    /// Of a session's report, or of a part of it of which `more` is to come.
    #[must_use]
    pub fn of(feedback: &FeedbackPacket, ssrc: u32, more: bool) -> Self {
        Self {
            ssrc,
            more,
            begin: feedback.base.0 as u16,
            generated: feedback.generated,
            arrivals: feedback.packets.iter().flatten().map(|it| it.arrival).collect(),
        }
    }

    /// Appends the packet to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let subtype = if self.more { MORE } else { LAST };
        bytes.extend([0x80 | subtype, APPLICATION, 0, 0]);
        bytes.extend(self.ssrc.to_be_bytes());
        bytes.extend(NAME);
        bytes.extend(micros(self.generated).to_be_bytes());
        bytes.extend(self.begin.to_be_bytes());
        bytes.extend((self.arrivals.len().min(MAX_ARRIVALS) as u16).to_be_bytes());
        let mut before = micros(self.generated);
        for arrival in self.arrivals.iter().take(MAX_ARRIVALS) {
            let arrival = micros(*arrival);
            write_number(arrival.wrapping_sub(before), bytes);
            before = arrival;
        }
        bytes.resize(start + (bytes.len() - start).next_multiple_of(4), 0);
        let words = (bytes.len() - start) / 4 - 1;
        bytes[start + 2..start + 4].copy_from_slice(&(words as u16).to_be_bytes());
    }

    /// Reads one packet: `bytes` is the whole RTCP packet, header included, without padding.
    ///
    /// # Errors
    /// If it is another packet, or its numbers end before they should.
    pub fn parse(bytes: &[u8]) -> Result<Self, WebrtcError> {
        let (head, mut rest) =
            bytes.split_at_checked(HEAD).ok_or_else(|| malformed("shorter than its head"))?;
        if head[1] != APPLICATION || head[8..12] != *NAME {
            return Err(malformed("another packet than APP with this name"));
        }
        let mut generated = [0; 8];
        generated.copy_from_slice(&head[12..20]);
        let generated = i64::from_be_bytes(generated);
        let count = usize::from(u16::from_be_bytes([head[22], head[23]]));
        if count > MAX_ARRIVALS {
            return Err(malformed("more than 16384 arrivals"));
        }
        let mut before = generated;
        let mut arrivals = Vec::with_capacity(count.min(rest.len()));
        for _ in 0..count {
            before = before.wrapping_add(read_number(&mut rest)?);
            arrivals.push(time(before)?);
        }
        Ok(Self {
            ssrc: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
            begin: u16::from_be_bytes([head[20], head[21]]),
            generated: time(generated)?,
            arrivals,
            more: head[0] & 31 == MORE,
        })
    }

    /// Puts the fine times in place of those of RFC 8888, if they belong to the same report.
    pub fn refine(&self, feedback: &mut FeedbackPacket) {
        let arrived = feedback.packets.iter().flatten().count();
        if feedback.base.0 as u16 != self.begin || arrived != self.arrivals.len() {
            return;
        }
        feedback.generated = self.generated;
        for (packet, arrival) in feedback.packets.iter_mut().flatten().zip(&self.arrivals) {
            packet.arrival = *arrival;
        }
    }
}

fn time(micros: i64) -> Result<ReceiverInstant, WebrtcError> {
    // What cannot be a time in nanoseconds is a lie.
    micros
        .checked_mul(1_000)
        .map(ReceiverInstant::from_nanos)
        .ok_or_else(|| malformed("a time beyond 292 years"))
}

fn write_number(number: i64, bytes: &mut Vec<u8>) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn read_number(bytes: &mut &[u8]) -> Result<i64, WebrtcError> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) =
            bytes.split_first().ok_or_else(|| malformed("fewer arrivals than said"))?;
        *bytes = rest;
        number |= u64::from(first & 0x7F) << shift;
        if first & 0x80 == 0 {
            return Ok((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    Err(malformed("a number of more than 64 bits"))
}
