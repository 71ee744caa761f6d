//! Drop-tail: first in, first out; a packet that does not fit is dropped (RFC 2309 section 2).
//!
//! Model: a packet is taken if what waits plus the packet stays within the limit. Packets already
//! waiting are never dropped, not even when the limit shrinks below the backlog.
//!
//! Deviations: none. As in Linux's bfifo and pfifo, the packet being transmitted does not count.

use super::{Backlog, Dequeued, DropReason, Dropped, Queue, QueueKind, QueueOption, Verdict};
use crate::PathPacket;
use gameway_units::{Bytes, Instant};
use std::collections::VecDeque;

/// How experiment files name it.
pub(super) const KIND: QueueKind = QueueKind {
    name: "drop-tail",
    summary: "first in, first out; a packet that finds no room is dropped",
    source: "RFC 2309, section 2; as Linux's bfifo and pfifo",
    options: &[QueueOption {
        name: "size",
        default: "2 bdp",
        summary: "what may wait: \"2 bdp\" (capacity times base_rtt), \"64 KiB\", \"100 packets\" \
                  or \"300 ms\" (at the capacity)",
    }],
};

/// The most that a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire.
    Bytes(Bytes),
    /// Packets of any size.
    Packets(u64),
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: Limit,
    waiting: VecDeque<Dequeued<P>>,
    bytes: Bytes,
}

impl<P> DropTail<P> {
    /// An empty queue of that size.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: Bytes::ZERO }
    }

    fn fits(&self, size: Bytes) -> bool {
        match self.limit {
            Limit::Bytes(limit) => self.bytes + size <= limit,
            Limit::Packets(limit) => (self.waiting.len() as u64) < limit,
        }
    }
}

impl<P: PathPacket> Queue<P> for DropTail<P> {
    fn enqueue(&mut self, now: Instant, packet: P) -> Verdict<P> {
        let size = packet.wire_size();
        if !self.fits(size) {
            return Verdict::Dropped(Dropped {
                packet,
                enqueued: now,
                reason: DropReason::Overflow,
            });
        }
        self.bytes += size;
        self.waiting.push_back(Dequeued { packet, enqueued: now });
        Verdict::Queued
    }

    fn dequeue(&mut self, _now: Instant, _dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let next = self.waiting.pop_front()?;
        self.bytes -= next.packet.wire_size();
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.waiting.len() as u64 }
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
