//! Congestion control feedback (RFC 8888): of each packet in a range, whether it arrived, its ECN field, and
//! when, in 1/1024 s before the report.
//!
//! rtc-rtcp reads and writes the packet.
//!
//! The timestamp has the unit of the middle 32 bits of an NTP time, 1/65536 s; we count it from the
//! receiver's own zero, as the RFC asks only for "the same clock" as sender reports, of which there are none.
//!
//! | deviation from RFC 8888 | why |
//! |---|---|
//! | at most [`MAX_REPORTS`] packets are written for a stream | the limit of section 3.1; a datagram's size comes first and is the caller's |

use crate::sequence::unwrap_number;
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::{Duration, Ecn, ReceiverInstant};
pub use rtc_rtcp::transport_feedbacks::cc_feedback_report::{
    CcFeedbackMetricBlock, CcFeedbackReport, CcFeedbackReportBlock, Ecn as WireEcn,
};

/// CCFB.
pub const FORMAT: u8 = 11;
/// Section 3.1: a range has at most so many packets.
pub const MAX_REPORTS: usize = 16_384;
/// Offset of an arrival that is 8189/1024 s old or older.
const OFFSET_OVER: u16 = 0x1FFE;
/// Offset of an arrival whose time is unknown or after the report.
const OFFSET_UNKNOWN: u16 = 0x1FFF;

const fn to_wire(ecn: Ecn) -> WireEcn {
    match ecn {
        Ecn::NotEct => WireEcn::NotEct,
        Ecn::Ect0 => WireEcn::Ect0,
        Ecn::Ect1 => WireEcn::Ect1,
        Ecn::Ce => WireEcn::Ce,
    }
}

const fn from_wire(ecn: WireEcn) -> Ecn {
    match ecn {
        WireEcn::NotEct => Ecn::NotEct,
        WireEcn::Ect0 => Ecn::Ect0,
        WireEcn::Ect1 => Ecn::Ect1,
        WireEcn::Ce => Ecn::Ce,
    }
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
pub fn from_session(feedback: &FeedbackPacket, sender_ssrc: u32, ssrc: u32) -> CcFeedbackReport {
    let kept = feedback.packets.len().min(MAX_REPORTS);
    let skipped = feedback.packets.len() - kept;
    let metric = |packet: &Option<ReceivedPacket>| {
        let Some(ReceivedPacket { arrival, ecn }) = *packet else {
            return CcFeedbackMetricBlock::default();
        };
        let age = feedback.generated.saturating_since(arrival);
        let arrival_time_offset = match units(age, 1_024) {
            negative if negative < 0 => OFFSET_UNKNOWN,
            over if over >= i64::from(OFFSET_OVER) => OFFSET_OVER,
            offset => offset as u16,
        };
        CcFeedbackMetricBlock { received: true, ecn: to_wire(ecn), arrival_time_offset }
    };
    let block = CcFeedbackReportBlock {
        media_ssrc: ssrc,
        begin_sequence: (feedback.base.0 + skipped as u64) as u16,
        metric_blocks: feedback.packets[skipped..].iter().map(metric).collect(),
    };
    CcFeedbackReport {
        sender_ssrc,
        report_blocks: vec![block],
        report_timestamp: timestamp(feedback.generated),
    }
}

/// Makes session feedback of reports, on the sender's side: numbers and times are continued.
#[derive(Debug, Clone, Default)]
pub struct FeedbackReader {
    newest_timestamp: u64,
}

impl FeedbackReader {
    /// The report on stream `ssrc`; `newest_sent` is the transport-wide number of the newest packet sent.
    /// Arrival times are the report's, to 1/1024 s. `None` if the stream is not reported on, or on more packets than
    /// [`MAX_REPORTS`].
    #[must_use]
    pub fn to_session(
        &mut self,
        packet: &CcFeedbackReport,
        ssrc: u32,
        newest_sent: SequenceNumber,
    ) -> Option<FeedbackPacket> {
        let mut blocks = packet.report_blocks.iter();
        let block = blocks.find(|block| block.media_ssrc == ssrc)?;
        if block.metric_blocks.len() > MAX_REPORTS {
            return None;
        }
        let time = unwrap_number(self.newest_timestamp, u64::from(packet.report_timestamp), 32);
        self.newest_timestamp = self.newest_timestamp.max(time);
        let generated = ReceiverInstant::from_nanos(in_nanos(time, 65_536));
        let base = unwrap_number(newest_sent.0, u64::from(block.begin_sequence), 16);
        let arrived = |metric: &CcFeedbackMetricBlock| {
            let offset = metric.arrival_time_offset;
            let age = if offset == OFFSET_UNKNOWN { 0 } else { u64::from(offset) };
            let arrival = generated.saturating_sub(Duration::from_nanos(in_nanos(age, 1_024)));
            let packet = ReceivedPacket { arrival, ecn: from_wire(metric.ecn) };
            metric.received.then_some(packet)
        };
        Some(FeedbackPacket {
            base: SequenceNumber(base),
            packets: block.metric_blocks.iter().map(arrived).collect(),
            generated,
            ..FeedbackPacket::default()
        })
    }
}

fn in_nanos(count: u64, hertz: u64) -> i64 {
    i64::try_from(u128::from(count) * 1_000_000_000 / u128::from(hertz)).unwrap_or(i64::MAX)
}
