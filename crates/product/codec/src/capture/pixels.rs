//! Pixels as a compositor gives them: which bytes of its memory are a picture, and that picture as encoders take it. Sans-IO.
//!
//! All numbers come from another process, so each is bounded before anything is read or allocated.

use super::colour;
use crate::picture::MAX_SIDE;
use crate::sys::pipewire::Plane;
use crate::{Picture, Size};

/// Of a pixel.
const BYTES: usize = 4;
/// The longest row: padding may double the widest.
const MAX_STRIDE: usize = 2 * BYTES * MAX_SIDE as usize;
/// In which order the colours of a pixel are. The fourth byte is nothing or opacity, of which a screen has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Bgr,
    Rgb,
}

/// The pictures of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) order: Order,
    width: usize,
    /// Without a last row or column that 4:2:0 has no place for.
    size: Size,
}

/// Which bytes are a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) from: u64,
    pub(super) stride: usize,
    pub(super) bytes: usize,
}

impl Format {
    /// Of a size that was agreed on, if pictures may have it.
    pub(super) fn new(order: Order, width: u32, height: u32) -> Result<Self, String> {
        let size = Size::new(width & !1, height & !1).map_err(|error| error.to_string())?;
        Ok(Self { order, width: width as usize, size })
    }

    /// The rows of a plane, if it has as many as it must.
    pub(super) fn rows(self, plane: Plane) -> Result<Rows, String> {
        let row = self.width * BYTES;
        let stride = usize::try_from(plane.stride).unwrap_or_default();
        if !(row..=MAX_STRIDE).contains(&stride) {
            return Err(format!("rows of {row} bytes that are {} apart", plane.stride));
        }
        let bytes = stride * (self.size.height() - 1) + row;
        let end = u64::from(plane.offset) + bytes as u64;
        if bytes > plane.size as usize || end > u64::from(plane.length) {
            let Plane { length, offset, size, .. } = plane;
            return Err(format!(
                "a picture of {bytes} bytes in {size} at {offset} of {length}: it does not fit"
            ));
        }
        Ok(Rows { from: u64::from(plane.place) + u64::from(plane.offset), stride, bytes })
    }
}

/// A picture that was read.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) stride: usize,
    pub(super) format: Option<Format>,
}

impl Frame {
    /// Draws it over `picture`, in the size that it has.
    pub(super) fn draw(&mut self, picture: &mut Picture) -> Result<(), String> {
        let Some(format) = self.format else { return Ok(()) };
        if format.order == Order::Rgb {
            // The converter takes one order.
            self.bytes.as_chunks_mut::<BYTES>().0.iter_mut().for_each(|pixel| pixel.swap(0, 2));
            self.format = Some(Format { order: Order::Bgr, ..format });
        }
        if picture.size() != format.size {
            *picture = Picture::black(format.size);
        }
        colour::draw(&self.bytes, self.stride, picture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(width: u32, height: u32) -> Format {
        Format::new(Order::Bgr, width, height).expect("a format")
    }

    fn plane(stride: i32, size: u32, length: u32) -> Plane {
        Plane { place: 0, length, offset: 0, size, stride }
    }

    #[test]
    fn a_size_is_one_that_pictures_may_have() {
        assert_eq!(format(1367, 769).size, Size::new(1366, 768).expect("a size"));
        for (width, height) in [(0, 0), (15, 200), (4098, 16), (16, u32::MAX), (u32::MAX, 16)] {
            Format::new(Order::Rgb, width, height).expect_err("no picture");
        }
    }

    #[test]
    fn rows_lie_where_the_plane_says_and_never_outside_of_it() {
        let whole = format(16, 16).rows(plane(64, 1024, 1024)).expect("rows");
        assert_eq!(whole, Rows { from: 0, stride: 64, bytes: 1024 });
        let padded = Plane { place: 4096, offset: 32, ..plane(80, 1264, 1296) };
        let rows = format(16, 16).rows(padded).expect("rows");
        assert_eq!(rows, Rows { from: 4128, stride: 80, bytes: 15 * 80 + 64 });
        // An odd side is read as wide as it is, and shown without its last row and column.
        let odd = format(17, 17).rows(plane(68, 17 * 68, 17 * 68)).expect("rows");
        assert_eq!(odd.bytes, 16 * 68 - 68 + 68);
        for (wrong, why) in [
            (plane(63, 1024, 1024), "apart"),
            (plane(0, 1024, 1024), "apart"),
            (plane(-64, 1024, 1024), "apart"),
            (plane(i32::MAX, u32::MAX, u32::MAX), "apart"),
            (plane(64, 1023, 1024), "does not fit"),
            (plane(64, 1024, 1023), "does not fit"),
            (Plane { offset: 1, ..plane(64, 1024, 1024) }, "does not fit"),
            (Plane { offset: u32::MAX, ..plane(64, u32::MAX, u32::MAX) }, "does not fit"),
        ] {
            let error = format(16, 16).rows(wrong).expect_err(why);
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
        let largest = format(MAX_SIDE, MAX_SIDE);
        let stride = MAX_STRIDE as u32;
        let rows = largest.rows(plane(stride as i32, u32::MAX, u32::MAX)).expect("rows");
        assert!(rows.bytes <= 1 << 27, "{} bytes", rows.bytes);
    }

    #[test]
    fn both_orders_and_padded_rows_give_the_same_picture() {
        // Blue above, orange below, and padding of a colour that must not be seen.
        let colour = |row: usize| if row < 8 { [0xc0, 0x60, 0x30] } else { [0x10, 0x80, 0xf0] };
        let drawn = |order: Order, stride: usize| {
            let mut bytes = vec![0x55; stride * 15 + 64];
            for (row, line) in bytes.chunks_mut(stride).enumerate() {
                for pixel in line[..64].chunks_mut(BYTES) {
                    pixel[..3].copy_from_slice(&colour(row));
                    if order == Order::Rgb {
                        pixel.swap(0, 2);
                    }
                }
            }
            let format = Some(Format { order, ..format(16, 16) });
            let mut picture = Picture::black(Size::SMALLEST);
            let mut frame = Frame { bytes, stride, format };
            frame.draw(&mut picture).expect("a picture");
            let again = picture.clone();
            frame.draw(&mut picture).expect("the same");
            assert_eq!(picture, again);
            picture
        };
        let plain = drawn(Order::Bgr, 64);
        assert_eq!(drawn(Order::Rgb, 64), plain);
        assert_eq!(drawn(Order::Bgr, 128), plain);
        let [luma, blue, red] = plain.planes();
        // BT.709, limited range: Y = 16 + 219 (0.2126 R + 0.7152 G + 0.0722 B).
        assert!(luma[..128].iter().all(|sample| sample.abs_diff(96) <= 1), "{}", luma[0]);
        assert!(luma[128..].iter().all(|sample| sample.abs_diff(140) <= 1), "{}", luma[128]);
        assert!(blue[0] > 128 && red[0] < 128 && blue[32] < 128 && red[32] > 128);
    }
}
