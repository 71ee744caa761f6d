//! H.264 by openh264 (BSD): an encoder for binaries without GPL code.
//!
//! # Model
//! openh264 spends a rate over a second or so and has no bound for a frame: after a decrease to an eighth,
//! frames have three times their budget, where x264's have none above it. Its rate is set before each frame
//! to the request's, corrected by an integral controller over the last second, so that the mean holds. On the
//! built-in scene it compresses better than x264's fastest preset (2 dB at 5 to 25 Mb/s) at 1.2 to 1.5 times
//! the CPU (`examples/costs.rs`), and below 2 Mb/s its coarsest quantizer is too fine. Use it where the GPL
//! must be avoided. It prints one warning of its own when it is opened.
//!
//! Cisco pays H.264's patent licence for binaries that Cisco distributes; this crate builds from source,
//! so whoever ships it looks after patents, as with any H.264 encoder.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | correction | -30 % to +30 % | wider than x264's, since nothing else bounds its error |

use super::{EncodeRequest, EncodedFrame, EncoderConfig, EncoderError, VideoEncoder, check_size};
use crate::{Picture, sys};
use gameway_media::rate_control::{Debt, bytes_per_frame};
use gameway_units::Rate;
use openh264::encoder::{
    BitRate, Complexity, Encoder, FrameRate, FrameType, IntraFramePeriod, Profile, RateControlMode,
    UsageType, VuiConfig,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};

const NAME: &str = "openh264";
const MAX_REPAID: f64 = 0.3;

/// An open openh264 encoder.
pub struct OpenH264 {
    encoder: Encoder,
    config: EncoderConfig,
    bits_per_second: u32,
    frames: u64,
    debt: Debt,
}

impl OpenH264 {
    /// Opens an encoder.
    ///
    /// # Errors
    /// [`EncoderError::Open`].
    pub fn new(config: EncoderConfig) -> Result<Self, EncoderError> {
        config.check_frame_rate(NAME)?;
        let bits_per_second = bits(config.rate);
        let native = openh264::encoder::EncoderConfig::new()
            .bitrate(BitRate::from_bps(bits_per_second))
            .max_frame_rate(FrameRate::from_hz(config.frames_per_second as f32))
            .rate_control_mode(RateControlMode::Bitrate)
            .usage_type(UsageType::CameraVideoRealTime)
            .complexity(Complexity::Low)
            .profile(Profile::Baseline)
            .skip_frames(false)
            .scene_change_detect(false)
            .adaptive_quantization(false)
            .background_detection(false)
            .intra_frame_period(IntraFramePeriod::auto())
            .num_threads(1)
            .vui(VuiConfig::bt709());
        let mut encoder = Encoder::with_api_config(OpenH264API::from_source(), native)
            .map_err(|error| config.refused(NAME, error.to_string()))?;
        sys::openh264::quiet(&mut encoder);
        Ok(Self { encoder, config, bits_per_second, frames: 0, debt: Debt::default() })
    }

    /// The rate to ask for, with what the last second lacked.
    fn corrected(&self, rate: Rate) -> Rate {
        let share = bytes_per_frame(rate, self.config.frames_per_second).max(1.0);
        let repaid = self.debt.repaid(share, MAX_REPAID);
        rate.mul_f64(1.0 + repaid)
    }
}

impl VideoEncoder for OpenH264 {
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError> {
        let size = self.config.size;
        check_size(NAME, size, picture)?;
        let failed = |reason: String| EncoderError::Failed { encoder: NAME, reason };
        let wanted = bits(self.corrected(request.rate));
        if self.frames > 0 && wanted != self.bits_per_second {
            if !sys::openh264::set_bitrate(&mut self.encoder, wanted) {
                return Err(failed(format!("it refused {wanted} bit/s")));
            }
            self.bits_per_second = wanted;
        }
        if request.takes_key_frame(self.keeps()) {
            self.encoder.force_intra_frame();
        }
        let strides = picture.strides();
        let source = YUVSlices::new(
            picture.planes().into(),
            (size.width(), size.height()),
            (strides[0], strides[1], strides[2]),
        );
        let millis = self.frames * 1000 / u64::from(self.config.frames_per_second);
        let stream = self
            .encoder
            .encode_at(&source, Timestamp::from_millis(millis))
            .map_err(|error| failed(error.to_string()))?;
        let (data, key_frame) = (stream.to_vec(), stream.frame_type() == FrameType::IDR);
        if data.is_empty() {
            return Err(failed("it gave no frame".to_owned()));
        }
        self.frames += 1;
        let share = bytes_per_frame(request.rate, self.config.frames_per_second);
        self.debt.add(share - data.len() as f64);
        Ok(EncodedFrame { data, key_frame, quantizer: None, timestamp: request.timestamp })
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

/// As openh264 counts; below 10 kb/s it spends no less.
fn bits(rate: Rate) -> u32 {
    rate.as_bps().clamp(10_000, 1_000_000_000) as u32
}
