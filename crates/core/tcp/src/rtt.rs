//! Round-trip time and retransmission time-out.
//!
//! Source: RFC 6298 sections 2 and 5; the floor as Linux has it (`tcp_set_rto`, `tcp_rto_min`).
//! Model: an exponential average of the samples and of their deviation; the time-out is the average
//! plus four deviations, kept within bounds and doubled each time it expires.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | alpha, beta | 1/8, 1/4 | RFC 6298 section 2.3 |
//! | K | 4 | RFC 6298 section 2.3 |
//! | initial time-out | 1 s | RFC 6298 section 2.1 |
//! | largest time-out | 120 s | Linux `TCP_RTO_MAX`; RFC 6298 section 2.5 wants at least 60 s |
//! | floor | 200 ms under the deviation term | Linux; RFC 6298 section 2.4 has 1 s under the whole |
//!
//! | Deviation | Why |
//! |---|---|
//! | default floor of Linux | the testbeds that are repeated here ran Linux; [`RtoFloor`] chooses |
//! | clock granularity G taken as zero | time is in nanoseconds |
//! | Linux's slower reaction of the deviation to falling RTTs is left out | the floor hides it below 50 ms of deviation |

use gameway_units::Duration;

const INITIAL_RTO: Duration = Duration::from_secs(1);
const MAXIMUM_RTO: Duration = Duration::from_secs(120);
const MAXIMUM_BACKOFF: u32 = 16;

/// How a short time-out is kept from firing on a delayed ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoFloor {
    /// RFC 6298 section 2.4: the whole time-out is at least this long (1 s).
    Total(Duration),
    /// Linux: the part for the deviation is at least this long (200 ms).
    Deviation(Duration),
}

impl Default for RtoFloor {
    fn default() -> Self {
        Self::Deviation(Duration::from_millis(200))
    }
}

/// Smoothed RTT, its deviation, and the time-out that follows.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    floor: RtoFloor,
    smoothed: Option<Duration>,
    deviation: Duration,
    minimum: Option<Duration>,
    backoff: u32,
}

impl RttEstimator {
    pub(crate) fn new(floor: RtoFloor) -> Self {
        Self { floor, smoothed: None, deviation: Duration::ZERO, minimum: None, backoff: 0 }
    }

    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1));
        self.minimum = Some(self.minimum.map_or(rtt, |minimum| minimum.min(rtt)));
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.deviation = rtt / 2;
            }
            Some(smoothed) => {
                let error = rtt - smoothed;
                let magnitude = if error.is_negative() { -error } else { error };
                self.deviation += (magnitude - self.deviation) / 4;
                self.smoothed = Some(smoothed + error / 8);
            }
        }
    }

    /// The time-out, doubled by each expiry since the last progress.
    pub(crate) fn timeout(&self) -> Duration {
        let base = match (self.smoothed, self.floor) {
            (None, _) => INITIAL_RTO,
            (Some(srtt), RtoFloor::Total(floor)) => (srtt + self.deviation * 4).max(floor),
            (Some(srtt), RtoFloor::Deviation(floor)) => srtt + (self.deviation * 4).max(floor),
        };
        (base.min(MAXIMUM_RTO) * (1 << self.backoff)).min(MAXIMUM_RTO)
    }

    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAXIMUM_BACKOFF);
    }

    pub(crate) fn on_progress(&mut self) {
        self.backoff = 0;
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(crate) fn minimum(&self) -> Option<Duration> {
        self.minimum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn arithmetic_of_rfc_6298_by_hand() {
        let mut rtt = RttEstimator::new(RtoFloor::Total(ms(1)));
        assert_eq!(rtt.timeout(), ms(1000));
        rtt.on_sample(ms(80)); // SRTT 80, RTTVAR 40
        assert_eq!(rtt.timeout(), ms(240));
        rtt.on_sample(ms(120)); // RTTVAR 3/4*40 + 1/4*40 = 40, SRTT 85
        assert_eq!(rtt.timeout(), ms(245));
        rtt.on_sample(ms(45)); // RTTVAR 30 + 10 = 40, SRTT 80
        assert_eq!((rtt.smoothed(), rtt.timeout()), (Some(ms(80)), ms(240)));
        assert_eq!(rtt.minimum(), Some(ms(45)));
    }

    #[test]
    fn floors_and_backoff() {
        let mut linux = RttEstimator::new(RtoFloor::default());
        let mut rfc = RttEstimator::new(RtoFloor::Total(ms(1000)));
        for _ in 0..100 {
            linux.on_sample(ms(20));
            rfc.on_sample(ms(20));
        }
        assert_eq!(linux.timeout(), ms(220));
        assert_eq!(rfc.timeout(), ms(1000));
        linux.back_off();
        linux.back_off();
        assert_eq!(linux.timeout(), ms(880));
        (0..40).for_each(|_| linux.back_off());
        assert_eq!(linux.timeout(), MAXIMUM_RTO);
        linux.on_progress();
        assert_eq!(linux.timeout(), ms(220));
        // A deviation of half the first sample is more than Linux's floor, four times.
        let mut far = RttEstimator::new(RtoFloor::default());
        far.on_sample(ms(600));
        assert_eq!(far.timeout(), ms(600 + 4 * 300));
    }
}
