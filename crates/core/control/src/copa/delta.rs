//! Which delta Copa uses: the mode switch of section 2.2.

use super::round_trip::RoundTrips;
use gameway_units::{Duration, Instant};

const EMPTY_WITHIN: i64 = 5;

/// The weight of delay: constant, or additive increase and multiplicative decrease of its inverse while
/// the queue does not empty.
#[derive(Debug, Clone)]
pub(super) struct Delta {
    default: f64,
    inverse: f64,
    switching: bool,
    competitive: bool,
    last_empty: Option<Instant>,
    last_increase: Option<Instant>,
    last_decrease: Option<Instant>,
}

impl Delta {
    pub(super) fn new(default: f64, switching: bool) -> Self {
        Self {
            default,
            inverse: 1.0 / default,
            switching,
            competitive: false,
            last_empty: None,
            last_increase: None,
            last_decrease: None,
        }
    }

    pub(super) fn get(&self) -> f64 {
        1.0 / self.inverse
    }

    pub(super) fn is_competitive(&self) -> bool {
        self.competitive
    }

    /// After each sample of the round-trip time.
    pub(super) fn on_sample(&mut self, at: Instant, trips: &RoundTrips) {
        let Some(smoothed) = trips.smoothed().filter(|_| self.switching) else { return };
        let last = self.last_empty;
        if last.is_none() || trips.is_nearly_empty() {
            self.last_empty = Some(at);
        }
        let waited = last.map_or(Duration::ZERO, |last| at.saturating_since(last));
        self.competitive = waited > smoothed * EMPTY_WITHIN;
        if !self.competitive {
            self.inverse = 1.0 / self.default;
            self.last_increase = Some(at);
        } else if passed(self.last_increase, at, smoothed) {
            self.last_increase = Some(at);
            self.inverse += 1.0;
        }
    }

    /// A packet was lost: half the inverse, once in a round trip.
    pub(super) fn on_loss(&mut self, at: Instant, smoothed: Duration) {
        if self.competitive && passed(self.last_decrease, at, smoothed) {
            (self.last_decrease, self.last_increase) = (Some(at), Some(at));
            self.inverse = (self.inverse / 2.0).max(1.0 / self.default);
        }
    }
}

fn passed(since: Option<Instant>, now: Instant, span: Duration) -> bool {
    since.is_none_or(|since| now.saturating_since(since) >= span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A queue of 20 ms from 100 ms on that never empties, on a path of 20 ms.
    fn crowded(switching: bool, until: i64) -> (Delta, RoundTrips) {
        let (mut delta, mut trips) = (Delta::new(0.1, switching), RoundTrips::new());
        for millis in 0..until {
            let queue = if millis < 100 { 0 } else { 20 };
            trips.insert(at(millis), Duration::from_millis(20 + queue));
            delta.on_sample(at(millis), &trips);
        }
        (delta, trips)
    }

    #[test]
    fn a_queue_that_never_empties_makes_it_competitive_and_an_empty_one_ends_it() {
        assert!(!crowded(true, 280).0.is_competitive());
        let (mut delta, mut trips) = crowded(true, 360);
        assert!(delta.is_competitive());
        trips.insert(at(360), Duration::from_millis(20));
        delta.on_sample(at(360), &trips);
        delta.on_sample(at(361), &trips);
        assert!(!delta.is_competitive() && (delta.get() - 0.1).abs() < 1e-12);
        assert!(!crowded(false, 1_000).0.is_competitive());
    }

    #[test]
    fn competitive_means_one_more_packet_a_round_trip_and_half_after_a_loss() {
        // Competitive from about 310 ms on; 40 ms a round trip.
        let (mut delta, _) = crowded(true, 1_000);
        let packets = 1.0 / delta.get();
        assert!((25.0..29.0).contains(&packets), "{packets}");
        delta.on_loss(at(1_000), Duration::from_millis(40));
        delta.on_loss(at(1_001), Duration::from_millis(40));
        assert!((1.0 / delta.get() - packets / 2.0).abs() < 1e-9);
        delta.on_loss(at(1_100), Duration::from_millis(40));
        assert!((1.0 / delta.get() - 10.0).abs() < 1e-9);
    }
}
