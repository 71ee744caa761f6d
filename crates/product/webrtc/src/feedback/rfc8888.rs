//! Congestion control feedback (RFC 8888): of each packet in a range, whether it arrived, its ECN field, and
//! when, in 1/1024 s before the report.
//!
//! ```text
//! |V=2|P| FMT=11  |   PT = 205    |          length               |
//! |                 SSRC of RTCP packet sender                    |
//! |                   SSRC of nth RTP stream                      |
//! |          begin_seq            |          num_reports          |
//! |R|ECN|  arrival time offset    | ...                           |
//! |                        report timestamp (RTS)                 |
//! ```
//!
//! The timestamp has the unit of the middle 32 bits of an NTP time, 1/65536 s; we count it from the
//! receiver's own zero, as the RFC asks only for "the same clock" as sender reports, of which there are none.
//!
//! | deviation from RFC 8888 | why |
//! |---|---|
//! | at most [`MAX_REPORTS`] packets are written for a stream | the limit of section 3.1; a datagram's size comes first and is the caller's |

use crate::error::WebrtcError;
use crate::sequence::unwrap_number;
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Duration, Ecn, ReceiverInstant};

/// RTPFB.
pub const PACKET_TYPE: u8 = 205;
/// CCFB.
pub const FORMAT: u8 = 11;
/// Section 3.1: a range has at most so many packets.
pub const MAX_REPORTS: usize = 16_384;
/// Offset of an arrival that is 8189/1024 s old or older.
const OFFSET_OVER: u16 = 0x1FFE;
/// Offset of an arrival whose time is unknown or after the report.
const OFFSET_UNKNOWN: u16 = 0x1FFF;

/// What became of one packet: `None` if it has not arrived.
pub type Report = Option<PacketReport>;

/// That a packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketReport {
    /// With which ECN field.
    pub ecn: Ecn,
    /// How many 1/1024 s before the report, 13 bits; 0x1FFE: longer, 0x1FFF: unknown.
    pub offset: u16,
}

/// The reports on one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The stream.
    pub ssrc: u32,
    /// Sequence number of the first packet.
    pub begin: u16,
    /// Of each packet from there on.
    pub reports: Vec<Report>,
}

/// A feedback packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CongestionFeedback {
    /// Who reports.
    pub sender_ssrc: u32,
    /// On each stream.
    pub blocks: Vec<Block>,
    /// When, in 1/65536 s.
    pub timestamp: u32,
}

fn malformed(problem: &'static str) -> WebrtcError {
    WebrtcError::Malformed { packet: "RFC 8888 feedback", problem }
}

impl CongestionFeedback {
    /// Appends the packet to `bytes`.
    ///
    /// # Errors
    /// If a block has more than [`MAX_REPORTS`] packets, or the whole is longer than RTCP can say.
    pub fn write(&self, bytes: &mut Vec<u8>) -> Result<(), WebrtcError> {
        let start = bytes.len();
        bytes.extend([0x80 | FORMAT, PACKET_TYPE, 0, 0]);
        bytes.extend(self.sender_ssrc.to_be_bytes());
        for block in &self.blocks {
            if block.reports.len() > MAX_REPORTS {
                return Err(malformed("more than 16384 packets of one stream"));
            }
            bytes.extend(block.ssrc.to_be_bytes());
            bytes.extend(block.begin.to_be_bytes());
            bytes.extend((block.reports.len() as u16).to_be_bytes());
            block.reports.iter().for_each(|report| bytes.extend(report_bits(report).to_be_bytes()));
            if block.reports.len() % 2 == 1 {
                bytes.extend([0, 0]);
            }
        }
        bytes.extend(self.timestamp.to_be_bytes());
        let words = (bytes.len() - start) / 4 - 1;
        let words = u16::try_from(words).map_err(|_| malformed("longer than 256 KiB"))?;
        bytes[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
        Ok(())
    }

    /// Reads one packet: `bytes` is the whole RTCP packet, header included, without padding.
    ///
    /// # Errors
    /// If it is another kind of packet or its blocks do not fill it exactly.
    pub fn parse(bytes: &[u8]) -> Result<Self, WebrtcError> {
        let [first, PACKET_TYPE, _, _, rest @ ..] = bytes else {
            return Err(malformed("packet type is not 205"));
        };
        if first & 31 != FORMAT || rest.len() < 8 {
            return Err(malformed("format is not 11, or shorter than a header and timestamp"));
        }
        let (body, timestamp) = rest.split_at(rest.len() - 4);
        let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut packet =
            Self { sender_ssrc: word(body), blocks: Vec::new(), timestamp: word(timestamp) };
        let mut body = &body[4..];
        while !body.is_empty() {
            let head = body.get(..8).ok_or_else(|| malformed("a block is cut off"))?;
            let count = usize::from(u16::from_be_bytes([head[6], head[7]]));
            if count > MAX_REPORTS {
                return Err(malformed("more than 16384 packets of one stream"));
            }
            let end = 8 + (2 * count).next_multiple_of(4);
            let reports =
                body.get(8..8 + 2 * count).ok_or_else(|| malformed("reports are cut off"))?;
            packet.blocks.push(Block {
                ssrc: word(head),
                begin: u16::from_be_bytes([head[4], head[5]]),
                reports: reports.chunks_exact(2).map(|pair| report([pair[0], pair[1]])).collect(),
            });
            body = body.get(end..).ok_or_else(|| malformed("a block's padding is cut off"))?;
        }
        Ok(packet)
    }
}

fn report_bits(report: &Report) -> u16 {
    let Some(report) = report else { return 0 };
    let ecn = match report.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    0x8000 | ecn << 13 | report.offset & 0x1FFF
}

fn report(bytes: [u8; 2]) -> Report {
    let bits = u16::from_be_bytes(bytes);
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits >> 13 & 3)];
    (bits & 0x8000 != 0).then_some(PacketReport { ecn, offset: bits & 0x1FFF })
}

