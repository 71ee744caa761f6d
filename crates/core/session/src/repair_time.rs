//! How long both ends hold that a lost packet is worth sending again.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least patience | 100 ms | frame delay at which players call the game frozen (Pudica, section 2): until then a late picture is better than none |
//! | patience | 3 round trips | asked for, lost again, and asked for once more |
//! | most patience | 500 ms | a key frame is there earlier |
//! | beyond these | twice the request interval | a receiver that looks only now and then what to ask for again does so twice |
//! | round trip before any is known | 100 ms | libwebrtc, `kDefaultRtt` of its NACK requester |

use gameway_units::Duration;

const MIN_PATIENCE: Duration = Duration::from_millis(100);
const MAX_PATIENCE: Duration = Duration::from_millis(500);
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(100);

/// Nobody waits longer; of a clock that jumps nothing is believed.
const MAX_SAMPLE: Duration = Duration::from_secs(10);

/// Mean and variation of round trips (RFC 6298 section 2).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RoundTrip {
    /// Mean and mean deviation, once there was a round trip.
    known: Option<(Duration, Duration)>,
    /// How much later than after a round trip a request may be repeated.
    request_interval: Duration,
}

impl RoundTrip {
    /// To a receiver that looks so often which requests it has to repeat.
    pub(crate) fn new(request_interval: Duration) -> Self {
        Self { known: None, request_interval }
    }

    pub(crate) fn on_sample(&mut self, sample: Duration) {
        let sample = sample.max(Duration::ZERO).min(MAX_SAMPLE);
        self.known = Some(match self.known {
            None => (sample, sample / 2),
            Some((mean, deviation)) => {
                let off = (mean - sample).max(sample - mean);
                (mean + (sample - mean) / 8, deviation + (off - deviation) / 4)
            }
        });
    }

    /// The mean.
    pub(crate) fn mean(&self) -> Duration {
        self.known.map_or(UNKNOWN_ROUND_TRIP, |(mean, _)| mean)
    }

    /// After so long an answer is overdue.
    pub(crate) fn overdue(&self) -> Duration {
        const MIN_MARGIN: Duration = Duration::from_millis(2);
        self.known
            .map_or(UNKNOWN_ROUND_TRIP, |(mean, deviation)| mean + (deviation * 4).max(MIN_MARGIN))
    }

    /// How much later than after a round trip the receiver may repeat a request.
    pub(crate) fn request_interval(&self) -> Duration {
        self.request_interval
    }

    /// After so long a receiver has asked again for what it still lacks.
    pub(crate) fn repeated_request(&self) -> Duration {
        self.overdue().saturating_add(self.request_interval)
    }

    /// How long a frame is worth waiting for: there are two repeated requests in it.
    pub(crate) fn patience(&self) -> Duration {
        (self.mean() * 3).max(MIN_PATIENCE).min(MAX_PATIENCE) + self.request_interval * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_of_three_round_trips_within_bounds() {
        let of = |millis: i64| {
            let mut round_trip = RoundTrip::default();
            round_trip.on_sample(Duration::from_millis(millis));
            round_trip.patience()
        };
        assert_eq!([20, 50, 400].map(of), [100, 150, 500].map(Duration::from_millis));
        assert_eq!(RoundTrip::default().patience(), Duration::from_millis(300));
        let slow = RoundTrip::new(Duration::from_millis(20));
        assert_eq!(slow.patience(), Duration::from_millis(340), "it asks twice more, 20 ms late");
        assert_eq!(slow.repeated_request(), Duration::from_millis(120));
    }

    #[test]
    fn an_answer_is_overdue_behind_the_usual_deviation() {
        let mut steady = RoundTrip::default();
        (0..100).for_each(|_| steady.on_sample(Duration::from_millis(20)));
        assert_eq!(steady.mean(), Duration::from_millis(20));
        assert_eq!(steady.overdue(), Duration::from_millis(22));
        steady.on_sample(Duration::from_millis(60));
        assert!(steady.overdue() > Duration::from_millis(60), "{}", steady.overdue());
    }

    /// RFC 6298 section 2, rules 2.2 and 2.3.
    #[test]
    fn a_sample_moves_the_mean_by_an_eighth_and_the_deviation_by_a_quarter() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.overdue(), Duration::from_millis(100), "none is known");
        let mut after = |micros: i64| {
            round_trip.on_sample(Duration::from_micros(micros));
            let mean = round_trip.mean();
            (mean.as_millis_f64(), (round_trip.overdue() - mean).as_millis_f64() / 4.0)
        };
        assert_eq!(after(80_000), (80.0, 40.0), "the deviation is half of the first");
        assert_eq!(after(160_000), (90.0, 50.0), "80 off");
        assert_eq!(after(10_000), (80.0, 57.5), "80 off the other way");
    }

    #[test]
    fn of_a_clock_that_jumps_nothing_is_believed() {
        let first = |sample| {
            let mut round_trip = RoundTrip::default();
            round_trip.on_sample(sample);
            round_trip.mean()
        };
        assert_eq!(first(Duration::from_secs(-3)), Duration::ZERO);
        assert_eq!(first(Duration::from_secs(3_600)), Duration::from_secs(10));
    }
}
