//! What is measured as a wait, and what of it is a queue: noise is taken off.
//!
//! Source: ours. A wait is a loop less the smallest loop, so jitter makes it longer, and a path that has become longer, too.
//! Model: the mean of the last `n` waits, `n` as large as the noise wants, less the floor, which is the mean that was left when
//! nothing could wait. Waits that follow each other without noise are `n = 1`: each counts at once.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | noise | the mean difference of two waits that follow, by 1/16 | RFC 3550 section 6.4.1 (jitter) |
//! | a difference counts as at most | four times the noise and 2 ms | ours: a queue that builds up is no noise |
//! | two waits differ by at most | three times the noise | ours: what comes may be bunched by that |
//! | `n` | such that three times the noise of the mean is 4 ms, 1 to 16 | ours: three deviations; the noise of a mean is less by the root of `n` |
//! | the mean is from the last wait | at most three times the noise | ours: a link that has slowed down does not wait for the mean, nor does a queue that has drained |
//! | the floor rises where nothing can wait | by 1/16 | ours |
//! | and falls | to a mean that is below it by three times its noise, else where nothing can wait | ours |

use gameway_units::Duration;

const NOISE_PARTS: i64 = 16;
const MAX_NOISES: i64 = 4;
const NOISE_LESS: Duration = Duration::from_millis(2);
const NOISES: f64 = 3.0;
const WANTED: Duration = Duration::from_millis(4);
const MAX_MEAN: f64 = 16.0;
const FAR_NOISES: i64 = 3;
const FLOOR_PARTS: i64 = 16;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Floor {
    last: Option<Duration>,
    noise: Duration,
    /// The same while packets seemed to wait: it may be a queue that changes.
    unsure: Duration,
    mean: Duration,
    floor: Duration,
}

impl Floor {
    /// So long packets seem to have waited.
    pub fn on_wait(&mut self, wait: Duration, stands: bool) {
        let Some(last) = self.last.replace(wait) else {
            self.mean = wait;
            return;
        };
        let differs = (wait - last).max(last - wait);
        let noise = if stands { &mut self.unsure } else { &mut self.noise };
        let differs = differs.min(*noise * MAX_NOISES + NOISE_LESS);
        *noise = *noise + (differs - *noise) / NOISE_PARTS;
        if !stands {
            self.unsure = self.noise;
        }
        let mean = self.mean + (wait - self.mean).mul_f64(1.0 / self.length());
        let max = self.noise * FAR_NOISES;
        self.mean = mean.max(wait - max).min(wait + max);
        if self.mean < self.floor - self.margin() {
            self.floor = self.mean.max(Duration::ZERO);
        }
    }

    /// Of how many waits the mean is.
    fn length(&self) -> f64 {
        let noises = NOISES * self.noise.as_secs_f64() / WANTED.as_secs_f64();
        (noises * noises).clamp(1.0, MAX_MEAN)
    }

    /// So long a queue has to be there to be seen, if a wait is told each `period`.
    pub fn lag(&self, period: Duration) -> Duration {
        period.mul_f64(self.length())
    }

    /// By how much the mean may be off.
    pub fn margin(&self) -> Duration {
        self.noise.mul_f64(NOISES / self.length().sqrt())
    }

    /// By how much two waits may differ that are the same.
    pub fn spread(&self) -> Duration {
        self.noise.mul_f64(NOISES)
    }

    /// How long packets wait.
    pub fn excess(&self) -> Duration {
        (self.mean - self.floor).max(Duration::ZERO)
    }

    /// Nothing can wait.
    pub fn on_drained(&mut self) {
        self.floor = self.floor + (self.mean - self.floor) / FLOOR_PARTS;
    }

