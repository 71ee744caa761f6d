//! What waits for one station, and what airtime it may use.

use crate::queue::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::{FqCodel, FqCodelConfig, PathPacket};
use gameway_units::{Bytes, Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// Picoseconds of airtime that a byte takes, before anything was sent.
const FIRST_PER_BYTE: i64 = 10_000;
/// Reciprocal of the weight that a new measurement has in the average.
const WEIGHT: i64 = 8;
const PER_NANO: i64 = 1_000;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Station<P> {
    queues: FqCodel<P>,
    /// What left the queues and found no room in a frame, or came back.
    held: VecDeque<Dequeued<P>>,
    /// Of priority.
    pub(super) first: VecDeque<Dequeued<P>>,
    /// In the device.
    ahead: VecDeque<Dequeued<P>>,
    ahead_bytes: Bytes,
    /// Airtime that it may still use in its turn.
    pub(super) deficit: Duration,
    /// Taken off the deficit by estimates, and not yet corrected.
    charged: Duration,
    /// Picoseconds.
    per_byte: i64,
    /// Whether it takes turns; it can do so and have nothing.
    pub(super) scheduled: bool,
}

impl<P: PathPacket> Station<P> {
    /// A station of which nothing is known.
    pub(super) fn new(
        queues: FqCodelConfig,
        random: Xoshiro256PlusPlus,
        deficit: Duration,
    ) -> Self {
        Self {
            queues: FqCodel::new(queues, Limit::Packets(u64::MAX), random),
            held: VecDeque::new(),
            first: VecDeque::new(),
            ahead: VecDeque::new(),
            ahead_bytes: Bytes::ZERO,
            deficit,
            charged: Duration::ZERO,
            per_byte: FIRST_PER_BYTE,
            scheduled: false,
        }
    }

    /// Takes a packet without priority.
    pub(super) fn enqueue(&mut self, now: Instant, waiting: Dequeued<P>) {
        // Queues without a limit drop nothing when a packet comes.
        self.queues.admit(now, waiting, &mut Vec::new());
    }

    /// Whether its own queues have something.
    pub(super) fn waits(&self) -> bool {
        !self.held.is_empty() || self.queues.backlog().packets > 0
    }

    /// The next packet of its own queues.
    pub(super) fn pop(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        self.held.pop_front().or_else(|| self.queues.dequeue(now, dropped))
    }

    /// The same if it fits; else it stays the next.
    pub(super) fn pop_if(
        &mut self,
        now: Instant,
        fits: impl Fn(&Dequeued<P>) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        let next = self.pop(now, dropped)?;
        if fits(&next) {
            return Some(next);
        }
        self.held.push_front(next);
        None
    }

    /// The device takes the next packet; whether there was one.
    pub(super) fn move_ahead(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> bool {
        let next = self.pop(now, dropped);
        let any = next.is_some();
        if let Some(next) = next {
            self.ahead_bytes += next.packet.wire_size();
            self.ahead.push_back(next);
        }
        any
    }

    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    pub(super) fn front_ahead(&self) -> Option<&Dequeued<P>> {
        self.ahead.front()
    }

    pub(super) fn pop_ahead(&mut self) -> Option<Dequeued<P>> {
        let next = self.ahead.pop_front()?;
        self.ahead_bytes -= next.packet.wire_size();
        Some(next)
    }

    /// Airtime of what the device has.
    pub(super) fn ahead(&self) -> Duration {
        self.airtime(self.ahead_bytes)
    }

    fn airtime(&self, bytes: Bytes) -> Duration {
        let bytes = i64::try_from(bytes.get()).unwrap_or(i64::MAX);
        Duration::from_nanos(bytes.saturating_mul(self.per_byte) / PER_NANO)
    }

    /// A packet of this size leaves.
    pub(super) fn charge(&mut self, size: Bytes) {
        let airtime = self.airtime(size);
        self.deficit -= airtime;
        self.charged += airtime;
    }

    /// A packet that has left comes back as the next, into the device or before its own queues.
    pub(super) fn take_back(&mut self, taken: Dequeued<P>, in_device: bool) {
        let size = taken.packet.wire_size();
        let airtime = self.airtime(size);
        self.deficit += airtime;
        self.charged -= airtime;
        if in_device {
            self.ahead_bytes += size;
            self.ahead.push_front(taken);
        } else {
            self.held.push_front(taken);
        }
    }

    /// A frame of `bytes` took `airtime`, which replaces what was charged for it.
    pub(super) fn correct(&mut self, bytes: Bytes, airtime: Duration) {
        self.deficit -= airtime - self.charged;
        self.charged = Duration::ZERO;
        let bytes = i64::try_from(bytes.get().max(1)).unwrap_or(i64::MAX);
        let measured = airtime.as_nanos().saturating_mul(PER_NANO) / bytes;
        self.per_byte += (measured - self.per_byte) / WEIGHT;
    }

    /// All that waits for it.
    pub(super) fn backlog(&self) -> Backlog {
        let beside = self.held.iter().chain(&self.first).chain(&self.ahead);
        beside.fold(self.queues.backlog(), |sum, one| sum.with(one.packet.wire_size()))
    }

    /// Drops the oldest of the fattest of its queues; else what came last of the rest.
    pub(super) fn drop_some(&mut self, dropped: &mut Vec<Dropped<P>>) {
        if self.queues.backlog().packets > 0 {
            return self.queues.drop_batch(dropped);
        }
        let last = self.held.pop_back().or_else(|| self.first.pop_back()).or_else(|| {
            let last = self.ahead.pop_back()?;
            self.ahead_bytes -= last.packet.wire_size();
            Some(last)
        });
        dropped.extend(last.map(|last| Dropped::waiting(last, DropReason::Overflow)));
    }

    pub(super) fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        into.extend(self.first.drain(..).chain(self.ahead.drain(..)).chain(self.held.drain(..)));
        self.queues.drain(into);
        self.ahead_bytes = Bytes::ZERO;
    }

    /// When the packet came that waits longest.
    pub(super) fn oldest(&self) -> Option<Instant> {
        let beside = [self.held.front(), self.first.front(), self.ahead.front()];
        let beside = beside.into_iter().flatten().map(|one| one.enqueued);
        beside.chain(self.queues.oldest()).min()
    }
}
