//! A screen of Wayland, as the desktop's portal shares it and PipeWire brings it.
//!
//! The portal asks the user; the screen's pictures come when the compositor has drawn. A picture is captured by taking the newest,
//! which becomes I420 (BT.709, limited range) and then has the size that is asked for. Without a new one it is the last one again.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | first picture | 2 s | most compositors give it at once; wlroots with the next drawing, and until then it is black |

use super::pipe::Pipe;
use super::pixels::Frame;
use super::{CaptureError, FrameSource};
use crate::{Picture, Scaler, Size};
use gameway_desktop::SharedScreen;
use gameway_units::Instant;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(2);
const NAME: &str = "Wayland screen";

/// See the module's head.
pub struct WaylandScreen {
    pipe: Pipe,
    frame: Frame,
    /// The newest picture in the screen's own size.
    screen: Picture,
    scaler: Scaler,
    /// The desktop ends the stream without it.
    _shared: SharedScreen,
}

impl WaylandScreen {
    /// Asks the user for a screen, or takes the permission that is kept in a file; waits for its first picture.
    ///
    /// # Errors
    /// [`CaptureError`] when there is no portal, the user refuses, or no picture comes.
    pub fn open(permission: Option<&Path>, frame_rate: u32) -> Result<Self, CaptureError> {
        let failed = |why: String| CaptureError::new(NAME, why);
        let mut shared =
            SharedScreen::ask(permission).map_err(|error| failed(error.to_string()))?;
        let remote = shared.take_remote().ok_or_else(|| failed("no way to PipeWire".to_owned()))?;
        let pipe = Pipe::open(remote, shared.node(), frame_rate).map_err(failed)?;
        pipe.wait(FIRST).map_err(failed)?;
        Ok(Self {
            pipe,
            frame: Frame::default(),
            screen: Picture::black(Size::SMALLEST),
            scaler: Scaler::default(),
            _shared: shared,
        })
    }

    /// From when the newest picture was shown until it was here, in nanoseconds, if the compositor tells.
    #[must_use]
    pub fn delay(&self) -> Option<i64> {
        self.pipe.delay()
    }
}

impl FrameSource for WaylandScreen {
    fn next(
        &mut self,
        _now: Instant,
        _frame: u64,
        picture: &mut Picture,
    ) -> Result<(), CaptureError> {
        let failed = |why: String| CaptureError::new(NAME, why);
        if self.pipe.take(&mut self.frame).map_err(failed)? {
            self.frame.draw(&mut self.screen).map_err(failed)?;
        }
        self.scaler.scale(&self.screen, picture);
        Ok(())
    }

    fn drawings(&self) -> Option<OwnedFd> {
        self.pipe.bell()
    }
}
