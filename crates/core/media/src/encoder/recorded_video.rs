//! A recording made ready for playback: its sizes as a frame under a VBV of one frame can have them.
//!
//! # Model
//! A size at a bitrate is read off the two rungs beside it, see the head of [`super`]. No size exceeds what a live host
//! grants a frame ([`HEADROOM`]), whatever encoder made the recording: sizes of the user's own video may come from an
//! encoder that bounded no frame. What that takes from large frames the others have, so that the mean stays the target:
//!
//! ```text
//! size = min(recorded / filled, 1.35 budget), with filled so that the mean of size is the budget
//! ```
//!
//! Without frames above the bound, as in the recording that comes with the program, `filled` is the ratio of mean frame to
//! budget.

use super::EncoderCalibration;
use crate::rate_control::HEADROOM;
use crate::{FrameTable, RecordedFrame, Rung};
use gameway_units::Bytes;
use std::sync::{Arc, LazyLock};
use thiserror::Error;

/// Why a frame table cannot be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordedVideoError {
    /// Playback needs frames that refer to the previous one.
    #[error("the recording holds key frames only, at least in one rung")]
    KeyFramesOnly,
}

/// A recording made ready for playback, shared by the streams that play it.
#[derive(Debug, Clone)]
pub struct RecordedVideo {
    rungs: Vec<PlayableRung>,
    /// Of each place, whether the recording has no picture there.
    absent: Vec<bool>,
}

/// A rung as playback needs it; bytes as floats, since they only feed the interpolation.
#[derive(Debug, Clone)]
struct PlayableRung {
    /// Bytes per frame at the asked bitrate.
    budget: f64,
    /// By how much a size is divided so that the mean is the budget.
    filled: f64,
    /// Sizes of frames that refer to the previous one; a recorded key frame, and a place without a picture, has its
    /// successor's size.
    frames: Vec<f64>,
    key_frames: Vec<f64>,
}

impl RecordedVideo {
    /// Makes a recording playable.
    ///
    /// # Errors
    /// If a rung has no frame but key frames.
    pub fn new(table: &FrameTable) -> Result<Self, RecordedVideoError> {
        let frame_seconds = f64::from(table.frame_rate_denominator.get())
            / f64::from(table.frame_rate_numerator.get());
        let rungs = table.rungs.iter().map(|rung| PlayableRung::new(rung, frame_seconds));
        let absent = table.rungs[0].frames.iter().map(|frame| frame.is_absent()).collect();
        Ok(Self { rungs: rungs.collect::<Result<_, _>>()?, absent })
    }

    /// The recording that comes with the program, see [`FrameTable::doom`].
    #[must_use]
    pub fn doom() -> Arc<Self> {
        static DOOM: LazyLock<Arc<RecordedVideo>> = LazyLock::new(|| {
            let video = RecordedVideo::new(FrameTable::doom());
            Arc::new(video.expect("the recording that comes with the program is playable"))
        });
        Arc::clone(&DOOM)
    }

    /// How many places for frames it has.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.absent.len()
    }

    /// Whether there is no picture at a place.
    pub(super) fn is_absent(&self, place: usize) -> bool {
        self.absent[place]
    }

    /// The size of the frame at a place for a per-frame budget, both in bytes.
    pub(super) fn frame(&self, of: EncoderCalibration, place: usize, budget: f64) -> f64 {
        self.size(of, budget, |rung| rung.frames[place])
    }

    /// The size of one of the key frames, which `draw` chooses.
    pub(super) fn key_frame(&self, of: EncoderCalibration, draw: u64, budget: f64) -> f64 {
        self.size(of, budget, |rung| {
            rung.key_frames[(draw % rung.key_frames.len() as u64) as usize]
        })
    }

    fn size(
        &self,
        of: EncoderCalibration,
        budget: f64,
        recorded: impl Fn(&PlayableRung) -> f64,
    ) -> f64 {
        let (lower, upper, between) = self.neighbours(budget);
        let on = |rung: &PlayableRung| rung.calibrated(recorded(rung), of);
        // At and beyond an end of the ladder both are the end rung.
        let end = between == 0.0;
        if end {
            on(lower) * (budget / lower.budget)
        } else {
            on(lower) + (on(upper) - on(lower)) * between
        }
    }

    /// The rungs between which a per-frame budget lies, and how far between: 0 at the lower, 1 at the
    /// upper. Beyond the ends both are the end rung.
    fn neighbours(&self, budget: f64) -> (&PlayableRung, &PlayableRung, f64) {
        let above = self.rungs.partition_point(|rung| rung.budget <= budget);
        let lower = &self.rungs[above.saturating_sub(1)];
        let upper = &self.rungs[above.min(self.rungs.len() - 1)];
        let span = upper.budget - lower.budget;
        (lower, upper, if span > 0.0 { (budget - lower.budget) / span } else { 0.0 })
    }
}

