//! The calls that the safe binding of openh264 lacks.

use openh264::encoder::Encoder;
use openh264_sys2::TagBitrateInfo;
use openh264_sys2::{
    ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, ENCODER_OPTION_TRACE_LEVEL,
    SPATIAL_LAYER_0, WELS_LOG_QUIET,
};

/// Level 5.2's largest bitrate (ITU-T H.264 table A-1), so that no rate is refused for being above it.
const MAX_BITRATE: i32 = 240_000_000;

/// Sets the bitrate from the next frame on; `false` when openh264 refuses. Only to be called after a
/// first frame, since openh264 opens with it.
pub(crate) fn set_bitrate(encoder: &mut Encoder, bits_per_second: u32) -> bool {
    let mut rate = TagBitrateInfo { iLayer: SPATIAL_LAYER_0, iBitrate: bits_per_second as i32 };
    let mut max = TagBitrateInfo { iLayer: SPATIAL_LAYER_0, iBitrate: MAX_BITRATE };
    // SAFETY: both options take a pointer to an SBitrateInfo, which openh264 reads and, where it is out
    // of range, corrects within the call; the bitrate is none of the parameters that the binding keeps.
    unsafe {
        let raw = encoder.raw_api();
        raw.set_option(ENCODER_OPTION_MAX_BITRATE, (&raw mut max).cast()) == 0
            && raw.set_option(ENCODER_OPTION_BITRATE, (&raw mut rate).cast()) == 0
    }
}

/// Keeps what openh264 has to say off standard error, also while it opens, which the binding does not.
pub(crate) fn quiet(encoder: &mut Encoder) {
    let mut level = WELS_LOG_QUIET;
    // SAFETY: the option takes a pointer to an int, which openh264 reads within the call; it may be set before openh264 opens. An
    // encoder that refused it would only say more.
    let _ = unsafe {
        encoder.raw_api().set_option(ENCODER_OPTION_TRACE_LEVEL, (&raw mut level).cast())
    };
}
