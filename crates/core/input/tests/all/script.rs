//! What a player does, one deed after the other, each at its time.

use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Deeds that are still to be done.
pub struct Script<D>(VecDeque<(Instant, D)>);

impl<D> Script<D> {
    /// Each deed so many milliseconds after the one before.
    pub fn new(deeds: impl IntoIterator<Item = (i64, D)>) -> Self {
        let mut at = Instant::ZERO;
        let timed = deeds.into_iter().map(|(wait, deed)| {
            at += Duration::from_millis(wait);
            (at, deed)
        });
        Self(timed.collect())
    }

    /// When the next one is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at)
    }

    /// The next one, if it is due.
    pub fn poll(&mut self, now: Instant) -> Option<D> {
        self.next_deadline().filter(|at| *at <= now)?;
        self.0.pop_front().map(|(_, deed)| deed)
    }
}
