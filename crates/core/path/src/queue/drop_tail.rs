//! Drop-tail: first in, first out; a packet that does not fit is dropped (RFC 2309 section 2).
//!
//! Model: a packet is taken if what waits plus the packet stays within the limit. Packets already
//! waiting are never dropped, not even when the limit shrinks below the backlog.
//!
//! With `mark_above`, an ECN-capable packet that waited longer than this is marked when it leaves: the step
//! marking of an L4S queue (RFC 9332 section 4.1 and appendix A, with range zero), on a queue of its own.
//!
//! Deviations: none. As in Linux's bfifo and pfifo, the packet being transmitted does not count.

use super::discipline::{Discipline, SizeOption};
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::PathPacket;
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Ecn, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What can be set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DropTailConfig {
    /// ECN-capable packets that waited longer than this are marked
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "x-none" = "never"))]
    pub mark_above: Option<Duration>,
}

impl Configuration for DropTailConfig {
    const NAME: &'static str = "drop-tail";
    const SUMMARY: &'static str = "first in, first out; a packet that finds no room is dropped";
    const SOURCE: &'static str = "RFC 2309, section 2; as Linux's bfifo and pfifo";
}

impl Discipline for DropTailConfig {
    const SIZE: SizeOption = SizeOption {
        default: Some("2 bdp"),
        summary: "what may wait: \"2 bdp\" (capacity times base_rtt), \"64 KiB\", \"100 packets\" or \"300 ms\" (at the capacity)",
    };

    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        _random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>> {
        Box::new(DropTail::new(limit).with_marking(self.mark_above))
    }
}

/// The queue; see the module's head.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: Limit,
    mark_above: Option<Duration>,
    waiting: VecDeque<Dequeued<P>>,
    bytes: Bytes,
}

impl<P> DropTail<P> {
    /// An empty queue of that size.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, mark_above: None, waiting: VecDeque::new(), bytes: Bytes::ZERO }
    }

    /// The same, and it marks ECN-capable packets that waited longer than `mark_above`.
    #[must_use]
    pub fn with_marking(mut self, mark_above: Option<Duration>) -> Self {
        self.mark_above = mark_above;
        self
    }

    fn marks(&self, now: Instant, next: &Dequeued<P>) -> bool
    where
        P: PathPacket,
    {
        next.packet.ecn().is_capable()
            && self.mark_above.is_some_and(|max| now - next.enqueued > max)
    }
}

impl<P: PathPacket> Queue<P> for DropTail<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let size = packet.wire_size();
        if !self.backlog().with(size).is_within(self.limit) {
            return dropped.push(Dropped::on_arrival(now, packet, DropReason::Overflow));
        }
        self.bytes += size;
        self.waiting.push_back(Dequeued { packet, enqueued: now });
    }

    fn dequeue(&mut self, now: Instant, _dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        let mut next = self.waiting.pop_front()?;
        self.bytes -= next.packet.wire_size();
        if self.marks(now, &next) {
            next.packet.set_ecn(Ecn::Ce);
        }
        Some(next)
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        self.bytes = Bytes::ZERO;
        into.extend(self.waiting.drain(..));
    }

    fn backlog(&self) -> Backlog {
        Backlog { bytes: self.bytes, packets: self.waiting.len() as u64 }
    }

    fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|head| head.enqueued)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}
