//! When a browser is asked for a report, and on what.
//!
//! By itself a browser reports each 50 to 250 ms. By the second transport-wide extension a packet asks for a report at
//! once, so that a browser reports as our own client does: at each frame's end and at that of its probes, or at the
//! interval that the controller was made for. A congestion window can close before such a packet leaves, or by a report
//! after one: then nothing would ask any more. So a sender that the window blocks asks with a packet of padding.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | report delay | 10 ms | per-frame style: as our own client reports of a frame whose end does not come |
//! | retry | 250 ms | a request that is lost is made again after as long as a browser takes at most between reports that it makes by itself |
//!
//! Each report begins with the news of the one two before, as those of
//! [`gameway_session::FeedbackPacket`] do.

use gameway_control::{FeedbackStyle, PacketKind};
use gameway_session::MediaPacket;
use gameway_units::{Duration, Instant};

const REPORT_DELAY: Duration = Duration::from_millis(10);
const RETRY: Duration = Duration::from_millis(250);

/// See the module's head.
#[derive(Debug)]
pub struct ReportRequests {
    style: FeedbackStyle,
    last: Option<Instant>,
    /// When the first packet after that left.
    unasked_since: Option<Instant>,
    /// One past the newest packet of each of the last three reports asked for, oldest first.
    ends: [u64; 3],
}

impl ReportRequests {
    /// Reports are to come in this style.
    #[must_use]
    pub fn new(style: FeedbackStyle) -> Self {
        Self { style, last: None, unasked_since: None, ends: [0; 3] }
    }

    /// A packet leaves: on how many packets, it included, the receiver is to report when it arrives; `None` for no report.
    pub fn on_packet(&mut self, now: Instant, packet: &MediaPacket) -> Option<u16> {
        let due = match self.style {
            FeedbackStyle::PerFrame => {
                packet.is_last_of_frame() || packet.last_probe || packet.kind == PacketKind::Padding
            }
            FeedbackStyle::Interval(interval) => {
                self.last.is_none_or(|last| now >= last.saturating_add(interval))
            }
        };
        if !due {
            self.unasked_since.get_or_insert(now);
            return None;
        }
        self.unasked_since = None;
        let end = packet.sequence.0 + 1;
        let [first, second, third] = self.ends;
        (self.last, self.ends) = (Some(now), [second, third, end]);
        Some(u16::try_from(end.saturating_sub(first)).unwrap_or(u16::MAX))
    }

    /// When a sender that the window blocks is to ask; `None` before its first packet.
    #[must_use]
    pub fn due_when_blocked(&self) -> Option<Instant> {
        let Some(since) = self.unasked_since else {
            return self.last.map(|last| last.saturating_add(RETRY));
        };
        Some(match self.style {
            FeedbackStyle::PerFrame => since.saturating_add(REPORT_DELAY),
            FeedbackStyle::Interval(interval) => {
                self.last.map_or(since, |last| last.saturating_add(interval).max(since))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_control::{FrameId, SequenceNumber};

    /// Frames of three packets and two probes, a packet each millisecond: what is asked for with which packet.
    fn asked(style: FeedbackStyle) -> Vec<(u64, u16)> {
        let mut requests = ReportRequests::new(style);
        let packet = |number: u64| MediaPacket {
            sequence: SequenceNumber(number),
            frame: FrameId(number / 5),
            index: (number % 5) as u16,
            media_packets: if number % 5 < 3 { 3 } else { 0 },
            train_packets: if number % 5 < 3 { 3 } else { 0 },
            payload: 1_000,
            header: 64,
            last_probe: number % 5 == 4,
            ..media_packet::packet(if number % 5 < 3 {
                PacketKind::Media
            } else {
                PacketKind::Probe
            })
        };
        let now = |number: u64| Instant::ZERO + Duration::from_millis(number as i64);
        (0..20).filter_map(|it| Some((it, requests.on_packet(now(it), &packet(it))?))).collect()
    }

    #[test]
    fn a_report_is_asked_for_at_the_end_of_a_frame_and_of_its_probes() {
        let expected = [(2, 3), (4, 5), (7, 8), (9, 7), (12, 8), (14, 7), (17, 8), (19, 7)];
        assert_eq!(asked(FeedbackStyle::PerFrame), expected);
    }

    #[test]
    fn or_at_an_interval() {
        let style = FeedbackStyle::Interval(Duration::from_millis(6));
        assert_eq!(asked(style), [(0, 1), (6, 7), (12, 13), (18, 18)]);
    }

    #[test]
    fn a_blocked_sender_asks_after_the_interval_and_again_if_nothing_comes() {
        let at = |ms: i64| Instant::ZERO + Duration::from_millis(ms);
        let packet = |number, kind| MediaPacket {
            sequence: SequenceNumber(number),
            index: number as u16,
            media_packets: 9,
            train_packets: 9,
            payload: 1_000,
            header: 64,
            ..media_packet::packet(kind)
        };
        let interval = FeedbackStyle::Interval(Duration::from_millis(6));
        for (style, first, due) in [(FeedbackStyle::PerFrame, None, 11), (interval, Some(1), 7)] {
            let mut requests = ReportRequests::new(style);
            assert_eq!(requests.due_when_blocked(), None);
            assert_eq!(requests.on_packet(at(1), &packet(0, PacketKind::Media)), first);
            assert_eq!(requests.on_packet(at(1), &packet(1, PacketKind::Media)), None);
            assert_eq!(requests.due_when_blocked(), Some(at(due)));
            let asking = requests.on_packet(at(due), &packet(2, PacketKind::Padding));
            assert_eq!(asking, Some(3));
            assert_eq!(requests.due_when_blocked(), Some(at(due + 250)));
        }
    }
}
