//! Frame counter, capture clock and input echo, written into a picture so that they survive encoding.
//!
//! # Code
//! 128 bits (counter 32, clock 48, input 32, CRC 16), most significant first, each a block of one
//! brightness in the top-left corner, in rows: a dark block is 0, a bright block is 1. Blocks are as
//! large as a macroblock and lie on the macroblock grid, so that each costs the encoder one DC
//! coefficient. Counter and input are Gray-coded: from one frame to the next a single block changes.
//! Chroma under the blocks is neutral. The reader takes the mean of a block's inner half, refuses a
//! block that is neither clearly dark nor clearly bright, and then checks the CRC.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | block | 16x16 luma samples, 32 a row; in pictures narrower than 512, 8x8, 16 a row | macroblock of H.264; below it the transform's size in pairs |
//! | dark, bright | 40, 210 | inside limited range 16 to 235, so that ringing does not clip |
//! | doubtful | mean within 30 of 125, the middle | a third of the distance: what a block loses at the highest quantizer stays below |
//! | CRC | polynomial 0x1021, initial 0xFFFF | CRC-16/IBM-3740 (ITU-T V.41's polynomial); finds all errors of up to 3 bits in 128 |

use crate::{Picture, Size};
use gameway_units::Instant;
use thiserror::Error;

const BITS: usize = 128;
const DARK: u8 = 40;
const BRIGHT: u8 = 210;
const MIDDLE: u32 = 125;
const DOUBTFUL: u32 = 30;
const CLOCK_BITS: u32 = 48;

/// What a picture says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the picture; wraps after 2^32.
    pub frame: u32,
    /// When it was captured, in the run's clock; whole microseconds, wraps after 8.9 years.
    pub captured: Instant,
    /// Number of the last input that the game had seen; zero before the first.
    pub input: u32,
}

/// The picture is too small for a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a stamp needs a picture of at least 128x64, but this one is {width}x{height}")]
pub struct StampError {
    /// Width of the picture.
    pub width: usize,
    /// Height of the picture.
    pub height: usize,
}

/// Where the blocks of a stamp lie.
#[derive(Debug, Clone, Copy)]
struct Grid {
    block: usize,
    columns: usize,
}

impl Grid {
    fn of(size: Size) -> Option<Self> {
        let (width, height) = (size.width(), size.height());
        let grid = if width >= 512 {
            Self { block: 16, columns: 32 }
        } else {
            Self { block: 8, columns: 16 }
        };
        (width >= grid.width() && height >= grid.height()).then_some(grid)
    }

    fn width(self) -> usize {
        self.block * self.columns
    }

    fn height(self) -> usize {
        self.block * (BITS / self.columns)
    }

    /// Column and row of the first sample of a bit's block.
    fn place(self, bit: usize) -> (usize, usize) {
        (bit % self.columns * self.block, bit / self.columns * self.block)
    }
}

impl Stamp {
    /// Width and height of the corner that a stamp covers; `None` in a picture that is too small.
    #[must_use]
    pub fn area(size: Size) -> Option<(usize, usize)> {
        Grid::of(size).map(|grid| (grid.width(), grid.height()))
    }

    /// Draws the stamp over the picture's top-left corner.
    ///
    /// # Errors
    /// [`StampError`] if the picture is smaller than 128x64.
    pub fn write(&self, picture: &mut Picture) -> Result<(), StampError> {
        let (width, height) = (picture.size().width(), picture.size().height());
        let grid = Grid::of(picture.size()).ok_or(StampError { width, height })?;
        let bits = self.to_bits();
        let [luma, blue, red] = picture.planes_mut();
        for bit in 0..BITS {
            let bright = bits >> (BITS - 1 - bit) & 1 == 1;
            let (left, top) = grid.place(bit);
            for row in top..top + grid.block {
                let start = row * width + left;
                luma[start..start + grid.block].fill(if bright { BRIGHT } else { DARK });
            }
        }
        for plane in [blue, red] {
            for row in plane.chunks_mut(width / 2).take(grid.height() / 2) {
                row[..grid.width() / 2].fill(128);
            }
        }
        Ok(())
    }

    /// Reads the stamp of a picture; `None` where there is none, or where it is damaged.
    #[must_use]
    pub fn read(picture: &Picture) -> Option<Self> {
        let grid = Grid::of(picture.size())?;
        let (luma, width) = (picture.planes()[0], picture.size().width());
        let mut bits = 0_u128;
        for bit in 0..BITS {
            let (left, top) = grid.place(bit);
            let inner = grid.block / 4..grid.block * 3 / 4;
            let rows = inner.clone().map(|row| (top + row) * width + left);
            let sum: u32 = rows
                .flat_map(|start| &luma[start + inner.start..start + inner.end])
                .map(|sample| u32::from(*sample))
                .sum();
            let mean = sum / (inner.len() * inner.len()) as u32;
            if mean.abs_diff(MIDDLE) < DOUBTFUL {
                return None;
            }
            bits = bits << 1 | u128::from(mean > MIDDLE);
        }
        Self::from_bits(bits)
    }

