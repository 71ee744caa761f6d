//! Ctrl-C and SIGTERM as a flag that a driver looks at.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that nobody asks but [`Self::ask`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that Ctrl-C (SIGINT) and SIGTERM ask, from now on and for the whole process.
    ///
    /// # Errors
    /// If the signals cannot be had.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::new();
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, stop.0.clone())?;
        }
        Ok(stop)
    }

    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
