//! H.264 by openh264 (BSD): the decoder for binaries without FFmpeg's libraries.

use super::{Backend, DecoderError, Part, size};
use crate::picture::Picture;
use openh264::decoder::Decoder;
use openh264::formats::YUVSource;

pub(super) const NAME: &str = "openh264";

/// An open openh264 decoder.
pub(super) struct OpenH264(Decoder);

impl OpenH264 {
    pub(super) fn new() -> Result<Self, DecoderError> {
        Ok(Self(Decoder::new().map_err(damaged)?))
    }
}

impl Backend for OpenH264 {
    fn reset(&mut self) -> Result<(), DecoderError> {
        *self = Self::new()?;
        Ok(())
    }

    fn decode(&mut self, part: Part<'_>, picture: &mut Picture) -> Result<(), DecoderError> {
        let Some(decoded) = self.0.decode(part.bytes).map_err(damaged)? else {
            return Err(DecoderError::Damaged("no picture".to_owned()));
        };
        let (width, height) = decoded.dimensions();
        let planes = [decoded.y(), decoded.u(), decoded.v()];
        Ok(picture.replace(size(width, height)?, planes, decoded.strides().into())?)
    }
}

fn damaged(error: openh264::Error) -> DecoderError {
    DecoderError::Damaged(error.to_string())
}
