//! What a driver puts on the wire.

use gameway_units::Ecn;
use std::net::SocketAddr;

/// A datagram to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// From which address of ours, where that matters; the socket's port is the same.
    pub from: Option<SocketAddr>,
    /// To which address.
    pub to: SocketAddr,
    /// With which ECN field.
    pub ecn: Ecn,
    /// Its content.
    pub bytes: Vec<u8>,
}
