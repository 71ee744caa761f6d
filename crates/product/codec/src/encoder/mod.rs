//! Encoders behind one trait: a picture and what it may cost go in, an access unit comes out.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | stamp | quantizer 24 finer | out of bits, libx264 goes on from 51 to an inner 69, where it drops even DC coefficients; 24 keeps the stamp's below 51 |

mod hardware;
#[cfg(feature = "libav")]
mod libav;
#[cfg(feature = "openh264")]
mod openh264;
#[cfg(feature = "libav")]
mod steps;
#[cfg(feature = "x264")]
mod x264;
#[cfg(feature = "x265")]
mod x265;

pub use hardware::{Hardware, open_hardware};
#[cfg(feature = "libav")]
pub use libav::Libav;
#[cfg(feature = "openh264")]
pub use openh264::OpenH264;
#[cfg(feature = "x264")]
pub use x264::X264;
#[cfg(feature = "x265")]
pub use x265::X265;

#[cfg(any(feature = "x264", feature = "x265"))]
use crate::Stamp;
use crate::{Picture, Size};
use gameway_units::{Bytes, Instant, Rate, VideoCodec};
use thiserror::Error;

#[cfg(any(feature = "x264", feature = "x265"))]
const STAMP_FINER: f32 = 24.0;

/// How to open an encoder.
#[derive(Debug, Clone, Copy)]
pub struct EncoderConfig {
    /// Size of the pictures.
    pub size: Size,
    /// Frames per second, from 1 to 1000; a frame's share of the rate follows from it.
    pub frames_per_second: u32,
    /// Rate at first.
    pub rate: Rate,
}

/// What is asked of an encoder for one picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeRequest {
    /// Most bytes that this frame may have.
    pub frame_budget: Bytes,
    /// The rate that the mean of the frames is to have; headers and repair are already off it.
    pub rate: Rate,
    /// Whether it has to be a key frame.
    pub key_frame: bool,
    /// To which frame it refers otherwise, counted back from it; 1 is the one before. One that was passed over since, or
    /// that is older than [`VideoEncoder::keeps`], is not to be asked for: the frame is a key frame then.
    pub refers_back: u8,
    /// When the picture was captured.
    pub timestamp: Instant,
}

impl EncodeRequest {
    /// Whether an encoder that keeps so many frames ([`VideoEncoder::keeps`]) answers by a key frame.
    #[must_use]
    pub fn takes_key_frame(&self, keeps: u8) -> bool {
        self.key_frame || self.refers_back > keeps
    }
}

/// An access unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// NAL units with start codes (Annex B of H.264 and H.265).
    pub data: Vec<u8>,
    /// Whether decoding can begin here.
    pub key_frame: bool,
    /// Mean quantizer, where the encoder tells it.
    pub quantizer: Option<u8>,
    /// When the picture was captured.
    pub timestamp: Instant,
}

/// An encoder failed. It is of no more use: make a new one, whose first frame is a key frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncoderError {
    /// The binary was built without it, or there is none of that name.
    #[error(
        "no encoder {name:?} in this build; present: {present} (others come with cargo features)"
    )]
    Missing {
        /// Name asked for.
        name: String,
        /// Names that there are.
        present: String,
    },
    /// It could not be made.
    #[error("{encoder} does not open at {width}x{height}: {reason}")]
    Open {
        /// Name of the encoder.
        encoder: &'static str,
        /// Width asked for.
        width: usize,
        /// Height asked for.
        height: usize,
        /// What it said.
        reason: String,
    },
    /// A picture of another size than the encoder's.
    #[error("{encoder} was made for {expected:?}, not {got:?}; make a new one")]
    Size {
        /// Name of the encoder.
        encoder: &'static str,
        /// Size of the encoder.
        expected: Size,
        /// Size of the picture.
        got: Size,
    },
    /// It gave up on a picture.
    #[error("{encoder} failed: {reason}; make a new one")]
    Failed {
        /// Name of the encoder.
        encoder: &'static str,
        /// What it said.
        reason: String,
    },
}

#[cfg(any(feature = "openh264", feature = "x264", feature = "x265", feature = "libav"))]
impl EncoderConfig {
    /// Why `encoder` does not open.
    fn refused(&self, encoder: &'static str, reason: impl Into<String>) -> EncoderError {
        let (width, height) = (self.size.width(), self.size.height());
        EncoderError::Open { encoder, width, height, reason: reason.into() }
    }

