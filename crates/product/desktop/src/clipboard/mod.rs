//! The clipboard of the screen that is played, whichever screen it is: text alone, as UTF-8, which is what a page may read and write
//! without more.
//!
//! Model: nobody is waited for. Who has one polls it, when its descriptor is readable and at its deadline.

mod text;
#[cfg(feature = "wayland")]
mod wayland;
mod x11;

use crate::DesktopError;
use gameway_input::clipboard::Outcome;
use gameway_units::Instant;
use std::fmt;
use std::os::fd::BorrowedFd;
#[cfg(feature = "wayland")]
pub use wayland::WaylandClipboard;
pub use x11::X11Clipboard;

/// See the module's head.
pub trait Clipboard: fmt::Debug {
    /// From now on programs paste this.
    ///
    /// # Errors
    /// Who has the clipboard is gone: the X server, or the compositor.
    fn give(&mut self, text: &str) -> Result<(), DesktopError>;

    /// Asks for the text that is there; [`Self::poll`] has it then.
    ///
    /// # Errors
    /// As of [`Self::give`].
    fn ask(&mut self, now: Instant) -> Result<(), DesktopError>;

    /// Answers other programs; the text that was asked for, or why there is none, once that is known.
    ///
    /// # Errors
    /// As of [`Self::give`].
    fn poll(&mut self, now: Instant) -> Result<Option<Result<String, Outcome>>, DesktopError>;

    /// When [`Self::poll`] has something to do though nobody has said anything.
    fn next_deadline(&self) -> Option<Instant>;

    /// Readable when somebody has said something.
    fn descriptor(&self) -> BorrowedFd<'_>;
}
