//! How much longer data took on its way from a server than the fastest before it, whatever its acknowledgments met on theirs.
//!
//! Source: RFC 7323 section 5.4 (the clock of stamps); RFC 6817 section 3.4.1 (differences of one-way delay; clocks need not agree).
//! Model: data has the time at which the server sent it, in ticks of its clock. What passes between two segments here, less what
//! passed there, is how much longer the second took; the sum of these is the delay but for a constant, and the smallest sum is
//! the path without a queue.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | ticks | 1, 4, 10 ms | RFC 7323 section 5.4: 1 ms to 1 s; those of Linux, BSD, Windows |
//! | a tick is known after | 1 s | ours: a queue of 250 ms that grows meanwhile changes it by a fourth |
//! | it is that of the list that is nearest, within a factor of | 1.5 | ours: half of the way to the next |
//! | memory of the smallest | 10 to 20 s | ours: clocks differ by 50 ppm, which are 1 ms in that time |
//!
//! What waited longer than the memory is taken for the path: this bounds what a loop tells, and tells nothing alone.

use crate::loop_time::Smallest;
use crate::segment::ahead;
use gameway_units::{Duration, Instant};

const TICKS: [Duration; 3] =
    [Duration::from_millis(1), Duration::from_millis(4), Duration::from_millis(10)];
const KNOWN_AFTER: Duration = Duration::from_secs(1);
const NEAR: f64 = 1.5;
const MEMORY: Duration = Duration::from_secs(10);

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub struct OneWay {
    /// The stamp that was seen last, and when.
    last: Option<(u32, Instant)>,
    /// Of the first, until the tick is known.
    first: Option<(u32, Instant)>,
    tick: Option<Duration>,
    /// The delay of the last, but for a constant.
    delay: Duration,
    smallest: Smallest,
}

impl OneWay {
    /// Data passes that was sent at this time of its server's clock. Gives how long it waited; `None`: the clock is not known.
    pub fn on_data(&mut self, now: Instant, stamp: u32) -> Option<Duration> {
        let first = *self.first.get_or_insert((stamp, now));
        let (before, at) = self.last.replace((stamp, now)).unwrap_or((stamp, now));
        if self.tick.is_none() {
            self.tick = tick_of(now.saturating_since(first.1), ahead(stamp, first.0));
            return None;
        }
        let tick = self.tick?;
        let passed = now.saturating_since(at);
        self.delay = self.delay.saturating_add(passed) - tick * i64::from(ahead(stamp, before));
        self.smallest.add(now, MEMORY, self.delay);
        self.smallest.get().map(|smallest| self.delay - smallest)
    }
}

/// The tick of a clock that advanced by `ticks` in the time `passed`, if that can be told.
fn tick_of(passed: Duration, ticks: i32) -> Option<Duration> {
    if passed < KNOWN_AFTER || ticks <= 0 {
        return None;
    }
    let one = passed.as_secs_f64() / f64::from(ticks);
    let is_near = |tick: &Duration| {
        let ratio = one / tick.as_secs_f64();
        (1.0 / NEAR..NEAR).contains(&ratio)
    };
    TICKS.into_iter().find(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data each 5 ms of a server whose clock has this tick, in microseconds; `wait` in milliseconds at a time.
    fn play(tick: i64, wait: impl Fn(i64) -> i64) -> Vec<Option<Duration>> {
        let mut way = OneWay::default();
        let of = |sent: i64| {
            let stamp = (u32::MAX - 500).wrapping_add((sent * 1000 / tick) as u32);
            let arrives = Duration::from_millis(sent + 20 + wait(sent));
            way.on_data(Instant::ZERO + arrives, stamp)
        };
        (0..800).map(|step| 5 * step).map(of).collect()
    }

    #[test]
    fn a_queue_is_seen_and_a_clock_may_wrap() {
        for tick in [1000, 4000, 10_000] {
            let told = play(tick, |sent| if sent >= 2000 { 30 } else { 0 });
            let slack = Duration::from_micros(tick);
            assert_eq!(told[..200], vec![None; 200], "its clock is not known");
            assert!(told[202..400].iter().flatten().all(|wait| *wait <= slack), "{tick}");
            let wait = Duration::from_millis(30);
            let near = |told: &Duration| (wait - slack..=wait + slack).contains(told);
            assert!(told[400..].iter().all(|told| told.as_ref().is_some_and(near)), "{tick}");
        }
    }

    #[test]
    fn the_tick_is_known_while_a_queue_grows_and_a_clock_of_microseconds_says_nothing() {
        let told = play(1000, |sent| (sent / 4).min(200));
        assert!(told[300..].iter().all(Option::is_some));
        assert!(play(1, |_| 0).iter().all(Option::is_none));
        assert!(play(2_000_000, |_| 0).iter().all(Option::is_none));
    }

    #[test]
    fn a_tick_is_that_of_the_list_within_a_factor_of_1_5_and_known_after_a_second() {
        let millis = Duration::from_millis;
        let of = |passed: i64, ticks| tick_of(Duration::from_micros(passed), ticks);
        assert_eq!(of(999_999, 1_000), None);
        assert_eq!(of(1_000_000, 1_000), Some(millis(1)));
        assert_eq!(of(1_000_000, 0), None, "a clock that stands");
        assert_eq!(of(1_000_000, -1_000), None, "a clock that goes back");
        for tick in [1, 4, 10] {
            for (parts, known) in [(0.66, false), (0.67, true), (1.49, true), (1.5, false)] {
                // Of two thousand ticks, in microseconds.
                let passed = (parts * 2e6) as i64 * tick;
                let told = of(passed, 2_000).filter(|told| *told == millis(tick));
                assert_eq!(told, known.then(|| millis(tick)), "{parts} of {tick} ms");
            }
        }
    }

    #[test]
    fn a_wait_is_what_passed_here_less_what_passed_there() {
        let mut way = OneWay::default();
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(way.on_data(at(0), 100), None);
        assert_eq!(way.on_data(at(1_000), 1_100), None, "from this on its tick is known");
        for (now, stamp, wait) in [
            (1_010, 1_110, 0),
            // 20 ms here in 10 there, then 10 in 15, and 10 in 10.
            (1_030, 1_120, 10),
            (1_040, 1_135, 5),
            (1_050, 1_145, 5),
            // One that is faster than all before is the path.
            (1_050, 1_155, 0),
            (1_060, 1_155, 10),
            // One that was sent before the last, and comes after it.
            (1_061, 1_150, 16),
        ] {
            assert_eq!(way.on_data(at(now), stamp), Some(Duration::from_millis(wait)), "{now}");
        }
    }
}
