//! What came in the last periods, and its rate.

use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// Periods that are remembered: 2.5 s of 20 ms.
const MAX_PERIODS: usize = 128;

/// What came in the last periods.
#[derive(Debug, Clone, Default)]
pub struct ArrivalRate {
    periods: VecDeque<(Instant, Bytes)>,
}

impl ArrivalRate {
    /// A period has ended.
    pub fn on_period(&mut self, now: Instant, bytes: Bytes) {
        if self.periods.len() >= MAX_PERIODS {
            self.periods.pop_front();
        }
        self.periods.push_back((now, bytes));
    }

    /// Bytes per second in the last `span`, or in what is remembered where that is shorter.
    pub fn rate(&self, now: Instant, span: Duration) -> f64 {
        let forgot = self.periods.front().filter(|_| self.periods.len() >= MAX_PERIODS);
        let span = forgot.map_or(span, |(at, _)| span.min(now.saturating_since(*at)));
        let within = |(at, _): &&(Instant, Bytes)| now.saturating_since(*at) < span;
        let periods = self.periods.iter().rev();
        let bytes: f64 = periods.clone().take_while(within).map(|(_, bytes)| bytes.as_f64()).sum();
        let begun = periods.skip_while(within).map(|(at, _)| *at).next();
        let length = begun.map_or(span, |begun| now.saturating_since(begun));
        bytes / length.as_secs_f64().max(1e-3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_whole_periods() {
        let mut came = ArrivalRate::default();
        assert!(came.rate(Instant::ZERO, Duration::from_millis(50)) < 1e-9);
        for period in 1..=300 {
            let now = Instant::ZERO + Duration::from_millis(20 * period);
            came.on_period(now, Bytes::new(if period > 297 { 4_000 } else { 1_000 }));
        }
        let now = Instant::ZERO + Duration::from_secs(6);
        assert!((came.rate(now, Duration::from_millis(50)) - 200_000.0).abs() < 1e-3);
        assert!((came.rate(now, Duration::from_millis(100)) - 140_000.0).abs() < 1e-3);
    }

    #[test]
    fn of_a_span_what_is_remembered_counts() {
        let mut came = ArrivalRate::default();
        let millis = Duration::from_millis;
        let period = |came: &mut ArrivalRate, number: i64| {
            came.on_period(Instant::ZERO + millis(20 * number), Bytes::new(1_000));
        };
        (1..=10).for_each(|number| period(&mut came, number));
        // The period that ended 40 ms ago is not within 40 ms.
        let now = Instant::ZERO + millis(200);
        assert!((came.rate(now, millis(40)) - 50_000.0).abs() < 1e-3);
        assert!((came.rate(now, millis(1_000)) - 10_000.0).abs() < 1e-3, "nothing came before");
        // Of more than are remembered the rate is that of those, and not less.
        (11..=200).for_each(|number| period(&mut came, number));
        let now = Instant::ZERO + millis(4_000);
        for span in [2_500, 2_540, 2_560, 10_000] {
            assert!((came.rate(now, millis(span)) - 50_000.0).abs() < 1e-3, "{span} ms");
        }
        // No period is within no span.
        assert!(came.rate(now, Duration::ZERO).abs() < 1e-9);
    }
}
