//! A picture drawn in another size.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | filter | Catmull-Rom, a cubic of two samples on each side, wider where a picture shrinks | shrinking by more than two, two samples alone leave some of the picture out; sharper than a triangle, and without the rings of Lanczos |

use crate::{Picture, Size};
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

/// Scales pictures; keeps its memory from one to the next.
#[derive(Debug, Clone, Default)]
pub struct Scaler {
    resizer: Resizer,
}

impl Scaler {
    /// Draws `from` over all of `to`, in the size of that.
    pub fn scale(&mut self, from: &Picture, to: &mut Picture) {
        let (source, target) = (from.size(), to.size());
        if source == target {
            return to.samples_mut().copy_from_slice(from.samples());
        }
        let planes = from.planes().into_iter().zip(to.planes_mut());
        for (index, (from, to)) in planes.enumerate() {
            let shift = u32::from(index > 0);
            self.plane(from, side(source, shift), to, side(target, shift));
        }
    }

    fn plane(&mut self, from: &[u8], source: (u32, u32), to: &mut [u8], target: (u32, u32)) {
        let options =
            ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom));
        let from = TypedImageRef::<U8>::from_buffer(source.0, source.1, from);
        let to = TypedImage::<U8>::from_buffer(target.0, target.1, to);
        if let (Ok(from), Ok(mut to)) = (from, to) {
            // Planes of samples have their pictures' sizes, and all of one is drawn: nothing is left that it refuses.
            let _ = self.resizer.resize_typed(&from, &mut to, &options);
        }
    }
}

fn side(size: Size, shift: u32) -> (u32, u32) {
    (size.width() as u32 >> shift, size.height() as u32 >> shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> Size {
        Size::new(width, height).expect("a size")
    }

    #[test]
    fn scaling_keeps_a_slope() {
        let mut slope = Picture::black(size(64, 32));
        let samples = slope.planes_mut()[0].iter_mut().enumerate();
        samples.for_each(|(i, sample)| *sample = (i % 64 * 3) as u8);
        for (width, height) in [(128, 64), (32, 16), (64, 32), (90, 18)] {
            let mut scaled = Picture::black(size(width, height));
            Scaler::default().scale(&slope, &mut scaled);
            let row = &scaled.planes()[0][..width as usize];
            let wanted = |at: usize| (at as f64 + 0.5) * 192.0 / f64::from(width) - 1.5;
            let edge = width as usize / 16;
            for (at, sample) in row.iter().enumerate().take(width as usize - edge).skip(edge) {
                assert!((f64::from(*sample) - wanted(at)).abs() < 1.1, "{width}: {at}");
            }
        }
    }

    #[test]
    fn a_picture_of_a_third_has_something_of_each_sample() {
        // A bright column of three: two samples on each side of the middle would find it in each picture, or in none.
        let of_thirds = |bright: usize| {
            let mut picture = Picture::black(size(192, 96));
            let samples = picture.planes_mut()[0].iter_mut().enumerate();
            samples.for_each(|(i, sample)| *sample = if i % 192 % 3 == bright { 200 } else { 20 });
            let mut scaled = Picture::black(size(64, 32));
            Scaler::default().scale(&picture, &mut scaled);
            f64::from(scaled.planes()[0][16 * 64 + 32])
        };
        let means = [of_thirds(0), of_thirds(1), of_thirds(2)];
        assert!(means.iter().all(|mean| (60.0..110.0).contains(mean)), "{means:?}");
    }

    #[test]
    fn a_picture_of_the_same_size_is_the_same() {
        let picture = crate::Scene::new(1, size(320, 180)).picture(7);
        let mut same = Picture::black(size(320, 180));
        Scaler::default().scale(&picture, &mut same);
        assert_eq!(same, picture);
    }
}
