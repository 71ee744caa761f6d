//! Encoders behind one trait: a picture and what it may cost go in, an access unit comes out.

mod calibrator;
#[cfg(feature = "x264")]
mod x264;

pub use calibrator::FrameBudgets;
#[cfg(feature = "x264")]
pub use x264::{Slices, X264, X264Config};

use crate::{Picture, Size};
use gameway_units::{Bytes, Instant, Rate};
use thiserror::Error;

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
