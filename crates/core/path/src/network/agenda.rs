//! The one event queue: when each part of the network wants to act next.
//!
//! Every part (a link, a delay line, an endpoint) has at most one pending deadline, and its slot never
//! changes; so the queue is a tournament tree over slots. Changing a deadline replays the matches from
//! its leaf to the root, finding the next event is reading the root, and equal times go to the lower
//! slot, which makes runs repeatable without sequence numbers.

use gameway_units::Instant;

/// Slots and their deadlines; [`Instant::MAX`] is never.
#[derive(Debug)]
pub struct Agenda {
    deadlines: Vec<Instant>,
    /// `winners[1]` is the root; the leaves of slot pairs are implied behind the inner nodes.
    winners: Vec<u32>,
    leaves: usize,
}

impl Agenda {
    /// An agenda of so many slots, none due.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut agenda =
            Self { deadlines: vec![Instant::MAX; leaves], winners: vec![0; leaves], leaves };
        for node in (1..leaves).rev() {
            agenda.winners[node] = agenda.contender(2 * node);
        }
        agenda
    }

    /// The slot that won below `node`.
    #[inline]
    fn contender(&self, node: usize) -> u32 {
        if node >= self.leaves { (node - self.leaves) as u32 } else { self.winners[node] }
    }

    /// Sets when `slot` is due; `None` for never.
    #[inline]
    pub fn set(&mut self, slot: usize, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::MAX);
        if self.deadlines[slot] == deadline {
            return;
        }
        self.deadlines[slot] = deadline;
        let mut node = (slot + self.leaves) / 2;
        while node >= 1 {
            let (left, right) = (self.contender(2 * node), self.contender(2 * node + 1));
            let right_wins = self.deadlines[right as usize] < self.deadlines[left as usize];
            let winner = if right_wins { right } else { left };
            if winner == self.winners[node] && winner as usize != slot {
                // Another slot wins here as before, at its old time: nothing changes further up.
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The slot that is due first, and when.
    #[inline]
    #[must_use]
    pub fn next(&self) -> (usize, Instant) {
        let slot = self.winners[1] as usize;
        (slot, self.deadlines[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// It always names what a search over all slots finds: the earliest, the lowest slot of equals.
        #[test]
        fn agrees_with_a_search(
            slots in 1usize..40,
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0i64..20)), 1..200),
        ) {
            let mut agenda = Agenda::new(slots);
            let mut model = vec![Instant::MAX; slots];
            for (index, deadline) in changes {
                let slot = index.index(slots);
                let deadline = deadline.map(Instant::from_nanos);
                agenda.set(slot, deadline);
                model[slot] = deadline.unwrap_or(Instant::MAX);
                let (at, first) = model.iter().enumerate().map(|(slot, at)| (*at, slot)).min().unwrap();
                prop_assert_eq!(agenda.next(), (first, at));
            }
        }
    }
}
