//! What is so now and what was so in the last minutes, for whoever asks.

use crate::history::History;
use crate::status::Status;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Snapshot {
    newest: Option<Status>,
    history: History,
}

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Snapshot>>);

impl Board {
    /// This is so from now on.
    pub fn put(&self, status: &Status) {
        let mut told = self.told();
        told.history.take(status);
        told.newest = Some(status.clone());
    }

    /// What is so; `None` before it is known.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.told().newest.clone()
    }

    /// What was so.
    #[must_use]
    pub fn history(&self) -> History {
        self.told().history.clone()
    }

    fn told(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
