//! The numbers of a browser's streams: frames, the probes and padding on the stream for retransmissions, and parity.
//!
//! A browser takes a gap in the numbers of frames for loss, and waits. So what is no part of a frame is numbered apart,
//! where libwebrtc expects padding, too (RFC 4588 section 4: retransmissions have an SSRC and numbers of their own).
//! Transport-wide numbers count all. RFC 8888 reports go by SSRC and RTP number: [`SentStreams`] knows which
//! transport-wide number each has.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | numbers remembered | 32768 | half of the RTP numbers: what is older cannot be told from what is newer |

use super::rfc8888::{CcFeedbackReport, FeedbackReader};
use crate::sdp::Negotiated;
use crate::sequence::unwrap_number;
use gameway_control::SequenceNumber;
use gameway_session::{FeedbackPacket, ReceivedPacket};
use gameway_units::ReceiverInstant;
use std::collections::{BTreeMap, VecDeque};

const REMEMBERED: usize = 32_768;

/// Transport-wide numbers of a stream's newest packets.
#[derive(Debug, Clone, Default)]
struct Stream {
    /// RTP number of the first of them, from zero, not cut to 16 bits.
    first: u64,
    sent: VecDeque<SequenceNumber>,
}

impl Stream {
    fn on_sent(&mut self, sequence: SequenceNumber) -> u16 {
        let number = self.first + self.sent.len() as u64;
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
            self.first += 1;
        }
        self.sent.push_back(sequence);
        number as u16
    }

    fn newest(&self) -> SequenceNumber {
        SequenceNumber((self.first + self.sent.len() as u64).saturating_sub(1))
    }

    /// The RTP number of a packet of this stream.
    fn number(&self, sequence: SequenceNumber) -> Option<u16> {
        let place = self.sent.binary_search(&sequence).ok()?;
        Some((self.first + place as u64) as u16)
    }

    fn transport_wide(&self, number: u64) -> Option<SequenceNumber> {
        self.sent.get(usize::try_from(number.checked_sub(self.first)?).ok()?).copied()
    }
}

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(super) struct SentStreams {
    frames: Stream,
    padding: Stream,
    parity: Stream,
}

/// A stream on which packets leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    /// Frames.
    Frames,
    /// Retransmissions, and a browser's probes and padding.
    Retransmissions,
    /// Parity of frames.
    Parity,
}

impl SentStreams {
    /// A packet leaves on a stream: its RTP number.
    pub(super) fn on_sent(&mut self, stream: Outgoing, sequence: SequenceNumber) -> u16 {
        let stream = match stream {
            Outgoing::Frames => &mut self.frames,
            Outgoing::Retransmissions => &mut self.padding,
            Outgoing::Parity => &mut self.parity,
        };
        stream.on_sent(sequence)
    }

    /// The RTP number that a packet of a frame had.
    pub(super) fn number(&self, sequence: SequenceNumber) -> Option<u16> {
        self.frames.number(sequence)
    }

    /// The packet of a frame that has this RTP number.
    pub(super) fn of_frame(&self, number: u16) -> Option<SequenceNumber> {
        let number = unwrap_number(self.frames.newest().0, u64::from(number), 16);
        self.frames.transport_wide(number)
    }

    /// What a report says of all streams, in transport-wide numbers; `None` if none arrived that was sent.
    pub(super) fn to_session(
        &self,
        packet: &CcFeedbackReport,
        reader: &mut FeedbackReader,
        terms: &Negotiated,
    ) -> Option<FeedbackPacket> {
        let streams = [
            (terms.video_ssrc, &self.frames),
            (terms.rtx_ssrc, &self.padding),
            (terms.parity_ssrc, &self.parity),
        ];
        let (mut told, mut generated) = (BTreeMap::new(), None);
        for (ssrc, stream) in streams {
            let Some(report) = reader.to_session(packet, ssrc, stream.newest()) else { continue };
            generated = Some(report.generated);
            let numbered = (report.base.0..).zip(report.packets);
            told.extend(
                numbered
                    .filter_map(|(number, fate)| Some((stream.transport_wide(number)?.0, fate))),
            );
        }
        in_order(&told, generated?)
    }
}

