//! Access units back to pictures, by openh264 (BSD).
//!
//! Frames are decoded in order, each at once. After an error, or at the start, the decoder waits for a
//! key frame: what lies between is refused, since it would be drawn on a picture that the encoder does not
//! have.
//!
//! The decoder does not conceal: a frame is either as the encoder meant it, or an error.

use crate::picture::{Picture, PictureError, Size};
use openh264::formats::YUVSource;
use thiserror::Error;

/// Largest access unit; bounds what a hostile peer makes the decoder scan.
pub const MAX_ACCESS_UNIT: usize = 8 << 20;

/// Why an access unit gave no picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecoderError {
    /// Decoding can begin at a key frame only.
    #[error("waiting for a key frame")]
    NeedsKeyFrame,
    /// The data is no H.264 that the decoder knows, or is damaged.
    #[error("damaged or unsupported H.264 ({0}); waiting for a key frame")]
    Damaged(String),
    /// The pictures have a size that is not taken.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The access unit is larger than the bound.
    #[error("an access unit of {0} bytes; at most {MAX_ACCESS_UNIT}")]
    TooLarge(usize),
}

/// A decoder of one stream.
pub struct Decoder {
    decoder: openh264::decoder::Decoder,
    waiting: bool,
}

impl Decoder {
    /// A decoder that waits for a key frame.
    ///
    /// # Errors
    /// [`DecoderError::Damaged`] if openh264 cannot be set up.
    pub fn new() -> Result<Self, DecoderError> {
        Ok(Self { decoder: open()?, waiting: true })
    }

    /// Whether only a key frame can be decoded now.
    #[must_use]
    pub fn needs_key_frame(&self) -> bool {
        self.waiting
    }

    /// A frame was lost: the next ones cannot be decoded until a key frame.
    pub fn lose(&mut self) {
        self.waiting = true;
    }

    /// Decodes one access unit (Annex B).
    ///
    /// # Errors
    /// [`DecoderError`]; the decoder then waits for a key frame.
    pub fn decode(&mut self, access_unit: &[u8]) -> Result<Picture, DecoderError> {
        if access_unit.len() > MAX_ACCESS_UNIT {
            self.waiting = true;
            return Err(DecoderError::TooLarge(access_unit.len()));
        }
        if self.waiting {
            if !starts_decoding(access_unit) {
                return Err(DecoderError::NeedsKeyFrame);
            }
            // What a damaged stream left behind must not reach the new one.
            self.decoder = open()?;
        }
        let decoded = self.picture(access_unit);
        self.waiting = decoded.is_err();
        decoded
    }

    fn picture(&mut self, access_unit: &[u8]) -> Result<Picture, DecoderError> {
        let damaged = |error: openh264::Error| DecoderError::Damaged(error.to_string());
        let Some(picture) = self.decoder.decode(access_unit).map_err(damaged)? else {
            return Err(DecoderError::Damaged("no picture".to_owned()));
        };
        let (width, height) = picture.dimensions();
        let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
        let size = Size::new(side(width), side(height))?;
        let strides = picture.strides();
        let planes = [picture.y(), picture.u(), picture.v()];
        Ok(Picture::from_planes(size, planes, [strides.0, strides.1, strides.2])?)
    }
}

fn open() -> Result<openh264::decoder::Decoder, DecoderError> {
    openh264::decoder::Decoder::new().map_err(|error| DecoderError::Damaged(error.to_string()))
}

/// Whether there are a sequence parameter set, a picture parameter set and an IDR slice.
fn starts_decoding(access_unit: &[u8]) -> bool {
    let kinds = crate::h264_payload::nal_units(access_unit)
        .fold(0_u32, |kinds, nal| kinds | nal.first().map_or(0, |header| 1 << (header & 0x1f)));
    let wanted = 1 << 7 | 1 << 8 | 1 << 5;
    kinds & wanted == wanted
}
