//! What can go wrong.

use thiserror::Error;

/// Why there is nothing to play on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DesktopError {
    /// A program of the system is missing.
    #[error("{program} is not installed; install {packages}")]
    NotInstalled {
        /// Which.
        program: String,
        /// What has it, on Debian and Ubuntu.
        packages: &'static str,
    },
    /// A program did not start.
    #[error("{program}: {reason}")]
    Start {
        /// Which.
        program: String,
        /// Why, as far as it says.
        reason: String,
    },
    /// An X server cannot be used.
    #[error("X11 screen {display}: {reason}")]
    Display {
        /// As it was asked for.
        display: String,
        /// Why not.
        reason: String,
    },
    /// The desktop's portal does not share a screen.
    #[error("the desktop's portal: {reason}; to mend it, {mend}")]
    Portal {
        /// What was found.
        reason: String,
        /// What to do about it.
        mend: &'static str,
    },
    /// The desktop's compositor gives no clipboard.
    #[error("the desktop's clipboard: {reason}; to mend it, {mend}")]
    Compositor {
        /// What was found.
        reason: String,
        /// What to do about it.
        mend: &'static str,
    },
}

impl DesktopError {
    pub(crate) fn start(program: &str, reason: impl Into<String>) -> Self {
        Self::Start { program: program.to_owned(), reason: reason.into() }
    }

    #[cfg(feature = "x11")]
    pub(crate) fn display(display: Option<&str>, reason: impl Into<String>) -> Self {
        let display = display.unwrap_or("of DISPLAY").to_owned();
        Self::Display { display, reason: reason.into() }
    }

    #[cfg(feature = "wayland")]
    pub(crate) fn portal(reason: &str, mend: &'static str) -> Self {
        Self::Portal { reason: reason.to_owned(), mend }
    }

    #[cfg(feature = "wayland")]
    pub(crate) fn compositor(reason: &str, mend: &'static str) -> Self {
        Self::Compositor { reason: reason.to_owned(), mend }
    }

    /// The server of that display is there no more.
    #[cfg(feature = "x11")]
    pub(crate) fn gone(display: &str, error: &dyn std::error::Error) -> Self {
        Self::display(Some(display), format!("no connection any more: {error}"))
    }
}
