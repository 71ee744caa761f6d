//! What to ask of an encoder whose frames fill only a part of the buffer that bounds them.
//!
//! # Model
//! An encoder under a VBV of one frame (ITU-T H.264 annex C.1 with a buffer of rate / frame rate) plans
//! each frame below the buffer's size, because it cannot take bits back: x264 leaves 14 % free at the
//! mean and 6 % in the fullest frame of the built-in scene, 22 % and none in a recorded game. So there are two ratios of frame to
//! buffer, a *mean fill* and a *peak fill*, and with them two buffers:
//!
//! ```text
//! buffer for the mean = rate / frame rate / mean fill * (1 + debt / (8 frames))
//! buffer for the cap  = frame budget / peak fill
//! asked               = the smaller of both
//! ```
//!
//! Both fills are learnt from the frames. What a frame fills is the smaller of its own buffer and of the one before:
//! the VBV is refilled to that frame's size, so that a rise takes a frame. The debt is what the frames of the last
//! second lack of what the rates would have carried (an integral controller, bounded against wind-up): a strict budget
//! after a decrease, a rise that took its frame, or the encoder's coarse steps, are made up for.
//!
//! Mean and cap are compatible only if the budget is at least peak / mean fill of rate / frame rate: 1.08 in
//! the scene, 1.25 in a game. [`super::FrameBudgets`] therefore grants more in the steady state, and nothing above rate / frame
//! rate after a decrease, when what is sent too much stands in a queue.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | mean fill at first | 0.86 | measured: 0.84 to 0.88 from 1 to 30 Mb/s (`follows_the_target` of `gameway-codec`) |
//! | peak fill | largest of the last 2 s, never below 0.96 | measured: of 23 000 frames (eight patterns of rates, six scenes), 0.94 lets 6 exceed their budget, by 1.6 % at most, and 0.96 none: the largest has 0.982 of it |
//! | weight of a frame in the mean | 1/32 | half a second: spread of the mean 1 % at a spread of a frame of 4 % |
//! | unlimited | a frame that fills less than 0.6 | an easy picture, not the encoder's reserve; teaches nothing and makes no debt |
//! | key frames | teach nothing | they have a least size, and other fills |
//! | a rise | a buffer of which the one before was less than 0.95; teaches nothing | measured: the encoder's reserve is for the larger one, so that it fills 0.86 to 0.97 of the smaller |
//! | margin of a step | 5 % in a frame whose buffer is below 0.9 of the one before | measured: such a frame filled up to 0.98 |
//! | debt repaid | at most 35 % of a frame | what a budget grants beyond the share |

use super::debt::{Debt, remember};
use std::collections::VecDeque;

const FIRST_FILL: f64 = 0.86;
const MIN_PEAK: f64 = 0.96;
const WEIGHT: f64 = 1.0 / 32.0;
const UNLIMITED: f64 = 0.6;
pub(crate) const MAX_REPAID: f64 = 0.35;
const PEAK_FRAMES: usize = 120;
const RISE: f64 = 0.95;
const STEP: f64 = 0.9;
const STEP_MARGIN: f64 = 1.05;

/// Learns how full an encoder's frames are.
#[derive(Debug, Clone)]
pub struct Calibrator {
    mean_fill: f64,
    fills: VecDeque<f64>,
    /// Buffer of the last frame.
    last: f64,
    debt: Debt,
}

impl Default for Calibrator {
    fn default() -> Self {
        Self { mean_fill: FIRST_FILL, fills: VecDeque::new(), last: 0.0, debt: Debt::default() }
    }
}

impl Calibrator {
    /// The buffer to ask for, in bytes, so that the mean of frames is `share` and none exceeds `budget`.
    #[must_use]
    pub fn buffer(&self, share: f64, budget: f64) -> f64 {
        let repaid = self.debt.repaid(share, MAX_REPAID);
        let peak = self.fills.iter().copied().fold(MIN_PEAK, f64::max);
        let max = budget / peak;
        // Far below the last frame's buffer, the encoder's forecast is worse.
        let max = if max < self.last * STEP { max / STEP_MARGIN } else { max };
        (share / self.mean_fill * (1.0 + repaid)).min(max)
    }

    /// How full frames are at the mean.
    #[must_use]
    pub fn mean_fill(&self) -> f64 {
        self.mean_fill
    }

