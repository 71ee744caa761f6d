//! The clock of a stream's receiver, which nobody has set.

use gameway_units::{Duration, Instant, ReceiverInstant};

/// It shows `time + offset`, and runs fast by so many millionths.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverClock {
    /// What it shows at the run's begin.
    pub offset: Duration,
    /// By how many millionths of the time since then it is ahead.
    pub drift_ppm: i32,
}

impl ReceiverClock {
    /// What it shows.
    pub fn shows(&self, now: Instant) -> ReceiverInstant {
        let ahead = scaled(now.as_nanos(), i64::from(self.drift_ppm), 1_000_000);
        let ahead = Duration::from_nanos(ahead);
        ReceiverInstant::from_nanos((now + self.offset + ahead).as_nanos())
    }

    /// The first moment at which it shows `at` or more: what is due by it is due then.
    pub fn own(&self, at: ReceiverInstant) -> Instant {
        let since = at.as_nanos().saturating_sub(self.offset.as_nanos());
        let speed = 1_000_000 + i64::from(self.drift_ppm);
        let mut now = Instant::from_nanos(scaled(since, 1_000_000, speed));
        while self.shows(now) < at {
            now += Duration::from_nanos(1);
        }
        now
    }

    /// The moment of something that the receiver noted at `at` on its clock, if that may have been just
    /// now: a slow clock shows the same for more than one nanosecond.
    pub fn time_of(&self, at: ReceiverInstant, now: Instant) -> Instant {
        if self.shows(now) == at { now } else { self.own(at) }
    }
}

/// `value` times `factor` by `divisor`, rounded down. A division of 128 bits takes many times as long as one of 64, and
/// each event of a stream needs one.
fn scaled(value: i64, factor: i64, divisor: i64) -> i64 {
    if factor == divisor {
        return value;
    }
    match value.checked_mul(factor) {
        Some(product) => product.div_euclid(divisor),
        None => (i128::from(value) * i128::from(factor)).div_euclid(i128::from(divisor)) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_by_it_is_due_neither_early_nor_late() {
        for drift_ppm in [-1_000, -37, 0, 50, 1_000] {
            let clock = ReceiverClock { offset: Duration::from_secs(1_234), drift_ppm };
            for nanos in [0, 1, 16_666_667, 999_999_999, 540_000_000_123] {
                let now = Instant::from_nanos(nanos);
                let found = clock.own(clock.shows(now));
                // A slow clock shows the same for a moment longer.
                assert!(
                    found <= now && now - found <= Duration::from_nanos(1),
                    "{drift_ppm} {nanos}"
                );
                assert!(clock.shows(found) >= clock.shows(now));
                assert_eq!(clock.time_of(clock.shows(now), now), now);
            }
        }
    }

    #[test]
    fn fifty_millionths_are_three_milliseconds_a_minute() {
        let clock = ReceiverClock { offset: Duration::ZERO, drift_ppm: 50 };
        let shown = clock.shows(Instant::ZERO + Duration::from_secs(60));
        assert_eq!(shown, ReceiverInstant::from_nanos(60_003_000_000));
    }
}
