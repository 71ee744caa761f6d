//! What a packet's IP and transport headers say: by this classifiers and fair queues tell flows apart.
//!
//! Source: RFC 791 and RFC 8200 (addresses), RFC 2474 section 3 (DSCP), RFC 9293 and RFC 768 (ports). Names of
//! code points: RFC 2474 section 4.2.2 (CS), RFC 2597 section 6 (AF), RFC 3246 section 2.7 (EF), RFC 5865
//! (VOICE-ADMIT), RFC 8622 (LE).

use core::net::{IpAddr, Ipv4Addr};
use std::fmt;
use std::str::FromStr;

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

/// A word that is no part of a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{word}\" is no {what}")]
#[non_exhaustive]
pub struct HeaderError {
    pub(crate) word: String,
    pub(crate) what: &'static str,
}

/// What it is called in experiment files.
const PROTOCOLS: [(&str, Protocol); 3] =
    [("icmp", Protocol::Icmp), ("tcp", Protocol::Tcp), ("udp", Protocol::Udp)];
const TRAFFIC: [(&str, Traffic); 2] = [("game", Traffic::Game), ("other", Traffic::Other)];
const DSCPS: [(&str, u8); 24] = [
    ("cs0", 0),
    ("df", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

fn named<T: Copy>(word: &str, known: &[(&str, T)], what: &'static str) -> Result<T, HeaderError> {
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    found.map(|&(_, value)| value).ok_or_else(|| HeaderError { word: word.to_owned(), what })
}

impl FromStr for Protocol {
    type Err = HeaderError;
    fn from_str(word: &str) -> Result<Self, HeaderError> {
        named(word, &PROTOCOLS, "protocol: known are icmp, tcp, udp")
    }
}

fn name_of<T: PartialEq>(value: &T, known: &[(&'static str, T)]) -> &'static str {
    known.iter().find(|(_, other)| other == value).map_or("", |(name, _)| name)
}

impl fmt::Display for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(name_of(self, &PROTOCOLS))
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(name_of(self, &TRAFFIC))
    }
}

impl FromStr for Traffic {
    type Err = HeaderError;
    fn from_str(word: &str) -> Result<Self, HeaderError> {
        named(word, &TRAFFIC, "kind of traffic: known are game, other")
    }
}

impl Dscp {
    /// The greatest of six bits.
    const MAX: u8 = 63;
}

impl FromStr for Dscp {
    type Err = HeaderError;

    /// A name in either case, or a number up to 63.
    fn from_str(word: &str) -> Result<Self, HeaderError> {
        if let Ok(number) = word.parse::<u8>()
            && number <= Self::MAX
        {
            return Ok(Self(number));
        }
        const WHAT: &str =
            "DSCP: known are 0 to 63, df, cs0 to cs7, af11 to af43, ef, le, voice-admit";
        named(word, &DSCPS, WHAT).map(Self)
    }
}

impl fmt::Display for Dscp {
    /// Its name if it has one, else its number.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DSCPS.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => formatter.write_str(name),
            None => write!(formatter, "{}", self.0),
        }
    }
}

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
