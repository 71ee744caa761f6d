//! The number of the test card in a picture: one that the host has captured, or one that a client has decoded.
//!
//! A cell is read in its inner half and in five rows of it. What is neither dark nor bright is no cell, so a screen without the card
//! has no number.

use gameway_codec::Picture;
use gameway_desktop::card::{CELLS, ROW, number};

/// Luma of limited range from 16 to 235: the middle of it, and what is as far from it as from its end.
const MIDDLE: u32 = 125;
const DOUBTFUL: u32 = 55;

/// The number that a picture shows, if it shows the card.
#[must_use]
pub fn read(picture: &Picture) -> Option<u8> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let luma = picture.planes()[0];
    let mut cells = [false; CELLS];
    for (cell, is_bright) in cells.iter_mut().enumerate() {
        let (left, right) = (width * cell / CELLS, width * (cell + 1) / CELLS);
        let inner = (3 * left + right) / 4..(left + 3 * right) / 4;
        let rows = (1..6).map(|row| height * (6 * ROW.0 + row * (ROW.1 - ROW.0)) / 48);
        let samples = rows.flat_map(|row| &luma[row * width..][inner.clone()]);
        let (count, sum) =
            samples.fold((0, 0), |(count, sum), sample| (count + 1, sum + u32::from(*sample)));
        let mean = sum / u32::max(count, 1);
        if mean.abs_diff(MIDDLE) < DOUBTFUL {
            return None;
        }
        *is_bright = mean > MIDDLE;
    }
    number(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_codec::Size;
    use gameway_desktop::card::cells;

    /// A picture of this size with these cells; luma of black and white.
    fn picture(width: u32, height: u32, shown: [bool; CELLS]) -> Picture {
        let size = Size::new(width, height).expect("a size");
        let mut picture = Picture::black(size);
        let (width, height) = (size.width(), size.height());
        for row in height * ROW.0 / 8..height * ROW.1 / 8 {
            for column in 0..width {
                let is_bright = shown[column * CELLS / width];
                picture.planes_mut()[0][row * width + column] = if is_bright { 235 } else { 16 };
            }
        }
        picture
    }

    #[test]
    fn a_number_is_read_in_a_picture_of_any_size() {
        for (width, height) in [(1_280, 720), (640, 360), (320, 180), (1_918, 1_078)] {
            for number in [0, 1, 77, 128, 255] {
                assert_eq!(read(&picture(width, height, cells(number))), Some(number));
            }
        }
    }

    #[test]
    fn a_picture_without_the_card_has_none() {
        assert_eq!(read(&Picture::black(Size::SMALLEST)), None);
        let mut grey = picture(1_280, 720, cells(7));
        grey.planes_mut()[0].fill(125);
        assert_eq!(read(&grey), None);
        let mut wrong = cells(7);
        wrong[5] = !wrong[5];
        assert_eq!(read(&picture(1_280, 720, wrong)), None);
    }
}
