//! Events by time.

use gameway_units::Instant;
use std::collections::BTreeMap;

/// What is to happen, by time; what happens at the same time is in the order in which it was scheduled.
#[derive(Debug, Clone)]
pub struct Agenda<T> {
    events: BTreeMap<(Instant, u64), T>,
    scheduled: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { events: BTreeMap::new(), scheduled: 0 }
    }
}

impl<T> Agenda<T> {
    /// Adds an event.
    pub fn schedule(&mut self, at: Instant, event: T) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Instant> {
        self.events.first_key_value().map(|(&(at, _), _)| at)
    }

    /// Takes the next event, if it is due.
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        let entry = self.events.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}
