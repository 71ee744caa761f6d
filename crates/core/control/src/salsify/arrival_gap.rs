//! The receiver's mean gap between packets, as Salsify keeps it, here from the arrival times of reports.
//!
//! Source: Fouladi et al., Salsify, NSDI 2018, section 3.2; the weight is alfalfa's.

use crate::SentPacket;
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};

/// What a packet is taken for: 1200 B of payload and 48 B of headers.
pub(super) const PACKET: Bytes = Bytes::new(1_248);
const WEIGHT: f64 = 0.1;
/// Packets leave this many times closer than they arrive, so that the gap is the link's.
const GAPS_PER_SPACE: f64 = 5.0;
/// But no further apart than this.
const MAX_SPACE: f64 = 2e-3;
/// A gap of zero would be a link of infinite rate.
const MIN_SECS: f64 = 1e-6;
/// Nothing longer says more about a link than that it stands still.
const MAX_SECS: f64 = 10.0;

/// Moving average of the time from packet to packet, without the sender's own pauses between frames.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalGap {
    secs: f64,
    /// When the newest packet arrived, when it was sent, and its frame.
    last: Option<(ReceiverInstant, Instant, u64)>,
}

impl ArrivalGap {
    /// Before anything is known: what a link of this rate would show.
    pub(crate) fn of_rate(rate: Rate) -> Self {
        Self::new(rate.time_for(PACKET))
    }

    pub(super) fn new(initial: Duration) -> Self {
        Self { secs: initial.as_secs_f64().clamp(MIN_SECS, MAX_SECS), last: None }
    }

    pub(crate) fn on_packet(&mut self, packet: &SentPacket, arrival: ReceiverInstant) {
        let frame = packet.frame.0;
        let Some((last_arrival, last_sent, last_frame)) = self.last else {
            self.last = Some((arrival, packet.sent, frame));
            return;
        };
        let paused = if frame > last_frame {
            packet.sent.saturating_since(last_sent).max(Duration::ZERO)
        } else {
            Duration::ZERO
        };
        let gap = arrival.saturating_since(last_arrival).saturating_sub(paused);
        let gap = gap.as_secs_f64().clamp(0.0, MAX_SECS);
        self.secs = (self.secs + WEIGHT * (gap - self.secs)).max(MIN_SECS);
        self.last = Some((arrival.max(last_arrival), packet.sent, frame.max(last_frame)));
    }

    pub(super) fn secs(&self) -> f64 {
        self.secs
    }

    /// What a link with this gap carries.
    pub(crate) fn capacity(&self) -> Rate {
        Rate::from_bps_f64(PACKET.as_f64() * 8.0 / self.secs)
    }

    /// How fast packets leave.
    pub(crate) fn pacing_rate(&self) -> Rate {
        let space = (self.secs / GAPS_PER_SPACE).min(MAX_SPACE);
        Rate::from_bps_f64(PACKET.as_f64() * 8.0 / space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, SequenceNumber};

    /// Packets sent in frames of `count` with a pause of 9 ms between; each arrives 10 ms after it was
    /// sent plus what is given by its place in the frame.
    fn feed(frames: u64, count: u64, late: impl Fn(u64) -> i64, spacing: i64) -> f64 {
        let mut gap = ArrivalGap::new(Duration::from_millis(2));
        let mut sent = Instant::ZERO;
        for frame in 0..frames {
            for place in 0..count {
                sent += if place == 0 {
                    Duration::from_millis(9)
                } else {
                    Duration::from_micros(spacing)
                };
                let packet =
                    SentPacket::new(SequenceNumber(0), sent, FrameId(frame), Bytes::new(1_248))
                        .with_first_of_frame(place == 0)
                        .with_last_of_frame(place + 1 == count);
                let delay = 10_000_000 + 1_000 * late(place);
                gap.on_packet(&packet, ReceiverInstant::from_nanos(sent.as_nanos() + delay));
            }
        }
        gap.secs() * 1e6
    }

    #[test]
    fn it_is_the_gap_of_the_link_and_pauses_of_the_sender_do_not_count() {
        // Sent 0.1 ms apart, 0.5 ms apart after the link: 29 gaps of 0.5 ms and one of zero.
        let micros = feed(100, 30, |place| 400 * place as i64, 100);
        assert!((470.0..500.0).contains(&micros), "{micros}");
    }

    #[test]
    fn each_packet_weighs_a_tenth() {
        // From 2 ms: the first packet has no gap, ten more of 0.5 ms leave 0.9^10 of the difference.
        let micros = feed(1, 11, |_| 0, 500);
        assert!((micros - (500.0 + 1_500.0 * 0.348_678)).abs() < 0.1, "{micros}");
    }

    #[test]
    fn where_nothing_queues_the_senders_pause_is_no_gap() {
        // 29 gaps of 0.5 ms and one of zero.
        let micros = feed(100, 30, |_| 0, 500);
        assert!((470.0..500.0).contains(&micros), "{micros}");
    }

    #[test]
    fn the_capacity_is_a_packet_for_each_gap() {
        let rate = Rate::from_mbps(10);
        assert!((ArrivalGap::of_rate(rate).capacity().as_mbps_f64() - 10.0).abs() < 1e-4);
    }
}
