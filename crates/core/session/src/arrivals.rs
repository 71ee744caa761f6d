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
