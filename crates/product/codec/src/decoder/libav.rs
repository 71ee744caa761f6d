//! H.264 and H.265 by FFmpeg's libavcodec: three quarters of openh264's time for a picture of H.264
//! (`examples/costs.rs`).
//!
//! libavcodec is under the LGPL (version 2.1 or later), and under the GPL where FFmpeg was built with its
//! GPL parts, as Debian's and Ubuntu's packages are. This crate's own licence stays permissive, but a
//! program built with the feature `libav` and linked with theirs may be *distributed* only under the
//! GPL's terms. Without the feature, nothing of it is needed or linked.
//!
//! libavcodec is made to show whatever it can; here it must not. It is told to give up at the first error,
//! it leaves marks on a picture for which it guessed, and a marked picture is an error. In H.265 it does not
//! see that a slice is missing; a stream's frames come whole or not at all, and none is missed there. Parts of a
//! picture are for H.264 only: that of H.265 takes what comes next for another picture.

use super::{Backend, DecoderError, Part, size};
use crate::picture::Picture;
use crate::sys::libav_decoder::Decoder;
use gameway_units::VideoCodec;

pub(super) const NAME: &str = "libav";

/// An open decoder of libavcodec.
pub(super) struct Libav {
    decoder: Decoder,
    codec: VideoCodec,
    /// Whether the access unit in hand has given its picture.
    shown: bool,
}

impl Libav {
    pub(super) fn new(codec: VideoCodec) -> Result<Self, DecoderError> {
        let decoder = Decoder::open(codec).map_err(DecoderError::Damaged)?;
        Ok(Self { decoder, codec, shown: false })
    }
}

impl Backend for Libav {
    fn reset(&mut self) -> Result<(), DecoderError> {
        *self = Self::new(self.codec)?;
        Ok(())
    }

    fn takes_parts(&self) -> bool {
        self.codec == VideoCodec::H264
    }

    fn pass_over(&mut self, pictures: u32) -> bool {
        self.decoder.pass_over(pictures) && self.codec == VideoCodec::H264
    }

    fn decode(&mut self, part: Part<'_>, picture: &mut Picture) -> Result<(), DecoderError> {
        let damaged = |why: &str| DecoderError::Damaged(why.to_owned());
        self.shown &= !part.first;
        let decoded = self.decoder.decode(part.bytes, part.first).map_err(DecoderError::Damaged)?;
        if let Some(frame) = decoded {
            if self.shown {
                return Err(damaged("two pictures in one access unit"));
            }
            picture.replace(size(frame.width, frame.height)?, frame.planes, frame.strides)?;
            self.shown = true;
        }
        if part.last && !self.shown { Err(damaged("no picture")) } else { Ok(()) }
    }
}
