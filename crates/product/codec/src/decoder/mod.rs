//! Access units back to pictures.
//!
//! Frames are decoded in order, each at once, by one thread. After an error, or at the start, the decoder
//! waits for a key frame: what lies between is refused, since it would be drawn on a picture that the
//! encoder does not have.
//!
//! The decoder does not conceal: a frame is either as the encoder meant it, or an error.
//!
//! A frame may come in parts, each of whole slices: a decoder that can works on the first while the last is on
//! its way.

#[cfg(feature = "libav")]
mod libav;
#[cfg(feature = "openh264")]
mod openh264;

use crate::payload::{nal_kind, nal_units};
use crate::picture::{Picture, PictureError, Size};
use gameway_units::VideoCodec;
use thiserror::Error;

/// Largest access unit; bounds what a hostile peer makes the decoder scan.
pub const MAX_ACCESS_UNIT: usize = 8 << 20;

/// Why an access unit gave no picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecoderError {
    /// The binary was built without it, or there is none of that name.
    #[error(
        "no decoder {name:?} of {codec} in this build; present: {present} (others come with cargo \
         features; that of H265 is libav)"
    )]
    Missing {
        /// Name asked for.
        name: String,
        /// Codec asked for.
        codec: VideoCodec,
        /// Names that there are.
        present: String,
    },
    /// Decoding can begin at a key frame only.
    #[error("waiting for a key frame")]
    NeedsKeyFrame,
    /// The data is not what the decoder knows, or is damaged.
    #[error("damaged or unsupported video ({0}); waiting for a key frame")]
    Damaged(String),
    /// The pictures have a size that is not taken.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The access unit is larger than the bound.
    #[error("an access unit of {0} bytes; at most {MAX_ACCESS_UNIT}")]
    TooLarge(usize),
}

/// What decodes, without a memory of losses.
trait Backend: Send {
    /// Forgets all that came before.
    fn reset(&mut self) -> Result<(), DecoderError>;

    /// Whether access units may come in parts.
    fn takes_parts(&self) -> bool {
        false
    }

    /// So many pictures do not come, to which none of the following refers; whether it can go on without.
    fn pass_over(&mut self, _pictures: u32) -> bool {
        false
    }

    /// Decodes an access unit, or a part of one, into `picture`, whatever size that had. The picture is there after
    /// the last.
    fn decode(&mut self, part: Part<'_>, picture: &mut Picture) -> Result<(), DecoderError>;
}

/// Some slices of an access unit, or all.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    first: bool,
    last: bool,
}

/// A decoder of one stream.
pub struct Decoder {
    name: &'static str,
    codec: VideoCodec,
    backend: Box<dyn Backend>,
    /// Kept from frame to frame: the kernel takes up to a millisecond for the pages of a new one.
    picture: Picture,
    waiting: bool,
    /// Bytes of the access unit of which parts came, and more are to come.
    within: Option<usize>,
    /// What came of it, if it can be decoded as a whole only.
    kept: Vec<u8>,
}

/// Decoders of a codec that this binary has, the best first: name, and the licence that a binary with it is
/// under.
#[must_use]
pub fn available(codec: VideoCodec) -> Vec<(&'static str, &'static str)> {
    let mut decoders = Vec::new();
    if cfg!(feature = "libav") {
        decoders.push(("libav", "LGPL-2.1-or-later, or GPL-2.0-or-later by how FFmpeg was built"));
    }
    if cfg!(feature = "openh264") && codec == VideoCodec::H264 {
        decoders.push(("openh264", "BSD-2-Clause"));
    }
    decoders
}

/// Whether [`Decoder::new`] gives one that goes on after [`Decoder::pass_over`].
#[must_use]
pub const fn passes_over(codec: VideoCodec) -> bool {
    cfg!(feature = "libav") && matches!(codec, VideoCodec::H264)
}

impl Decoder {
    /// The best decoder of a codec that this binary has; it waits for a key frame.
    ///
    /// # Errors
    /// [`DecoderError::Missing`] if it has none; [`DecoderError::Damaged`] if it cannot be set up.
    pub fn new(codec: VideoCodec) -> Result<Self, DecoderError> {
        Self::open(available(codec).first().map_or("any", |(name, _)| name), codec)
    }

    /// A decoder by name; it waits for a key frame.
    ///
    /// # Errors
    /// [`DecoderError::Missing`] names what this binary has; [`DecoderError::Damaged`] if it cannot be set up.
    pub fn open(name: &str, codec: VideoCodec) -> Result<Self, DecoderError> {
        let (name, backend): (_, Box<dyn Backend>) = match name {
            #[cfg(feature = "libav")]
            libav::NAME => (libav::NAME, Box::new(libav::Libav::new(codec)?)),
            #[cfg(feature = "openh264")]
            openh264::NAME if codec == VideoCodec::H264 => {
                (openh264::NAME, Box::new(openh264::OpenH264::new()?))
            }
            _ => {
                let present = available(codec).iter().map(|(name, _)| *name).collect::<Vec<_>>();
                return Err(DecoderError::Missing {
                    name: name.to_owned(),
                    codec,
                    present: present.join(", "),
                });
            }
        };
        let picture = Picture::black(Size::SMALLEST);
        Ok(Self { name, codec, backend, picture, waiting: true, within: None, kept: Vec::new() })
    }

