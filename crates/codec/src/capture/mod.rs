//! Where pictures come from.

mod file;
#[cfg(feature = "x11")]
mod x11;

pub use file::VideoFile;
#[cfg(feature = "x11")]
pub use x11::X11Screen;

use crate::{Picture, Scene, Size};
use gameway_units::Instant;
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
        Source::Scene { seed } => Ok(Box::new(Scene::new(*seed, size))),
        #[cfg(feature = "x11")]
        Source::X11 { display } => Ok(Box::new(X11Screen::open(display.as_deref())?)),
        #[cfg(not(feature = "x11"))]
        Source::X11 { .. } => Err(CaptureError::new(
            "X11 screen",
            "this build is without it; build with the cargo feature `x11`",
        )),
        Source::File { path } => Ok(Box::new(VideoFile::open(path, size, frames_per_second)?)),
    }
}

impl FrameSource for Scene {
    fn next(
        &mut self,
        _now: Instant,
        frame: u64,
        picture: &mut Picture,
    ) -> Result<(), CaptureError> {
        self.draw(frame, picture);
        Ok(())
    }
}
