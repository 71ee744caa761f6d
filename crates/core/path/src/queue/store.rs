//! The packets of many queues in one place: memory follows the most that waited at once, wherever it did.

use super::{Backlog, Dequeued};
use crate::PathPacket;
use gameway_units::Instant;

/// Slots for packets, and a list of the empty ones.
#[derive(Debug)]
pub(super) struct Store<P> {
    slots: Vec<Slot<P>>,
    /// The first of the empty slots, which are a list too.
    free: Option<usize>,
}

#[derive(Debug)]
struct Slot<P> {
    packet: Option<Dequeued<P>>,
    next: Option<usize>,
}

/// The packets of one queue, as a list in the store.
#[derive(Debug, Clone, Default)]
pub(super) struct Chain {
    first: Option<usize>,
    last: usize,
    backlog: Backlog,
}

impl Chain {
    /// What of the queue waits.
    pub(super) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Whether nothing does.
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<P: PathPacket> Store<P> {
    /// Without packets.
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: None }
    }

    /// Makes it the last of the queue.
    pub(super) fn append(&mut self, chain: &mut Chain, packet: Dequeued<P>) {
        chain.backlog = chain.backlog.with(packet.packet.wire_size());
        let slot = self.put(packet);
        if chain.first.is_none() {
            chain.first = Some(slot);
        } else {
            self.slots[chain.last].next = Some(slot);
        }
        chain.last = slot;
    }

    /// Takes the first of the queue.
    pub(super) fn pop(&mut self, chain: &mut Chain) -> Option<Dequeued<P>> {
        let index = chain.first?;
        let slot = &mut self.slots[index];
        let packet = slot.packet.take()?;
        chain.first = std::mem::replace(&mut slot.next, self.free);
        self.free = Some(index);
        chain.backlog = chain.backlog.without(packet.packet.wire_size());
        Some(packet)
    }

    /// The packets of the queue, from the first on.
    pub(super) fn iter<'a>(&'a self, chain: &Chain) -> impl Iterator<Item = &'a P> + use<'a, P> {
        let slot = |index: usize| &self.slots[index];
        let next = move |&index: &usize| slot(index).next;
        let all = std::iter::successors(chain.first, next);
        all.take(chain.backlog.packets as usize)
            .filter_map(move |index| slot(index).packet.as_ref().map(|waiting| &waiting.packet))
    }

    /// Removes the packet of the queue that has `place` packets before it.
    pub(super) fn remove(&mut self, chain: &mut Chain, place: usize) -> Option<Dequeued<P>> {
        let Some(steps) = place.checked_sub(1) else { return self.pop(chain) };
        let mut before = chain.first?;
        for _ in 0..steps {
            before = self.slots[before].next?;
        }
        let index = self.slots[before].next?;
        let slot = &mut self.slots[index];
        let packet = slot.packet.take()?;
        self.slots[before].next = std::mem::replace(&mut self.slots[index].next, self.free);
        self.free = Some(index);
        if chain.last == index {
            chain.last = before;
        }
        chain.backlog = chain.backlog.without(packet.packet.wire_size());
        Some(packet)
    }

    /// When the first of the queue came.
    pub(super) fn oldest(&self, chain: &Chain) -> Option<Instant> {
        self.slots[chain.first?].packet.as_ref().map(|head| head.enqueued)
    }

    fn put(&mut self, packet: Dequeued<P>) -> usize {
        if let Some(index) = self.free {
            let slot = &mut self.slots[index];
            self.free = slot.next.take();
            slot.packet = Some(packet);
            return index;
        }
        self.slots.push(Slot { packet: Some(packet), next: None });
        self.slots.len() - 1
    }

    /// The most packets that waited at once.
    #[cfg(test)]
    pub(super) const fn slots(&self) -> usize {
        self.slots.len()
    }
}