    /// Its name, for messages and tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether only a key frame can be decoded now.
    #[must_use]
    pub fn needs_key_frame(&self) -> bool {
        self.waiting
    }

    /// A frame was lost: the next ones, and the rest of one of which parts came, cannot be decoded until a key
    /// frame.
    pub fn lose(&mut self) {
        self.waiting = true;
        self.within = None;
    }

    /// So many frames were lost to which none of the following refers, perhaps the rest of one of which parts came among them. A
    /// decoder that cannot go on without waits for a key frame.
    pub fn pass_over(&mut self, frames: u32) {
        self.within = None;
        if !self.waiting && !self.backend.pass_over(frames) {
            self.waiting = true;
        }
    }

    /// Decodes one access unit (Annex B). The picture is there until the next call.
    ///
    /// # Errors
    /// [`DecoderError`]; the decoder then waits for a key frame.
    pub fn decode(&mut self, access_unit: &[u8]) -> Result<&Picture, DecoderError> {
        self.take(access_unit, true)?;
        Ok(&self.picture)
    }

    /// Decodes whole slices of an access unit (Annex B), with what stands before them, of which more are to come;
    /// [`Self::decode`] takes the last, or nothing more.
    ///
    /// # Errors
    /// [`DecoderError`]; the decoder then waits for a key frame, and refuses the rest of this one.
    pub fn begin(&mut self, slices: &[u8]) -> Result<(), DecoderError> {
        self.take(slices, false)
    }

    fn take(&mut self, bytes: &[u8], last: bool) -> Result<(), DecoderError> {
        let before = self.within.take();
        let size = before.unwrap_or(0) + bytes.len();
        let decoded = if size > MAX_ACCESS_UNIT {
            Err(DecoderError::TooLarge(size))
        } else {
            self.take_part(Part { bytes, first: before.is_none(), last })
        };
        self.within = (!last).then_some(size);
        self.waiting |= decoded.is_err();
        decoded
    }

    fn take_part(&mut self, part: Part<'_>) -> Result<(), DecoderError> {
        if self.backend.takes_parts() || part.first && part.last {
            return self.decode_part(part);
        }
        if part.first {
            self.kept.clear();
        }
        self.kept.extend_from_slice(part.bytes);
        if !part.last {
            return Ok(());
        }
        let whole = std::mem::take(&mut self.kept);
        let decoded = self.decode_part(Part { bytes: &whole, first: true, last: true });
        self.kept = whole;
        decoded
    }

    fn decode_part(&mut self, part: Part<'_>) -> Result<(), DecoderError> {
        if self.waiting {
            // Decoding begins where an access unit does.
            if !part.first || !starts_decoding(self.codec, part.bytes) {
                return Err(DecoderError::NeedsKeyFrame);
            }
            // What a damaged stream left behind must not reach the new one.
            self.backend.reset()?;
            self.waiting = false;
        }
        self.backend.decode(part, &mut self.picture)
    }
}

/// A size as decoders say it, which count in other types.
fn size<T: TryInto<u32>>(width: T, height: T) -> Result<Size, PictureError> {
    let side = |side: T| side.try_into().unwrap_or(u32::MAX);
    Size::new(side(width), side(height))
}

/// Whether there are parameter sets of each kind and a slice of a picture at which decoding can begin.
pub(crate) fn starts_decoding(codec: VideoCodec, access_unit: &[u8]) -> bool {
    let kinds = nal_units(access_unit).fold(0_u64, |kinds, nal| {
        kinds | nal.first().map_or(0, |first| 1 << nal_kind(codec, *first))
    });
    let has = |kind: u8| kinds & 1 << kind != 0;
    match codec {
        // ITU-T H.264 table 7-1: sequence and picture parameter set, IDR slice.
        VideoCodec::H264 => has(7) && has(8) && has(5),
        // ITU-T H.265 table 7-1: video, sequence and picture parameter set, IDR slice of either kind.
        VideoCodec::H265 => has(32) && has(33) && has(34) && (has(19) || has(20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_open_by_name_and_the_best_is_the_first() {
        for codec in [VideoCodec::H264, VideoCodec::H265] {
            let names: Vec<_> = available(codec).into_iter().map(|(name, _)| name).collect();
            for name in &names {
                assert_eq!(Decoder::open(name, codec).unwrap().name(), *name);
            }
            let best = Decoder::new(codec).ok().map(|decoder| decoder.name());
            assert_eq!(best, names.first().copied());
            let missing = Decoder::open("none", codec).err().unwrap().to_string();
            assert!(missing.contains("\"none\" of H26"), "{missing}");
            assert!(names.iter().all(|name| missing.contains(name)), "{missing}");
        }
    }
}
