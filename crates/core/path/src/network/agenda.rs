//! The one event queue: when each part of the network wants to act next.
//!
//! Every part (a link, a delay line, an endpoint) has at most one pending deadline, and its slot never
//! changes; so the queue is a tournament over slots in groups of sixteen, whose firsts meet in groups again.
//! A deadline that is neither the first of its group nor before it is stored and that is all; only when the first
//! is put off its group is searched. Equal times go to the lower slot, which makes runs repeatable without
//! sequence numbers.

use gameway_units::Instant;

/// The slots of four flows fit into one group, and a thousand flows need three levels.
const GROUP: usize = 16;

/// Slots and their deadlines; [`Instant::MAX`] is never.
#[derive(Debug)]
pub struct Agenda {
    /// From the slots up to the one group at the top; what is in a group above are the groups below.
    levels: Vec<Vec<Group>>,
}

#[derive(Debug, Clone)]
struct Group {
    deadlines: [Instant; GROUP],
    /// Which of them is first.
    first: usize,
}

impl Group {
    const IDLE: Self = Self { deadlines: [Instant::MAX; GROUP], first: 0 };

    /// Sets one of the deadlines; that of the first, if it has changed.
    #[inline]
    fn set(&mut self, place: usize, deadline: Instant) -> Option<Instant> {
        let old = std::mem::replace(&mut self.deadlines[place], deadline);
        let first = self.deadlines[self.first];
        if place != self.first {
            if deadline > first || (deadline == first && place > self.first) {
                return None;
            }
            self.first = place;
            return (deadline < first).then_some(deadline);
        }
        if deadline > old {
            self.search();
        }
        let first = self.deadlines[self.first];
        (first != old).then_some(first)
    }

    fn search(&mut self) {
        let (low, high) = self.deadlines.split_at(GROUP / 2);
        let ((left, earlier), (right, later)) = (first_of(low), first_of(high));
        self.first = if later < earlier { GROUP / 2 + right } else { left };
    }
}

/// The first of equals.
#[inline]
fn first_of(deadlines: &[Instant]) -> (usize, Instant) {
    let mut first = (0, deadlines[0]);
    for (place, &deadline) in deadlines.iter().enumerate() {
        let earlier = deadline < first.1;
        first.0 = if earlier { place } else { first.0 };
        first.1 = if earlier { deadline } else { first.1 };
    }
    first
}

impl Agenda {
    /// An agenda with this number of slots, none due.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let mut levels = Vec::new();
        let mut groups = slots.max(1);
        while groups > 1 || levels.is_empty() {
            groups = groups.div_ceil(GROUP);
            levels.push(vec![Group::IDLE; groups]);
        }
        Self { levels }
    }

    /// Sets when `slot` is due; `None` for never.
    #[inline]
    pub fn set(&mut self, slot: usize, deadline: Option<Instant>) {
        let mut deadline = deadline.unwrap_or(Instant::MAX);
        let mut place = slot;
        for level in &mut self.levels {
            match level[place / GROUP].set(place % GROUP, deadline) {
                Some(changed) => deadline = changed,
                None => return,
            }
            place /= GROUP;
        }
    }

    /// The slot that is due first, and when.
    #[inline]
    #[must_use]
    pub fn next(&self) -> (usize, Instant) {
        let (mut place, mut deadline) = (0, Instant::MAX);
        for level in self.levels.iter().rev() {
            let group = &level[place];
            deadline = group.deadlines[group.first];
            place = place * GROUP + group.first;
        }
        (place, deadline)
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
            slots in prop::sample::select(vec![1usize, 2, 11, 16, 17, 40, 256, 257, 700]),
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
