//! The smoothed round-trip time.
//!
//! Source: RFC 6298 section 2.3, which the draft names; Ericsson's `ScreamV2Tx::markAcked` for the second filter.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | gain, of either filter | 1/8 | RFC 6298; C++ |
//! | at the start | 50 ms | C++ |

use gameway_units::{Duration, Instant};

const GAIN: f64 = 1.0 / 8.0;
const START: Duration = Duration::from_millis(50);
/// What a jumping clock can make of a round trip is kept within these.
const MIN_SAMPLE: Duration = Duration::from_micros(10);
const MAX_SAMPLE: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct RoundTrip {
    /// Smoothed again, once per round trip.
    twice: bool,
    once: Duration,
    smoothed: Duration,
    /// Whether the last sample lowered the first filter.
    falls: bool,
    measured: bool,
    updated: Option<Instant>,
}

impl RoundTrip {
    pub(super) fn new(twice: bool) -> Self {
        let (measured, updated) = (false, None);
        Self { twice, once: START, smoothed: START, falls: false, measured, updated }
    }

    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    pub(super) fn falls(&self) -> bool {
        self.falls
    }

    /// The first sample replaces the guess: gives by what factor.
    pub(super) fn on_sample(&mut self, now: Instant, sample: Duration) -> f64 {
        let sample = sample.clamp(MIN_SAMPLE, MAX_SAMPLE);
        if !self.measured {
            self.measured = true;
            let factor = sample / self.smoothed;
            (self.once, self.smoothed, self.updated) = (sample, sample, Some(now));
            return factor;
        }
        self.falls = sample < self.once;
        self.once += (sample - self.once).mul_f64(GAIN);
        let due = self.updated.is_none_or(|last| now.saturating_since(last) > self.once);
        if !self.twice {
            self.smoothed = self.once;
        } else if due {
            self.smoothed += (self.once - self.smoothed).mul_f64(GAIN);
            self.updated = Some(now);
        }
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn after_a_step(twice: bool, samples: i64) -> Duration {
        let mut round_trip = RoundTrip::new(twice);
        let factor = round_trip.on_sample(Instant::ZERO, MS * 40);
        assert!((factor - 0.8).abs() < 1e-9, "{factor}");
        for number in 1..=samples {
            round_trip.on_sample(Instant::ZERO + MS * 10 * number, MS * 80);
            assert!(!round_trip.falls());
        }
        round_trip.smoothed()
    }

    #[test]
    fn each_sample_counts_an_eighth_and_in_the_reference_that_once_per_round_trip() {
        assert_eq!(after_a_step(false, 1), MS * 45);
        // 45, 49.4, 53.2, 56.6, 59.5, 62.1: at the sixth, 60 ms, less than a round trip has passed.
        assert_eq!(after_a_step(true, 6), MS * 40);
        let smoothed = after_a_step(true, 7).as_millis_f64();
        assert!((43.0..43.1).contains(&smoothed), "{smoothed}");
    }

    #[test]
    fn it_falls_while_a_sample_is_below_the_average() {
        let mut round_trip = RoundTrip::new(true);
        for (sample, falls) in [(40, false), (40, false), (32, true), (39, false), (50, false)] {
            round_trip.on_sample(Instant::ZERO, MS * sample); // 39 ms after the third
            assert_eq!(round_trip.falls(), falls, "{sample}");
        }
    }
}