    fn to_bits(self) -> u128 {
        let micros = (self.captured.as_nanos() / 1000) as u64 & ((1 << CLOCK_BITS) - 1);
        let data = u128::from(to_gray(self.frame)) << (CLOCK_BITS + 32)
            | u128::from(micros) << 32
            | u128::from(to_gray(self.input));
        data << 16 | u128::from(crc_of(data))
    }

    fn from_bits(bits: u128) -> Option<Self> {
        let data = bits >> 16;
        if crc_of(data) != bits as u16 {
            return None;
        }
        let micros = (data >> 32) as i64 & ((1 << CLOCK_BITS) - 1);
        Some(Self {
            frame: from_gray((data >> (CLOCK_BITS + 32)) as u32),
            captured: Instant::from_nanos(micros * 1000),
            input: from_gray(data as u32),
        })
    }
}

/// Neighbouring numbers differ in one bit.
fn to_gray(number: u32) -> u32 {
    number ^ number >> 1
}

fn from_gray(gray: u32) -> u32 {
    [1, 2, 4, 8, 16].into_iter().fold(gray, |number, shift| number ^ number >> shift)
}

fn crc16(bytes: &[u8]) -> u16 {
    let bits =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u16::from(byte >> bit & 1)));
    bits.fold(0xFFFF, |crc, bit| (crc << 1) ^ (((crc >> 15) ^ bit) * 0x1021))
}

/// CRC of the 112 bits of data.
fn crc_of(data: u128) -> u16 {
    crc16(&data.to_be_bytes()[2..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stamp() -> impl Strategy<Value = Stamp> {
        let micros = 0_i64..1 << CLOCK_BITS;
        (any::<u32>(), micros, any::<u32>()).prop_map(|(frame, micros, input)| Stamp {
            frame,
            captured: Instant::from_nanos(micros * 1000),
            input,
        })
    }

    fn picture(width: u32, height: u32, fill: u8) -> Picture {
        let mut picture = Picture::black(Size::new(width, height).unwrap());
        picture.planes_mut()[0].fill(fill);
        picture
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stamp in stamp(), small: bool, fill: u8) {
            let (width, height) = if small { (128, 64) } else { (512, 64) };
            let mut picture = picture(width, height, fill);
            stamp.write(&mut picture).unwrap();
            prop_assert_eq!(Stamp::read(&picture), Some(stamp));
        }

        #[test]
        fn a_wrong_block_is_noticed(stamp in stamp(), bits in prop::collection::btree_set(0..BITS, 1..=3)) {
            let flipped = bits.into_iter().fold(stamp.to_bits(), |bits, bit| bits ^ 1 << bit);
            prop_assert_eq!(Stamp::from_bits(flipped), None);
        }

        #[test]
        fn noise_below_a_third_is_no_harm(stamp in stamp(), noise in prop::collection::vec(-50_i16..=50, 997)) {
            let mut picture = picture(128, 64, 0);
            stamp.write(&mut picture).unwrap();
            let noisy = picture.planes_mut()[0].iter_mut().zip(noise.iter().cycle());
            noisy.for_each(|(sample, noise)| *sample = (i16::from(*sample) + noise).clamp(0, 255) as u8);
            prop_assert_eq!(Stamp::read(&picture), Some(stamp));
        }
    }

    #[test]
    fn a_picture_without_stamp_has_none() {
        for fill in [0, 16, 128, 255] {
            assert_eq!(Stamp::read(&picture(1280, 720, fill)), None);
        }
        assert_eq!(Stamp::read(&picture(126, 64, 0)), None);
    }

    #[test]
    fn a_grey_block_makes_it_unreadable() {
        let stamp = Stamp { frame: 7, captured: Instant::from_nanos(5_000), input: 3 };
        let mut picture = picture(512, 64, 0);
        stamp.write(&mut picture).unwrap();
        for row in 0..16 {
            picture.planes_mut()[0][row * 512..row * 512 + 16].fill(125);
        }
        assert_eq!(Stamp::read(&picture), None);
    }

    #[test]
    fn a_small_picture_is_refused() {
        let stamp = Stamp { frame: 0, captured: Instant::ZERO, input: 0 };
        let refused = stamp.write(&mut picture(126, 64, 0));
        assert_eq!(refused, Err(StampError { width: 126, height: 64 }));
    }

    #[test]
    fn the_crc_is_the_known_one() {
        assert_eq!(crc16(b"123456789"), 0x29B1, "the check value of CRC-16/IBM-3740");
    }
}
