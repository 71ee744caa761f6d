//! H.264 by libx264: constrained baseline, ultrafast, no delay.
//!
//! libx264 is under the GPL (version 2 or later). This crate's own licence stays permissive, but a
//! program built with the feature `x264` contains or links libx264 and may be *distributed* only under
//! the GPL's terms. Without the feature, nothing of it is needed or linked.
//!
//! # Model
//! One thread, and slices one after the other, each given out as soon as it is made: the first is on its way while the
//! others are encoded, and decoded while the last is on its way. A VBV of one frame bounds each frame, and the average
//! rate is set to the VBV's, so that the VBV alone decides (x264's `single_frame_vbv`). The rate may change before
//! every frame: a lower one holds from the same frame on. There is no periodic key frame; one on request
//! carries its parameter sets. How large a VBV is asked for, [`Calibrator`] says.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | frames kept | 16 | the most of H.264 (annex A.3.1); a frame that refers to an older one than the last ([`EncodeRequest::refers_back`]) can be of any of them |
//! | slices | 4 | measured: they cost 0.06 dB at most and no time (`examples/costs.rs`); a quarter of a picture is left to decode when its last packet comes |
//! | least VBV | 4 kilobit | a picture of skipped macroblocks and its header; libx264 counts whole kilobits |
//! | most VBV | 20 000 kilobit | 1.2 Gb/s at 60 frames/s: beyond level 6.2, keeps integers in range |

use super::{
    EncodeRequest, EncodedFrame, EncoderConfig, EncoderError, VideoEncoder, check_size,
    quantizer_offsets,
};
use crate::Picture;
use crate::sys::x264::{Encoder, RateSettings, Settings};
use gameway_media::MAX_BACK;
use gameway_media::rate_control::{Calibrator, bytes_per_frame};

const NAME: &str = "x264";
const KILOBIT: f64 = 125.0;
const MIN_VBV: f64 = 4.0;
const MAX_VBV: f64 = 20_000.0;
const SLICES: i32 = 4;
const KEPT: u8 = MAX_BACK;

/// An open libx264 encoder.
pub struct X264 {
    encoder: Encoder,
    calibrator: Calibrator,
    settings: Settings,
}

impl X264 {
    /// Opens an encoder.
    ///
    /// # Errors
    /// [`EncoderError::Open`] when libx264 refuses the size or the frame rate.
    pub fn new(config: EncoderConfig) -> Result<Self, EncoderError> {
        let share = bytes_per_frame(config.rate, config.frames_per_second);
        let settings = Settings {
            size: config.size,
            frames_per_second: config.frames_per_second,
            slices: SLICES,
            kept: i32::from(KEPT),
            rate: rate_settings(share, config.frames_per_second),
        };
        config.check_frame_rate(NAME)?;
        let encoder = Encoder::open(settings, quantizer_offsets(config.size));
        let encoder = encoder.ok_or_else(|| config.refused(NAME, "libx264 refused it"))?;
        Ok(Self { encoder, calibrator: Calibrator::default(), settings })
    }
}

impl VideoEncoder for X264 {
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError> {
        self.encode_in_parts(picture, request, &mut |_| {})
    }

    fn encode_in_parts(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
        part: &mut dyn FnMut(&[u8]),
    ) -> Result<EncodedFrame, EncoderError> {
        check_size(NAME, self.settings.size, picture)?;
        let failed =
            |reason: &str| EncoderError::Failed { encoder: NAME, reason: reason.to_owned() };
        let share = bytes_per_frame(request.rate, self.settings.frames_per_second);
        let buffer = self.calibrator.buffer(share, request.frame_budget.as_f64());
        let rate = rate_settings(buffer, self.settings.frames_per_second);
        if rate != self.settings.rate {
            if !self.encoder.set_rate(rate) {
                return Err(failed("libx264 refused a new rate"));
            }
            self.settings.rate = rate;
        }
        let key_frame = request.takes_key_frame(KEPT);
        if !key_frame && request.refers_back > 1 && !self.encoder.refer(request.refers_back) {
            return Err(failed("libx264 refused a reference"));
        }
        let unit = self
            .encoder
            .encode(picture, key_frame, part)
            .ok_or_else(|| failed("libx264 gave no frame"))?;
        self.calibrator.on_frame(unit.data.len() as f64, buffer, share, unit.key_frame);
        Ok(EncodedFrame {
            data: unit.data,
            key_frame: unit.key_frame,
            quantizer: Some(unit.quantizer),
            timestamp: request.timestamp,
        })
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn keeps(&self) -> u8 {
        KEPT
    }

    fn slices(&self) -> u64 {
        // libx264 makes no more than there are rows of macroblocks.
        (SLICES as u64).min(self.settings.size.height().div_ceil(16) as u64)
    }
}

/// A VBV of one frame of `buffer` bytes.
fn rate_settings(buffer: f64, frames_per_second: u32) -> RateSettings {
    let vbv_size = (buffer / KILOBIT).clamp(MIN_VBV, MAX_VBV) as i32;
    let vbv_rate = vbv_size.saturating_mul(frames_per_second as i32);
    RateSettings { bitrate: vbv_rate, vbv_rate, vbv_size }
}
