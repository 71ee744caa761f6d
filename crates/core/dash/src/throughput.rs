//! What a player believes that the network gives.
//!
//! Source: dash.js 5.2.1, `ThroughputModel` and `ThroughputController`, mode EWMA (the default).
//! Model: of each media segment the bits per time from its first to its last byte (the browser's Resource
//! Timing, so the round trip of the request is not in it). Two averages with exponential forgetting, the
//! weight of a sample growing with its download time; the lower one counts, corrected for their beginning
//! at zero. Kilobits per second, rounded, as there.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | half-life of the fast average | 3 | `throughputFastHalfLifeSeconds` |
//! | half-life of the slow average | 8 | `throughputSlowHalfLifeSeconds` |
//! | weight of a sample | 0.0015 per ms of download | `weightDownloadTimeMultiplicationFactor` |
//! | safety factor | 0.9 | `bandwidthSafetyFactor` |
//!
//! | Deviation | Why |
//! |---|---|
//! | an answer from the cache is known as such | dash.js takes one of no transferred bytes, or of less than 10 ms, for cached (`cacheLoadThresholds`); the latter means nothing here |
//! | the manifest gives no sample | it has none for video there either |

use gameway_units::{Bytes, Duration};

const FAST_HALF_LIFE: f64 = 3.0;
const SLOW_HALF_LIFE: f64 = 8.0;
const WEIGHT_PER_MILLISECOND: f64 = 0.0015;
/// Share of the estimate that rules count on.
pub const SAFETY_FACTOR: f64 = 0.9;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Throughput {
    fast: f64,
    slow: f64,
    weight: f64,
}

/// Rounded kilobits per second; none for no time, which would be without bound.
#[must_use]
pub fn kbps(amount: Bytes, time: Duration) -> Option<f64> {
    let milliseconds = time.as_millis_f64();
    (milliseconds > 0.0).then(|| libm::round(8.0 * amount.as_f64() / milliseconds))
}

impl Throughput {
    /// A segment, or what there was of an abandoned one, took this time.
    pub fn on_sample(&mut self, amount: Bytes, time: Duration) {
        let Some(value) = kbps(amount, time) else { return };
        let weight = WEIGHT_PER_MILLISECOND * time.as_millis_f64();
        self.fast = forget(self.fast, value, weight / FAST_HALF_LIFE);
        self.slow = forget(self.slow, value, weight / SLOW_HALF_LIFE);
        self.weight += weight;
    }

    /// The estimate in kb/s; none before the first sample.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        let corrected =
            |estimate: f64, half_life: f64| estimate / (1.0 - libm::exp2(-self.weight / half_life));
        let fast = corrected(self.fast, FAST_HALF_LIFE);
        let slow = corrected(self.slow, SLOW_HALF_LIFE);
        (self.weight > 0.0).then(|| libm::round(fast.min(slow)))
    }

    /// What a rule counts on, in kb/s.
    #[must_use]
    pub fn safe(&self) -> Option<f64> {
        self.average().map(|average| average * SAFETY_FACTOR)
    }
}

fn forget(estimate: f64, value: f64, half_lives: f64) -> f64 {
    let kept = libm::exp2(-half_lives);
    (1.0 - kept) * value + kept * estimate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(throughput: &mut Throughput, kbps: u64, milliseconds: i64) {
        let bytes = Bytes::new(kbps * milliseconds.unsigned_abs() / 8);
        throughput.on_sample(bytes, Duration::from_millis(milliseconds));
    }

    #[test]
    fn nothing_is_known_at_first_and_no_time_tells_nothing() {
        let mut throughput = Throughput::default();
        assert_eq!(throughput.average(), None);
        throughput.on_sample(Bytes::new(1_000_000), Duration::ZERO);
        assert_eq!(throughput.average(), None);
    }

    #[test]
    fn equal_samples_average_to_themselves_from_the_first_on() {
        let mut throughput = Throughput::default();
        for _ in 0..20 {
            sample(&mut throughput, 8_000, 700);
            assert_eq!(throughput.average(), Some(8_000.0));
            assert_eq!(throughput.safe(), Some(7_200.0));
        }
    }

    /// By hand: two samples of 2 s have weight 3 each. Fast: half forgotten; (a/4 + b/2) / (3/4).
    #[test]
    fn two_samples_by_the_closed_form() {
        let mut throughput = Throughput::default();
        sample(&mut throughput, 12_000, 2_000);
        sample(&mut throughput, 6_000, 2_000);
        let fast = (12_000.0 / 4.0 + 6_000.0 / 2.0) / 0.75;
        assert!(throughput.average().is_some_and(|average| (average - fast).abs() < 1.0));
        // Upwards it is the slow one: kept is 2^(-3/8).
        let mut rising = Throughput::default();
        sample(&mut rising, 6_000, 2_000);
        sample(&mut rising, 12_000, 2_000);
        let kept = libm::exp2(-3.0 / 8.0);
        let slow = (1.0 - kept) * (6_000.0 * kept + 12_000.0) / (1.0 - kept * kept);
        assert!(rising.average().is_some_and(|average| (average - slow).abs() < 1.0));
        assert!(slow < 12_000.0 * 2.0 / 3.0 + 2_000.0);
    }

    #[test]
    fn a_fall_is_believed_sooner_than_a_rise() {
        let after = |first, then| {
            let mut throughput = Throughput::default();
            (0..10).for_each(|_| sample(&mut throughput, first, 2_000));
            (0..3).for_each(|_| sample(&mut throughput, then, 2_000));
            throughput.average().unwrap_or(f64::NAN)
        };
        let (fell, rose) = (after(20_000, 10_000), after(10_000, 20_000));
        assert!((11_000.0..11_500.0).contains(&fell), "{fell}");
        assert!((15_400.0..15_800.0).contains(&rose), "{rose}");
    }
}
