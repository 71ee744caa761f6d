//! The frame table (GWFR): sizes of the frames of one recorded game, encoded at several bitrates.
//!
//! A *rung* is one pass of a real encoder over the whole recording at one bitrate; frame `i` of each
//! rung is the same picture. The file, little-endian:
//!
//! | field | type | |
//! |---|---|---|
//! | magic | 4 B | `GWFR` |
//! | version | u16 | 1, or 2 if pictures are absent |
//! | rungs | u16 | at least 1, ascending by asked bitrate |
//! | frame rate | u32, u32 | numerator, denominator; frames per second |
//! | width, height | u16, u16 | pixels |
//! | frames | u32 | per rung, at least 1 |
//! | *per rung:* asked, produced | u64, u64 | b/s: what the encoder was set to; what came out |
//! | sizes | frames x u32 | bytes; bit 31 marks a key frame; in version 2 zero where there was no picture |
//! | forced key frames | u32, count x u32 | sizes in bytes of key frames that were demanded mid-stream |
//! | *at the end:* meta | u32, bytes | UTF-8 JSON: how it was recorded |
//!
//! Places are as far apart as the frame rate says. A recording that lacks pictures at some times, because they were
//! dropped or nothing changed, has places without one: the same in all rungs.
//!
//! The parser is strict (no unknown version, no trailing bytes, no empty frame in version 1) and allocates nothing
//! that the input's length does not warrant, so it can be given any file.

use gameway_units::{Bytes, Rate};
use std::num::NonZeroU32;
use std::sync::LazyLock;
use thiserror::Error;

const MAGIC: [u8; 4] = *b"GWFR";
const VERSION: u16 = 1;
/// The same, but that pictures may be absent.
const VERSION_WITH_ABSENT: u16 = 2;
const KEY_FRAME_BIT: u32 = 1 << 31;

/// Size and type of one recorded frame, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFrame(u32);

impl RecordedFrame {
    /// Whether there was no picture at its time.
    #[must_use]
    pub fn is_absent(self) -> bool {
        self.0 == 0
    }
    /// Its encoded size; zero if it is absent.
    #[must_use]
    pub fn size(self) -> Bytes {
        Bytes::new(u64::from(self.0 & !KEY_FRAME_BIT))
    }
    /// Whether it can be decoded without any earlier frame.
    #[must_use]
    pub fn is_key(self) -> bool {
        self.0 & KEY_FRAME_BIT != 0
    }
}

/// The recording encoded at one bitrate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// The bitrate for which the encoder was configured.
    pub asked: Rate,
    /// The bitrate that came out, as the recorder measured it.
    pub produced: Rate,
    /// Its frames.
    pub frames: Vec<RecordedFrame>,
    /// Sizes of key frames that were demanded in the middle of the stream.
    pub forced_key_frames: Vec<Bytes>,
}

/// A recorded game: frame sizes at several bitrates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameTable {
    /// Frames per second, numerator.
    pub frame_rate_numerator: NonZeroU32,
    /// Frames per second, denominator.
    pub frame_rate_denominator: NonZeroU32,
    /// Picture width in pixels.
    pub width: u16,
    /// Picture height in pixels.
    pub height: u16,
    /// The rungs by ascending asked bitrate: at least one, all with equally many frames, at least one.
    pub rungs: Vec<Rung>,
    /// How it was recorded (JSON).
    pub meta: String,
}

/// Why a frame table was refused. Offsets count bytes from the start of the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameTableError {
    /// It is some other file.
    #[error("not a frame table: starts with {found:02x?} instead of \"GWFR\"")]
    Magic {
        /// The first bytes.
        found: [u8; 4],
    },
    /// Written by a later program.
    #[error(
        "frame table version {found}: this program reads versions {VERSION} and {VERSION_WITH_ABSENT}"
    )]
    Version {
        /// The file's version.
        found: u16,
    },
    /// The file ends early.
    #[error("{place}, byte {offset}: needs {needed} bytes, the file has {available} left")]
    Truncated {
        /// Which field.
        place: Place,
        /// Where it starts.
        offset: usize,
        /// How many bytes it takes.
        needed: u64,
        /// How many there are.
        available: usize,
    },
    /// A number that means nothing.
    #[error("{place}, byte {offset}: {found}, but {must}")]
    Value {
        /// Which field.
        place: Place,
        /// Where it starts.
        offset: usize,
        /// What it holds.
        found: u64,
        /// The rule that it breaks.
        must: &'static str,
    },
    /// The description is not text.
    #[error("meta, byte {offset}: not UTF-8")]
    MetaEncoding {
        /// The first byte that is not.
        offset: usize,
    },
    /// There is more than a frame table.
    #[error("byte {offset}: {count} bytes after the end of the table")]
    Trailing {
        /// Where the table ends.
        offset: usize,
        /// How many bytes follow.
        count: usize,
    },
}

