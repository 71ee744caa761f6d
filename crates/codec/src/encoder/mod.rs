//! Encoders behind one trait: a picture and what it may cost go in, an access unit comes out.

mod budget;
#[cfg(feature = "x264")]
mod calibrator;
#[cfg(any(feature = "x264", feature = "openh264"))]
mod debt;
#[cfg(feature = "openh264")]
mod openh264;
#[cfg(feature = "x264")]
mod x264;

pub use budget::FrameBudgets;
#[cfg(feature = "openh264")]
pub use openh264::OpenH264;
#[cfg(feature = "x264")]
pub use x264::{Slices, X264};

use crate::{Picture, Size};
use gameway_units::{Bytes, Instant, Rate};
use thiserror::Error;

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
    /// When the picture was captured.
    pub timestamp: Instant,
}

/// An access unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFrame {
    /// NAL units with start codes (H.264 Annex B).
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

    /// Its name, for messages and tables.
    fn name(&self) -> &'static str;
}

/// Encoders that this binary has, the best first: name, and the licence that a binary with it is under.
#[must_use]
pub fn available() -> Vec<(&'static str, &'static str)> {
    let mut encoders = Vec::new();
    if cfg!(feature = "x264") {
        encoders.push(("x264", "GPL-2.0-or-later"));
    }
    if cfg!(feature = "openh264") {
        encoders.push(("openh264", "BSD-2-Clause"));
    }
    encoders
}

/// Opens an encoder by name.
///
/// # Errors
/// [`EncoderError::Missing`] names what this binary has; [`EncoderError::Open`].
pub fn open(name: &str, config: EncoderConfig) -> Result<Box<dyn VideoEncoder>, EncoderError> {
    // A build without encoders has no use for it.
    let _ = config;
    match name {
        #[cfg(feature = "x264")]
        "x264" => Ok(Box::new(X264::new(config, Slices::default())?)),
        #[cfg(feature = "openh264")]
        "openh264" => Ok(Box::new(OpenH264::new(config)?)),
        _ => Err(EncoderError::Missing {
            name: name.to_owned(),
            present: available().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        }),
    }
}
