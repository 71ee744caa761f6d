//! What the sender holds: how much of it is late, and what the window has room for.
//!
//! The law of section 2.1 is about a sender that always has data, so that its window is always full. A video has a
//! frame at a time: with what is known here the next frame is made as large as the window has room for.

use crate::{FrameSent, PacketKind, SentPacket};
use gameway_units::{Bytes, Duration, Instant};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    in_flight: Bytes,
    waiting: Bytes,
    /// What left of a frame that is still being encoded.
    sent_ahead: Bytes,
    /// The newest frame: when it came and its size.
    newest: Option<FrameSent>,
    since: Instant,
    late: Bytes,
}

impl Held {
    /// What waits in the pacer beyond an even spread of the newest frame over the frame interval.
    pub(super) fn late(&self) -> Bytes {
        self.late
    }

    /// What may still be sent of a window when all that waits is sent.
    pub(super) fn lacking(&self, window: Bytes) -> Bytes {
        window.saturating_sub(self.in_flight).saturating_sub(self.waiting)
    }

    pub(super) fn on_frame(&mut self, now: Instant, frame: &FrameSent, interval: Duration) {
        (self.newest, self.since) = (Some(*frame), now);
        let ahead = std::mem::take(&mut self.sent_ahead);
        self.waiting = self.waiting.saturating_add(frame.size.saturating_sub(ahead));
        self.update(now, interval);
    }

    pub(super) fn on_sent(&mut self, now: Instant, packet: &SentPacket, interval: Duration) {
        self.in_flight = self.in_flight.saturating_add(packet.size);
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        if self.newest.is_some_and(|newest| packet.frame > newest.frame) {
            self.sent_ahead = self.sent_ahead.saturating_add(packet.size);
            return;
        }
        self.waiting = self.waiting.saturating_sub(packet.size);
        let newest = self.newest.is_some_and(|newest| newest.frame == packet.frame);
        if newest && packet.last_of_frame {
            self.waiting = Bytes::ZERO;
        }
        self.update(now, interval);
    }

    pub(super) fn on_feedback(&mut self, now: Instant, in_flight: Bytes, interval: Duration) {
        self.in_flight = in_flight;
        self.update(now, interval);
    }

    fn update(&mut self, now: Instant, interval: Duration) {
        let left = (1.0 - now.saturating_since(self.since) / interval).clamp(0.0, 1.0);
        let size = self.newest.map_or(0.0, |frame| frame.size.as_f64());
        self.late = self.waiting.saturating_sub(Bytes::from_f64(size * left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, SequenceNumber};
    use gameway_units::Rate;

    const INTERVAL: Duration = Duration::from_millis(16);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn frame(number: u64, size: u64) -> FrameSent {
        let size = Bytes::new(size);
        FrameSent::new(FrameId(number), Rate::ZERO, size, 16)
    }

    fn packet(frame: u64, size: u64) -> SentPacket {
        SentPacket::new(SequenceNumber(0), Instant::ZERO, FrameId(frame), Bytes::new(size))
    }

    /// Sixteen packets of a frame of 16 kB have one millisecond each before they are late.
    #[test]
    fn late_is_what_waits_beyond_an_even_schedule() {
        let mut held = Held::default();
        held.on_frame(at(0), &frame(0, 16_000), INTERVAL);
        assert_eq!(held.late(), Bytes::ZERO);
        held.on_feedback(at(4), Bytes::ZERO, INTERVAL);
        assert_eq!(held.late(), Bytes::new(4_000));
        held.on_frame(at(16), &frame(1, 8_000), INTERVAL);
        assert_eq!(held.late(), Bytes::new(16_000));
        held.on_feedback(at(60), Bytes::ZERO, INTERVAL);
        assert_eq!(held.late(), Bytes::new(24_000));
    }

    #[test]
    fn a_window_lacks_what_is_neither_on_its_way_nor_waiting() {
        let mut held = Held::default();
        held.on_frame(at(0), &frame(0, 16_000), INTERVAL);
        assert_eq!(held.lacking(Bytes::new(20_000)), Bytes::new(4_000));
        held.on_sent(at(1), &packet(0, 1_000), INTERVAL);
        assert_eq!(held.lacking(Bytes::new(20_000)), Bytes::new(4_000));
        held.on_feedback(at(2), Bytes::ZERO, INTERVAL);
        assert_eq!(held.lacking(Bytes::new(20_000)), Bytes::new(5_000));
        assert_eq!(held.lacking(Bytes::new(10_000)), Bytes::ZERO);
    }

    #[test]
    fn with_the_newest_frames_last_packet_nothing_waits_any_more() {
        let mut held = Held::default();
        held.on_frame(at(0), &frame(0, 16_000), INTERVAL);
        held.on_sent(at(1), &packet(1, 3_000), INTERVAL); // of a frame that is being encoded
        held.on_frame(at(16), &frame(1, 8_000), INTERVAL);
        assert_eq!(held.waiting, Bytes::new(21_000));
        held.on_sent(at(17), &packet(0, 1_000).with_last_of_frame(true), INTERVAL);
        assert_eq!(held.waiting, Bytes::new(20_000));
        held.on_sent(at(18), &packet(1, 1_000).with_last_of_frame(true), INTERVAL);
        assert_eq!(held.waiting, Bytes::ZERO);
    }
}
