//! To which of the newest frames the next one can refer.
//!
//! A frame that refers to an older one than the last passes over those between: the encoder refers to none of them again, as
//! libx264 has it (`x264_encoder_invalidate_reference`).

use gameway_control::FrameId;
use gameway_media::MAX_BACK;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct References {
    /// The number of the next frame.
    next: u64,
    /// Of each of the frames before it, whether it can refer to it; the lowest bit is that of the newest.
    usable: u16,
}

const _: () = assert!(MAX_BACK as u32 == u16::BITS);

impl References {
    /// A frame was encoded. It refers to the frame `back` frames before it, unless it is a key frame.
    pub(crate) fn on_encoded(&mut self, frame: FrameId, key_frame: bool, back: u8) {
        let passed_over = u32::from(back.saturating_sub(1));
        let kept = if key_frame { 0 } else { self.usable & u16::MAX.unbounded_shl(passed_over) };
        (self.next, self.usable) = (frame.0.saturating_add(1), kept << 1 | 1);
    }

    /// How far back the next frame has to refer if the receiver has `shown` and nothing newer; `None` if the encoder keeps no such
    /// frame, or none is missing.
    pub(crate) fn back_to(&self, shown: FrameId) -> Option<u8> {
        let min = u32::try_from(self.next.checked_sub(shown.0)?).ok()?.checked_sub(1)?;
        let usable = self.usable & u16::MAX.unbounded_shl(min);
        let back = usable.trailing_zeros() + 1;
        (min > 0 && usable != 0).then_some(back as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(frames: impl IntoIterator<Item = (u64, u8)>) -> References {
        let mut references = References::default();
        for (frame, back) in frames {
            references.on_encoded(FrameId(frame), back == 0, back);
        }
        references
    }

    #[test]
    fn a_frame_refers_to_what_was_shown_while_that_is_kept() {
        let all = encoded((0..40).map(|frame| (frame, u8::from(frame > 0))));
        let back = |shown| all.back_to(FrameId(shown));
        assert_eq!([38, 30, 24].map(back), [Some(2), Some(10), Some(16)]);
        assert_eq!([23, 0].map(back), [None, None], "the encoder has forgotten them");
        assert_eq!([39, 40, u64::MAX].map(back), [None; 3], "nothing is missing");
    }

    #[test]
    fn what_was_passed_over_and_what_is_before_a_key_frame_is_not_referred_to() {
        // 6 refers to 2.
        let over = encoded([(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 4), (7, 1)]);
        let back = |shown| over.back_to(FrameId(shown));
        assert_eq!([6, 5, 3, 2, 1].map(back), [Some(2), Some(6), Some(6), Some(6), Some(7)]);
        let key = encoded([(0, 0), (1, 1), (2, 0), (3, 1), (4, 1)]);
        let back = |shown| key.back_to(FrameId(shown));
        assert_eq!([3, 2, 1, 0].map(back), [Some(2), Some(3), None, None]);
    }
}
