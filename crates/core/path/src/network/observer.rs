//! What a network tells of the packets in it, as it happens.

use crate::{DropReason, PathPacket, Transmitted};
use gameway_units::{Bytes, Duration, Instant};

/// What a network notes in each of its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Journey {
    /// When it was sent.
    pub came: Instant,
    /// How long it waited in queues so far.
    pub waited: Duration,
    /// How many bottlenecks of its way it has passed.
    pub hops_passed: u8,
    /// Whether it goes from the receiver of its flow to the sender.
    pub returning: bool,
    /// Whether totals count it: data always, and what is sent back where it passes a bottleneck.
    pub counted: bool,
    /// Whether it is a copy that the path made of another.
    pub is_copy: bool,
}

impl Journey {
    /// That of a packet with data, or of one that its receiver sends back.
    #[must_use]
    pub const fn new(returning: bool) -> Self {
        let (came, waited) = (Instant::ZERO, Duration::ZERO);
        Self { came, waited, hops_passed: 0, returning, counted: false, is_copy: false }
    }
}

/// A packet that a network can carry. It is moved from part to part, so a great one should be a box.
pub trait NetworkPacket: PathPacket {
    /// Of which `returning` is set by the end that sends it, and the rest by the network.
    fn journey(&self) -> &Journey;
    /// The same, for the network.
    fn journey_mut(&mut self) -> &mut Journey;
}

impl<P: NetworkPacket + ?Sized> NetworkPacket for Box<P> {
    #[inline]
    fn journey(&self) -> &Journey {
        (**self).journey()
    }
    #[inline]
    fn journey_mut(&mut self) -> &mut Journey {
        (**self).journey_mut()
    }
}

/// What becomes of a packet at the bottlenecks of its way and behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A queue or a medium dropped it.
    Dropped {
        /// Why.
        reason: DropReason,
    },
    /// It left the last bottleneck and was lost behind it.
    Lost {
        /// Its last bit left then.
        departed: Instant,
    },
    /// It reaches the other end.
    Delivered {
        /// Its last bit left then.
        departed: Instant,
        /// It arrives then.
        arrived: Instant,
    },
    /// It is a copy of one, made behind the last bottleneck.
    Copied {
        /// The last bit of that one left then.
        departed: Instant,
        /// The copy arrives then.
        arrived: Instant,
    },
}

/// Where a packet passes a home gateway, which stands in front of the path's own bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// It comes to the queue that the gateway guards.
    Queue,
    /// It goes another way, in general the other direction: it comes to the gateway's queue for what the home sends if there is one.
    Beside,
}

/// What is told of a network. Each method is called at the packet's own time, however late the driver.
pub trait Observer<P> {
    /// An end sends a packet.
    fn sent(&mut self, _packet: &P) {}

    /// A packet passes the home gateway, which may change what it carries.
    fn passes_gateway(&mut self, _now: Instant, _passage: Passage, _packet: &mut P) {}

    /// The bytes that wait at a bottleneck changed to this number.
    fn queue_is(&mut self, _now: Instant, _hop: usize, _bytes: Bytes) {}

    /// A packet has left a bottleneck; `guarded`: the gateway's, which it passed as [`Passage::Queue`].
    fn transmitted(&mut self, _hop: usize, _guarded: bool, _done: &Transmitted<P>) {}

    /// A packet of this size has left the gateway's bottleneck for what the home sends.
    fn left_home(&mut self, _now: Instant, _size: Bytes) {}

    /// A packet has passed all bottlenecks of its way.
    fn forwarded(&mut self, _packet: &P) {}

    /// The path makes a copy of a packet; `None` if there is no room for one.
    fn copied(&mut self, packet: &P) -> Option<P>;

    /// What becomes of a packet is known: it was dropped or lost now, or sets out for the other end.
    fn fate(&mut self, _packet: &P, _fate: Fate) {}

    /// A packet reaches the other end now.
    fn arrived(&mut self, _packet: &P) {}
}
