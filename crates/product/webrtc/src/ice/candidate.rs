//! Candidates (RFC 8839 section 5.1, RFC 6544 section 4.5): the ways to us that our answer names, and those of the other side.

use crate::transmit::{Remote, Transport};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Type preference 126 of RFC 8445 section 5.1.2.1.
pub(crate) const HOST_PRIORITY: u32 = (126 << 24) | (65_535 << 8) | 255;
/// Type preference 100.
const REFLEXIVE_PRIORITY: u32 = (100 << 24) | (65_535 << 8) | 255;
/// Below a relay that a client reaches by UDP (libwebrtc has 2 there) and no lower than one that it reaches by TCP (1): media over
/// TCP waits for what the path has lost.
pub(crate) const TCP_PRIORITY: u32 = (1 << 24) | (65_535 << 8) | 255;

/// Where we can be reached, as our answer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalCandidate {
    /// Where the media socket is reached straight.
    Host(SocketAddr),
    /// Where it is reached by what is in front of it, as others see it.
    Reflexive(SocketAddr),
    /// Where our port of TCP is reached: an address or a name, and the port.
    Tcp(String, u16),
}

impl From<SocketAddr> for LocalCandidate {
    fn from(address: SocketAddr) -> Self {
        Self::Host(address)
    }
}

/// The `index`th of our candidates as a line of a description.
pub(crate) struct CandidateLine<'a>(pub(crate) usize, pub(crate) &'a LocalCandidate);

impl fmt::Display for CandidateLine<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(index, way) = *self;
        // Ours are in their order, of each kind.
        let later = (index as u32) << 8;
        write!(formatter, "a=candidate:{} 1 ", index + 1)?;
        match way {
            LocalCandidate::Host(at) => {
                let priority = HOST_PRIORITY - later;
                write!(formatter, "udp {priority} {} {} typ host", at.ip(), at.port())
            }
            LocalCandidate::Reflexive(at) => {
                let priority = REFLEXIVE_PRIORITY - later;
                // Nobody needs to know where it is from.
                let from = if at.is_ipv4() { "0.0.0.0" } else { "::" };
                let (ip, port) = (at.ip(), at.port());
                write!(formatter, "udp {priority} {ip} {port} typ srflx raddr {from} rport 0")
            }
            LocalCandidate::Tcp(host, port) => {
                let priority = TCP_PRIORITY - later;
                write!(formatter, "tcp {priority} {host} {port} typ host tcptype passive")
            }
        }
    }
}

/// Where the other side may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteCandidate {
    /// Its address.
    pub remote: Remote,
    /// How much it wants to be reached there.
    pub priority: u32,
}

impl RemoteCandidate {
    /// A candidate of component 1 with a plain address, to which something can be sent: by UDP, or by TCP if it waits for connections.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let words: Vec<&str> = value.split(' ').collect();
        let [_, "1", protocol, priority, address, port, "typ", ref rest @ ..] = words[..] else {
            return None;
        };
        let is_passive = || rest.windows(2).any(|pair| pair == ["tcptype", "passive"]);
        let over = match protocol.to_ascii_lowercase().as_str() {
            "udp" => Transport::Udp,
            "tcp" if is_passive() => Transport::Tcp,
            _ => return None,
        };
        let ip: IpAddr = address.parse().ok().filter(is_destination)?;
        let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
        let priority = priority.parse().ok()?;
        Some(Self { remote: Remote { address: SocketAddr::new(ip, port), over }, priority })
    }
}

/// Whether it is the address of one machine that is known without its network.
fn is_destination(ip: &IpAddr) -> bool {
    let is_local = match ip {
        IpAddr::V4(v4) => v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !ip.is_unspecified() && !ip.is_multicast() && !is_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_read_as_written_and_those_by_tcp_come_last() {
        let at: SocketAddr = "192.0.2.7:8443".parse().expect("an address");
        let ways = [
            LocalCandidate::Host(at),
            LocalCandidate::Reflexive(at),
            LocalCandidate::Tcp("192.0.2.7".to_owned(), 8443),
        ];
        let read: Vec<RemoteCandidate> = ways
            .iter()
            .enumerate()
            .map(|(index, way)| {
                let line = CandidateLine(index, way).to_string();
                RemoteCandidate::parse(line.strip_prefix("a=candidate:").expect("a line"))
                    .expect("read")
            })
            .collect();
        assert!(read.iter().all(|one| one.remote.address == at));
        assert!(read.is_sorted_by(|one, next| one.priority > next.priority));
        assert_eq!(read[2].remote.over, Transport::Tcp);
    }

    #[test]
    fn what_cannot_be_sent_to_is_passed_over() {
        for value in [
            "1 1 udp 1 0.0.0.0 5 typ host",
            "1 1 udp 1 255.255.255.255 5 typ host",
            "1 1 udp 1 224.0.0.1 5 typ host",
            "1 1 udp 1 fe80::1 5 typ host",
            "1 1 udp 1 192.0.2.1 0 typ host",
            "1 1 udp 1 f3b1c0de-0000.local 5 typ host",
            "1 2 udp 1 192.0.2.1 5 typ host",
            "1 1 tcp 1 192.0.2.1 9 typ host tcptype active",
            "1 1 udp much 192.0.2.1 5 typ host",
            "1 1 udp 1 192.0.2.1 5 host",
            "",
        ] {
            assert_eq!(RemoteCandidate::parse(value), None, "{value}");
        }
        assert!(
            RemoteCandidate::parse("1 1 UDP 1 2001:db8::1 5 typ relay raddr :: rport 0").is_some()
        );
    }
}
