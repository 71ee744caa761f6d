//! Which queue is the longest: what an overflow costs a packet.
//!
//! A heap of all queues, kept in order only while it is needed: from an overflow on for 65 535 departures
//! (Linux, `sch_cake.c`, `cake_drop` and `overflow_timeout`).

use crate::queue::Backlog;
use gameway_units::Bytes;

/// The number of departures after an overflow for which the order is kept.
const KEPT_FOR: u32 = 65_535;

/// A heap with the longest queue in front.
#[derive(Debug)]
pub(super) struct Longest {
    /// Of each queue; packets decide between equals, so that the longest holds one.
    lengths: Vec<(Bytes, u64)>,
    heap: Vec<u16>,
    /// Where in the heap each queue is.
    place: Vec<u16>,
    kept_for: u32,
}

impl Longest {
    /// Of this number of queues, all empty.
    pub(super) fn new(queues: u16) -> Self {
        Self {
            lengths: vec![(Bytes::ZERO, 0); usize::from(queues)],
            heap: (0..queues).collect(),
            place: (0..queues).collect(),
            kept_for: 0,
        }
    }

    /// Tells what waits in a queue.
    pub(super) fn set(&mut self, queue: usize, backlog: Backlog) {
        let length = (backlog.bytes, backlog.packets);
        let old = std::mem::replace(&mut self.lengths[queue], length);
        if self.kept_for == 0 {
            return;
        }
        let place = usize::from(self.place[queue]);
        if length > old {
            self.rise(place);
        } else {
            self.sink(place);
        }
    }

    /// A packet was sent.
    pub(super) const fn departed(&mut self) {
        self.kept_for = self.kept_for.saturating_sub(1);
    }

    /// The longest queue.
    pub(super) fn longest(&mut self) -> usize {
        if self.kept_for == 0 {
            for place in (0..self.heap.len() / 2).rev() {
                self.sink(place);
            }
        }
        self.kept_for = KEPT_FOR;
        usize::from(self.heap[0])
    }

    fn length(&self, place: usize) -> (Bytes, u64) {
        self.lengths[usize::from(self.heap[place])]
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.length(place) > self.length((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let Some(longer) = children.max_by_key(|child| self.length(*child)) else { return };
            if self.length(longer) <= self.length(place) {
                return;
            }
            self.swap(place, longer);
            place = longer;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.place[usize::from(self.heap[place])] = place as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whenever it is asked, it is as a search would find it, before and after it was forgotten.
        #[test]
        fn the_longest_is_found(
            steps in prop::collection::vec((0usize..40, 0u64..50, 0u8..4), 1..300),
            kept in prop::bool::ANY,
        ) {
            let mut longest = Longest::new(40);
            let mut lengths = [0; 40];
            for (queue, packets, ask) in steps {
                lengths[queue] = packets;
                longest.set(queue, Backlog { bytes: Bytes::new(packets / 2), packets });
                if ask == 0 {
                    let found = lengths[longest.longest()];
                    prop_assert_eq!(found, *lengths.iter().max().unwrap());
                    longest.kept_for = if kept { longest.kept_for } else { 0 };
                }
            }
        }
    }

    #[test]
    fn queues_that_are_emptied_as_they_are_found_come_in_the_order_of_their_lengths() {
        let waiting = |packets| Backlog { bytes: Bytes::new(packets), packets };
        for step in [1, 3, 7, 389, 999] {
            let mut longest = Longest::new(1000);
            // The order is kept from here on.
            longest.longest();
            for queue in 0..1000 {
                longest.set(queue, waiting((queue * step % 1000 + 1) as u64));
            }
            for packets in (1..=1000).rev() {
                let queue = longest.longest();
                assert_eq!(longest.lengths[queue].1, packets, "{step}");
                longest.set(queue, waiting(0));
            }
        }
    }

    #[test]
    fn a_queue_that_shrinks_sinks_below_those_under_it_and_no_others() {
        let waiting = |packets| Backlog { bytes: Bytes::new(packets), packets };
        let mut longest = Longest::new(9);
        longest.longest();
        // As they come they are a heap: the two under queue n are 2 n + 1 and 2 n + 2.
        for (queue, packets) in [100, 50, 90, 40, 30, 20, 80, 10, 5].into_iter().enumerate() {
            longest.set(queue, waiting(packets));
        }
        longest.set(3, waiting(0));
        let order = [(); 9].map(|()| {
            let queue = longest.longest();
            let packets = longest.lengths[queue].1;
            longest.set(queue, waiting(0));
            packets
        });
        assert_eq!(order, [100, 90, 80, 50, 30, 20, 10, 5, 0]);
    }

    #[test]
    fn the_order_is_kept_for_a_while_after_an_overflow() {
        let mut longest = Longest::new(8);
        assert_eq!(longest.kept_for, 0);
        longest.longest();
        (0..65_534).for_each(|_| longest.departed());
        assert_eq!(longest.kept_for, 1);
        (0..2).for_each(|_| longest.departed());
        assert_eq!(longest.kept_for, 0);
    }
}
