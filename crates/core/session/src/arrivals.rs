//! What the receiver remembers of arrivals until they are reported, and when a report is due.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | report delay | 10 ms | at most so long after the oldest unreported arrival (per-frame style): less than a frame interval, so that a lost last packet does not silence a frame |
//! | overlap | 2 reports | two lost in a row do no harm, and packets late by a frame are still told of; 2 B each |
//! | range | 16384 packets | RFC 8888 section 3.1; 3 s at 50 Mb/s |
//! | jump | 2^20 packets | 4 min at 50 Mb/s; a number further ahead is not believed |

use crate::feedback::{FeedbackPacket, ReceivedPacket};
use gameway_control::{FeedbackStyle, SequenceNumber};
use gameway_units::{Duration, ReceiverInstant};
use std::collections::VecDeque;

/// How many earlier reports' news are told again.
const OVERLAP: usize = 2;
const REPORT_DELAY: Duration = Duration::from_millis(10);
const MAX_JUMP: u64 = 1 << 20;

/// Arrivals by transport-wide number, and the schedule of reports.
#[derive(Debug)]
pub(crate) struct ArrivalLog {
    style: FeedbackStyle,
    /// The number in the first slot: where the next report begins.
    base: u64,
    slots: VecDeque<Option<ReceivedPacket>>,
    /// Where the news of the latest reports, oldest first, and of the next one begins.
    news_from: [u64; OVERLAP + 1],
    /// When the oldest arrival came that no report has told of.
    oldest_unreported: Option<ReceiverInstant>,
    /// A frame or its probes have ended since the last report.
    frame_ended: bool,
    last_report: Option<ReceiverInstant>,
}

impl ArrivalLog {
    pub(crate) fn new(style: FeedbackStyle) -> Self {
        Self {
            style,
            base: 0,
            slots: VecDeque::new(),
            news_from: [0; OVERLAP + 1],
            oldest_unreported: None,
            frame_ended: false,
            last_report: None,
        }
    }

    pub(crate) fn report_as(&mut self, style: FeedbackStyle) {
        self.style = style;
    }

    /// Notes an arrival; `ends_frame` tells that the frame's last packet or last probe is this one.
    pub(crate) fn on_packet(
        &mut self,
        sequence: SequenceNumber,
        received: ReceivedPacket,
        ends_frame: bool,
    ) {
        let end = self.base + self.slots.len() as u64;
        let number = sequence.0;
        if number < self.base || number.saturating_sub(end) > MAX_JUMP || number == u64::MAX {
            return;
        }
        if number >= end {
            self.extend_to(number);
        }
        let slot = &mut self.slots[(number - self.base) as usize];
        if slot.is_some() {
            return;
        }
        *slot = Some(received);
        self.oldest_unreported.get_or_insert(received.arrival);
        self.frame_ended |= ends_frame;
    }

    /// When a report is due for what arrived.
    pub(crate) fn report_due(&self) -> Option<ReceiverInstant> {
        let oldest = self.oldest_unreported?;
        Some(match self.style {
            FeedbackStyle::PerFrame if self.frame_ended => oldest,
            FeedbackStyle::PerFrame => oldest.saturating_add(REPORT_DELAY),
            FeedbackStyle::Interval(interval) => {
                self.last_report.map_or(oldest, |last| last.saturating_add(interval).max(oldest))
            }
        })
    }

    /// Fills in a report about everything since the news of the reports that it overlaps.
    pub(crate) fn report(&mut self, now: ReceiverInstant, report: &mut FeedbackPacket) {
        report.base = SequenceNumber(self.base);
        report.packets.clear();
        let (older, newer) = self.slots.as_slices();
        report.packets.extend_from_slice(older);
        report.packets.extend_from_slice(newer);
        report.generated = now;
        let end = self.base + self.slots.len() as u64;
        self.news_from.rotate_left(1);
        self.news_from[OVERLAP] = end;
        self.slots.drain(..(self.news_from[0] - self.base) as usize);
        self.base = self.news_from[0];
        self.oldest_unreported = None;
        self.frame_ended = false;
        self.last_report = Some(now);
    }