/// A time of the receiver in 1/65536 s, the low 32 bits.
#[must_use]
pub fn timestamp(time: ReceiverInstant) -> u32 {
    ((i128::from(time.as_nanos()) * 65_536).div_euclid(1_000_000_000)) as u32
}

/// A span in units of 1/`hertz` s, rounded to the nearest.
fn units(span: Duration, hertz: i64) -> i64 {
    (i128::from(span.as_nanos()) * i128::from(hertz) + 500_000_000).div_euclid(1_000_000_000) as i64
}

/// The report on one stream whose RTP sequence numbers are the low bits of the transport-wide ones.
#[must_use]
pub fn from_session(feedback: &FeedbackPacket, sender_ssrc: u32, ssrc: u32) -> CongestionFeedback {
    let kept = feedback.packets.len().min(MAX_REPORTS);
    let skipped = feedback.packets.len() - kept;
    let report = |packet: &Option<ReceivedPacket>| {
        let ReceivedPacket { arrival, ecn } = (*packet)?;
        let age = feedback.generated.saturating_since(arrival);
        let offset = match units(age, 1_024) {
            negative if negative < 0 => OFFSET_UNKNOWN,
            over if over >= i64::from(OFFSET_OVER) => OFFSET_OVER,
            offset => offset as u16,
        };
        Some(PacketReport { ecn, offset })
    };
    let block = Block {
        ssrc,
        begin: (feedback.base.0 + skipped as u64) as u16,
        reports: feedback.packets[skipped..].iter().map(report).collect(),
    };
    CongestionFeedback {
        sender_ssrc,
        blocks: vec![block],
        timestamp: timestamp(feedback.generated),
    }
}

/// Makes session feedback of reports, on the sender's side: numbers and times are continued.
#[derive(Debug, Clone, Default)]
pub struct FeedbackReader {
    newest_timestamp: u64,
}

impl FeedbackReader {
    /// The report on stream `ssrc`; `newest_sent` is the transport-wide number of the newest packet sent.
    /// Arrival times are the report's, to 1/1024 s. `None` if the stream is not reported on.
    #[must_use]
    pub fn to_session(
        &mut self,
        packet: &CongestionFeedback,
        ssrc: u32,
        newest_sent: SequenceNumber,
    ) -> Option<FeedbackPacket> {
        let block = packet.blocks.iter().find(|block| block.ssrc == ssrc)?;
        let time = unwrap_number(self.newest_timestamp, u64::from(packet.timestamp), 32);
        self.newest_timestamp = self.newest_timestamp.max(time);
        let generated = ReceiverInstant::from_nanos(in_nanos(time, 65_536));
        let base = unwrap_number(newest_sent.0, u64::from(block.begin), 16);
        let arrived = |report: &Report| {
            let PacketReport { ecn, offset } = (*report)?;
            let age = if offset == OFFSET_UNKNOWN { 0 } else { u64::from(offset) };
            let age = Duration::from_nanos(in_nanos(age, 1_024));
            Some(ReceivedPacket { arrival: generated.saturating_sub(age), ecn })
        };
        Some(FeedbackPacket {
            base: SequenceNumber(base),
            packets: block.reports.iter().map(arrived).collect(),
            generated,
            key_frame_request: false,
        })
    }
}

fn in_nanos(count: u64, hertz: u64) -> i64 {
    i64::try_from(u128::from(count) * 1_000_000_000 / u128::from(hertz)).unwrap_or(i64::MAX)
}
