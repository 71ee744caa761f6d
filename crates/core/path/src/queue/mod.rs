//! Queue disciplines, one module each, behind one trait.
//!
//! Every packet that enters is forwarded, marked or dropped with a reason; none is lost track of.

mod airtime;
mod cake;
mod catalogue;
mod codel;
mod discipline;
mod drop_tail;
mod dual_pi2;
mod filter;
mod fq_codel;
mod hash;
mod htb;
mod limit;
mod pi;
mod pie;
mod store;
#[cfg(test)]
mod test_packet;

pub use airtime::{Airtime, AirtimeConfig, Priority};
pub use cake::{AckFilter, Cake, CakeConfig, Cells, Diffserv, Framing, FramingError, Isolation};
pub use catalogue::{DefaultSize, Disciplines, OptionError, Options};
pub use codel::{Codel, CodelConfig};
pub use discipline::{Discipline, SizeOption};
pub use drop_tail::{DropTail, DropTailConfig};
pub use dual_pi2::{Decision, DelayInput, DualPi2, DualPi2Config, LowLatencyMarking, Scheduler};
pub use filter::{Classifier, PortRange, Prefix, Rule};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use htb::{Htb, HtbClass, HtbConfig, HtbError, LinkLayer};
pub use limit::Limit;
pub use pie::{Pie, PieConfig};

use gameway_units::{Bytes, Duration, Instant, Rate};

/// Why a queue dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The queue had no room.
    Overflow,
    /// The discipline's signal of congestion.
    Early,
    /// An acknowledgement that a later one makes needless.
    Needless,
    /// Behind the queue: the Wi-Fi medium sent it as often as it may, in vain.
    RetryLimit,
}

/// A packet that a queue dropped, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// When it came.
    pub enqueued: Instant,
    /// Why.
    pub reason: DropReason,
}

/// A packet that leaves the queue for transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dequeued<P> {
    /// The packet.
    pub packet: P,
    /// When it came: the queueing delay of Gameway is from here to the start of its transmission.
    pub enqueued: Instant,
}

/// What waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Bytes on the wire.
    pub bytes: Bytes,
    /// Packets.
    pub packets: u64,
}

impl<P> Dropped<P> {
    /// A packet that finds no room.
    fn on_arrival(now: Instant, packet: P, reason: DropReason) -> Self {
        Self { packet, enqueued: now, reason }
    }

    /// A packet that waited.
    fn waiting(Dequeued { packet, enqueued }: Dequeued<P>, reason: DropReason) -> Self {
        Self { packet, enqueued, reason }
    }
}

impl Backlog {
    /// Whether no more than `limit` waits.
    fn is_within(self, limit: Limit) -> bool {
        match limit {
            Limit::Bytes(max) => self.bytes <= max,
            Limit::Packets(max) => self.packets <= max,
        }
    }

    /// The backlog with one packet of `size` more.
    fn with(self, size: Bytes) -> Self {
        Self { bytes: self.bytes + size, packets: self.packets + 1 }
    }

    /// The backlog after one of its packets, of `size`, has left.
    fn without(self, size: Bytes) -> Self {
        Self { bytes: self.bytes - size, packets: self.packets - 1 }
    }
}

/// A queue discipline. The packet in transmission is no longer part of it.
///
/// What it drops, this packet or others, goes to `dropped`, in the order in which it is dropped, and nowhere else.
pub trait Queue<P> {
    /// Takes a packet.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// Takes a packet that waited in another queue, in whose place this one is now. A discipline that keeps time from
    /// the arrivals of packets must not take the past for its own.
    fn admit(&mut self, _now: Instant, waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        self.enqueue(waiting.enqueued, waiting.packet, dropped);
    }

    /// Gives the next packet to transmit.
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>>;

    /// Gives the next packet that can share a frame with `other`, which left before, and is no larger than `room`. A
    /// discipline that does not know who receives gives what is next.
    fn dequeue_beside(
        &mut self,
        now: Instant,
        _other: &P,
        _room: Bytes,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        self.dequeue(now, dropped)
    }

    /// `taken` left before and is about to be sent: a discipline that would rather give another packet now gives that, and
    /// takes this one back.
    ///
    /// # Errors
    /// `taken` is to be sent.
    fn exchange(&mut self, taken: Dequeued<P>) -> Result<Dequeued<P>, Dequeued<P>> {
        Err(taken)
    }

    /// A frame with this number of bytes of packets, for the receiver of `other`, takes this airtime.
    fn on_airtime(&mut self, _other: &P, _bytes: Bytes, _airtime: Duration) {}

    /// Gives all that waits, each flow's packets in their order: another queue takes this one's place.
    fn drain(&mut self, into: &mut Vec<Dequeued<P>>);

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// When the packet that waits longest came; `None` if none waits.
    fn oldest(&self) -> Option<Instant>;

    /// Tells of a new capacity, for disciplines whose size is a time.
    fn set_limit(&mut self, limit: Limit);

    /// When a packet may leave although none may now: a shaper's next tokens. `None` if one may, or none
    /// waits.
    fn next_release(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// The rate at which it lets packets go, of a shaper; `None`: as fast as the link takes them.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// A shaper has another rate from `now` on; what waits stays. Other queues have none, and stay as they are.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}
}

impl<P, Q: Queue<P> + ?Sized> Queue<P> for Box<Q> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        (**self).enqueue(now, packet, dropped);
    }
    fn admit(&mut self, now: Instant, waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        (**self).admit(now, waiting, dropped);
    }
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        (**self).dequeue(now, dropped)
    }
    fn dequeue_beside(
        &mut self,
        now: Instant,
        other: &P,
        room: Bytes,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        (**self).dequeue_beside(now, other, room, dropped)
    }
    fn exchange(&mut self, taken: Dequeued<P>) -> Result<Dequeued<P>, Dequeued<P>> {
        (**self).exchange(taken)
    }
    fn on_airtime(&mut self, other: &P, bytes: Bytes, airtime: Duration) {
        (**self).on_airtime(other, bytes, airtime);
    }
    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        (**self).drain(into);
    }
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }
    fn oldest(&self) -> Option<Instant> {
        (**self).oldest()
    }
    fn set_limit(&mut self, limit: Limit) {
        (**self).set_limit(limit);
    }
    fn next_release(&self, now: Instant) -> Option<Instant> {
        (**self).next_release(now)
    }
    fn rate(&self) -> Option<Rate> {
        (**self).rate()
    }
    fn set_rate(&mut self, now: Instant, rate: Rate) {
        (**self).set_rate(now, rate);
    }
}