    /// Makes `number` the newest slot and lets go of what one report cannot cover.
    fn extend_to(&mut self, number: u64) {
        let keep_from = (number + 1).saturating_sub(FeedbackPacket::MAX_PACKETS as u64);
        if keep_from > self.base {
            let gone = (keep_from - self.base).min(self.slots.len() as u64);
            self.slots.drain(..gone as usize);
            self.base = keep_from;
            self.news_from = self.news_from.map(|from| from.max(keep_from));
        }
        self.slots.resize((number + 1 - self.base) as usize, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::Ecn;

    const RANGE: u64 = FeedbackPacket::MAX_PACKETS as u64;

    fn at(millis: i64) -> ReceiverInstant {
        ReceiverInstant::ZERO + Duration::from_millis(millis)
    }

    fn arrive(log: &mut ArrivalLog, number: u64) {
        let received = ReceivedPacket { arrival: at(0), ecn: Ecn::NotEct };
        log.on_packet(SequenceNumber(number), received, false);
    }

    /// Where the next report begins, where it ends, and how many packets it tells of as received.
    fn report(log: &mut ArrivalLog) -> (u64, u64, usize) {
        let mut report = FeedbackPacket::default();
        log.report(at(1), &mut report);
        let end = report.base.0 + report.packets.len() as u64;
        (report.base.0, end, report.packets.iter().flatten().count())
    }

    /// Three reports about packets before 1000, so that nothing of them is told again.
    fn with_thousand_reported() -> ArrivalLog {
        let mut log = ArrivalLog::new(FeedbackStyle::PerFrame);
        (0..1_000).for_each(|number| arrive(&mut log, number));
        (0..3).for_each(|_| assert_eq!(report(&mut log), (0, 1_000, 1_000)));
        log
    }

    #[test]
    fn news_are_told_in_three_reports() {
        let mut log = with_thousand_reported();
        for (number, base) in [(1_000, 1_000), (1_001, 1_000), (1_002, 1_000), (1_003, 1_001)] {
            arrive(&mut log, number);
            assert_eq!(report(&mut log), (base, number + 1, (number + 1 - base) as usize));
        }
    }

    #[test]
    fn a_report_covers_the_newest_16384_packets_and_no_more() {
        for (more, begin) in [(0, 1_000), (1, 1_001), (500, 1_500)] {
            let mut log = with_thousand_reported();
            let end = 1_000 + RANGE + more;
            (1_000..end).for_each(|number| arrive(&mut log, number));
            assert_eq!(report(&mut log), (begin, end, RANGE as usize));
            // What fell out of the range is not told later, and what did not is.
            arrive(&mut log, begin - 1);
            assert_eq!(report(&mut log), (begin, end, RANGE as usize));
        }
    }

    #[test]
    fn after_a_gap_longer_than_its_range_a_report_has_nothing_from_before() {
        let mut log = with_thousand_reported();
        arrive(&mut log, 1_000);
        arrive(&mut log, 50_000);
        assert_eq!(report(&mut log), (50_001 - RANGE, 50_001, 1));
        // One that is shorter keeps what fits.
        let mut log = with_thousand_reported();
        (1_000..1_010).for_each(|number| arrive(&mut log, number));
        arrive(&mut log, 1_004 + RANGE);
        assert_eq!(report(&mut log), (1_005, 1_005 + RANGE, 6));
    }

    #[test]
    fn a_number_further_ahead_than_a_million_is_not_believed() {
        let ahead = |jump: u64| {
            let mut log = with_thousand_reported();
            arrive(&mut log, 1_000 + jump);
            report(&mut log).1
        };
        assert_eq!(ahead(1 << 20), 1_000 + (1 << 20) + 1);
        assert_eq!(ahead((1 << 20) + 1), 1_000);
        assert_eq!(ahead(u64::MAX - 1_000), 1_000);
    }

    #[test]
    fn a_change_of_style_counts_at_once() {
        let mut log = with_thousand_reported();
        arrive(&mut log, 1_000);
        assert_eq!(log.report_due(), Some(at(10)));
        // The last report was at 1 ms.
        log.report_as(FeedbackStyle::Interval(Duration::from_millis(50)));
        assert_eq!(log.report_due(), Some(at(51)));
        log.report_as(FeedbackStyle::PerFrame);
        assert_eq!(log.report_due(), Some(at(10)));
    }
}
