//! What packets wait for: a queue in front of a link, or a Wi-Fi medium.

use crate::{
    Bottleneck, Direction, Dropped, HopChange, Link, Medium, Meter, PathPacket, Queue, Transmitted,
};
use gameway_units::{Bytes, Instant, Rate};
use std::vec::Drain;

/// Any discipline.
pub type AnyQueue<P> = Box<dyn Queue<P>>;

/// A bottleneck of the network.
#[expect(
    clippy::large_enum_variant,
    reason = "a network has a few; a box would be a step more for each packet"
)]
pub enum Hop<P> {
    /// A link of its own, one way.
    Wired(Bottleneck<P, AnyQueue<P>>),
    /// A channel that both ways share.
    Wifi(Wifi<P>),
}

/// A medium, and what it has carried.
pub struct Wifi<P> {
    medium: Medium<P, AnyQueue<P>>,
    /// What it carries at best, for tables and queues sized in time.
    nominal: Link,
    /// Bytes of the packets that arrived, both ways.
    carried: Bytes,
}

/// Of a medium.
const ACCESS_POINT: usize = 0;

impl<P: PathPacket> Wifi<P> {
    /// A medium of such a nominal capacity.
    pub fn new(medium: Medium<P, AnyQueue<P>>, nominal: Link) -> Self {
        Self { medium, nominal, carried: Bytes::ZERO }
    }

    /// Down it comes to the access point's queue, up to that of its flow's station.
    fn arrive(&mut self, now: Instant, direction: Direction, packet: P) {
        let node = match direction {
            Direction::Down => ACCESS_POINT,
            Direction::Up => self.medium.station_of(packet.flow()),
        };
        self.medium.arrive(now, node, packet);
    }

    fn poll_delivered(&mut self) -> Option<Transmitted<P>> {
        let done = self.medium.poll_delivered()?;
        self.carried += done.packet.wire_size();
        Some(done)
    }
}

impl<P: PathPacket> Hop<P> {
    /// Takes a packet that goes this way.
    #[inline]
    pub fn arrive(&mut self, now: Instant, direction: Direction, packet: P) {
        match self {
            Self::Wired(bottleneck) => bottleneck.arrive(now, packet),
            Self::Wifi(wifi) => wifi.arrive(now, direction, packet),
        }
    }

    /// See [`Bottleneck::change`]; a medium stays as it is.
    pub fn change(&mut self, now: Instant, change: HopChange<AnyQueue<P>>) {
        match self {
            Self::Wired(bottleneck) => bottleneck.change(now, change),
            Self::Wifi(_) => {}
        }
    }

    /// See [`Bottleneck::shaped_rate`]; a medium has none.
    pub fn shaped_rate(&self) -> Option<Rate> {
        match self {
            Self::Wired(bottleneck) => bottleneck.shaped_rate(),
            Self::Wifi(_) => None,
        }
    }

    /// See [`Bottleneck::set_shaped_rate`].
    pub fn set_shaped_rate(&mut self, now: Instant, rate: Rate) {
        if let Self::Wired(bottleneck) = self {
            bottleneck.set_shaped_rate(now, rate);
        }
    }

    /// When it wants to act.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Wired(bottleneck) => bottleneck.next_deadline(),
            Self::Wifi(wifi) => wifi.medium.next_deadline(),
        }
    }

    /// That time has come. The first packet that has left, if any.
    #[inline]
    pub fn on_deadline(&mut self, now: Instant) -> Option<Transmitted<P>> {
        match self {
            Self::Wired(bottleneck) => bottleneck.on_deadline(now),
            Self::Wifi(wifi) => {
                wifi.medium.on_deadline(now);
                wifi.poll_delivered()
            }
        }
    }

    /// A further packet that has left at the same time.
    #[inline]
    pub fn poll_transmitted(&mut self) -> Option<Transmitted<P>> {
        match self {
            Self::Wired(_) => None,
            Self::Wifi(wifi) => wifi.poll_delivered(),
        }
    }

    /// What it did before `now`; of a medium, the bytes of packets that have arrived.
    pub fn meter(&self, now: Instant) -> Meter {
        match self {
            Self::Wired(bottleneck) => bottleneck.meter(now),
            Self::Wifi(wifi) => Meter { busy: wifi.medium.airtime(now), carried: wifi.carried },
        }
    }

    /// Whether [`Self::drain_dropped`] has something.
    #[inline]
    pub const fn has_dropped(&self) -> bool {
        match self {
            Self::Wired(bottleneck) => bottleneck.has_dropped(),
            Self::Wifi(wifi) => wifi.medium.has_dropped(),
        }
    }

    /// The packets that were dropped since the last call.
    #[inline]
    pub fn drain_dropped(&mut self) -> Drain<'_, Dropped<P>> {
        match self {
            Self::Wired(bottleneck) => bottleneck.drain_dropped(),
            Self::Wifi(wifi) => wifi.medium.drain_dropped(),
        }
    }

    /// Whether what goes this way waits where a home gateway stands: of a medium, at its access point.
    pub fn guards(&self, direction: Direction) -> bool {
        match self {
            Self::Wired(_) => true,
            Self::Wifi(_) => direction == Direction::Down,
        }
    }

    /// When the packet came that waits longest: of a medium, at its access point.
    pub fn oldest(&self) -> Option<Instant> {
        match self {
            Self::Wired(bottleneck) => bottleneck.oldest(),
            Self::Wifi(wifi) => wifi.medium.oldest(ACCESS_POINT),
        }
    }

    /// Bytes that wait: of a medium, at its access point.
    #[inline]
    pub fn queued_bytes(&self) -> Bytes {
        match self {
            Self::Wired(bottleneck) => bottleneck.queued_bytes(),
            Self::Wifi(wifi) => wifi.medium.queued_bytes(ACCESS_POINT),
        }
    }

    /// Packets inside.
    #[inline]
    pub fn packets_inside(&self) -> u64 {
        match self {
            Self::Wired(bottleneck) => bottleneck.packets_inside(),
            Self::Wifi(wifi) => wifi.medium.packets_inside(),
        }
    }

    /// Its capacity over time: of a medium, the nominal one.
    #[inline]
    pub fn link(&self) -> &Link {
        match self {
            Self::Wired(bottleneck) => bottleneck.link(),
            Self::Wifi(wifi) => &wifi.nominal,
        }
    }
}
