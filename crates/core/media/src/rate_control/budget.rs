//! How many bytes a frame may have.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | headroom | 1.35 | 1.25 for the largest frame of a recorded game whose mean is the rate, as [`crate::EncoderCalibration::Mean`] has it, and a tenth for what frames under a strict budget lacked: without it (measured) a second of a target that falls by 15 and 30 % in five frames has 0.93 of it, with it 0.97 |
//! | decrease | below 0.9 of the mean rate of the last 6 frames | 100 ms at 60 frames/s: a round trip and the time to drain what it built up; smaller steps are a controller's noise, and so is what trembles around a mean that stays |

use crate::packetizer::MAX_MEDIA_PACKETS;
use gameway_units::{Bytes, Duration, Rate};
use std::collections::VecDeque;

/// What a frame may have of its share of the rate, but after a decrease.
pub(crate) const HEADROOM: f64 = 1.35;
const DECREASE: f64 = 0.9;
const STRICT_FRAMES: usize = 6;

/// Bytes that a rate grants each frame, without rounding.
#[must_use]
pub fn bytes_per_frame(rate: Rate, frames_per_second: u32) -> f64 {
    rate.as_bps_f64() / 8.0 / f64::from(frames_per_second)
}

/// The highest rate of a stream whose packets carry `payload` at most, on the wire: at it, a frame that takes all that
/// it may beyond its share still fits [`MAX_MEDIA_PACKETS`].
#[must_use]
pub fn max_rate(frame_interval: Duration, payload: Bytes) -> Rate {
    let largest = payload * u64::from(MAX_MEDIA_PACKETS);
    Bytes::from_f64(largest.as_f64() / HEADROOM) / frame_interval
}

/// Budgets of frames from the rates that a controller sets.
#[derive(Debug, Clone)]
pub struct FrameBudgets {
    frames_per_second: u32,
    recent: VecDeque<Rate>,
}

impl FrameBudgets {
    /// For a stream with this frame rate.
    #[must_use]
    pub fn new(frames_per_second: u32) -> Self {
        Self { frames_per_second, recent: VecDeque::with_capacity(STRICT_FRAMES) }
    }

    /// The budget of the next frame: 1.35 of what the rate grants a frame, and exactly that after a decrease, for 6
    /// frames if it was to less than 0.6.
    pub fn next(&mut self, rate: Rate) -> Bytes {
        let frames = self.recent.len().max(1) as f64;
        let sum: f64 = self.recent.iter().map(|rate| rate.as_bps_f64()).sum();
        let strict = rate.as_bps_f64() < sum / frames * DECREASE;
        let share = self.next_bounded(rate);
        if strict { share } else { Bytes::from_f64(share.as_f64() * HEADROOM) }
    }

    /// The budget of the next frame where the rate bounds that frame: exactly what it grants.
    pub fn next_bounded(&mut self, rate: Rate) -> Bytes {
        if self.recent.len() == STRICT_FRAMES {
            self.recent.pop_front();
        }
        self.recent.push_back(rate);
        Bytes::from_f64(bytes_per_frame(rate, self.frames_per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_strict_for_6_frames_after_a_decrease() {
        let mut budgets = FrameBudgets::new(60);
        let (high, low) = (Rate::from_kbps(9600), Rate::from_kbps(4800));
        (0..6).for_each(|_| assert_eq!(budgets.next(high), Bytes::new(27_000)));
        for _ in 0..6 {
            assert_eq!(budgets.next(low), Bytes::new(10_000));
        }
        assert_eq!(budgets.next(low), Bytes::new(13_500));
        assert_eq!(budgets.next(low.mul_f64(0.96)).get(), 12_960, "noise is no decrease");
        assert_eq!(budgets.next(high), Bytes::new(27_000));
    }

    #[test]
    fn at_the_highest_rate_the_largest_frame_just_fits_its_packets() {
        for frames_per_second in [1_u32, 60, 1000] {
            let interval = Duration::from_secs(1) / i64::from(frames_per_second);
            let largest = |rate| bytes_per_frame(rate, frames_per_second) * HEADROOM;
            for payload in [208, 1200] {
                let payload = Bytes::new(payload);
                let holds = (payload * u64::from(MAX_MEDIA_PACKETS)).as_f64();
                let highest = max_rate(interval, payload);
                assert!((0.999..=1.0).contains(&(largest(highest) / holds)), "{highest}");
            }
        }
    }

    #[test]
    fn a_bounded_frame_has_what_its_rate_grants_and_counts_for_later_ones() {
        let mut budgets = FrameBudgets::new(60);
        let (high, low) = (Rate::from_kbps(9600), Rate::from_kbps(4800));
        assert_eq!(budgets.next_bounded(high), Bytes::new(20_000));
        assert_eq!(budgets.next_bounded(high), Bytes::new(20_000));
        assert_eq!(budgets.next(low), Bytes::new(10_000), "a decrease");
    }

    #[test]
    fn what_trembles_is_strict_only_where_it_is_low() {
        let mut budgets = FrameBudgets::new(60);
        let strict: Vec<bool> = (0..60)
            .map(|frame| Rate::from_kbps([10_000, 9_000, 10_000, 7_000][frame % 4]))
            .map(|rate| budgets.next(rate).as_f64() < bytes_per_frame(rate, 60) * 1.2)
            .collect();
        assert!(strict[8..].iter().enumerate().all(|(frame, strict)| *strict == (frame % 4 == 3)));
    }

    #[test]
    fn a_tenth_less_than_the_mean_is_no_decrease_yet() {
        let budget = |kbps| {
            let mut budgets = FrameBudgets::new(60);
            (0..6).for_each(|_| _ = budgets.next(Rate::from_kbps(9_600)));
            budgets.next(Rate::from_kbps(kbps)).get()
        };
        assert_eq!(budget(8_640), 24_300);
        assert_eq!(budget(8_639), 17_997, "what the rate grants");
    }
}
