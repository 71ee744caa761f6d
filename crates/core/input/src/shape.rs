//! The shape that the program gives to the pointer, as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout. Screens differ in size from the pictures of a stream,
//! which follow the bitrate, so the screen's size is in the message: by it the player's device knows how large the pointer is on
//! the picture.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | pixels of a side | 127 | browsers show no cursor larger than 128 (Chromium, Firefox); a message of 128 x 128 is more than 64 KiB |

const MAGIC: [u8; 2] = *b"GP";
const VERSION: u8 = 1;
const HEAD: usize = 4;
const IMAGE_HEAD: usize = 12;
const PIXEL: usize = 4;

/// A pointer of pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels of the whole screen.
    pub screen: (u16, u16),
    /// Its own pixels, each side from one to [`Image::MAX_SIDE`].
    pub size: (u8, u8),
    /// The pixel that points.
    pub hotspot: (u8, u8),
    /// Red, green, blue and opacity of each pixel, row by row; colours are not multiplied by the opacity.
    pub pixels: Vec<u8>,
}

impl Image {
    /// The most pixels of a side.
    pub const MAX_SIDE: u8 = 127;

    /// Whether all of it agrees.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let ((width, height), (x, y)) = (self.size, self.hotspot);
        let sides = 1..=Self::MAX_SIDE;
        sides.contains(&width)
            && sides.contains(&height)
            && x < width
            && y < height
            && self.screen.0 > 0
            && self.screen.1 > 0
            && self.pixels.len() == PIXEL * usize::from(width) * usize::from(height)
    }
}

/// What the pointer looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Like nothing: the program hides it.
    Hidden,
    /// As the player's device has it: the program has said nothing, or it is too large.
    Own,
    /// Like this.
    Image(Image),
}

impl Shape {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = match self {
            Self::Hidden => 0,
            Self::Own => 1,
            Self::Image(_) => 2,
        };
        let mut bytes = [&MAGIC[..], &[VERSION, kind]].concat();
        if let Self::Image(image) = self {
            bytes.extend([image.screen.0, image.screen.1].map(u16::to_be_bytes).concat());
            bytes.extend([image.size.0, image.size.1, image.hotspot.0, image.hotspot.1]);
            bytes.extend(&image.pixels);
        }
        bytes
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..HEAD)?;
        if head[..2] != MAGIC || head[2] != VERSION {
            return None;
        }
        match head[3] {
            0 if bytes.len() == HEAD => Some(Self::Hidden),
            1 if bytes.len() == HEAD => Some(Self::Own),
            2 => {
                let (head, pixels) = bytes.split_at_checked(IMAGE_HEAD)?;
                let half = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
                let image = Image {
                    screen: (half(4), half(6)),
                    size: (head[8], head[9]),
                    hotspot: (head[10], head[11]),
                    pixels: pixels.to_vec(),
                };
                image.is_whole().then_some(Self::Image(image))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn images() -> impl Strategy<Value = Image> {
        let side = || 1..=Image::MAX_SIDE;
        ((1..=u16::MAX, 1..=u16::MAX), (side(), side()), any::<(u8, u8, u8)>()).prop_map(
            |(screen, (width, height), (x, y, colour))| Image {
                screen,
                size: (width, height),
                hotspot: (x % width, y % height),
                pixels: vec![colour; PIXEL * usize::from(width) * usize::from(height)],
            },
        )
    }

    proptest! {
        #[test]
        fn shapes_come_back(image in images()) {
            let bytes = Shape::Image(image.clone()).to_bytes();
            prop_assert!(bytes.len() <= 65_536, "a data channel takes 64 KiB");
            prop_assert_eq!(Shape::parse(&bytes), Some(Shape::Image(image)));
            prop_assert_eq!(Shape::parse(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_whole(
            kind in 0..4_u8,
            (width, height) in (0..4_u8, 0..4_u8),
            rest in prop::collection::vec(any::<u8>(), 0..44),
        ) {
            let screen = [5, 0, 2, 0xd0];
            let bytes = [&b"GP\x01"[..], &[kind], &screen, &[width, height], &rest].concat();
            for bytes in [&bytes[..], &bytes[..HEAD], &rest] {
                if let Some(shape) = Shape::parse(bytes) {
                    prop_assert_eq!(shape.to_bytes(), bytes);
                }
            }
        }
    }

    #[test]
    fn an_image_is_whole_if_its_sides_its_point_its_screen_and_its_pixels_agree() {
        let image = |screen, size: (u8, u8), hotspot| {
            let pixels = vec![0; 4 * usize::from(size.0) * usize::from(size.1)];
            Image { screen, size, hotspot, pixels }
        };
        for (size, hotspot) in [((1, 1), (0, 0)), ((127, 1), (126, 0)), ((1, 127), (0, 126))] {
            assert!(image((1, 1), size, hotspot).is_whole(), "{size:?}");
        }
        let sides = [(128, 1), (1, 128), (0, 1), (1, 0)].map(|size| image((1, 1), size, (0, 0)));
        let points = [(2, 0), (0, 3), (2, 3)].map(|hotspot| image((1, 1), (2, 3), hotspot));
        let screens = [(0, 1), (1, 0), (0, 0)].map(|screen| image(screen, (2, 3), (0, 0)));
        for bad in sides.iter().chain(&points).chain(&screens) {
            assert!(!bad.is_whole(), "{bad:?}");
        }
        for bytes in [0, 23, 25, 4 * 5] {
            let bad = Image { pixels: vec![0; bytes], ..image((1, 1), (2, 3), (0, 0)) };
            assert!(!bad.is_whole(), "{bytes} bytes");
        }
    }
}
