//! What a home gateway does for a game: it finds the stream among all traffic by behaviour alone
//! ([`classifier`]), and keeps the downloads of a home from queueing in front of it, by lowering the window that
//! TCP receivers advertise ([`Gateway`]). Nothing in the home or at the servers changes.
//!
//! Sans-IO: a driver, simulated or live, hands a [`Gateway`] what passes, in the form that it has on the
//! wire ([`Segment`]), and tells it how long packets waited in the queue that it guards. The gateway changes
//! windows in place, never upwards and nothing else.
//!
//! ```
//! use gameway_gateway::{Gateway, Packet, Passage, Voap, VoapConfig};
//! use gameway_path::Header;
//! use gameway_units::{Bytes, Instant};
//!
//! let mut gateway = Voap::new(VoapConfig::default());
//! let mut game = Packet::new(Header::numbered(1), Bytes::new(947), None);
//! assert!(!gateway.on_packet(Instant::ZERO, Passage::Queue, &mut game));
//! let due = gateway.next_deadline();
//! gateway.on_deadline(due, Some(Instant::ZERO));
//! assert!(gateway.next_deadline() > due);
//! ```

mod arrival_rate;
#[cfg(test)]
mod by_hand;
mod catalogue;
pub mod classifier;
mod direction;
mod floor;
mod flows;
mod frames;
mod front;
mod history;
mod home;
mod link_rate;
mod loop_time;
mod lru;
mod modes;
mod one_way;
mod remote_queue;
mod sap_law;
mod segment;
mod spin;
mod stamps;
mod voap;
mod way_out;
mod ways;

pub use catalogue::Gateways;
pub use direction::{Direction, Limit, Shift};
pub use flows::FlowTable;
pub use home::Home;
pub use lru::{LruMap, Place};
pub use modes::{BothConfig, ShapeConfig, Target, WindowsConfig};
pub use remote_queue::{RemoteQueue, WaitSource};
pub use sap_law::{SapLaw, SapLawConfig};
pub use segment::{Flags, MAX_SHIFT, Segment, Timestamps};
pub use spin::QuicHeader;
pub use voap::{Control, Fairness, Leftover, Newcomers, Step, Voap, VoapConfig};

pub use gameway_path::Passage;

use gameway_path::Header;
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// A packet as it passes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Packet<'a> {
    /// Its headers.
    pub header: Header,
    /// On the wire, including the IP header.
    pub size: Bytes,
    /// What it carries, if that is TCP.
    pub segment: Option<&'a mut Segment>,
    /// Of an echo request or its reply (ICMP), what the two have in common.
    pub echo: Option<u32>,
    /// Of a datagram that begins as a QUIC packet.
    pub quic: Option<QuicHeader>,
}

impl<'a> Packet<'a> {
    /// A packet of this size on the wire, and its TCP segment.
    #[must_use]
    pub const fn new(header: Header, size: Bytes, segment: Option<&'a mut Segment>) -> Self {
        Self { header, size, segment, echo: None, quic: None }
    }

    /// The same, if it is an echo request or reply, of which `echo` is identifier and number.
    #[must_use]
    pub const fn with_echo(self, echo: Option<u32>) -> Self {
        Self { echo, ..self }
    }

    /// The same, if it begins as a QUIC packet does.
    #[must_use]
    pub const fn with_quic(self, quic: Option<QuicHeader>) -> Self {
        Self { quic, ..self }
    }
}

/// Something that a gateway knows, for its log.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Observation {
    /// The flow, by the header of its data; `None`: of the gateway itself.
    pub flow: Option<Header>,
    /// What it is, with the unit.
    pub variable: &'static str,
    /// Its value.
    pub value: f64,
}

impl Observation {
    /// Of the gateway itself.
    #[must_use]
    pub const fn new(variable: &'static str, value: f64) -> Self {
        Self { flow: None, variable, value }
    }

    /// The same, of the flow whose data has this header.
    #[must_use]
    pub const fn with_flow(self, header: Header) -> Self {
        Self { flow: Some(header), ..self }
    }
}

/// An algorithm of a home gateway.
pub trait Gateway {
    /// A packet passes. Gives whether its window was changed (and its checksum must be).
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool;

    /// A packet of `size` leaves the guarded queue after waiting so long.
    fn on_departure(&mut self, now: Instant, size: Bytes, queueing_delay: Duration);

    /// The same of a packet whose headers the driver knows.
    fn on_departure_of(&mut self, now: Instant, _header: &Header, size: Bytes, waited: Duration) {
        self.on_departure(now, size, waited);
    }

    /// When [`Self::on_deadline`] is due.
    fn next_deadline(&self) -> Instant;

    /// That time has come; `oldest`: when the packet came that waits longest in the queue now.
    fn on_deadline(&mut self, now: Instant, oldest: Option<Instant>);

    /// Tells what it would write into the windows of each flow whose windows it can read, for a driver that writes them
    /// elsewhere, between calls of [`Self::on_packet`].
    fn limits(&self, tell: &mut dyn FnMut(Limit));

    /// The rate that the shaper of the guarded queue is to have from now on; `None`: nothing is known yet, or this algorithm
    /// has no shaper ([`Self::shapes`]).
    fn shaped_rate(&self) -> Option<Rate> {
        None
    }

    /// A shaper is its own, too, in which what the home sends waits, and echo requests go first.
    fn guard_way_out(&mut self) {}

    /// This number of bytes has left that queue since the last call.
    fn on_left_home(&mut self, _now: Instant, _size: Bytes) {}

    /// The rate that it is to have from now on; as of [`Self::shaped_rate`].
    fn shaped_rate_out(&self) -> Option<Rate> {
        None
    }

    /// Whether it needs the guarded queue to be a shaper, whose rate it sets.
    fn shapes(&self) -> bool {
        false
    }

    /// Tells what it knows, in an order that depends on nothing but what it has seen.
    fn observe(&self, log: &mut dyn FnMut(Observation));
}

/// A gateway that a file can name, by its configuration.
pub trait GatewayAlgorithm: Configuration {
    /// A gateway that has seen nothing yet.
    fn build(self) -> Box<dyn Gateway>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_handed_on_with_the_byte_that_it_begins_with() {
        let spin = Some(QuicHeader::read(0x60, 1));
        let packet = Packet::new(Header::numbered(1), Bytes::new(1200), None).with_quic(spin);
        assert_eq!((packet.quic, packet.echo), (spin, None));
    }
}