/// A field of the file, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    field: &'static str,
    rung: Option<u16>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rung {
            Some(rung) => write!(f, "rung {rung}: {}", self.field),
            None => f.write_str(self.field),
        }
    }
}

impl FrameTable {
    /// Reads a frame table.
    ///
    /// # Errors
    /// If the bytes are not exactly one well-formed frame table.
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameTableError> {
        let mut reader = Reader { bytes, offset: 0, rung: None, may_lack: false };
        reader.header()?;
        let rung_count = reader.u16("rungs")?;
        reader.require(rung_count > 0, "rungs", 2, rung_count, "there must be at least one")?;
        let frame_rate_numerator = reader.nonzero_u32("frame rate numerator")?;
        let frame_rate_denominator = reader.nonzero_u32("frame rate denominator")?;
        let width = reader.u16("width")?;
        let height = reader.u16("height")?;
        let frames = reader.nonzero_u32("frames")?.get();
        let mut rungs: Vec<Rung> = Vec::new();
        for index in 0..rung_count {
            reader.rung = Some(index);
            rungs.push(reader.rung(frames, rungs.last())?);
        }
        reader.rung = None;
        let meta = reader.meta()?;
        reader.end()?;
        Ok(Self { frame_rate_numerator, frame_rate_denominator, width, height, rungs, meta })
    }

    /// The demos of Freedoom (recorded play), at 1280x720 and 60 frames per second through x264;
    /// `data/README.md` tells how it was recorded.
    #[must_use]
    pub fn doom() -> &'static Self {
        static DOOM: LazyLock<FrameTable> = LazyLock::new(|| {
            FrameTable::parse(include_bytes!("../data/doom.gwfr")).expect(
                "the frame table that comes with the program is well-formed; a test reads it",
            )
        });
        &DOOM
    }

    /// How many places for frames each rung has.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.rungs[0].frames.len()
    }
}

/// Walks over the file; each step names the field that it reads.
struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    rung: Option<u16>,
    /// Whether pictures may be absent.
    may_lack: bool,
}

