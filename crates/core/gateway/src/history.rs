//! What was acknowledged when, over about two loops to a data sender and back.
//!
//! A gateway sees an acknowledgment half a loop before the sender, and the data that it lets go half a loop
//! after that. To know what a sender had in flight it must compare data with the acknowledgment that passed
//! one loop earlier; to know what a sender was allowed, with the windows that passed until then.

use crate::segment::ahead;
use gameway_units::{Duration, Instant};

const ENTRIES: usize = 32;
/// Entries to a loop: half of them reach over one, and what is read off is late by up to 1/16 of a loop.
const PER_LOOP: i64 = ENTRIES as i64 / 2;
/// Between entries while the loop is not known.
const SPACING: Duration = Duration::from_millis(5);

/// The acknowledgments of a short span.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// When the first of them passed.
    at: Instant,
    first: u32,
    last: u32,
    /// The largest window among them, as on the wire.
    window: u16,
}

/// See the module's head. Its size is fixed.
#[derive(Debug, Clone, Default)]
pub struct AckHistory {
    entries: [Entry; ENTRIES],
    count: usize,
    newest: usize,
}

impl AckHistory {
    /// An acknowledgment has passed, with the window that the sender will read.
    pub fn record(
        &mut self,
        now: Instant,
        acknowledgment: u32,
        window: u16,
        looped: Option<Duration>,
    ) {
        let spacing = looped.map_or(SPACING, |looped| looped / PER_LOOP);
        let newest = &mut self.entries[self.newest];
        if self.count > 0 && now.saturating_since(newest.at) < spacing {
            if ahead(acknowledgment, newest.last) >= 0 {
                newest.last = acknowledgment;
            }
            newest.window = newest.window.max(window);
            return;
        }
        self.newest = (self.newest + 1) % ENTRIES;
        self.count = (self.count + 1).min(ENTRIES);
        let (first, last) = (acknowledgment, acknowledgment);
        self.entries[self.newest] = Entry { at: now, first, last, window };
    }

    /// From the newest to the oldest.
    fn back(&self) -> impl Iterator<Item = &Entry> {
        (0..self.count).map(|age| &self.entries[(self.newest + ENTRIES - age) % ENTRIES])
    }

    /// What was acknowledged at `time`; the first that is known if that was later.
    pub fn acknowledged_at(&self, time: Instant) -> Option<u32> {
        let known = self.back().find(|entry| entry.at <= time);
        known.or_else(|| self.back().last()).map(|entry| entry.first)
    }

    /// The furthest right edge that a sender may know of which has seen what passed until `time`, if its
    /// peer scales by `shift`; never short of the truth.
    pub fn furthest_edge(&self, time: Instant, shift: u8) -> Option<u32> {
        let known = self.back().filter(|entry| entry.at <= time);
        let edges = known.map(|entry| entry.last.wrapping_add(u32::from(entry.window) << shift));
        edges.reduce(|one, other| if ahead(one, other) > 0 { one } else { other })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn it_reaches_back_two_loops_and_answers_for_the_past() {
        let mut history = AckHistory::default();
        assert_eq!(history.acknowledged_at(at(0)), None);
        let looped = Some(Duration::from_millis(80));
        for millis in 0..1000 {
            let number = (u32::MAX - 500).wrapping_add(millis as u32);
            history.record(at(millis), number, 100, looped);
        }
        for back in 0..150 {
            let time = at(999 - back);
            let exact = (u32::MAX - 500).wrapping_add(999 - back as u32);
            let late = ahead(exact, history.acknowledged_at(time).unwrap());
            assert!((0..5).contains(&late), "{late} ms late");
            let edge = history.furthest_edge(time, 2).unwrap();
            assert!((0..5).contains(&(ahead(edge, exact) - 400)), "{edge} of {exact}");
        }
    }

    #[test]
    fn a_window_that_was_larger_is_not_forgotten_too_soon() {
        let mut history = AckHistory::default();
        let looped = Some(Duration::from_millis(160));
        history.record(at(0), 1000, 900, looped);
        history.record(at(20), 1100, 100, looped);
        assert_eq!(history.furthest_edge(at(30), 0), Some(1900));
        assert_eq!(history.furthest_edge(at(-1), 0), None);
    }
}
