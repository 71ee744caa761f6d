//! Largest value of a sliding window, in constant space.
//!
//! Source: K. Nichols' filter, as in Linux `lib/win_minmax.c`.
//! Model: the best, second best and third best values of successively later parts of the window are
//! kept, so that when the best leaves the window a recent successor is at hand. The result is exact
//! or slightly stale, never forgotten before its time.

/// A value and the time, in any monotone unit, at which it was seen.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    time: u64,
    value: f64,
}

/// Maximum over the last `window` units of time.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowedMax {
    window: u64,
    best: [Seen; 3],
}

impl WindowedMax {
    pub(crate) fn new(window: u64) -> Self {
        Self { window, best: [Seen::default(); 3] }
    }

    pub(crate) fn get(&self) -> f64 {
        self.best[0].value
    }

    pub(crate) fn update(&mut self, time: u64, value: f64) {
        let seen = Seen { time, value };
        if value >= self.best[0].value || time.saturating_sub(self.best[2].time) > self.window {
            self.best = [seen; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = seen;
            self.best[2] = seen;
        } else if value >= self.best[2].value {
            self.best[2] = seen;
        }
        self.age(seen);
    }

    /// Promotes successors whose predecessors left the window or cover too much of it.
    fn age(&mut self, seen: Seen) {
        let elapsed = seen.time.saturating_sub(self.best[0].time);
        if elapsed > self.window {
            self.best = [self.best[1], self.best[2], seen];
            if seen.time.saturating_sub(self.best[0].time) > self.window {
                self.best = [self.best[1], self.best[2], seen];
            }
        } else if self.best[1].time == self.best[0].time && elapsed > self.window / 4 {
            self.best[1] = seen;
            self.best[2] = seen;
        } else if self.best[2].time == self.best[1].time && elapsed > self.window / 2 {
            self.best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_below_the_latest_and_never_above_the_window(values in prop::collection::vec(0u32..100, 1..80)) {
            let mut filter = WindowedMax::new(10);
            for (time, value) in values.iter().enumerate() {
                filter.update(time as u64, f64::from(*value));
                let oldest = time.saturating_sub(10);
                let exact = values[oldest..=time].iter().max().map_or(0.0, |max| f64::from(*max));
                prop_assert!(filter.get() >= f64::from(*value));
                prop_assert!(filter.get() <= exact, "stale: {} > {exact}", filter.get());
            }
        }
    }

    #[test]
    fn holds_the_peak_for_the_window_and_then_lets_go() {
        let mut filter = WindowedMax::new(10);
        filter.update(0, 100.0);
        (1..=10).for_each(|time| filter.update(time, 50.0));
        assert!(filter.get() > 99.0);
        filter.update(11, 50.0);
        assert!(filter.get() < 51.0);
    }

    /// Linux `minmax_subwin_update` by hand, with a window of 8: a successor is taken beyond a quarter of it, another
    /// beyond half, and not one that came just then.
    #[test]
    fn the_best_leaves_its_place_to_successors_of_later_parts_of_the_window() {
        let after = |samples: &[(u64, f64)], more: &[(u64, f64)]| {
            let mut filter = WindowedMax::new(8);
            samples.iter().chain(more).for_each(|(time, value)| filter.update(*time, *value));
            filter.get() as u64
        };
        let first = [
            (0, 100.0),
            (1, 10.0),
            (2, 60.0), // just a quarter
            (3, 30.0), // the second best
            (4, 29.0), // just half
            (5, 25.0), // the third best
            (6, 28.0), // better than that
            (8, 1.0),
        ];
        assert_eq!(after(&first, &[]), 100);
        assert_eq!(after(&first, &[(9, 2.0)]), 30);
        assert_eq!(after(&first, &[(9, 2.0), (11, 1.0)]), 30);
        assert_eq!(after(&first, &[(9, 2.0), (12, 1.0)]), 28);
        assert_eq!(after(&first, &[(9, 2.0), (12, 1.0), (15, 0.0)]), 2);
        // The second has left the window with the first, or not yet.
        assert_eq!(after(&first, &[(9, 2.0), (14, 1.0)]), 28);
        assert_eq!(after(&first[..7], &[(11, 1.0)]), 30);
        assert_eq!(after(&first[..7], &[(12, 1.0)]), 28);
        // Nothing for more than a window forgets all; a better one forgets what was less.
        let silence = [(0, 100.0), (8, 1.0)];
        assert_eq!(after(&silence, &[]), 100);
        assert_eq!(after(&silence, &[(17, 0.0)]), 0);
        assert_eq!(after(&first, &[(8, 40.0), (9, 2.0)]), 40);
    }
}
