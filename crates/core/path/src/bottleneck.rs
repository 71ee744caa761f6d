//! The bottleneck: a queue in front of a link.
//!
//! Model: a packet that finds the link idle starts at once if the discipline lets it, which all do but
//! shapers; all others wait their turn in the queue. Queueing delay is from arrival to the start of transmission;
//! serialization comes on top and is not part of it.

use crate::{Dequeued, Dropped, Limit, Link, PathPacket, Queue};
use gameway_units::{Bytes, Duration, Instant, QueueSize, Rate};
use std::convert::Infallible;
use std::vec::Drain;

/// A packet whose last bit has left the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmitted<P> {
    /// The packet.
    pub packet: P,
    /// When it came to the queue.
    pub enqueued: Instant,
    /// When its transmission began.
    pub started: Instant,
    /// When its last bit left.
    pub finished: Instant,
}

impl<P> Transmitted<P> {
    /// Time from arrival to the start of transmission.
    pub fn queueing_delay(&self) -> Duration {
        self.started - self.enqueued
    }
}

/// A queue and the link that empties it.
#[derive(Debug)]
pub struct Bottleneck<P, Q> {
    queue: Q,
    link: Link,
    /// A queue sized in time or BDPs of the capacity in force, and when that next changes.
    resizing: Option<(QueueSize, Duration, Instant)>,
    in_transmission: Option<Transmitted<P>>,
    /// When a shaper lets the next packet go, while the link is idle.
    release: Option<Instant>,
    /// By the queue, and not told yet.
    dropped: Vec<Dropped<P>>,
    /// Of the packets that have left.
    meter: Meter,
}

/// What a bottleneck did since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meter {
    /// Time in which it was sending.
    pub busy: Duration,
    /// Bytes on the wire that it sent.
    pub carried: Bytes,
}

/// What is to be another one at a bottleneck, from an instant on.
#[derive(Debug)]
pub struct HopChange<Q> {
    /// Another link.
    pub link: Option<Link>,
    /// Another queue, made for its limit then; the one that is there is set to that limit and keeps all it knows.
    pub queue: Option<Q>,
    /// How much may wait in either.
    pub size: QueueSize,
    /// The round-trip time of a size in BDPs.
    pub base_rtt: Duration,
}

/// Of a queue that is sized in time: when the capacity in force next changes.
fn resizing(
    link: &Link,
    size: QueueSize,
    base_rtt: Duration,
    now: Instant,
) -> Option<(QueueSize, Duration, Instant)> {
    match size {
        QueueSize::Time(_) => link.next_change(now).map(|at| (size, base_rtt, at)),
        _ => None,
    }
}

impl<P: PathPacket, Q: Queue<P>> Bottleneck<P, Q> {
    /// A bottleneck whose queue, made by `queue` from its limit, holds `size`. A size in BDPs is of the
    /// capacity at the start (a router's buffer does not change); one in time follows the capacity.
    pub fn new(
        link: Link,
        size: QueueSize,
        base_rtt: Duration,
        queue: impl FnOnce(Limit) -> Q,
    ) -> Self {
        let made = Self::try_new(link, size, base_rtt, |limit| Ok::<Q, Infallible>(queue(limit)));
        let Ok(path) = made;
        path
    }

    /// The same, of a queue that perhaps cannot be made.
    ///
    /// # Errors
    /// That of `queue`.
    pub fn try_new<E>(
        link: Link,
        size: QueueSize,
        base_rtt: Duration,
        queue: impl FnOnce(Limit) -> Result<Q, E>,
    ) -> Result<Self, E> {
        let capacity = link.nominal_capacity(Instant::ZERO);
        let queue = queue(Limit::of(size, capacity, base_rtt))?;
        let resizing = resizing(&link, size, base_rtt, Instant::ZERO);
        Ok(Self {
            queue,
            link,
            resizing,
            in_transmission: None,
            release: None,
            dropped: Vec::new(),
            meter: Meter::default(),
        })
    }

    /// Takes a packet.
    pub fn arrive(&mut self, now: Instant, packet: P) {
        self.resize(now);
        // Also past an idle link through the queue: a discipline sees every packet.
        self.queue.enqueue(now, packet, &mut self.dropped);
        if self.in_transmission.is_none() {
            self.start_next(now);
        }
    }