impl Reader<'_> {
    fn place(&self, field: &'static str) -> Place {
        Place { field, rung: self.rung }
    }

    fn take(&mut self, field: &'static str, needed: u64) -> Result<&[u8], FrameTableError> {
        let rest = &self.bytes[self.offset..];
        match usize::try_from(needed).ok().and_then(|needed| rest.get(..needed)) {
            Some(taken) => {
                self.offset += taken.len();
                Ok(taken)
            }
            None => Err(FrameTableError::Truncated {
                place: self.place(field),
                offset: self.offset,
                needed,
                available: rest.len(),
            }),
        }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FrameTableError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N as u64)?);
        Ok(array)
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, FrameTableError> {
        self.array(field).map(u16::from_le_bytes)
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, FrameTableError> {
        self.array(field).map(u32::from_le_bytes)
    }

    fn nonzero_u32(&mut self, field: &'static str) -> Result<NonZeroU32, FrameTableError> {
        let value = self.u32(field)?;
        self.require(value > 0, field, 4, value, "it must be positive")?;
        Ok(NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN))
    }

    fn rate(&mut self, field: &'static str) -> Result<Rate, FrameTableError> {
        let bits_per_sec = self.array(field).map(u64::from_le_bytes)?;
        self.require(bits_per_sec > 0, field, 8, bits_per_sec, "it must be positive")?;
        Ok(Rate::from_bps(bits_per_sec))
    }

    /// Fails unless the field of `width` bytes that was just read fulfils its rule.
    fn require(
        &self,
        holds: bool,
        field: &'static str,
        width: usize,
        found: impl Into<u64>,
        must: &'static str,
    ) -> Result<(), FrameTableError> {
        if holds {
            return Ok(());
        }
        let offset = self.offset - width;
        Err(FrameTableError::Value { place: self.place(field), offset, found: found.into(), must })
    }

    fn header(&mut self) -> Result<(), FrameTableError> {
        let found = self.array("magic")?;
        if found != MAGIC {
            return Err(FrameTableError::Magic { found });
        }
        match self.u16("version")? {
            found @ (VERSION | VERSION_WITH_ABSENT) => {
                self.may_lack = found == VERSION_WITH_ABSENT;
                Ok(())
            }
            found => Err(FrameTableError::Version { found }),
        }
    }

    fn rung(&mut self, frames: u32, below: Option<&Rung>) -> Result<Rung, FrameTableError> {
        let asked = self.rate("asked bitrate")?;
        let must = "rungs must ascend by asked bitrate";
        let ascends = below.is_none_or(|below| asked > below.asked);
        self.require(ascends, "asked bitrate", 8, asked.as_bps(), must)?;
        let produced = self.rate("produced bitrate")?;
        let frames = self.sizes("frame sizes", frames, self.may_lack)?;
        below.map_or(Ok(()), |below| self.require_same_absent(&below.frames, &frames))?;
        let count = self.u32("forced key frames")?;
        let forced = self.sizes("forced key frame sizes", count, false)?;
        let forced_key_frames = forced.into_iter().map(RecordedFrame::size).collect();
        Ok(Rung { asked, produced, frames, forced_key_frames })
    }

    /// What one rung lacks all of them lack: a picture that was never taken.
    fn require_same_absent(
        &self,
        one: &[RecordedFrame],
        other: &[RecordedFrame],
    ) -> Result<(), FrameTableError> {
        let differs =
            one.iter().zip(other).position(|(one, other)| one.is_absent() != other.is_absent());
        match differs {
            None => Ok(()),
            Some(index) => Err(FrameTableError::Value {
                place: self.place("frame sizes"),
                offset: self.offset - 4 * (other.len() - index),
                found: other[index].size().get(),
                must: "a picture must be absent in all rungs or in none",
            }),
        }
    }

    /// Reads sizes; the input's length is checked before memory is asked for.
    fn sizes(
        &mut self,
        field: &'static str,
        count: u32,
        may_lack: bool,
    ) -> Result<Vec<RecordedFrame>, FrameTableError> {
        let (place, start) = (self.place(field), self.offset);
        let sizes = self.take(field, u64::from(count) * 4)?.chunks_exact(4);
        let frames = sizes.map(|size| u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
        let frames: Vec<RecordedFrame> = frames.map(RecordedFrame).collect();
        let is_wrong =
            |frame: &RecordedFrame| frame.size() == Bytes::ZERO && !(may_lack && frame.is_absent());
        match frames.iter().position(is_wrong) {
            None => Ok(frames),
            Some(index) => Err(FrameTableError::Value {
                place,
                offset: start + 4 * index,
                found: 0,
                must: "a frame must have a size",
            }),
        }
    }

    fn meta(&mut self) -> Result<String, FrameTableError> {
        let length = self.u32("meta length")?;
        let start = self.offset;
        let text = self.take("meta", u64::from(length))?;
        match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => {
                Err(FrameTableError::MetaEncoding { offset: start + error.valid_up_to() })
            }
        }
    }

    fn end(&self) -> Result<(), FrameTableError> {
        match self.bytes.len() - self.offset {
            0 => Ok(()),
            count => Err(FrameTableError::Trailing { offset: self.offset, count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of two rungs, at 1000 and 2000 b/s, with these frame sizes and one forced key frame each.
    fn file(asked: u64, sizes: [[u32; 4]; 2]) -> Vec<u8> {
        let mut bytes = b"GWFR".to_vec();
        bytes.extend([VERSION_WITH_ABSENT, 2].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend([60_u32, 1].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend([1280_u16, 720].iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(4_u32.to_le_bytes());
        for (asked, sizes) in [asked, 2_000].into_iter().zip(sizes) {
            bytes.extend([asked, 900].iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend(sizes.iter().flat_map(|value| value.to_le_bytes()));
            bytes.extend([1_u32, 7].iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes.extend([2, 0, 0, 0, b'{', b'}']);
        bytes
    }

    fn error(asked: u64, sizes: [[u32; 4]; 2]) -> String {
        FrameTable::parse(&file(asked, sizes)).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_the_byte_of_the_frame_that_is_wrong() {
        let plain = [9, 8, 7, 6];
        assert!(FrameTable::parse(&file(1_000, [plain; 2])).is_ok());
        assert_eq!(
            error(0, [plain; 2]),
            "rung 0: asked bitrate, byte 24: 0, but it must be positive"
        );
        // The sizes of the first rung begin at byte 40, those of the second at byte 80.
        let no_size = [9, 8, 7, KEY_FRAME_BIT];
        assert_eq!(
            error(1_000, [no_size, plain]),
            "rung 0: frame sizes, byte 52: 0, but a frame must have a size"
        );
        let must = "but a picture must be absent in all rungs or in none";
        for (absent, byte) in [(0, 80), (1, 84), (3, 92)] {
            let mut lacking = plain;
            lacking[absent] = 0;
            let found = plain[absent];
            assert_eq!(
                error(1_000, [lacking, plain]),
                format!("rung 1: frame sizes, byte {byte}: {found}, {must}")
            );
        }
    }
}
