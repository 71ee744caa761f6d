//! Windowed extremes over event time.

use gameway_units::{Duration, Instant, ReceiverInstant};
use std::collections::VecDeque;

/// How many steps a window is cut into: the memory of a filter is bounded by this, not by packets.
const STEPS: i64 = 100;

/// The least value of the last `window`, exact but for the window's edge, which moves in hundredths.
///
/// A monotonic queue: values that are neither newer nor smaller than another can never become the
/// minimum and are not kept. For a maximum, negate.
#[derive(Debug, Clone)]
pub(crate) struct WindowedMin {
    window: Duration,
    step: Duration,
    /// Oldest first; the values grow.
    kept: VecDeque<(Instant, Duration)>,
}

impl WindowedMin {
    pub(crate) fn new(window: Duration) -> Self {
        let window = window.max(Duration::from_nanos(STEPS));
        let kept = VecDeque::with_capacity(STEPS as usize + 2);
        Self { window, step: window / STEPS, kept }
    }

    /// A time before that of the last call counts as that time.
    pub(crate) fn insert(&mut self, now: Instant, value: Duration) {
        let newest = self.kept.back().map_or(now, |(time, _)| *time);
        let now = now.max(newest);
        self.expire(now);
        while self.kept.back().is_some_and(|(_, kept)| *kept >= value) {
            self.kept.pop_back();
        }
        // Within a step only the smallest stays: the front of a step is smaller than all that follow.
        let crowded =
            self.kept.back().is_some_and(|(time, _)| now.saturating_since(*time) < self.step);
        if !crowded {
            self.kept.push_back((now, value));
        }
    }

    fn expire(&mut self, now: Instant) {
        let old = |time: Instant| now.saturating_since(time) > self.window;
        while self.kept.front().is_some_and(|(time, _)| old(*time)) {
            self.kept.pop_front();
        }
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        self.kept.front().map(|(_, value)| *value)
    }

    /// Forgets what is less than a value.
    pub(crate) fn forget_below(&mut self, value: Duration) {
        while self.kept.front().is_some_and(|(_, kept)| *kept < value) {
            self.kept.pop_front();
        }
    }
}

/// The least one-way delay of a window, with the clocks' offset in it.
///
/// On guard against clocks that jump: a packet that is reported at `now` was under way no longer than since
/// it was sent. So the offset is at least its delay less that time, and a least delay below that is one
/// from before the receiver's clock jumped ahead, or a lie. Kept, it would make the empty path look full
/// for the whole window.
#[derive(Debug, Clone)]
pub(crate) struct BaseDelay {
    min: WindowedMin,
}

impl BaseDelay {
    pub(crate) fn new(window: Duration) -> Self {
        Self { min: WindowedMin::new(window) }
    }

    /// A report that comes at `now` says that a packet sent at `sent` arrived at `arrival`.
    pub(crate) fn insert(&mut self, now: Instant, sent: Instant, arrival: ReceiverInstant) {
        let delay = arrival.one_way_delay_since(sent);
        self.min.forget_below(delay.saturating_sub(now.saturating_since(sent)));
        self.min.insert(now, delay);
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        self.min.get()
    }

    /// Forgets delays that are less: the path has become longer.
    pub(crate) fn forget_below(&mut self, delay: Duration) {
        self.min.forget_below(delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_base_delay_that_cannot_be_is_forgotten() {
        let ms = Duration::from_millis;
        let mut base = BaseDelay::new(Duration::from_secs(600));
        // Way there 10 ms, round trip 25 ms; the receiver's clock is ahead by `offset` ms.
        let mut feed = |millis: i64, queued: i64, offset: i64| {
            let sent = Instant::ZERO + ms(millis);
            let arrival = ReceiverInstant::from_nanos((sent + ms(10 + queued + offset)).as_nanos());
            base.insert(sent + ms(25 + queued), sent, arrival);
            base.get().map(Duration::as_millis_f64)
        };
        assert_eq!(feed(0, 0, 1_000), Some(1_010.0));
        assert_eq!(feed(20, 80, 1_000), Some(1_010.0)); // a long queue is no jump
        assert_eq!(feed(40, 5, 3_600_000), Some(3_600_015.0)); // ahead by an hour
        assert_eq!(feed(60, 0, 3_600_000), Some(3_600_010.0));
        assert_eq!(feed(80, 7, -3_600_000), Some(-3_599_983.0)); // back
        assert_eq!(feed(100, 0, -3_600_000), Some(-3_599_990.0));
        // A lie of less than the round trip cannot be told from an empty path.
        assert_eq!(feed(120, 0, -3_600_005), Some(-3_599_995.0));
        assert_eq!(feed(140, 0, -3_600_000), Some(-3_599_995.0));
    }

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_minimum_is_forgotten_after_the_window() {
        let mut filter = WindowedMin::new(Duration::from_secs(10));
        filter.insert(at(0), Duration::from_millis(5));
        filter.insert(at(1_000), Duration::from_millis(9));
        filter.insert(at(10_000), Duration::from_millis(20));
        assert_eq!(filter.get(), Some(Duration::from_millis(5)));
        filter.insert(at(10_001), Duration::from_millis(20));
        assert_eq!(filter.get(), Some(Duration::from_millis(9)));
        filter.insert(at(11_001), Duration::from_millis(30));
        assert_eq!(filter.get(), Some(Duration::from_millis(20)));
    }

    #[test]
    fn of_a_step_no_more_than_one_value_is_kept() {
        let mut filter = WindowedMin::new(Duration::from_millis(1_000));
        for millis in 0..2_000 {
            filter.insert(at(millis), Duration::from_millis(millis));
        }
        assert!((99..=101).contains(&filter.kept.len()), "{}", filter.kept.len());
    }

    proptest! {
        /// Between the minimum over the window and that over the window less one step.
        #[test]
        fn it_is_the_minimum_up_to_a_step(
            steps in prop::collection::vec((0_i64..40, -50_i64..50), 1..300)
        ) {
            let mut filter = WindowedMin::new(Duration::from_millis(1_000));
            let mut all = Vec::new();
            let mut time = 0;
            for (gap, value) in steps {
                time += gap;
                all.push((time, value));
                filter.insert(at(time), Duration::from_millis(value));
                let min = |span: i64| all.iter().filter(|(t, _)| time - t <= span).map(|(_, v)| *v).min();
                let kept = filter.get().map(|value| value.as_nanos() / 1_000_000);
                prop_assert!(kept >= min(1_000) && kept <= min(990));
                prop_assert!(filter.kept.len() <= STEPS as usize + 2);
            }
        }
    }
}
