//! Where a picture is encoded finer than elsewhere: under its stamp.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | stamp | quantizer 24 finer | out of bits, libx264 goes on from 51 to an inner 69, where it drops even DC coefficients; 24 keeps the stamp's below 51 |

use crate::{Size, Stamp};

const STAMP_FINER: f32 = 24.0;

/// The quantizer's offset for each 16x16 block, row by row.
pub(super) fn offsets(size: Size) -> Vec<f32> {
    let columns = size.width().div_ceil(16);
    let (width, height) = Stamp::area(size).unwrap_or_default();
    let fine = |place: usize| place % columns < width / 16 && place / columns < height / 16;
    let blocks = columns * size.height().div_ceil(16);
    (0..blocks).map(|place| if fine(place) { -STAMP_FINER } else { 0.0 }).collect()
}