    /// From `now` on it is another one, in the parts that are given. What waits stays, with the time at which it came: in
    /// another queue what finds no room is dropped. All that is due by `now` must have happened.
    pub fn change(&mut self, now: Instant, change: HopChange<Q>) {
        let HopChange { link, queue, size, base_rtt } = change;
        if let Some(link) = link {
            let current = self.in_transmission.as_ref();
            let current = current.map(|one| (one.started, one.packet.wire_size()));
            let finished = self.link.change(now, link, current);
            if let (Some(one), Some(finished)) = (&mut self.in_transmission, finished) {
                one.finished = finished;
            }
        }
        match queue {
            Some(queue) => self.replace_queue(now, queue),
            None => {
                let capacity = self.link.nominal_capacity(now);
                self.queue.set_limit(Limit::of(size, capacity, base_rtt));
            }
        }
        self.resizing = resizing(&self.link, size, base_rtt, now);
    }

    fn replace_queue(&mut self, now: Instant, queue: Q) {
        let mut waiting = Vec::new();
        self.queue.drain(&mut waiting);
        // Disciplines with several queues give one after the other.
        waiting.sort_by_key(|one| one.enqueued);
        self.queue = queue;
        for one in waiting {
            self.queue.admit(now, one, &mut self.dropped);
        }
        if self.in_transmission.is_none() {
            self.start_next(now);
        }
    }

    fn resize(&mut self, now: Instant) {
        if let Some((size, base_rtt, at)) = self.resizing
            && at <= now
        {
            self.queue.set_limit(Limit::of(size, self.link.nominal_capacity(now), base_rtt));
            self.resizing = self.link.next_change(now).map(|next| (size, base_rtt, next));
        }
    }

    fn start_next(&mut self, now: Instant) {
        let next = self.queue.dequeue(now, &mut self.dropped);
        self.in_transmission = next.map(|Dequeued { packet, enqueued }| {
            let finished = self.link.transmit(now, packet.wire_size());
            Transmitted { packet, enqueued, started: now, finished }
        });
        let idle = self.in_transmission.is_none();
        self.release = if idle { self.queue.next_release(now) } else { None };
    }

    /// When the packet in transmission has left, or a shaper lets the next one go.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.in_transmission.as_ref().map(|current| current.finished).or(self.release)
    }

    /// The packet that has left by `now`; the next one starts when it did, however late the call.
    pub fn on_deadline(&mut self, now: Instant) -> Option<Transmitted<P>> {
        if let Some(release) = self.release.filter(|release| *release <= now) {
            self.start_next(release);
            return None;
        }
        let current = self.in_transmission.take_if(|current| current.finished <= now)?;
        self.meter.busy += current.finished - current.started;
        self.meter.carried += current.packet.wire_size();
        self.start_next(current.finished);
        Some(current)
    }

    /// The rate of its queue, if that is a shaper.
    #[must_use]
    pub fn shaped_rate(&self) -> Option<Rate> {
        self.queue.rate()
    }

    /// Its queue, if that is a shaper, lets packets go at this rate from `now` on.
    pub fn set_shaped_rate(&mut self, now: Instant, rate: Rate) {
        self.queue.set_rate(now, rate);
        if self.in_transmission.is_none() {
            self.release = self.queue.next_release(now);
        }
    }

    /// Whether the discipline dropped packets since [`Self::drain_dropped`] was called.
    #[inline]
    #[must_use]
    pub const fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The packets that the discipline dropped since the last call.
    #[inline]
    pub fn drain_dropped(&mut self) -> Drain<'_, Dropped<P>> {
        self.dropped.drain(..)
    }

    /// What it did before `now`, of the packet in transmission the part that has left; all packets that left
    /// earlier must have been asked for.
    #[must_use]
    pub fn meter(&self, now: Instant) -> Meter {
        let Some(current) = &self.in_transmission else { return self.meter };
        let (start, size) = (current.started, current.packet.wire_size());
        Meter {
            busy: self.meter.busy + (now.min(current.finished) - start),
            carried: self.meter.carried + self.link.sent_before(start, size, now),
        }
    }

    /// Bytes that wait, without the packet in transmission.
    #[must_use]
    pub fn queued_bytes(&self) -> Bytes {
        self.queue.backlog().bytes
    }

    /// When the packet that waits longest came, without the one in transmission.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        self.queue.oldest()
    }

    /// Packets that wait or are in transmission.
    #[must_use]
    pub fn packets_inside(&self) -> u64 {
        self.queue.backlog().packets + u64::from(self.in_transmission.is_some())
    }

    /// The link, for its capacity over time.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }
}
