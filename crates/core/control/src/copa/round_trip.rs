//! What Copa keeps of round-trip times: smoothed, minimum, standing, longest.
//!
//! Source: Arun and Balakrishnan, Copa, NSDI 2018, sections 2.1 (minimum, standing) and 2.2 (longest); RFC 6298 (smoothed).
//!
//! A sample is taken for the time at which its packet would have been acknowledged had the receiver
//! answered at once, so the length of the feedback interval does not blur the filters.

use crate::filter::WindowedMin;
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const MIN_WINDOW: Duration = Duration::from_secs(10);
const MAX_WINDOW: i64 = 4;
const NEARLY_EMPTY: f64 = 0.1;
/// A moving window is cut into this many steps: its memory is bounded by this, not by packets.
const STEPS: i64 = 64;

/// The least value of a window whose length changes; the edge moves in steps.
#[derive(Debug, Clone, Default)]
struct MovingMin {
    /// Oldest first; the values grow.
    kept: VecDeque<(Instant, Duration)>,
}

impl MovingMin {
    fn insert(&mut self, at: Instant, value: Duration, window: Duration) {
        let newest = self.kept.back().map_or(at, |(time, _)| *time);
        let at = at.max(newest);
        while self.kept.front().is_some_and(|(time, _)| at.saturating_since(*time) > window) {
            self.kept.pop_front();
        }
        while self.kept.back().is_some_and(|(_, kept)| *kept >= value) {
            self.kept.pop_back();
        }
        let step = window / STEPS;
        if self.kept.back().is_none_or(|(time, _)| at.saturating_since(*time) >= step) {
            self.kept.push_back((at, value));
        }
        if self.kept.len() > 2 * STEPS as usize {
            self.kept.pop_front(); // only where the window has just shrunk to a small part
        }
    }

    fn get(&self) -> Duration {
        self.kept.front().map_or(Duration::ZERO, |(_, value)| *value)
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct RoundTrips {
    smoothed: Option<Duration>,
    /// When the newest sample was acknowledged.
    newest: Option<Instant>,
    min: WindowedMin,
    standing: MovingMin,
    /// Negated: the longest.
    longest: MovingMin,
}

impl RoundTrips {
    pub(super) fn new() -> Self {
        Self {
            smoothed: None,
            newest: None,
            min: WindowedMin::new(MIN_WINDOW),
            standing: MovingMin::default(),
            longest: MovingMin::default(),
        }
    }

    pub(super) fn insert(&mut self, acknowledged: Instant, sample: Duration) {
        let since =
            self.newest.map_or(Duration::ZERO, |newest| acknowledged.saturating_since(newest));
        self.newest = self.newest.max(Some(acknowledged));
        let smoothed = self.smoothed.map_or(sample, |old| {
            let weight = (since / old).clamp(0.0, 1.0);
            old + (sample - old).mul_f64(weight)
        });
        self.smoothed = Some(smoothed.max(Duration::from_nanos(1)));
        self.min.insert(acknowledged, sample);
        self.standing.insert(acknowledged, sample, smoothed / 2);
        self.longest.insert(acknowledged, -sample, smoothed * MAX_WINDOW);
    }

    /// `None` before the first sample.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(super) fn min(&self) -> Duration {
        self.min.get().unwrap_or(Duration::ZERO)
    }

    /// The least of the last half of a smoothed round-trip time.
    pub(super) fn standing(&self) -> Duration {
        self.standing.get()
    }

    /// How long the queue stands.
    pub(super) fn standing_queue(&self) -> Duration {
        (self.standing() - self.min()).max(Duration::ZERO)
    }

    /// Section 2.2: less than a tenth of the longest queue of the last four round trips.
    pub(super) fn is_nearly_empty(&self) -> bool {
        let queue = self.standing_queue();
        queue < self.max_queue().mul_f64(NEARLY_EMPTY) || queue == Duration::ZERO
    }

    /// The longest queueing delay of the last four round trips.
    fn max_queue(&self) -> Duration {
        (-self.longest.get() - self.min()).max(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_standing_queue_is_what_half_a_round_trip_never_falls_below() {
        let mut trips = RoundTrips::new();
        for millis in 0..100 {
            trips.insert(at(millis), ms(20));
        }
        // A queue of 10 ms with bursts of 10 ms more in every other millisecond.
        for millis in 100..300 {
            trips.insert(at(millis), ms(30 + 10 * (millis % 2)));
        }
        assert_eq!((trips.min(), trips.standing()), (ms(20), ms(30)));
        assert_eq!((trips.standing_queue(), trips.max_queue()), (ms(10), ms(20)));
        let smoothed = trips.smoothed().unwrap_or_default();
        assert!((ms(34)..ms(36)).contains(&smoothed), "{smoothed}");
        // One sample at the floor is forgotten after half a smoothed round trip, and not before.
        trips.insert(at(300), ms(20));
        trips.insert(at(315), ms(30));
        assert_eq!(trips.standing(), ms(20));
        trips.insert(at(318), ms(30));
        assert_eq!(trips.standing(), ms(30));
    }

    #[test]
    fn nearly_empty_is_below_a_tenth_of_the_longest_queue_of_four_round_trips() {
        // A queue of 20 ms once, on a path of 40 ms; then one that stands.
        let after = |millis: i64, micros: i64| {
            let mut trips = RoundTrips::new();
            for time in 0..1_000 {
                trips.insert(at(time), ms(40));
            }
            trips.insert(at(1_000), ms(60));
            let standing = ms(40) + Duration::from_micros(micros);
            for time in 1_001..=1_000 + millis {
                trips.insert(at(time), standing);
            }
            trips.is_nearly_empty()
        };
        assert!(after(100, 1_999) && !after(100, 2_000));
        assert!(after(155, 1_999) && !after(175, 1_999));
        assert!(after(175, 0));
    }

    proptest! {
        #[test]
        fn a_moving_minimum_is_exact_up_to_a_step(
            steps in prop::collection::vec((0_i64..40, 1_i64..50), 1..300)
        ) {
            let mut filter = MovingMin::default();
            let (mut all, mut time) = (Vec::new(), 0);
            for (gap, value) in steps {
                time += gap;
                all.push((time, value));
                filter.insert(at(time), ms(value), ms(640));
                let min = |span: i64| all.iter().filter(|(t, _)| time - t <= span).map(|(_, v)| *v).min();
                let kept = Some(filter.get().as_nanos() / 1_000_000);
                prop_assert!(kept >= min(640) && kept <= min(630));
                prop_assert!(filter.kept.len() <= 2 * STEPS as usize);
            }
        }
    }
}
