//! Which frames of H.264 may refer past others.
//!
//! # Model
//! H.264 numbers frames with few bits (`frame_num`, ITU-T H.264 section 7.4.3). FFmpeg's decoder, which Chromium and our client have, fills the gap that frames leave
//! which never came. A wrap within the gap does not reach its counter of wraps (`prev_frame_num_offset` in `libavcodec/h264_slice.c`), from which it computes in what order
//! pictures are shown (section 8.2.1.3): the next picture is thought to be older than those before, and is not given out. Both take that for
//! an error and ask for a key frame (`crates/product/codec/tests/all/references.rs`). So a frame that would refer past a wrap is a key frame at once.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | numbers | 32 | x264's, by the 16 frames that it keeps (`x264_sps_init`): the least power of two above. Other encoders answer by key frames anyway |

use gameway_control::FrameId;
use gameway_session::EncodeRequest;
use gameway_units::VideoCodec;

const NUMBERS: u64 = 32;

/// The numbers of a stream's frames.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameNumbers {
    /// The newest key frame, which has number zero.
    key_frame: FrameId,
}

impl FrameNumbers {
    /// A frame was made.
    pub(super) fn on_made(&mut self, frame: FrameId, key_frame: bool) {
        if key_frame {
            self.key_frame = frame;
        }
    }

    /// What is to be encoded in place of this.
    pub(super) fn within_wrap(self, codec: VideoCodec, request: EncodeRequest) -> EncodeRequest {
        let past_wrap =
            codec == VideoCodec::H264 && self.is_past_wrap(request.frame, request.refers_back);
        EncodeRequest { key_frame: request.key_frame || past_wrap, ..request }
    }

    /// Whether the numbers wrap within the gap before a frame that refers so far back.
    fn is_past_wrap(self, frame: FrameId, refers_back: u8) -> bool {
        let wraps = |frame: u64| frame.saturating_sub(self.key_frame.0) / NUMBERS;
        let back = u64::from(refers_back);
        back > 1 && wraps(frame.0) > wraps(frame.0.saturating_sub(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_would_refer_past_a_wrap_is_a_key_frame() {
        let mut numbers = FrameNumbers::default();
        numbers.on_made(FrameId(100), true);
        numbers.on_made(FrameId(101), false);
        let past = |frame, back| numbers.is_past_wrap(FrameId(frame), back);
        assert_eq!([131, 132, 133, 135].map(|frame| past(frame, 1)), [false; 4]);
        assert_eq!([131, 132, 135, 136].map(|frame| past(frame, 4)), [false, true, true, false]);
        assert_eq!([past(196, 2), past(198, 2)], [true, false]);
    }
}