impl PlayableRung {
    fn new(rung: &Rung, frame_seconds: f64) -> Result<Self, RecordedVideoError> {
        let budget = rung.asked.as_bps_f64() / 8.0 * frame_seconds;
        let plain = |frame: &RecordedFrame| !frame.is_key() && !frame.is_absent();
        let first = rung.frames.iter().find(|frame| plain(frame));
        let mut next = first.ok_or(RecordedVideoError::KeyFramesOnly)?.size().as_f64();
        let mut frames: Vec<f64> = Vec::with_capacity(rung.frames.len());
        for frame in rung.frames.iter().rev() {
            next = if plain(frame) { frame.size().as_f64() } else { next };
            frames.push(next);
        }
        frames.reverse();
        let present = rung.frames.iter().zip(&frames).filter(|(frame, _)| !frame.is_absent());
        let filled = filled(present.map(|(_, &size)| size).collect(), budget);
        let key_frames = Self::key_frames(rung, &frames);
        Ok(Self { budget, filled, frames, key_frames })
    }

    /// Forced key frames; where none were recorded, the stream's own; where it has none, plain frames.
    fn key_frames(rung: &Rung, frames: &[f64]) -> Vec<f64> {
        let size = |bytes: Bytes| bytes.as_f64();
        if !rung.forced_key_frames.is_empty() {
            return rung.forced_key_frames.iter().map(|&bytes| size(bytes)).collect();
        }
        let own = rung.frames.iter().filter(|frame| frame.is_key());
        let own: Vec<f64> = own.map(|frame| size(frame.size())).collect();
        if own.is_empty() { frames.to_vec() } else { own }
    }

    /// A recorded size as the calibration has it.
    fn calibrated(&self, size: f64, calibration: EncoderCalibration) -> f64 {
        let size = match calibration {
            EncoderCalibration::Budget => size,
            EncoderCalibration::Mean => size / self.filled,
        };
        size.min(calibration.max() * self.budget)
    }
}

/// The divisor with which the mean of sizes, none of them above the bound, is the budget.
fn filled(mut sizes: Vec<f64>, budget: f64) -> f64 {
    let mut count = sizes.len() as f64;
    let mut sum = sizes.iter().sum::<f64>();
    let mut filled = sum / count / budget;
    sizes.sort_unstable_by(|one, other| other.total_cmp(one));
    // One bounded frame after the other, from the largest on: the others share what it leaves.
    for size in sizes {
        if size / filled <= HEADROOM * budget {
            break;
        }
        (sum, count) = (sum - size, count - HEADROOM);
        filled = sum / count / budget;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sizes: &[f64], budget: f64) -> f64 {
        let filled = filled(sizes.to_vec(), budget);
        let bounded = sizes.iter().map(|size| (size / filled).min(HEADROOM * budget));
        bounded.sum::<f64>() / sizes.len() as f64 / budget
    }

    #[test]
    fn the_mean_is_the_budget_whatever_is_bounded() {
        let uneven: Vec<f64> = (1..=100).map(|size| f64::from(size * size)).collect();
        let two = [vec![100.0; 50], vec![2_000.0; 50]].concat();
        let one_huge = [vec![1.0; 99], vec![1e9]].concat();
        for sizes in [uneven, two, one_huge, vec![5.0]] {
            for budget in [10.0, 1e5] {
                let mean = mean(&sizes, budget);
                assert!((mean - 1.0).abs() < 1e-9, "{mean}");
            }
        }
    }

    #[test]
    fn what_needs_no_bound_is_divided_by_its_mean() {
        assert!((filled(vec![80.0, 100.0, 120.0], 200.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn key_frames_are_those_that_were_forced_then_the_streams_own_then_plain_ones() {
        let mut rung = FrameTable::doom().rungs[0].clone();
        rung.forced_key_frames = vec![Bytes::new(77), Bytes::new(78)];
        let sizes = |rung: &Rung| PlayableRung::key_frames(rung, &[5.0]);
        assert_eq!(sizes(&rung), [77.0, 78.0]);
        rung.forced_key_frames.clear();
        let own = rung.frames.iter().filter(|frame| frame.is_key());
        let own: Vec<f64> = own.map(|frame| frame.size().as_f64()).collect();
        assert!(!own.is_empty());
        assert_eq!(sizes(&rung), own);
        rung.frames.retain(|frame| !frame.is_key());
        assert_eq!(sizes(&rung), [5.0]);
    }
}
