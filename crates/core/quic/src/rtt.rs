//! Round-trip time, and the probe time-out that follows.
//!
//! Source: RFC 9002 sections 5 and 6.2.1, appendix A.7.
//! Model: an exponential average of samples and of their deviation, each sample less what the receiver says that it
//! delayed the ACK, within what it promised and not below the smallest RTT. The smallest RTT itself is of samples as
//! they are.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | kInitialRtt | 333 ms | RFC 9002 section 6.2.2 |
//! | kGranularity | 1 ms | RFC 9002 section 6.1.2 |
//! | kTimeThreshold | 9/8 | RFC 9002 section 6.1.2 |
//! | weights | 1/8, 1/4 | RFC 9002 section 5.3 |
//! | most back-off | 2^16 | keeps products of durations in range |

use gameway_units::Duration;

const INITIAL_RTT: Duration = Duration::from_millis(333);
const GRANULARITY: Duration = Duration::from_millis(1);
const MAX_BACKOFF: u32 = 16;

/// What is known of the round trip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttEstimator {
    max_ack_delay: Duration,
    smoothed: Duration,
    deviation: Duration,
    latest: Duration,
    minimum: Option<Duration>,
}

impl RttEstimator {
    pub(crate) fn new(max_ack_delay: Duration) -> Self {
        let (smoothed, deviation) = (INITIAL_RTT, INITIAL_RTT / 2);
        Self { max_ack_delay, smoothed, deviation, latest: INITIAL_RTT, minimum: None }
    }

    /// A sample whose ACK was delayed so long, as the receiver says; returns what it counts for.
    pub(crate) fn on_sample(&mut self, latest: Duration, ack_delay: Duration) -> Duration {
        self.latest = latest;
        let Some(minimum) = self.minimum else {
            self.minimum = Some(latest);
            (self.smoothed, self.deviation) = (latest, latest / 2);
            return latest;
        };
        let minimum = minimum.min(latest);
        self.minimum = Some(minimum);
        let delay = ack_delay.clamp(Duration::ZERO, self.max_ack_delay);
        let fits = latest >= minimum.saturating_add(delay);
        let adjusted = if fits { latest - delay } else { latest };
        let error = if adjusted > self.smoothed {
            adjusted - self.smoothed
        } else {
            self.smoothed - adjusted
        };
        self.deviation = self.deviation * 3 / 4 + error / 4;
        self.smoothed = self.smoothed * 7 / 8 + adjusted / 8;
        adjusted
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.minimum.map(|_| self.smoothed)
    }

    pub(crate) fn minimum(&self) -> Option<Duration> {
        self.minimum
    }

    /// How much younger a packet that arrived may be than one that is not yet lost (section 6.1.2).
    pub(crate) fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed) * 9 / 8).max(GRANULARITY)
    }

    /// Without back-off and without the receiver's delay.
    fn undelayed(&self) -> Duration {
        self.smoothed + (self.deviation * 4).max(GRANULARITY)
    }

    /// The probe timeout after `in_a_row` probe timeouts in a row.
    pub(crate) fn probe_timeout(&self, in_a_row: u32) -> Duration {
        (self.undelayed() + self.max_ack_delay) * (1 << in_a_row.min(MAX_BACKOFF))
    }

    /// The one of a handshake, in which nobody delays ACKs (section 6.2.1).
    pub(crate) fn handshake_timeout(&self, in_a_row: u32) -> Duration {
        self.undelayed() * (1 << in_a_row.min(MAX_BACKOFF))
    }

    /// What losses must span to be persistent congestion, in such time-outs (section 7.6.1).
    pub(crate) fn persistent(&self, threshold: i64) -> Duration {
        (self.undelayed() + self.max_ack_delay) * threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn arithmetic_of_rfc_9002_by_hand() {
        let mut rtt = RttEstimator::new(ms(25));
        assert_eq!((rtt.smoothed(), rtt.minimum()), (None, None));
        assert_eq!(rtt.handshake_timeout(0), ms(999));
        assert_eq!(rtt.handshake_timeout(2), ms(999 * 4));
        // The first sample counts as it is.
        assert_eq!(rtt.on_sample(ms(80), ms(20)), ms(80));
        assert_eq!((rtt.smoothed(), rtt.probe_timeout(0)), (Some(ms(80)), ms(80 + 160 + 25)));
        // 120 less 25 of the claimed 40: srtt 70 + 95/8, deviation 30 + 15/4.
        assert_eq!(rtt.on_sample(ms(120), ms(40)), ms(95));
        let smoothed = Duration::from_micros(81_875);
        assert_eq!(rtt.smoothed(), Some(smoothed));
        let deviation = Duration::from_micros(33_750);
        assert_eq!(rtt.probe_timeout(1), (smoothed + deviation * 4 + ms(25)) * 2);
        assert_eq!(rtt.persistent(3), (smoothed + deviation * 4 + ms(25)) * 3);
        assert_eq!(rtt.loss_delay(), ms(135));
        // A delay that would make it less than the smallest is not believed.
        assert_eq!(rtt.on_sample(ms(90), ms(20)), ms(90));
        assert_eq!(rtt.minimum(), Some(ms(80)));
        assert_eq!(rtt.on_sample(ms(90), ms(10)), ms(80));
    }

    #[test]
    fn short_round_trips_have_the_granularity() {
        let mut rtt = RttEstimator::new(Duration::ZERO);
        for _ in 0..200 {
            rtt.on_sample(Duration::from_micros(100), Duration::ZERO);
        }
        assert_eq!(rtt.loss_delay(), ms(1));
        let timeout = rtt.probe_timeout(0);
        assert!((1_090..=1_110).contains(&(timeout.as_nanos() / 1000)), "{timeout}");
        assert_eq!(rtt.probe_timeout(99), timeout * (1 << 16));
    }
}
