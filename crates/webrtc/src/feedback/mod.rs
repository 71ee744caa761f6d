//! Reports of receivers, as the wire has them and as the session wants them.
//!
//! [`write_report`] and [`ReportReader`] are the two ends that drivers use; the modules are the formats.

pub mod arrival_times;
pub mod frames;
pub mod rfc8888;
pub mod twcc;

use crate::error::WebrtcError;
use crate::rtcp::{self, RtcpPacket};
use crate::sdp::Negotiated;
use arrival_times::ArrivalTimes;
use gameway_control::SequenceNumber;
use gameway_session::FeedbackPacket;
use rfc8888::{CongestionFeedback, FeedbackReader};
use twcc::{TransportFeedback, TransportFeedbackReader};

/// Bytes of RTCP in one datagram: with IP, UDP and SRTCP below 1280, which each path carries.
const DATAGRAM: usize = 1_150;
/// Packets of the first attempt to fill a datagram; one report of a frame or three fits.
const ATTEMPT: usize = 480;

/// The receiver's report as RTCP, for [`crate::Peer::send_rtcp`]: one compound packet as a rule, more after a
/// long gap or where reports are rare. A key frame request is with the newest packets: it counts for what they tell of.
///
/// # Errors
/// Never for a report that the session made; a report on more than 16384 packets is refused.
pub fn write_report(
    feedback: &FeedbackPacket,
    sender_ssrc: u32,
    terms: &Negotiated,
) -> Result<Vec<Vec<u8>>, WebrtcError> {
    let mut compounds = Vec::new();
    let all = feedback.packets.len();
    let request = |end: usize| feedback.key_frame_request && end == all;
    let mut from = 0;
    while from < all || compounds.is_empty() && request(from) {
        let mut count = ATTEMPT.min(all - from);
        let mut compound = Vec::new();
        loop {
            let part = part(feedback, from, count);
            compound.clear();
            if request(from + count) {
                let pli = rtcp::picture_loss_indication(sender_ssrc, terms.video_ssrc);
                compound.extend(pli);
            }
            if !part.packets.is_empty() {
                let packet = rfc8888::from_session(&part, sender_ssrc, terms.video_ssrc);
                packet.write(&mut compound)?;
                if terms.arrival_times {
                    ArrivalTimes::of(&part, terms.video_ssrc).write(&mut compound);
                }
            }
            if compound.len() <= DATAGRAM || count <= 1 {
                break;
            }
            count /= 2;
        }
        from += count;
        if !compound.is_empty() {
            compounds.push(compound);
        }
    }
    Ok(compounds)
}

/// `count` packets of a report, from `from` on.
fn part(feedback: &FeedbackPacket, from: usize, count: usize) -> FeedbackPacket {
    FeedbackPacket {
        base: SequenceNumber(feedback.base.0 + from as u64),
        packets: feedback.packets[from..from + count].to_vec(),
        generated: feedback.generated,
        key_frame_request: false,
    }
}

/// Reads the reports of a receiver, on the sender's side, whatever was agreed on.
#[derive(Debug, Clone, Default)]
pub struct ReportReader {
    rfc8888: FeedbackReader,
    transport: TransportFeedbackReader,
    /// Packets of feedback that could not be read.
    malformed: u64,
}

impl ReportReader {
    /// The reports in a compound packet; `newest_sent` is the transport-wide number of the newest packet sent. A key
    /// frame request without a report comes as a report on no packets.
    pub fn read(
        &mut self,
        compound: &[u8],
        terms: &Negotiated,
        newest_sent: SequenceNumber,
    ) -> Vec<FeedbackPacket> {
        let mut reports: Vec<FeedbackPacket> = Vec::new();
        let mut key_frame = false;
        for packet in rtcp::packets(compound) {
            key_frame |= rtcp::asks_for_key_frame(&packet, terms.video_ssrc);
            if let Err(_malformed) = self.take(&packet, terms, newest_sent, &mut reports) {
                self.malformed += 1;
            }
        }
        if key_frame && reports.is_empty() {
            reports.push(FeedbackPacket::default());
        }
        if let Some(newest) = reports.last_mut() {
            newest.key_frame_request = key_frame;
        }
        reports
    }

    /// How many packets of feedback could not be read.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    fn take(
        &mut self,
        packet: &RtcpPacket<'_>,
        terms: &Negotiated,
        newest_sent: SequenceNumber,
        reports: &mut Vec<FeedbackPacket>,
    ) -> Result<(), WebrtcError> {
        match (packet.packet_type, packet.format) {
            (rtcp::TRANSPORT_FEEDBACK, rfc8888::FORMAT) if terms.congestion_control => {
                let parsed = CongestionFeedback::parse(packet.bytes)?;
                reports.extend(self.rfc8888.to_session(&parsed, terms.video_ssrc, newest_sent));
            }
            (rtcp::TRANSPORT_FEEDBACK, twcc::FORMAT) if terms.transport_cc => {
                let parsed = TransportFeedback::parse(packet.bytes)?;
                reports.push(self.transport.to_session(&parsed, newest_sent));
            }
            (rtcp::APPLICATION, 0) if terms.arrival_times => {
                let times = ArrivalTimes::parse(packet.bytes)?;
                if let Some(report) = reports.last_mut().filter(|_| times.ssrc == terms.video_ssrc)
                {
                    times.refine(report);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
