//! Reports of receivers, as the wire has them and as the session wants them.
//!
//! [`write_report`] and [`ReportReader`] are the two ends that drivers use; the modules are the formats.

pub mod arrival_times;
pub mod frames;
mod nack;
pub mod rfc8888;
mod shown;
mod streams;
pub mod twcc;

use crate::error::WebrtcError;
use crate::rtcp::{self, RtcpPacket};
use crate::sdp::Negotiated;
use crate::sequence::unwrap_number;
use arrival_times::{ArrivalTimes, LAST, MORE};
use gameway_control::SequenceNumber;
use gameway_session::FeedbackPacket;
use rfc8888::{CcFeedbackReport, FeedbackReader};
use rtc_rtcp::payload_feedbacks::picture_loss_indication::PictureLossIndication;
pub use streams::Outgoing;
use streams::SentStreams;
use twcc::{TransportFeedback, TransportFeedbackReader};

/// Bytes of RTCP in one datagram: with IP, UDP and SRTCP below 1280, which each path carries.
const DATAGRAM: usize = 1_130;
/// Packets of the first attempt to fill a datagram; one report of a frame or three fits.
const ATTEMPT: usize = 480;

/// The receiver's report as RTCP, for [`crate::Peer::send_rtcp`]: one compound packet as a rule, more after a
/// long gap or where reports are rare; each says then whether it is the last, if arrival times were agreed on. A key
/// frame request is with the newest packets: it counts for what they tell of. What the receiver has shown is in the last.
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
                let media_ssrc = terms.video_ssrc;
                rtcp::write(&PictureLossIndication { sender_ssrc, media_ssrc }, &mut compound)?;
            }
            if !part.packets.is_empty() {
                let packet = rfc8888::from_session(&part, sender_ssrc, terms.video_ssrc);
                rtcp::write(&packet, &mut compound)?;
                if terms.arrival_times {
                    let more = from + count < all;
                    ArrivalTimes::of(&part, terms.video_ssrc, more).write(&mut compound);
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
    let ssrcs = [sender_ssrc, terms.video_ssrc];
    nack::write(&feedback.asked, ssrcs, &mut compounds)?;
    if let (Some(frame), Some(last)) = (feedback.newest_shown, compounds.last_mut()) {
        shown::write(frame, ssrcs, terms.video.unwrap_or_default(), last);
    }
    Ok(compounds)
}

/// `count` packets of a report, from `from` on.
fn part(feedback: &FeedbackPacket, from: usize, count: usize) -> FeedbackPacket {
    FeedbackPacket {
        base: SequenceNumber(feedback.base.0 + from as u64),
        packets: feedback.packets[from..from + count].to_vec(),
        generated: feedback.generated,
        ..FeedbackPacket::default()
    }
}

/// Reads the reports of a receiver, on the sender's side, whatever was agreed on.
#[derive(Debug, Clone, Default)]
pub struct ReportReader {
    rfc8888: FeedbackReader,
    transport: TransportFeedbackReader,
    /// Of a receiver that has padding on a stream of its own.
    streams: SentStreams,
    /// What came of a report of which more is to come.
    begun: Option<FeedbackPacket>,
    /// Packets of feedback that could not be read.
    malformed: u64,
}

impl ReportReader {
    /// The reports in a compound packet; `newest_sent` is the transport-wide number of the newest packet sent. A key
    /// frame request without a report comes as a report on no packets; what is asked for comes as a
    /// message of its own, the last. Reports behind one that cannot be read are not read.
    /// A report that says that it goes on in the next
    /// datagram comes when all of it is there, or what there is of it with the report after.
    pub fn read(
        &mut self,
        compound: &[u8],
        terms: &Negotiated,
        newest_sent: SequenceNumber,
    ) -> Vec<FeedbackPacket> {
        let mut reports: Vec<FeedbackPacket> = Vec::new();
        let (mut key_frame, mut more) = (false, false);
        let mut is_malformed = false;
        for packet in rtcp::packets(compound) {
            key_frame |= rtcp::asks_for_key_frame(&packet, terms.video_ssrc);
            // rtc-rtcp needs 0.1 ms and 1 MB to refuse 36 bytes that lie about their counts: once in a datagram.
            if is_malformed {
                continue;
            }
            match self.take(&packet, terms, newest_sent, &mut reports) {
                Ok(goes_on) => more |= goes_on,
                Err(_malformed) => (is_malformed, self.malformed) = (true, self.malformed + 1),
            }
        }
        self.join(&mut reports);
        let asked = self.take_asked(compound, terms, newest_sent);
        if more {
            self.begun = reports.pop();
        }
        if key_frame && reports.is_empty() {
            reports.push(FeedbackPacket::default());
        }
        let newest_shown =
            rtcp::packets(compound).find_map(|packet| shown::read(&packet, terms.video_ssrc));
        if let Some(newest) = reports.last_mut() {
            newest.key_frame_request = key_frame;
            newest.newest_shown = newest_shown.filter(|_| key_frame);
        }
        if !asked.is_empty() {
            reports.push(FeedbackPacket { asked, newest_shown, ..FeedbackPacket::default() });
        }
        reports
    }

    /// A packet leaves: its RTP number. Of a browser that has a stream of retransmissions, that of frames and that stream
    /// each count by themselves; else it is the low 16 bits of the transport-wide number, but on a stream of retransmissions.
    pub fn number(
        &mut self,
        terms: &Negotiated,
        stream: Outgoing,
        sequence: SequenceNumber,
    ) -> u16 {
        if stream != Outgoing::Frames || has_own_numbers(terms) {
            self.streams.on_sent(stream, sequence)
        } else {
            sequence.0 as u16
        }
    }

    /// The RTP number that a packet of a frame had when it left; `None` if that is long ago.
    #[must_use]
    pub fn original_number(&self, terms: &Negotiated, sequence: SequenceNumber) -> Option<u16> {
        if has_own_numbers(terms) { self.streams.number(sequence) } else { Some(sequence.0 as u16) }
    }

    /// The packets that a compound asks for, by transport-wide number.
    fn take_asked(
        &mut self,
        compound: &[u8],
        terms: &Negotiated,
        newest_sent: SequenceNumber,
    ) -> Vec<SequenceNumber> {
        let whole = |number: u16| match has_own_numbers(terms) {
            true => self.streams.of_frame(number),
            false => Some(SequenceNumber(unwrap_number(newest_sent.0, u64::from(number), 16))),
        };
        let numbers = rtcp::packets(compound)
            .filter(|_| terms.nack)
            .flat_map(|packet| nack::read(&packet, terms.video_ssrc));
        numbers.filter_map(whole).take(FeedbackPacket::MAX_ASKED).collect()
    }

    /// How many packets of feedback could not be read.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Puts what has begun before the reports that came, as one with the first if that goes on with it.
    fn join(&mut self, reports: &mut Vec<FeedbackPacket>) {
        let Some(first) = reports.first_mut() else { return };
        let Some(mut begun) = self.begun.take() else { return };
        let goes_on = begun.base.0.saturating_add(begun.packets.len() as u64) == first.base.0
            && begun.generated == first.generated
            && begun.packets.len() + first.packets.len() <= FeedbackPacket::MAX_PACKETS;
        if goes_on {
            first.base = begun.base;
            begun.packets.append(&mut first.packets);
            first.packets = begun.packets;
        } else {
            reports.insert(0, begun);
        }
    }

    /// Adds a packet's report to `reports`; whether it goes on in the next datagram.
    fn take(
        &mut self,
        packet: &RtcpPacket<'_>,
        terms: &Negotiated,
        newest_sent: SequenceNumber,
        reports: &mut Vec<FeedbackPacket>,
    ) -> Result<bool, WebrtcError> {
        let mut more = false;
        match (packet.packet_type, packet.format) {
            (rtcp::TRANSPORT_FEEDBACK, rfc8888::FORMAT) if terms.congestion_control => {
                let parsed: CcFeedbackReport = packet.read()?;
                reports.extend(match has_own_numbers(terms) {
                    true => self.streams.to_session(&parsed, &mut self.rfc8888, terms),
                    false => self.rfc8888.to_session(&parsed, terms.video_ssrc, newest_sent),
                });
            }
            (rtcp::TRANSPORT_FEEDBACK, twcc::FORMAT) if terms.transport_cc => {
                let parsed = TransportFeedback::parse(packet)?;
                reports.push(self.transport.to_session(&parsed, newest_sent));
            }
            (rtcp::APPLICATION, LAST | MORE) if terms.arrival_times => {
                let times = ArrivalTimes::parse(packet.bytes())?;
                if let Some(report) = reports.last_mut().filter(|_| times.ssrc == terms.video_ssrc)
                {
                    times.refine(report);
                    more = times.more;
                }
            }
            _ => {}
        }
        Ok(more)
    }
}

/// Whether the frames' RTP numbers count by themselves: those of a browser that has a stream of retransmissions.
fn has_own_numbers(terms: &Negotiated) -> bool {
    terms.rtx.is_some() && !terms.is_native()
}