    /// Whether there is such a frame rate.
    fn check_frame_rate(&self, encoder: &'static str) -> Result<(), EncoderError> {
        if (1..=1000).contains(&self.frames_per_second) {
            return Ok(());
        }
        Err(self.refused(encoder, "frames per second must be from 1 to 1000"))
    }
}

/// Whether a picture has the encoder's size.
#[cfg(any(feature = "openh264", feature = "x264", feature = "x265", feature = "libav"))]
fn check_size(
    encoder: &'static str,
    expected: Size,
    picture: &Picture,
) -> Result<(), EncoderError> {
    let got = picture.size();
    if got == expected { Ok(()) } else { Err(EncoderError::Size { encoder, expected, got }) }
}

/// An encoder that gives one access unit for each picture, without delay.
pub trait VideoEncoder: Send {
    /// Encodes one picture.
    ///
    /// # Errors
    /// [`EncoderError`]; then the encoder is to be replaced.
    fn encode(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
    ) -> Result<EncodedFrame, EncoderError>;

    /// The same; `part` gets what there is of the access unit as soon as there is more of it: NAL units up to the end of
    /// a slice, one or more times. After an error, some of a frame that never ends.
    ///
    /// # Errors
    /// As [`Self::encode`].
    fn encode_in_parts(
        &mut self,
        picture: &Picture,
        request: EncodeRequest,
        part: &mut dyn FnMut(&[u8]),
    ) -> Result<EncodedFrame, EncoderError> {
        let frame = self.encode(picture, request)?;
        part(&frame.data);
        Ok(frame)
    }

    /// Its name, for messages and tables.
    fn name(&self) -> &'static str;

    /// How many of the newest frames a frame can refer to.
    fn keeps(&self) -> u8 {
        1
    }

    /// Of how many slices a picture is; each ends with a packet that is not full. [`Self::encode_in_parts`] gives as many
    /// parts.
    fn slices(&self) -> u64 {
        1
    }
}

/// The quantizer's offset for each 16x16 block, row by row: a picture is encoded finer under its stamp.
#[cfg(any(feature = "x264", feature = "x265"))]
fn quantizer_offsets(size: Size) -> Vec<f32> {
    let columns = size.width().div_ceil(16);
    let (width, height) = Stamp::area(size).unwrap_or_default();
    let fine = |place: usize| place % columns < width / 16 && place / columns < height / 16;
    let blocks = columns * size.height().div_ceil(16);
    (0..blocks).map(|place| if fine(place) { -STAMP_FINER } else { 0.0 }).collect()
}

/// Encoders of a codec that this binary has and that need no hardware, the best first: name, and the licence that a
/// binary with it is under. What the machine's hardware has, [`open_hardware`] finds.
#[must_use]
pub fn available(codec: VideoCodec) -> Vec<(&'static str, &'static str)> {
    let all = [
        (VideoCodec::H264, cfg!(feature = "x264"), ("x264", "GPL-2.0-or-later")),
        (VideoCodec::H264, cfg!(feature = "openh264"), ("openh264", "BSD-2-Clause")),
        (VideoCodec::H265, cfg!(feature = "x265"), ("x265", "GPL-2.0-or-later")),
    ];
    let here = |(of, built, encoder)| (of == codec && built).then_some(encoder);
    all.into_iter().filter_map(here).collect()
}

/// The names of all encoders that this binary has.
fn names() -> String {
    let all = [VideoCodec::H264, VideoCodec::H265].into_iter().flat_map(available);
    all.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

/// Opens an encoder by name: one of [`available`], or libavcodec's of [`Hardware::name`] (also its `libx264` and
/// `libx265`, by which tests take hardware's way).
///
/// # Errors
/// [`EncoderError::Missing`] names what this binary has; [`EncoderError::Open`].
pub fn open(name: &str, config: EncoderConfig) -> Result<Box<dyn VideoEncoder>, EncoderError> {
    // A build without encoders has no use for it.
    let _ = config;
    match name {
        #[cfg(feature = "x264")]
        "x264" => Ok(Box::new(X264::new(config)?)),
        #[cfg(feature = "x265")]
        "x265" => Ok(Box::new(X265::new(config)?)),
        #[cfg(feature = "openh264")]
        "openh264" => Ok(Box::new(OpenH264::new(config)?)),
        #[cfg(feature = "libav")]
        name if Libav::knows(name) => Ok(Box::new(Libav::new(name, config)?)),
        _ => Err(EncoderError::Missing { name: name.to_owned(), present: names() }),
    }
}
