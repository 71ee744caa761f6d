//! Playback of a recording under the rate control of a live host.
//!
//! # Model
//! What a key frame has beyond the frame in whose place it stands, the frames behind it lack: the host's rate control
//! ([`Debt`]) asks for less until it is paid, a part of at most 35 % of each frame. Sizes beyond their share otherwise
//! come from the recording. They too end: after a lead of 60 frames' worth no frame is larger than its share. So a stream
//! sends in any span of time at most its target and what 60 frames of it hold, and asking for key frames changes no mean.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | larger by how far back a frame refers | 1.03 at 2, 1.05 at 4, 1.09 at 8, 1.11 at 16 | measured with libx264 on the recorded game at 2, 5, 10 and 20 Mb/s (`examples/references.rs` of `gameway-codec`): 0.98 to 1.05, 1.03 to 1.07, 1.06 to 1.15, 1.07 to 1.18; a key frame there 1.12 to 1.25 |
//! | repaid | over 8 frames, at most 35 % of a frame | that of a live host's rate control ([`crate::rate_control`]) |
//! | lead | 60 frames | as many as [`Debt`] counts: the mean over 1 s is what a controller counts on; the recording that comes with the program leads by 35 at most |

use super::{EncoderCalibration, RecordedVideo, Reference};
use crate::rate_control::{Debt, MAX_REPAID};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Frames' worth that a stream may be ahead of what its targets granted.
const MAX_LEAD: f64 = 60.0;

/// The factor by which a frame is larger, by the number of frames that it refers back.
const OLDER: [(f64, f64); 5] = [(1.0, 1.0), (2.0, 1.03), (4.0, 1.05), (8.0, 1.09), (16.0, 1.11)];

/// The place in a recording and what is owed.
pub(super) struct Recorded {
    video: Arc<RecordedVideo>,
    calibration: EncoderCalibration,
    place: usize,
    random: Xoshiro256PlusPlus,
    debt: Debt,
    /// What was sent beyond the shares, in frames' worth; what was sent less does not count for later.
    lead: f64,
}

impl Recorded {
    /// Begins at a frame that `seed` chooses.
    pub(super) fn new(
        video: Arc<RecordedVideo>,
        calibration: EncoderCalibration,
        seed: u64,
    ) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The bias of the remainder is negligible at 64 bits.
        let place = (random.next_u64() % video.frames() as u64) as usize;
        Self { video, calibration, place, random, debt: Debt::default(), lead: 0.0 }
    }

    /// Whether the recording has no picture at this place; then it goes on to the next.
    pub(super) fn pass_absent(&mut self) -> bool {
        let absent = self.video.is_absent(self.place);
        self.place = if absent { self.next_place() } else { self.place };
        absent
    }

    /// Bytes of the next frame, which may have `budget` of them in the mean.
    pub(super) fn next_frame(&mut self, budget: f64, reference: Reference) -> f64 {
        let ordinary = self.video.frame(self.calibration, self.place, budget);
        let wanted = match reference {
            Reference::None => {
                self.video.key_frame(self.calibration, self.random.next_u64(), budget)
            }
            Reference::Last => ordinary,
            Reference::Older(back) => ordinary * older(back),
        };
        let repaid = match self.calibration {
            // What no frame exceeds is met by no mean: nobody asks for less.
            EncoderCalibration::Budget => 0.0,
            EncoderCalibration::Mean => self.debt.repaid(budget, MAX_REPAID),
        };
        let max = budget * self.calibration.max().min((1.0 + MAX_LEAD - self.lead).max(1.0));
        let size = (wanted * (1.0 + repaid)).min(max);
        self.debt.add(ordinary.min(max) - size);
        self.lead = (self.lead + size / budget.max(1.0) - 1.0).max(0.0);
        self.place = self.next_place();
        size
    }

    fn next_place(&self) -> usize {
        (self.place + 1) % self.video.frames()
    }
}

/// [`OLDER`], on the line between two of them.
fn older(back: u8) -> f64 {
    let back = f64::from(back);
    let above = OLDER.partition_point(|(at, _)| *at <= back).clamp(1, OLDER.len() - 1);
    let ((from, low), (to, high)) = (OLDER[above - 1], OLDER[above]);
    low + (high - low) * ((back - from) / (to - from)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_grow_with_the_age_of_what_they_refer_to() {
        for (back, larger) in [(1, 1.0), (2, 1.03), (3, 1.04), (8, 1.09), (12, 1.10), (16, 1.11)] {
            assert!((older(back) - larger).abs() < 1e-9, "{back}: {}", older(back));
        }
        assert!((older(200) - 1.11).abs() < 1e-9);
    }
}
