//! What a packet's IP and transport headers say: by this classifiers and fair queues tell flows apart.
//!
//! Source: RFC 791 and RFC 8200 (addresses), RFC 2474 section 3 (DSCP), RFC 9293 and RFC 768 (ports).

use core::net::{IpAddr, Ipv4Addr};

/// One end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port; 0 where the protocol has none.
    pub port: u16,
}

/// The transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Echo requests and replies.
    Icmp,
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

/// Differentiated-services code point: the upper six bits of the traffic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dscp(pub u8);

/// The headers of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Header {
    /// Where it comes from.
    pub source: Endpoint,
    /// Where it goes.
    pub destination: Endpoint,
    /// What it is.
    pub protocol: Protocol,
    /// How it wants to be treated.
    pub dscp: Dscp,
}

impl Header {
    /// A UDP flow told from others by `number`, from one documentation network (RFC 5737) to another: for
    /// tests, and where addresses do not matter.
    #[must_use]
    pub const fn numbered(number: u16) -> Self {
        Self {
            source: Endpoint { address: IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), port: number },
            destination: Endpoint {
                address: IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)),
                port: number,
            },
            protocol: Protocol::Udp,
            dscp: Dscp(0),
        }
    }

    /// The header of what comes back.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

/// What a gateway takes a flow for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Traffic {
    /// A game stream.
    Game,
    /// Anything else.
    Other,
}