    /// What is measured has shown to be no queue.
    pub fn learn(&mut self) {
        self.floor = self.mean;
        self.noise = self.noise.max(self.unsure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: f64) -> Duration {
        Duration::from_secs_f64(millis * 1e-3)
    }

    #[test]
    fn without_noise_each_wait_counts_at_once() {
        let mut floor = Floor::default();
        for wait in [0.0, 0.5, 3.0, 1.0, 12.0] {
            floor.on_wait(millis(wait), false);
            assert_eq!(floor.excess(), millis(wait));
        }
    }

    #[test]
    fn what_has_shown_to_be_no_queue_is_taken_off_until_it_is_gone() {
        let mut floor = Floor::default();
        (0..200).for_each(|n| floor.on_wait(millis(f64::from(n * 7 % 11)), true));
        assert!(floor.excess() > millis(2.0), "{}", floor.excess());
        floor.learn();
        let mut max = Duration::ZERO;
        for n in 0..200 {
            floor.on_wait(millis(f64::from(n * 7 % 11)), false);
            max = max.max(floor.excess());
        }
        assert!(max < millis(4.0) && max <= floor.margin(), "{max}, {}", floor.margin());
        // A queue of 80 ms counts at once, and one of 10 ms soon.
        let mut other = floor;
        other.on_wait(millis(80.0), false);
        assert!(other.excess() > millis(30.0), "{}", other.excess());
        (0..20).for_each(|n| floor.on_wait(millis(10.0 + f64::from(n * 7 % 11)), true));
        assert!(floor.excess() > floor.margin(), "{} of {}", floor.excess(), floor.margin());
        // The jitter ends.
        (0..100).for_each(|_| floor.on_wait(Duration::ZERO, false));
        floor.on_wait(millis(3.0), false);
        assert!(floor.excess() > millis(2.0), "{}", floor.excess());
    }

    #[test]
    fn where_nothing_can_wait_the_floor_rises() {
        let mut floor = Floor::default();
        (0..100).for_each(|_| floor.on_wait(millis(8.0), false));
        assert_eq!(floor.excess(), millis(8.0));
        (0..100).for_each(|_| floor.on_drained());
        assert!(floor.excess() < millis(0.1), "{}", floor.excess());
    }

    /// Waits of nothing and of `swing` by turns, until the noise is what they differ by.
    fn swinging(swing: f64) -> Floor {
        let mut floor = Floor::default();
        (0..1000).for_each(|n| floor.on_wait(millis(swing * f64::from(n % 2)), false));
        floor
    }

    #[track_caller]
    fn expect(told: Duration, expected: f64) {
        let off = (told.as_millis_f64() - expected).abs();
        // Noise is in whole nanoseconds, which are rounded down.
        assert!(off < 5e-3, "{told} and not {expected} ms");
    }

    #[test]
    fn noise_grows_by_a_sixteenth_of_what_waits_differ_by_at_most_four_times_itself_and_2_ms() {
        let mut floor = Floor::default();
        floor.on_wait(millis(16.0), false);
        expect(floor.spread(), 0.0);
        let mut noise = 0.0;
        for (wait, differs) in [(0.0, 16.0), (16.0, 16.0), (0.0, 16.0), (1.0, 1.0)] {
            floor.on_wait(millis(wait), false);
            noise += (f64::min(differs, 4.0 * noise + 2.0) - noise) / 16.0;
            expect(floor.spread(), 3.0 * noise);
        }
    }

    /// Three deviations of a mean of `n` waits are `3 noise / sqrt(n)`, which is to be 4 ms.
    #[test]
    fn the_mean_is_of_as_many_waits_as_bring_its_noise_to_4_ms_from_1_to_16() {
        let period = millis(20.0);
        for (noise, length) in [(1.0, 1.0), (2.0, 2.25), (4.0, 9.0), (8.0, 16.0)] {
            let floor = swinging(noise);
            expect(floor.spread(), 3.0 * noise);
            expect(floor.margin(), 3.0 * noise / f64::sqrt(length));
            expect(floor.lag(period), 20.0 * length);
        }
    }

    #[test]
    fn the_mean_moves_by_its_part_and_is_never_further_from_the_last_wait_than_three_noises() {
        let mut floor = swinging(4.0);
        // The last of them was 4 ms. One of 4 ms more adds nothing to the noise, and one ninth of what it is off to the mean.
        let before = floor.excess().as_millis_f64();
        floor.on_wait(millis(8.0), false);
        expect(floor.excess(), before + (8.0 - before) / 9.0);
        // It differs by 18 ms of 92: the noise is 4 + 14 / 16.
        floor.on_wait(millis(100.0), false);
        expect(floor.excess(), 100.0 - 3.0 * 4.875);
        // By 21.5 ms of 100: 4.875 + 16.625 / 16.
        floor.on_wait(Duration::ZERO, false);
        expect(floor.excess(), 3.0 * (4.875 + 16.625 / 16.0));
    }

    #[test]
    fn waits_that_differ_while_packets_seem_to_wait_are_noise_only_if_that_was_no_queue() {
        let mut floor = Floor::default();
        floor.on_wait(Duration::ZERO, false);
        floor.on_wait(millis(1.6), true);
        expect(floor.spread(), 0.0);
        let mut queue = floor;
        floor.learn();
        expect(floor.spread(), 0.3);
        expect(floor.excess(), 0.0);
        // It was a queue, which has gone: what was unsure is forgotten.
        queue.on_wait(millis(1.6), false);
        queue.learn();
        expect(queue.spread(), 0.0);
    }

    #[test]
    fn the_floor_falls_to_a_mean_that_is_below_it_by_more_than_the_margin() {
        let learned = || {
            let mut floor = Floor::default();
            (0..2).for_each(|_| floor.on_wait(millis(30.0), true));
            floor.learn();
            floor
        };
        // Without noise the margin is nothing.
        let mut floor = learned();
        floor.on_wait(millis(28.4), true);
        floor.on_wait(millis(30.0), true);
        expect(floor.excess(), 1.6);
        // With a noise of 4 ms the margin is 4 ms, too, and the mean of waits of nothing and 4 ms is less off than that.
        let mut floor = swinging(4.0);
        floor.learn();
        let known = floor.floor;
        (0..100).for_each(|n| floor.on_wait(millis(4.0 * f64::from(n % 2)), false));
        assert_eq!(floor.floor, known);
        // It is never below nothing.
        let mut floor = learned();
        floor.on_wait(millis(-10.0), true);
        floor.on_wait(millis(1.0), true);
        expect(floor.excess(), 1.0);
    }

    #[test]
    fn where_nothing_can_wait_the_floor_comes_nearer_to_the_mean_by_a_sixteenth() {
        let mut floor = Floor::default();
        (0..2).for_each(|_| floor.on_wait(millis(16.0), false));
        for excess in [15.0, 14.0625, 13.183_593_75] {
            floor.on_drained();
            expect(floor.excess(), excess);
        }
    }
}
