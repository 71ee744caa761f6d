//! Where pictures come from.

#[cfg(feature = "x11")]
mod colour;
mod file;
#[cfg(feature = "wayland")]
mod pipe;
#[cfg(feature = "wayland")]
mod pixels;
#[cfg(feature = "wayland")]
mod wayland;
#[cfg(feature = "x11")]
mod x11;

pub use file::VideoFile;
#[cfg(feature = "wayland")]
pub use wayland::WaylandScreen;
#[cfg(feature = "x11")]
pub use x11::X11Screen;

use crate::{Hand, Picture, Scene, Size};
use gameway_units::Instant;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{source_name}: {reason}")]
pub struct CaptureError {
    /// What was to be captured.
    pub source_name: String,
    /// What went wrong, and what to do.
    pub reason: String,
}

impl CaptureError {
    fn new(source_name: &str, reason: impl Into<String>) -> Self {
        Self { source_name: source_name.to_owned(), reason: reason.into() }
    }
}

/// Something that shows pictures.
pub trait FrameSource: Send {
    /// Draws the picture of this moment, the `frame`th, over `picture`, which must have the source's
    /// size. A file gives its next picture, whatever the moment.
    ///
    /// # Errors
    /// [`CaptureError`]; the source is then of no more use.
    fn next(&mut self, now: Instant, frame: u64, picture: &mut Picture)
    -> Result<(), CaptureError>;

    /// So many pictures are not asked for: what plays at its own pace goes on by them. Why it cannot, [`Self::next`] says.
    fn pass_over(&mut self, _pictures: u64) {}

    /// A player's hand is there now: what draws its pictures itself shows it.
    fn follow(&mut self, _hand: Hand) {}

    /// There is time before the `frame`th picture, which is likely the next: what draws its pictures itself may do so
    /// now, as a game draws before its screen is captured.
    fn draw_ahead(&mut self, _frame: u64) {}

    /// Readable when something was drawn, and read to hush it, if the source tells of that.
    fn drawings(&self) -> Option<OwnedFd> {
        None
    }
}

/// What to capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The built-in moving scene.
    Scene {
        /// Which one.
        seed: u64,
    },
    /// A screen of X11.
    X11 {
        /// Such as ":0"; `None` for `DISPLAY` of the environment.
        display: Option<String>,
        /// The file with its cookie; `None` for that of the environment.
        authority: Option<PathBuf>,
    },
    /// A screen that the desktop's portal shares.
    Portal {
        /// The file that keeps the user's permission; `None` to ask at each start.
        permission: Option<PathBuf>,
    },
    /// A video file that ffmpeg can read, played in a loop.
    File {
        /// Where it is.
        path: PathBuf,
    },
}

/// Opens a source of pictures of `size`.
///
/// # Errors
/// [`CaptureError`] says what is missing.
pub fn open(
    source: &Source,
    size: Size,
    frames_per_second: u32,
) -> Result<Box<dyn FrameSource>, CaptureError> {
    match source {
        Source::Scene { seed } => Ok(Box::new(DrawnScene::new(*seed, size))),
        #[cfg(feature = "x11")]
        Source::X11 { display, authority } => {
            Ok(Box::new(X11Screen::open(display.as_deref(), authority.as_deref())?))
        }
        #[cfg(not(feature = "x11"))]
        Source::X11 { .. } => Err(CaptureError::new(
            "X11 screen",
            "this build is without it; build with the cargo feature `x11`",
        )),
        #[cfg(feature = "wayland")]
        Source::Portal { permission } => {
            Ok(Box::new(WaylandScreen::open(permission.as_deref(), frames_per_second)?))
        }
        #[cfg(not(feature = "wayland"))]
        Source::Portal { .. } => Err(CaptureError::new(
            "Wayland screen",
            "this build is without it; apt install libpipewire-0.3-dev libdbus-1-dev libclang-dev pkg-config, and build it with the \
             cargo feature `wayland`",
        )),
        Source::File { path } => Ok(Box::new(VideoFile::open(path, size, frames_per_second)?)),
    }
}

/// The scene, with its next picture.
struct DrawnScene {
    scene: Scene,
    /// What was drawn last: the picture of this number.
    drawn: Picture,
    number: Option<u64>,
    hand: Option<Hand>,
}

impl DrawnScene {
    fn new(seed: u64, size: Size) -> Self {
        Self {
            scene: Scene::new(seed, size),
            drawn: Picture::black(size),
            number: None,
            hand: None,
        }
    }
}

impl FrameSource for DrawnScene {
    fn next(
        &mut self,
        _now: Instant,
        frame: u64,
        picture: &mut Picture,
    ) -> Result<(), CaptureError> {
        if self.number.take() == Some(frame) && picture.size() == self.drawn.size() {
            std::mem::swap(picture, &mut self.drawn);
        } else {
            self.scene.draw(frame, picture);
        }
        if let Some(hand) = self.hand {
            hand.draw(picture);
        }
        Ok(())
    }

    fn follow(&mut self, hand: Hand) {
        self.hand = Some(hand);
    }

    fn draw_ahead(&mut self, frame: u64) {
        // Without the hand, which is drawn as late as possible.
        self.scene.draw(frame, &mut self.drawn);
        self.number = Some(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_is_over_the_picture_where_it_is_and_nowhere_else() {
        let size = Size::new(320, 180).unwrap();
        let mut source = open(&Source::Scene { seed: 3 }, size, 60).unwrap();
        let scene = Scene::new(3, size).picture(7);
        let mut picture = Picture::black(size);
        for (x, y, place) in
            [(0, 0, 0), (32_768, 32_768, 90 * 320 + 160), (65_535, 65_535, 320 * 180 - 1)]
        {
            source.draw_ahead(7);
            source.follow(Hand { x, y, pressed: true });
            source.next(Instant::ZERO, 7, &mut picture).unwrap();
            let [luma, blue, red] = picture.planes();
            assert_eq!(luma[place], 63);
            let (row, column) = (place / 320 / 2, place % 320 / 2);
            assert_eq!((blue[row * 160 + column], red[row * 160 + column]), (102, 240));
            let other = |pair: &(&u8, &u8)| pair.0 != pair.1;
            let changed = luma.iter().zip(scene.planes()[0]).filter(other).count();
            // A square of 10 samples, of which a quarter is in a corner.
            assert!((15..=100).contains(&changed), "{changed} at {place}");
        }
    }

    #[test]
    fn a_picture_drawn_ahead_is_the_one_drawn_at_its_time() {
        let size = Size::new(320, 180).unwrap();
        let mut source = open(&Source::Scene { seed: 3 }, size, 60).unwrap();
        let scene = Scene::new(3, size);
        let mut picture = Picture::black(size);
        // Ahead, not ahead, ahead for another, and twice.
        for (ahead, frame) in [(Some(5), 5), (None, 6), (Some(7), 9), (Some(10), 10), (None, 10)] {
            ahead.into_iter().for_each(|ahead| source.draw_ahead(ahead));
            // What was written into the one before must not come back.
            picture.samples_mut().fill(0);
            source.next(Instant::ZERO, frame, &mut picture).unwrap();
            assert_eq!(picture, scene.picture(frame), "{frame} after {ahead:?}");
        }
    }
}
