//! The one call that the safe binding of openh264 lacks.

use openh264::encoder::Encoder;
use openh264_sys2::TagBitrateInfo;
use openh264_sys2::{ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, SPATIAL_LAYER_0};

/// Level 5.2's largest bitrate (ITU-T H.264 table A-1), so that no rate is refused for being above it.
const MOST: i32 = 240_000_000;

/// Sets the bitrate from the next frame on; `false` when openh264 refuses. Only to be called after a
/// first frame, since openh264 opens with it.
pub(crate) fn set_bitrate(encoder: &mut Encoder, bits_per_second: u32) -> bool {
    let mut rate = TagBitrateInfo { iLayer: SPATIAL_LAYER_0, iBitrate: bits_per_second as i32 };
    let mut most = TagBitrateInfo { iLayer: SPATIAL_LAYER_0, iBitrate: MOST };
    // SAFETY: both options take a pointer to an SBitrateInfo, which openh264 reads and, where it is out
    // of range, corrects within the call; the bitrate is none of the parameters that the binding keeps.
    unsafe {
        let raw = encoder.raw_api();
        raw.set_option(ENCODER_OPTION_MAX_BITRATE, (&raw mut most).cast()) == 0
            && raw.set_option(ENCODER_OPTION_BITRATE, (&raw mut rate).cast()) == 0
    }
}
