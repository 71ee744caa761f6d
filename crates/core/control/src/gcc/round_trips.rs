//! The round-trip time that GCC works with: that of RTCP's sender and receiver reports.
//!
//! Source: libwebrtc `goog_cc_network_control` (`OnRoundTripTimeUpdate`), `rtcp_receiver`, `rtcp_sender` (m138, and
//! head of 2026); RFC 3550 sections 6.2 and 6.4.1.
//!
//! libwebrtc gives its estimator each round trip that a receiver report tells: from the last sender report to the
//! report block on it, less the time for which the receiver held it, unsmoothed. That is not the time from a packet to
//! the report on it, which is longer by up to an interval of reports. Where the receiver sends no such reports, those
//! on packets say when they were made: then the newest packet that one tells of is the sender report, and one a second
//! is taken, as a receiver of video would report.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | between reports; before the first | 1 s; half of it | `rtcp_sender`: video; RFC 3550 section 6.2 |
//! | shortest round trip | 1 ms | `rtcp_receiver` |
//!
//! | Deviation | Why |
//! |---|---|
//! | 1 s, not 0.5 to 1.5 s at random | a controller is a function of what it hears |

use crate::FeedbackBatch;
use gameway_units::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(1);
/// What a jumping clock can make of one.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Which reports tell.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum RoundTrips {
    /// None has come yet.
    #[default]
    Unknown,
    /// Those on packets; the next that counts is the first after this.
    Packets(Instant),
    /// RTCP's own.
    Rtcp,
}

impl RoundTrips {
    /// A report on packets came; its round trip, if it counts.
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        batch: &FeedbackBatch<'_>,
    ) -> Option<Duration> {
        let due = match *self {
            Self::Unknown => {
                *self = Self::Packets(now.saturating_add(INTERVAL / 2));
                return None;
            }
            Self::Packets(due) => due,
            Self::Rtcp => return None,
        };
        let round_trip = batch.round_trip_time(now).filter(|_| now >= due)?;
        *self = Self::Packets(now.saturating_add(INTERVAL));
        Some(bounded(round_trip))
    }

    /// RTCP told one: from now on only its own count.
    pub(super) fn on_rtcp(&mut self, round_trip: Duration) -> Duration {
        *self = Self::Rtcp;
        bounded(round_trip)
    }
}

fn bounded(round_trip: Duration) -> Duration {
    round_trip.max(SHORTEST).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, PacketReport, SentPacket, SequenceNumber};
    use gameway_units::{Bytes, ReceiverInstant};

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A report at this time on a packet that the receiver held for 30 ms.
    fn report(trips: &mut RoundTrips, millis: i64, round_trip: i64) -> Option<i64> {
        let sent = at(millis - 30 - round_trip);
        let packet = SentPacket::new(SequenceNumber(0), sent, FrameId(0), Bytes::new(1_000));
        let arrival = ReceiverInstant::from_nanos(1_000_000_000);
        let reports = [PacketReport::new(packet, Some(arrival))];
        let generated = arrival + Duration::from_millis(30);
        let batch = FeedbackBatch::new(&reports, generated, Bytes::ZERO);
        let found = trips.on_feedback(at(millis), &batch)?;
        Some(found.as_nanos() / 1_000_000)
    }

    #[test]
    fn of_reports_on_packets_one_a_second_counts_and_the_first_after_half_a_second() {
        let mut trips = RoundTrips::default();
        assert_eq!(report(&mut trips, 1_000, 40), None);
        assert_eq!(report(&mut trips, 1_499, 40), None);
        assert_eq!(report(&mut trips, 1_510, 50), Some(50));
        assert_eq!(report(&mut trips, 2_509, 60), None);
        assert_eq!(report(&mut trips, 2_510, 70), Some(70));
    }

    #[test]
    fn once_rtcp_tells_one_only_its_own_count() {
        let mut trips = RoundTrips::default();
        assert_eq!(report(&mut trips, 0, 40), None);
        let told = Duration::from_millis(80);
        assert_eq!(trips.on_rtcp(told), told);
        assert_eq!(report(&mut trips, 5_000, 40), None);
        assert_eq!(trips.on_rtcp(Duration::ZERO), SHORTEST);
        assert_eq!(trips.on_rtcp(LONGEST * 2), LONGEST);
    }
}
