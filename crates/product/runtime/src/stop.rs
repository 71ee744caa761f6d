//! Ctrl-C, SIGTERM and SIGHUP as a flag that a driver looks at.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether somebody asked to stop: zero if nobody did, else the number of the signal, or [`BY_CALL`].
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

/// In place of the number of a signal.
const BY_CALL: usize = usize::MAX;

impl Stop {
    /// One that nobody asks but [`Self::ask`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that Ctrl-C (SIGINT), SIGTERM and SIGHUP ask, from now on and for the whole process. SIGHUP stays ignored
    /// where the process was started so (nohup).
    ///
    /// # Errors
    /// If the signals cannot be had.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::new();
        let hang_up = (!is_ignored(SIGHUP)?).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
            let number = usize::try_from(signal).unwrap_or(BY_CALL);
            flag::register_usize(signal, stop.0.clone(), number)?;
        }
        Ok(stop)
    }

    /// Asks to stop.
    pub fn ask(&self) {
        self.0.store(BY_CALL, Ordering::Relaxed);
    }

    /// Whether somebody has.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The signal that asked last, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        let number = self.0.load(Ordering::Relaxed);
        i32::try_from(number).ok().filter(|number| *number != 0)
    }
}

/// Whether this process ignores a signal, as proc_pid_status(5) says: bit n - 1 of `SigIgn` is signal n.
fn is_ignored(signal: i32) -> io::Result<bool> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    Ok(mask >> (signal - 1) & 1 == 1)
}
