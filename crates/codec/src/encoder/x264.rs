//! H.264 by libx264: constrained baseline, ultrafast, no delay.
//!
//! libx264 is under the GPL (version 2 or later). This crate's own licence stays permissive, but a
//! program built with the feature `x264` contains or links libx264 and may be *distributed* only under
//! the GPL's terms. Without the feature, nothing of it is needed or linked.
//!
//! # Model
//! One slice and one thread by default; a VBV of one frame bounds each frame, and the average rate is
//! set to the VBV's, so that the VBV alone decides (x264's `single_frame_vbv`). The rate may change before
//! every frame: a lower one holds from the same frame on. There is no periodic key frame; one on request
//! carries its parameter sets. How large a VBV is asked for, [`super::calibrator`] says.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least VBV | 4 kilobit | a picture of skipped macroblocks and its header; libx264 counts whole kilobits |
//! | stamp | quantizer 20 finer | out of bits, libx264 goes on from 51 to an inner 69, where it drops even DC coefficients; 20 keeps the stamp's below 51 |
//! | most VBV | 20 000 kilobit | 1.2 Gb/s at 60 frames/s: beyond level 6.2, keeps integers in range |

use super::budget::bytes_per_frame;
use super::calibrator::Calibrator;
use super::{EncodeRequest, EncodedFrame, EncoderConfig, EncoderError, VideoEncoder};
use crate::sys::x264::{Encoder, RateSettings, Settings};
use crate::{Picture, Size, Stamp};

const NAME: &str = "x264";
const KILOBIT: f64 = 125.0;
const LEAST_VBV: f64 = 4.0;
const MOST_VBV: f64 = 20_000.0;
const STAMP_FINER: f32 = 24.0;

/// How a picture is cut for threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slices {
    /// One slice by one thread: the best compression, and sizes that are closest to plan.
    #[default]
    One,
    /// So many slices of one picture, each by its own thread: less delay on idle cores.
    Threads(u8),
}

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
    pub fn new(config: EncoderConfig, slices: Slices) -> Result<Self, EncoderError> {
        let threads = match slices {
            Slices::One => 1,
            Slices::Threads(threads) => i32::from(threads.max(1)),
        };
        let share = bytes_per_frame(config.rate, config.frames_per_second);
        let settings = Settings {
            size: config.size,
            frames_per_second: config.frames_per_second,
            slices: threads,
            threads,
            rate: rate_settings(share, config.frames_per_second),
            fine: stamp_macroblocks(config.size),
        };
        let (width, height) = (config.size.width(), config.size.height());
        let refused = |reason: &str| EncoderError::Open {
            encoder: NAME,
            width,
            height,
            reason: reason.to_owned(),
        };
        if !(1..=1000).contains(&config.frames_per_second) {
            return Err(refused("frames per second must be from 1 to 1000"));
        }
        let encoder = Encoder::open(settings).ok_or_else(|| refused("libx264 refused it"))?;
        Ok(Self { encoder, calibrator: Calibrator::new(), settings })
    }
}

impl VideoEncoder for X264 {
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError> {
        let (expected, got) = (self.settings.size, picture.size());
        if expected != got {
            return Err(EncoderError::Size { encoder: NAME, expected, got });
        }
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
        let unit = self
            .encoder
            .encode(picture, request.key_frame)
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
}

/// The macroblocks under a stamp.
fn stamp_macroblocks(size: Size) -> (usize, usize, f32) {
    let (columns, rows) = Stamp::area(size).unwrap_or_default();
    (columns / 16, rows / 16, STAMP_FINER)
}

/// A VBV of one frame of `buffer` bytes.
fn rate_settings(buffer: f64, frames_per_second: u32) -> RateSettings {
    let vbv_size = (buffer / KILOBIT).clamp(LEAST_VBV, MOST_VBV) as i32;
    let vbv_rate = vbv_size.saturating_mul(frames_per_second as i32);
    RateSettings { bitrate: vbv_rate, vbv_rate, vbv_size }
}
