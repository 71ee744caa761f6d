//! What packets wait for: a queue in front of a link, or a Wi-Fi medium.

use crate::packet::Packet;
use gameway_path::{
    Bottleneck, Dropped, FlowId, Link, Medium, Meter, PathPacket, Queue, Transmitted,
};
use gameway_units::{Bytes, Instant};
use std::net::IpAddr;

/// Any discipline.
pub type AnyQueue = Box<dyn Queue<Packet>>;

/// A bottleneck of the network.
pub enum Hop {
    /// A link of its own, one way.
    Wired(Bottleneck<Packet, AnyQueue>),
    /// A channel that both ways share.
    Wifi(Wifi),
}

/// A medium, and who stands where.
pub struct Wifi {
    medium: Medium<Packet, AnyQueue>,
    /// What it carries at best, for tables and queues sized in time.
    nominal: Link,
    /// Of each flow: its client's address, and the station that has it.
    stations: Vec<(IpAddr, usize)>,
    /// Bytes of the packets that arrived, both ways.
    carried: Bytes,
}

const ACCESS_POINT: usize = 0;

impl Wifi {
    /// A medium whose stations have the addresses of the flows' clients; `stations` is by flow.
    pub fn new(
        medium: Medium<Packet, AnyQueue>,
        nominal: Link,
        stations: Vec<(IpAddr, usize)>,
    ) -> Self {
        Self { medium, nominal, stations, carried: Bytes::ZERO }
    }

    /// To whose queue a packet comes: down to the access point's, up to its station's.
    fn node_of(&self, packet: &Packet) -> usize {
        let FlowId(flow) = packet.flow;
        let (client, station) = self.stations[usize::from(flow)];
        if packet.header().destination.address == client { ACCESS_POINT } else { station }
    }

    fn poll_delivered(&mut self) -> Option<Transmitted<Packet>> {
        let done = self.medium.poll_delivered()?;
        self.carried += done.packet.size;
        Some(done)
    }
}

impl Hop {
    /// Takes a packet. A packet that is dropped (this one or, in some disciplines, another) is returned.
    #[inline]
    pub fn arrive(&mut self, now: Instant, packet: Packet) -> Option<Dropped<Packet>> {
        match self {
            Self::Wired(bottleneck) => bottleneck.arrive(now, packet),
            Self::Wifi(wifi) => {
                let node = wifi.node_of(&packet);
                wifi.medium.arrive(now, node, packet)
            }
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
    pub fn on_deadline(&mut self, now: Instant) -> Option<Transmitted<Packet>> {
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
    pub fn poll_transmitted(&mut self) -> Option<Transmitted<Packet>> {
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

    /// The next packet that was dropped other than on its arrival.
    #[inline]
    pub fn poll_dropped(&mut self) -> Option<Dropped<Packet>> {
        match self {
            Self::Wired(bottleneck) => bottleneck.poll_dropped(),
            Self::Wifi(wifi) => wifi.medium.poll_dropped(),
        }
    }

    /// Whether a packet waits where a home gateway stands: of a medium, at its access point.
    pub fn guards(&self, packet: &Packet) -> bool {
        match self {
            Self::Wired(_) => true,
            Self::Wifi(wifi) => wifi.node_of(packet) == ACCESS_POINT,
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