/// A report on all from the first that is told of to the last that arrived.
fn in_order(
    told: &BTreeMap<u64, Option<ReceivedPacket>>,
    generated: ReceiverInstant,
) -> Option<FeedbackPacket> {
    let (&first, _) = told.first_key_value()?;
    let (&last, _) = told.iter().rev().find(|(_, fate)| fate.is_some())?;
    let from = first.max((last + 1).saturating_sub(FeedbackPacket::MAX_PACKETS as u64));
    Some(FeedbackPacket {
        base: SequenceNumber(from),
        packets: (from..=last).map(|number| told.get(&number).copied().flatten()).collect(),
        generated,
        ..FeedbackPacket::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::rfc8888::{CcFeedbackMetricBlock, CcFeedbackReportBlock, WireEcn};
    use super::*;

    fn stream(is_padding: bool) -> Outgoing {
        if is_padding { Outgoing::Retransmissions } else { Outgoing::Frames }
    }

    fn terms() -> Negotiated {
        Negotiated { video_ssrc: 7, rtx: Some(97), rtx_ssrc: 8, ..Negotiated::default() }
    }

    /// Of each packet whether it arrived, from RTP number `begin` on.
    fn block(media_ssrc: u32, begin_sequence: u16, arrived: &[bool]) -> CcFeedbackReportBlock {
        let metric = |received: &bool| CcFeedbackMetricBlock {
            received: *received,
            ecn: WireEcn::Ect1,
            arrival_time_offset: 4,
        };
        let metric_blocks = arrived.iter().map(metric).collect();
        CcFeedbackReportBlock { media_ssrc, begin_sequence, metric_blocks }
    }

    fn read(
        streams: &SentStreams,
        report_blocks: Vec<CcFeedbackReportBlock>,
    ) -> Option<(u64, Vec<bool>)> {
        let packet = CcFeedbackReport { sender_ssrc: 1, report_blocks, report_timestamp: 65_536 };
        let report = streams.to_session(&packet, &mut FeedbackReader::default(), &terms())?;
        Some((report.base.0, report.packets.iter().map(Option::is_some).collect()))
    }

    #[test]
    fn reports_on_both_streams_are_one_in_transport_wide_numbers() {
        let mut streams = SentStreams::default();
        // Three packets of a frame and two probes, over and over: past both wraps of the RTP numbers.
        let sent: Vec<(bool, u16)> = (0..400_000_u64)
            .map(|it| (it % 5 > 2, streams.on_sent(stream(it % 5 > 2), SequenceNumber(it))))
            .collect();
        assert_eq!((sent[4], sent[5], sent[8]), ((true, 1), (false, 3), (true, 2)));
        let number = |it: usize| sent[it].1;
        let frames = block(7, number(399_990), &[true, false, true, true, true, false]);
        let probes = block(8, number(399_993), &[false, true, true]);
        // 399 991 and 399 993 are lost; 399 997 is not there yet, and nothing is known of 399 999.
        let expected = [true, false, true, false, true, true, true, false, true];
        assert_eq!(
            read(&streams, vec![frames.clone(), probes.clone()]),
            Some((399_990, expected.to_vec()))
        );
        assert_eq!(read(&streams, vec![probes]).unwrap().0, 399_993);
        assert_eq!(read(&streams, vec![block(9, 0, &[true])]), None, "a stream of somebody else");
    }

    #[test]
    fn numbers_that_were_never_sent_are_no_news() {
        let mut streams = SentStreams::default();
        assert_eq!(read(&streams, vec![block(7, 0, &[true])]), None);
        streams.on_sent(Outgoing::Frames, SequenceNumber(0));
        let (base, packets) = read(&streams, vec![block(7, 0, &[true, true, true])]).unwrap();
        assert_eq!((base, packets), (0, vec![true]));
    }
}
