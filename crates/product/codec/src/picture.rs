//! A picture as encoders take it: I420, that is a plane of luma and two of chroma at half width and
//! height, eight bits a sample, BT.709 limited range (luma 16 to 235).
//!
//! Planes are packed: a row follows the row before it, without padding.

use thiserror::Error;

/// Largest width or height; bounds what a size from outside may allocate (25 MB).
pub const MAX_SIDE: u32 = 4096;

/// Why a size or planes are refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PictureError {
    /// A width or height that 4:2:0 or the bound forbids.
    #[error("picture size {width}x{height}: both must be even, from 16 to {MAX_SIDE}")]
    Size {
        /// Given width.
        width: u32,
        /// Given height.
        height: u32,
    },
    /// A plane is shorter than its rows.
    #[error("plane {plane}: {got} bytes with a stride of {stride}, but {needed} are needed")]
    Plane {
        /// 0 is luma, 1 and 2 are chroma.
        plane: usize,
        /// Given length.
        got: usize,
        /// Given stride.
        stride: usize,
        /// Least length.
        needed: usize,
    },
}

/// Width and height of a picture, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// The smallest that is taken.
    pub const SMALLEST: Self = Self { width: 16, height: 16 };

    /// Checks a size: both sides even, from 16 to [`MAX_SIDE`].
    ///
    /// # Errors
    /// [`PictureError::Size`].
    pub fn new(width: u32, height: u32) -> Result<Self, PictureError> {
        let side = |side: u32| side.is_multiple_of(2) && (16..=MAX_SIDE).contains(&side);
        if side(width) && side(height) {
            Ok(Self { width, height })
        } else {
            Err(PictureError::Size { width, height })
        }
    }

    /// Width in luma samples.
    #[must_use]
    pub fn width(self) -> usize {
        self.width as usize
    }

    /// Height in luma samples.
    #[must_use]
    pub fn height(self) -> usize {
        self.height as usize
    }

    /// Samples of the luma plane.
    #[must_use]
    pub fn luma(self) -> usize {
        self.width() * self.height()
    }

    /// Samples of each chroma plane.
    #[must_use]
    pub fn chroma(self) -> usize {
        self.luma() / 4
    }
}

/// An I420 picture that owns its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    samples: Vec<u8>,
}

impl Picture {
    /// A black picture.
    #[must_use]
    pub fn black(size: Size) -> Self {
        let mut samples = vec![16; size.luma()];
        samples.resize(size.luma() + 2 * size.chroma(), 128);
        Self { size, samples }
    }

    /// Becomes a copy of that picture, in place where it has the size already.
    pub fn copy_from(&mut self, other: &Self) {
        self.size = other.size;
        self.samples.clone_from(&other.samples);
    }

    /// Copies three planes with their strides, as decoders give them, over whatever picture was here.
    ///
    /// # Errors
    /// [`PictureError::Plane`] where a plane is shorter than its rows; then the picture is as it was.
    pub fn replace(
        &mut self,
        size: Size,
        planes: [&[u8]; 3],
        strides: [usize; 3],
    ) -> Result<(), PictureError> {
        let shape = |plane: usize| {
            let shift = u32::from(plane > 0);
            (size.width() >> shift, size.height() >> shift)
        };
        for (plane, (data, stride)) in planes.into_iter().zip(strides).enumerate() {
            let (width, height) = shape(plane);
            let needed = stride.saturating_mul(height - 1).saturating_add(width);
            if stride < width || data.len() < needed {
                return Err(PictureError::Plane { plane, got: data.len(), stride, needed });
            }
        }
        self.size = size;
        self.samples.clear();
        for (plane, (data, stride)) in planes.into_iter().zip(strides).enumerate() {
            let (width, height) = shape(plane);
            for row in data.chunks(stride).take(height) {
                self.samples.extend_from_slice(&row[..width]);
            }
        }
        Ok(())
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// All samples: luma, then the two planes of chroma, packed; as `yuv420p` in files.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// All samples, to be overwritten.
    pub fn samples_mut(&mut self) -> &mut [u8] {
        &mut self.samples
    }

    /// The planes: luma, blue chroma, red chroma.
    #[must_use]
    pub fn planes(&self) -> [&[u8]; 3] {
        let (luma, chroma) = self.samples.split_at(self.size.luma());
        let (blue, red) = chroma.split_at(self.size.chroma());
        [luma, blue, red]
    }

    /// The planes, to be drawn on.
    pub fn planes_mut(&mut self) -> [&mut [u8]; 3] {
        let (luma, chroma) = self.samples.split_at_mut(self.size.luma());
        let (blue, red) = chroma.split_at_mut(self.size.chroma());
        [luma, blue, red]
    }

    /// Samples from one row to the next, per plane.
    #[must_use]
    pub fn strides(&self) -> [usize; 3] {
        [self.size.width(), self.size.width() / 2, self.size.width() / 2]
    }

    /// Peak signal-to-noise ratio of the luma against `original`, in dB; infinite where both are equal.
    ///
    /// # Panics
    /// If the sizes differ.
    #[must_use]
    pub fn luma_psnr(&self, original: &Self) -> f64 {
        assert_eq!(self.size, original.size, "pictures of one size");
        let pairs = self.planes()[0].iter().zip(original.planes()[0]);
        let squares: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
        let mean = squares as f64 / self.size.luma() as f64;
        20.0 * libm::log10(255.0) - 10.0 * libm::log10(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_even_and_bounded() {
        assert!(Size::new(1280, 720).is_ok());
        for (width, height) in [(1281, 720), (1280, 721), (0, 16), (14, 16), (4098, 16)] {
            assert_eq!(Size::new(width, height), Err(PictureError::Size { width, height }));
        }
    }

    #[test]
    fn planes_with_padding_are_packed() {
        let size = Size::new(16, 16).unwrap();
        let luma: Vec<u8> = (0..20 * 16).map(|i| (i % 20) as u8).collect();
        let chroma = [7_u8; 12 * 8];
        let mut picture = Picture::black(Size::new(640, 360).unwrap());
        picture.replace(size, [&luma, &chroma, &chroma], [20, 12, 12]).unwrap();
        assert_eq!((picture.size(), picture.samples().len()), (size, 256 + 2 * 64));
        assert_eq!(&picture.planes()[0][16..32], &luma[20..36]);
        assert_eq!(picture.planes()[2], [7; 64]);
        let before = picture.clone();
        let short = picture.replace(size, [&luma, &chroma[..90], &chroma], [20, 12, 12]);
        assert!(matches!(short, Err(PictureError::Plane { plane: 1, needed: 92, .. })));
        let narrow = picture.replace(size, [&luma, &chroma, &chroma], [15, 12, 12]);
        assert!(matches!(narrow, Err(PictureError::Plane { plane: 0, .. })));
        assert_eq!(picture, before);
    }

    #[test]
    fn psnr_of_one_step_is_48_db() {
        let size = Size::new(16, 16).unwrap();
        let (black, mut other) = (Picture::black(size), Picture::black(size));
        other.planes_mut()[0].fill(17);
        assert!((black.luma_psnr(&other) - 48.13).abs() < 0.01);
        assert!(black.luma_psnr(&black).is_infinite());
    }
}
