//! The robust throughput: what arrives, over the last second or 20 packets.
//!
//! Source: libwebrtc `robust_throughput_estimator`, `acknowledged_bitrate_estimator_interface` (m138).
//!
//! Model: of the packets that arrived last, the lesser of their sending and their receiving rate. Of the time between
//! the first and the last arrival the longest gap counts as the second longest does: a path that stood still once
//! and then let a burst through has not become slower.
//!
//! | Constant | Value |
//! |---|---|
//! | window | the last 20 packets and 1 s, but at most 500 packets and 5 s |
//! | packets for a first estimate | 10 |
//! | shortest span | 1 ms |
//! | arrivals that go back by more | 1 s: the window begins anew |
//!
//! | Deviation | Why |
//! |---|---|
//! | No packets without a transport-wide number | a stream has none |

use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::VecDeque;

const MIN_PACKETS: usize = 20;
const MAX_PACKETS: usize = 500;
const MIN_SPAN: Duration = Duration::from_secs(1);
const MAX_SPAN: Duration = Duration::from_secs(5);
const REQUIRED_PACKETS: usize = 10;
const MIN_RATE_SPAN: Duration = Duration::from_millis(1);
const MAX_REORDERING: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Received {
    sent: Instant,
    arrival: ReceiverInstant,
    size: Bytes,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct RobustThroughput {
    /// In order of arrival.
    window: VecDeque<Received>,
    /// When the newest packet was sent that is no longer in the window.
    newest_discarded: Option<Instant>,
}

impl RobustThroughput {
    pub(super) fn new() -> Self {
        Self { window: VecDeque::with_capacity(MAX_PACKETS + 1), newest_discarded: None }
    }

    /// A packet arrived.
    pub(super) fn on_packet(&mut self, sent: Instant, arrival: ReceiverInstant, size: Bytes) {
        let place = self.window.partition_point(|one| one.arrival <= arrival);
        self.window.insert(place, Received { sent, arrival, size });
        let ahead = self.newest().saturating_since(arrival);
        if ahead > MAX_REORDERING {
            self.window.clear();
            self.newest_discarded = None;
        }
        while self.is_too_long() {
            let oldest = self.window.pop_front().map(|one| one.sent);
            self.newest_discarded = self.newest_discarded.max(oldest);
        }
    }

    /// What arrives; `None` before ten packets have.
    pub(super) fn estimate(&self) -> Option<Rate> {
        if self.window.len() < REQUIRED_PACKETS {
            return None;
        }
        let received = self.receiving_rate();
        Some(self.sending_rate().map_or(received, |sent| sent.min(received)))
    }

    fn newest(&self) -> ReceiverInstant {
        self.window.back().map_or(ReceiverInstant::ZERO, |one| one.arrival)
    }

    fn is_too_long(&self) -> bool {
        let Some(oldest) = self.window.front() else { return false };
        let span = self.newest().saturating_since(oldest.arrival);
        let packets = self.window.len();
        packets > MAX_PACKETS || span > MAX_SPAN || (packets > MIN_PACKETS && span > MIN_SPAN)
    }

    /// Of all but the first packet: what it took to receive that one was before the first arrival.
    fn receiving_rate(&self) -> Rate {
        let (mut longest, mut second) = (Duration::ZERO, Duration::ZERO);
        let (mut span, mut bytes) = (Duration::ZERO, Bytes::ZERO);
        for (before, one) in self.window.iter().zip(self.window.iter().skip(1)) {
            let gap = one.arrival.saturating_since(before.arrival);
            (longest, second) =
                if gap > longest { (gap, longest) } else { (longest, second.max(gap)) };
            span = span.saturating_add(gap);
            bytes = bytes.saturating_add(one.size);
        }
        let span = span.saturating_sub(longest).saturating_add(second);
        bytes / span.max(MIN_RATE_SPAN)
    }

    /// Of all but the packet that was sent last: what it takes to send that one comes after. Packets that were sent
    /// before one that has left the window were overtaken, and do not count; `None` if too few do.
    fn sending_rate(&self) -> Option<Rate> {
        let mut bytes = Bytes::ZERO;
        let mut ends: Option<(Instant, Received)> = None;
        let mut packets = 0;
        for one in self.window.iter().filter(|one| Some(one.sent) >= self.newest_discarded) {
            let (first, last) = ends.unwrap_or((one.sent, *one));
            ends = Some((first.min(one.sent), if one.sent > last.sent { *one } else { last }));
            bytes = bytes.saturating_add(one.size);
            packets += 1;
        }
        let (first, last) = ends.filter(|_| packets >= REQUIRED_PACKETS)?;
        let span = last.sent.saturating_since(first).max(MIN_RATE_SPAN);
        Some(bytes.saturating_sub(last.size) / span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn arrival(millis: i64) -> ReceiverInstant {
        ReceiverInstant::ZERO + Duration::from_millis(millis)
    }

    /// `packets` packets of 1250 bytes, sent and received at the intervals of `spacing` in milliseconds.
    fn feed(robust: &mut RobustThroughput, from: i64, packets: i64, spacing: (i64, i64)) {
        for index in 0..packets {
            let (sent, came) = (from + index * spacing.0, from + index * spacing.1);
            robust.on_packet(at(sent), arrival(came), Bytes::new(1_250));
        }
    }

    #[test]
    fn a_steady_stream_is_measured_exactly_from_ten_packets_on() {
        let mut robust = RobustThroughput::new();
        feed(&mut robust, 0, 9, (1, 1));
        assert_eq!(robust.estimate(), None);
        feed(&mut robust, 9, 1, (1, 1));
        assert_eq!(robust.estimate(), Some(Rate::from_mbps(10)));
    }

    #[test]
    fn a_change_is_followed_within_a_second() {
        let mut robust = RobustThroughput::new();
        feed(&mut robust, 0, 1_000, (2, 2));
        assert_eq!(robust.estimate(), Some(Rate::from_mbps(5)));
        feed(&mut robust, 2_000, 125, (4, 4));
        // Half a second of 5 Mb/s and one of 2.5 Mb/s, but for the packets at the ends.
        let half = robust.estimate().map_or(0.0, Rate::as_mbps_f64);
        assert!((3.7..3.8).contains(&half), "{half}");
        feed(&mut robust, 2_500, 126, (4, 4));
        assert_eq!(robust.estimate(), Some(Rate::from_kbps(2_500)));
    }

    #[test]
    fn the_lesser_of_sending_and_receiving_counts() {
        let mut queued = RobustThroughput::new();
        feed(&mut queued, 0, 20, (1, 2));
        assert_eq!(queued.estimate(), Some(Rate::from_mbps(5)));
        let mut drained = RobustThroughput::new();
        feed(&mut drained, 0, 20, (2, 1));
        assert_eq!(drained.estimate(), Some(Rate::from_mbps(5)));
    }

    #[test]
    fn one_long_gap_does_not_lower_it() {
        let mut robust = RobustThroughput::new();
        feed(&mut robust, 0, 20, (1, 1));
        // It stood still for 200 ms, and what had waited came at once.
        for index in 20..40 {
            let came = 220 + (index - 20) / 10;
            robust.on_packet(at(index), arrival(came), Bytes::new(1_250));
        }
        assert_eq!(robust.estimate(), Some(Rate::from_mbps(10)));
    }

    #[test]
    fn a_clock_that_goes_back_begins_anew() {
        for (back, known) in [(1_000, true), (1_001, false)] {
            let mut robust = RobustThroughput::new();
            feed(&mut robust, 5_000, 20, (1, 1));
            robust.on_packet(at(6_000), arrival(5_019 - back), Bytes::new(1_250));
            assert_eq!(robust.estimate().is_some(), known, "{back}");
        }
    }

    #[test]
    fn the_window_is_twenty_packets_and_a_second_and_at_most_500_and_five() {
        for (spacing, packets) in [(1, 500), (10, 101), (250, 20), (500, 11)] {
            let mut robust = RobustThroughput::new();
            feed(&mut robust, 0, 1_000, (spacing, spacing));
            assert_eq!(robust.window.len(), packets, "{spacing} ms");
        }
    }
}
