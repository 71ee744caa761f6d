//! A screen's pixels as encoders take them: BGRA to I420 (BT.709, limited range).

use crate::Picture;
use dcv_color_primitives::{ColorSpace, ImageFormat, PixelFormat, convert_image};

const BGRA: ImageFormat =
    ImageFormat { pixel_format: PixelFormat::Bgra, color_space: ColorSpace::Rgb, num_planes: 1 };
const I420: ImageFormat =
    ImageFormat { pixel_format: PixelFormat::I420, color_space: ColorSpace::Bt709, num_planes: 3 };

/// Draws rows that are `stride` bytes apart over all of `picture`.
pub(super) fn draw(bgra: &[u8], stride: usize, picture: &mut Picture) -> Result<(), String> {
    let (width, height) = (picture.size().width(), picture.size().height());
    convert_image(
        width as u32,
        height as u32,
        &BGRA,
        Some(&[stride]),
        &[bgra],
        &I420,
        Some(&[width, width / 2, width / 2]),
        &mut picture.planes_mut(),
    )
    .map_err(|error| error.to_string())
}
