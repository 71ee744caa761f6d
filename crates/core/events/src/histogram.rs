//! A histogram of delays with ten buckets a decade.

use gameway_units::Duration;

/// Bucket bounds within a decade: the R10 series of preferred numbers (ISO 3), with 3.2 and 6.3 as ISO 3
/// rounds them. 10, 20, 50 and 100 ms are bounds, so shares above them are exact.
const SERIES_PERCENT: [i64; 10] = [100, 125, 160, 200, 250, 320, 400, 500, 630, 800];
/// From 1 us to 100 s.
const DECADES: usize = 8;
const BOUNDS: usize = SERIES_PERCENT.len() * DECADES;

/// All bounds in ascending order, nanoseconds.
const fn bounds() -> [i64; BOUNDS] {
    let mut bounds = [0; BOUNDS];
    let mut scale = 10;
    let mut index = 0;
    while index < BOUNDS {
        bounds[index] = SERIES_PERCENT[index % 10] * scale;
        if index % 10 == 9 {
            scale *= 10;
        }
        index += 1;
    }
    bounds
}
const BOUND_NANOS: [i64; BOUNDS] = bounds();

/// Counts and sums of delays in buckets: below 1 us, then between bounds, the last without end.
#[derive(Debug, Clone)]
pub struct DelayHistogram {
    counts: [u64; BOUNDS + 1],
    sums: [i64; BOUNDS + 1],
    /// Where the last delay fell: the next one is usually near, which spares a search.
    last: usize,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self { counts: [0; BOUNDS + 1], sums: [0; BOUNDS + 1], last: 0 }
    }
}

impl DelayHistogram {
    /// Counts a delay; a negative one counts as zero.
    pub fn add(&mut self, delay: Duration) {
        let nanos = delay.as_nanos().max(0);
        let mut bucket = self.last;
        while bucket < BOUNDS && nanos >= BOUND_NANOS[bucket] {
            bucket += 1;
        }
        while bucket > 0 && nanos < BOUND_NANOS[bucket - 1] {
            bucket -= 1;
        }
        self.last = bucket;
        self.counts[bucket] += 1;
        self.sums[bucket] += nanos;
    }

    /// The buckets that hold something: (low, high, count, sum) with times in nanoseconds.
    pub fn buckets(&self) -> impl Iterator<Item = (i64, i64, u64, i64)> + '_ {
        (0..=BOUNDS).filter(|&bucket| self.counts[bucket] > 0).map(|bucket| {
            let low = if bucket == 0 { 0 } else { BOUND_NANOS[bucket - 1] };
            let high = BOUND_NANOS.get(bucket).copied().unwrap_or(i64::MAX);
            (low, high, self.counts[bucket], self.sums[bucket])
        })
    }

    /// Adds what another holds.
    pub fn merge(&mut self, other: &Self) {
        for bucket in 0..=BOUNDS {
            self.counts[bucket] += other.counts[bucket];
            self.sums[bucket] += other.sums[bucket];
        }
    }

    /// The delay that this share of them does not exceed, evenly spread within its bucket; `None` if it is
    /// empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        let wanted = share * all as f64;
        let mut before = 0.0;
        for (low, high, count, sum) in self.buckets() {
            let inside = count as f64;
            if before + inside >= wanted {
                // The last bucket has no end; twice its mean's distance from its begin stands for it.
                let mean = sum / count.max(1) as i64;
                let high = if high == i64::MAX { low + 2 * (mean - low) } else { high };
                let within = ((wanted - before) / inside).clamp(0.0, 1.0);
                return Some(Duration::from_nanos(low + ((high - low) as f64 * within) as i64));
            }
            before += inside;
        }
        None
    }

    /// Empties it.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thresholds_of_the_field_are_bounds() {
        for millis in [10, 20, 50, 100] {
            assert!(BOUND_NANOS.contains(&(millis * 1_000_000)), "{millis} ms");
        }
        assert!(BOUND_NANOS.is_sorted());
        assert_eq!((BOUND_NANOS[0], BOUND_NANOS[BOUNDS - 1]), (1_000, 80_000_000_000));
    }

    #[test]
    fn quantiles_lie_within_their_buckets() {
        let mut histogram = DelayHistogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        for micros in 1..=1000 {
            histogram.add(Duration::from_micros(micros));
        }
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        for one in [&histogram, &twice] {
            for (share, min, max) in [(0.5, 490, 510), (0.99, 980, 1000), (0.01, 8, 12)] {
                let found = one.quantile(share).expect("it holds something").as_nanos() / 1000;
                assert!((min..=max).contains(&found), "{share}: {found} us");
            }
        }
    }

    #[test]
    fn a_delay_on_a_bound_belongs_above_it() {
        let mut histogram = DelayHistogram::default();
        for nanos in [9_999_999, 10_000_000, 0, 999, 200_000_000_000] {
            histogram.add(Duration::from_nanos(nanos));
        }
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets[0], (0, 1_000, 2, 999));
        assert_eq!(buckets[1], (8_000_000, 10_000_000, 1, 9_999_999));
        assert_eq!(buckets[2], (10_000_000, 12_500_000, 1, 10_000_000));
        assert_eq!(buckets[3], (80_000_000_000, i64::MAX, 1, 200_000_000_000));
        histogram.clear();
        assert_eq!(histogram.buckets().count(), 0);
    }

    #[test]
    fn a_quantile_in_the_bucket_without_end_lies_evenly_around_the_mean() {
        let mut histogram = DelayHistogram::default();
        for seconds in [90, 110] {
            histogram.add(Duration::from_secs(seconds));
        }
        // It begins at 80 s, and 100 s is the mean: as far behind it the bucket is taken to end.
        for (share, seconds) in [(0.0, 80), (0.25, 90), (0.5, 100), (1.0, 120)] {
            assert_eq!(histogram.quantile(share), Some(Duration::from_secs(seconds)), "{share}");
        }
        // The twin: a bucket that ends is spread from bound to bound, whatever its mean.
        histogram.clear();
        histogram.add(Duration::from_millis(10));
        assert_eq!(histogram.quantile(0.5), Some(Duration::from_micros(10_000 + 2_500 / 2)));
    }

    #[test]
    fn what_two_histograms_hold_is_in_one_after_they_are_merged() {
        let (mut first, mut second) = (DelayHistogram::default(), DelayHistogram::default());
        let mut all = DelayHistogram::default();
        for (histogram, millis) in [(&mut first, [0, 10, 11]), (&mut second, [11, 50, 200_000])] {
            for delay in millis.map(Duration::from_millis) {
                histogram.add(delay);
                all.add(delay);
            }
        }
        first.merge(&second);
        assert_eq!(first.buckets().collect::<Vec<_>>(), all.buckets().collect::<Vec<_>>());
    }
}