    /// A frame of `size` came out of a buffer of `buffer` bytes where the rate granted `share`.
    pub fn on_frame(&mut self, size: f64, buffer: f64, share: f64, key_frame: bool) {
        let holds = if self.last > 0.0 { buffer.min(self.last) } else { buffer };
        let fill = size / holds.max(1.0);
        self.last = buffer;
        let limited = fill >= UNLIMITED;
        if limited && !key_frame && holds >= buffer * RISE {
            self.mean_fill += WEIGHT * (fill.min(1.2) - self.mean_fill);
            remember(&mut self.fills, fill.min(1.2), PEAK_FRAMES);
        }
        self.debt.add(if limited { share - size } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An encoder that fills its buffer to 0.70, 0.80 or 0.75, in turn.
    fn run(budget_of_share: f64, frames: usize) -> (f64, f64) {
        let (mut calibrator, share) = (Calibrator::default(), 10_000.0);
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for frame in 0..frames {
            let buffer = calibrator.buffer(share, share * budget_of_share);
            let size = buffer * [0.70, 0.80, 0.75][frame % 3];
            calibrator.on_frame(size, buffer, share, false);
            if frame >= frames / 2 {
                sum += size;
                largest = largest.max(size / share);
            }
        }
        (sum / (frames - frames / 2) as f64 / share, largest)
    }

    #[test]
    fn the_mean_meets_the_rate_where_the_budget_allows() {
        let (mean, largest) = run(2.0, 600);
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((1.05..1.09).contains(&largest), "{largest}");
    }

    #[test]
    fn the_budget_wins_over_the_mean() {
        let (mean, largest) = run(1.0, 600);
        assert!(largest <= 0.8 / MIN_PEAK + 1e-9, "{largest}");
        assert!((0.75..0.85).contains(&mean), "{mean}");
    }

    #[test]
    fn easy_pictures_teach_nothing() {
        let mut calibrator = Calibrator::default();
        let before = calibrator.buffer(1000.0, 2000.0);
        (0..500).for_each(|_| calibrator.on_frame(50.0, before, 1000.0, false));
        assert!((calibrator.buffer(1000.0, 2000.0) - before).abs() < 1e-9);
    }

    #[test]
    fn a_rise_that_took_a_frame_is_made_up_for_and_teaches_nothing() {
        let mut calibrator = Calibrator::default();
        let (low, high) = (calibrator.buffer(1000.0, 1e6), calibrator.buffer(2000.0, 1e6));
        calibrator.on_frame(1000.0, low, 1000.0, false);
        let before = calibrator.mean_fill();
        // All that the buffer before could hold.
        calibrator.on_frame(low, high, 2000.0, false);
        assert!((calibrator.mean_fill() - before).abs() < 1e-9);
        let repaid = calibrator.buffer(2000.0, 1e6) / high;
        let lacked = (2000.0 - low) / 8.0 / 2000.0;
        assert!((repaid - 1.0 - lacked).abs() < 1e-9, "{repaid}");
    }

    #[test]
    fn a_frame_above_the_buffer_lowers_what_is_asked() {
        let mut calibrator = Calibrator::default();
        calibrator.on_frame(1100.0, 1000.0, 1000.0, false);
        assert!(calibrator.buffer(1000.0, 1000.0) < 1000.0 / 1.09);
    }

    #[test]
    fn it_begins_with_what_encoders_fill_and_learns_a_part_of_what_it_sees() {
        let mut calibrator = Calibrator::default();
        assert!((calibrator.mean_fill() - 0.86).abs() < 1e-12);
        calibrator.on_frame(920.0, 1_000.0, 1_000.0, false);
        // A thirty-second of the difference.
        assert!((calibrator.mean_fill() - 0.861_875).abs() < 1e-12);
    }

    #[test]
    fn below_nine_tenths_of_the_last_buffer_the_cap_has_a_margin() {
        let mut calibrator = Calibrator::default();
        calibrator.on_frame(900.0, 1_000.0, 900.0, false);
        // The share is far more than the cap allows.
        let cap = |buffer: f64| calibrator.buffer(1e6, buffer * MIN_PEAK);
        assert!((cap(901.0) - 901.0).abs() < 1e-9);
        assert!((cap(899.0) - 899.0 / 1.05).abs() < 1e-9);
        assert!((cap(100.0) - 100.0 / 1.05).abs() < 1e-9);
    }
}
