//! When a browser is asked for a report, and on what.
//!
//! By itself a browser reports each 50 to 250 ms. By the second transport-wide extension a packet asks for a report at
//! once, so that a browser reports as our own client does: at each frame's end and at that of its probes, or at the
//! interval that the controller was made for. Each report begins with the news of the one two before, as those of
//! [`gameway_session::FeedbackPacket`] do.

use gameway_control::FeedbackStyle;
use gameway_session::MediaPacket;
use gameway_units::Instant;

/// See the module's head.
#[derive(Debug)]
pub struct ReportRequests {
    style: FeedbackStyle,
    last: Option<Instant>,
    /// One past the newest packet of each of the last three reports asked for, oldest first.
    ends: [u64; 3],
}

impl ReportRequests {
    /// Reports are to come in this style.
    #[must_use]
    pub fn new(style: FeedbackStyle) -> Self {
        Self { style, last: None, ends: [0; 3] }
    }

    /// A packet leaves: on how many packets, it included, the receiver is to report when it arrives; `None` for no report.
    pub fn on_packet(&mut self, now: Instant, packet: &MediaPacket) -> Option<u16> {
        let due = match self.style {
            FeedbackStyle::PerFrame => packet.is_last_of_frame() || packet.last_probe,
            FeedbackStyle::Interval(interval) => {
                self.last.is_none_or(|last| now >= last.saturating_add(interval))
            }
        };
        if !due {
            return None;
        }
        let end = packet.sequence.0 + 1;
        let [first, second, third] = self.ends;
        (self.last, self.ends) = (Some(now), [second, third, end]);
        Some(u16::try_from(end.saturating_sub(first)).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_control::{FrameId, PacketKind, SequenceNumber};
    use gameway_units::Duration;

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
            kind: if number % 5 < 3 { PacketKind::Media } else { PacketKind::Probe },
            key_frame: false,
            last_probe: number % 5 == 4,
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
}
