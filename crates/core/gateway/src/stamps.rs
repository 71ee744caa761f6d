//! Time stamps of one end on their way to the other and back: several at once, so that a queue is seen as it is now and
//! not a loop ago.
//!
//! Source: RFC 7323 section 3.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | stamps under way | 32 | ours: sixteen to a loop, and a queue as long as the loop |
//! | between them | a sixteenth of the smallest loop, 1 ms at the least | RFC 7323 section 5.4: clocks of stamps tick each millisecond at most |

use crate::segment::ahead;
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const MAX_STAMPS: usize = 32;
const PER_LOOP: i64 = 16;
const MIN_SPACING: Duration = Duration::from_millis(1);

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    /// The value, and when it passed first; the oldest first.
    under_way: VecDeque<(u32, Instant)>,
}

impl Stamps {
    /// A stamp passes for the first time, of a connection whose loop is at least so long.
    pub fn start(&mut self, now: Instant, stamp: u32, looped: Option<Duration>) {
        let spacing = looped.map_or(MIN_SPACING, |looped| (looped / PER_LOOP).max(MIN_SPACING));
        if self.under_way.back().is_some_and(|(_, at)| now.saturating_since(*at) < spacing) {
            return;
        }
        if self.under_way.len() >= MAX_STAMPS {
            self.under_way.pop_front();
        }
        self.under_way.push_back((stamp, now));
    }

    /// A stamp comes back: how long that took if this is its first echo, and when it had passed.
    pub fn echoed(&mut self, now: Instant, echo: u32) -> Option<(Duration, Instant)> {
        let mut found = None;
        while let Some((stamp, at)) = self.under_way.front().copied()
            && ahead(echo, stamp) >= 0
        {
            self.under_way.pop_front();
            found = (stamp == echo).then(|| (now.saturating_since(at), at));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn passed(echoed: Option<(Duration, Instant)>) -> Option<i64> {
        echoed.map(|(looped, _)| looped.as_nanos() / 1_000_000)
    }

    #[test]
    fn each_stamp_has_its_own_loop_and_is_echoed_once() {
        let mut stamps = Stamps::default();
        for stamp in [10_u32, 20, 30] {
            stamps.start(at(i64::from(stamp)), stamp, None);
        }
        assert_eq!(passed(stamps.echoed(at(50), 10)), Some(40));
        assert_eq!(passed(stamps.echoed(at(51), 10)), None);
        assert_eq!(passed(stamps.echoed(at(90), 30)), Some(60));
        assert_eq!(passed(stamps.echoed(at(91), 20)), None, "the echo of a later one has passed");
    }

    #[test]
    fn the_echo_of_a_stamp_between_two_says_nothing() {
        let mut stamps = Stamps::default();
        stamps.start(at(10), 10, None);
        assert_eq!(passed(stamps.echoed(at(50), 15)), None);
        assert_eq!(passed(stamps.echoed(at(51), 10)), None, "it was on its way no more");
    }

    #[test]
    fn there_are_sixteen_to_a_loop_and_a_bounded_number() {
        let mut stamps = Stamps::default();
        for millis in 0..1000 {
            stamps.start(at(millis), millis as u32, Some(Duration::from_millis(80)));
        }
        assert_eq!(stamps.under_way.len(), MAX_STAMPS);
        let apart = stamps.under_way[1].1 - stamps.under_way[0].1;
        assert_eq!(apart, Duration::from_millis(5));
    }

    #[test]
    fn numbers_may_wrap() {
        let mut stamps = Stamps::default();
        stamps.start(at(0), u32::MAX, None);
        stamps.start(at(5), 4, None);
        assert_eq!(passed(stamps.echoed(at(30), u32::MAX)), Some(30));
        assert_eq!(passed(stamps.echoed(at(40), 4)), Some(35));
    }

    #[test]
    fn stamps_are_apart_by_a_sixteenth_of_the_loop_and_by_1_ms_at_the_least() {
        let micros = |count: i64| Instant::ZERO + Duration::from_micros(count);
        for (looped, spacing) in
            [(None, 1_000), (Some(0), 1_000), (Some(15_999), 1_000), (Some(32_000), 2_000)]
        {
            for (after, number) in [(spacing - 1, 1), (spacing, 2)] {
                let mut stamps = Stamps::default();
                let looped = looped.map(Duration::from_micros);
                stamps.start(micros(0), 1, looped);
                stamps.start(micros(after), 2, looped);
                assert_eq!(stamps.under_way.len(), number, "{looped:?}: {after} us");
            }
        }
    }

    #[test]
    fn of_more_than_32_stamps_the_oldest_go() {
        let mut stamps = Stamps::default();
        (0..33).for_each(|stamp| stamps.start(at(stamp), stamp as u32, None));
        assert_eq!(passed(stamps.clone().echoed(at(40), 0)), None);
        assert_eq!(passed(stamps.echoed(at(40), 1)), Some(39));
    }
}
