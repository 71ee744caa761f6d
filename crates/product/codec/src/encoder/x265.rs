//! H.265 by libx265: main profile, ultrafast, no delay.
//!
//! libx265 is under the GPL (version 2 or later), so what [`super::x264`] says of distribution holds for a
//! program built with the feature `x265`, too.
//!
//! # Model
//! There are no B frames, no lookahead and one frame at a time, whose rows libx265 gives to a thread for each
//! core. There is no periodic key frame; one on request carries its parameter sets.
//!
//! libx265 3.5 does not follow a rate that changes from frame to frame: it refuses a change that needs another
//! level, and sizes stay as they were after others. So each picture comes with its quantizer:
//!
//! ```text
//! size      = complexity * 2^(-quantizer / 6)       complexity learnt from frames, key frames apart
//! quantizer = least whole one with size <= target   target = the share of the rate with what the last
//!                                                   second lacked, at most 0.9 of the frame's budget
//! ```
//!
//! There is no bound for a frame: one that is harder than those before it is above its budget.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | halving | 6 quantizers | ITU-T H.265 section 8.6.1: the step doubles; sizes follow, measured within 10 % |
//! | complexity at first | 4 B a pixel in key frames, 1 in others | measured on the built-in scene |
//! | weight of a frame | 1/2 | the next picture is as the last one |
//! | room under the budget | 0.9 | measured: the mean of a second is 0.99 of the rate, the largest of 360 frames 1.44 of its budget (`tests/all/h265.rs`) |
//! | correction | -30 % to +30 % | a whole quantizer is 12 % |

use super::{
    EncodeRequest, EncodedFrame, EncoderConfig, EncoderError, VideoEncoder, check_size,
    quantizer_offsets,
};
use crate::Picture;
use crate::sys::x265::{Encoder, Settings};
use gameway_media::rate_control::{Debt, bytes_per_frame};

const NAME: &str = "x265";
const HALVING: f64 = 6.0;
const KEY_COMPLEXITY: f64 = 4.0;
const COMPLEXITY: f64 = 1.0;
const WEIGHT: f64 = 0.5;
const ROOM: f64 = 0.9;
const MAX_REPAID: f64 = 0.3;
/// Finest and coarsest quantizer (ITU-T H.265 section 7.4.9.10).
const QUANTIZERS: (f64, f64) = (0.0, 51.0);

/// An open libx265 encoder.
pub struct X265 {
    encoder: Encoder,
    settings: Settings,
    /// Bytes at quantizer zero: of key frames, and of others.
    complexity: [f64; 2],
    debt: Debt,
}

impl X265 {
    /// Opens an encoder.
    ///
    /// # Errors
    /// [`EncoderError::Open`] when libx265 refuses the size or the frame rate.
    pub fn new(config: EncoderConfig) -> Result<Self, EncoderError> {
        let settings = Settings { size: config.size, frames_per_second: config.frames_per_second };
        config.check_frame_rate(NAME)?;
        let encoder = Encoder::open(settings, quantizer_offsets(config.size));
        let encoder = encoder.ok_or_else(|| config.refused(NAME, "libx265 refused it"))?;
        let pixels = config.size.luma() as f64;
        let complexity = [KEY_COMPLEXITY * pixels, COMPLEXITY * pixels];
        Ok(Self { encoder, settings, complexity, debt: Debt::default() })
    }
}

impl VideoEncoder for X265 {
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError> {
        check_size(NAME, self.settings.size, picture)?;
        let share = bytes_per_frame(request.rate, self.settings.frames_per_second).max(1.0);
        let target = share * (1.0 + self.debt.repaid(share, MAX_REPAID));
        let target = target.min(ROOM * request.frame_budget.as_f64()).max(1.0);
        let key_frame = request.takes_key_frame(self.keeps());
        let quantizer = quantizer(self.complexity[usize::from(!key_frame)], target);
        let unit = self.encoder.encode(picture, quantizer, key_frame);
        let unit = unit.ok_or_else(|| EncoderError::Failed {
            encoder: NAME,
            reason: "libx265 gave no frame".to_owned(),
        })?;
        let size = unit.data.len() as f64;
        let seen = size * libm::exp2(f64::from(quantizer) / HALVING);
        let learnt = &mut self.complexity[usize::from(!unit.key_frame)];
        *learnt += WEIGHT * (seen - *learnt);
        self.debt.add(share - size);
        Ok(EncodedFrame {
            data: unit.data,
            key_frame: unit.key_frame,
            quantizer: Some(quantizer),
            timestamp: request.timestamp,
        })
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

/// The least quantizer that keeps to a target of so many bytes.
fn quantizer(complexity: f64, target: f64) -> u8 {
    let (finest, coarsest) = QUANTIZERS;
    (HALVING * libm::log2(complexity / target)).ceil().clamp(finest, coarsest) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_quantizers_halve_a_frame() {
        assert_eq!(quantizer(64_000.0, 1_000.0), 36);
        assert_eq!(quantizer(64_000.0, 500.0), 42);
        assert_eq!(quantizer(64_000.0, 999.0), 37, "rather smaller than larger");
        assert_eq!((quantizer(1.0, 1e9), quantizer(1e9, 1.0)), (0, 51));
    }
}
