//! What a driver puts on the wire.

use gameway_units::Ecn;
use std::net::SocketAddr;

/// What carries a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// A packet of its own.
    Udp,
    /// A frame on a connection that the client opened (RFC 4571, RFC 6544).
    Tcp,
}

/// The other end of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remote {
    /// Its address.
    pub address: SocketAddr,
    /// What leads there.
    pub over: Transport,
}

impl From<SocketAddr> for Remote {
    fn from(address: SocketAddr) -> Self {
        Self { address, over: Transport::Udp }
    }
}

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// From which address of ours, where that matters; the socket's port is the same.
    pub from: Option<SocketAddr>,
    /// To which address.
    pub to: SocketAddr,
    /// By what.
    pub over: Transport,
    /// With which ECN field; TCP has its own.
    pub ecn: Ecn,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Transmit {
    /// Where it goes.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote { address: self.to, over: self.over }
    }
}
