//! Addresses and ports of the flows: each has a client of its own in the home and a server of its own.

use crate::network::FIRST_CLIENT_PORT;
use gameway_path::{Dscp, Endpoint, FlowId, Header, Protocol};
use std::net::{IpAddr, Ipv4Addr};

/// The home's network (RFC 1918): its hosts are numbered as the flows.
const HOME: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 0);
/// The servers' network (RFC 2544 appendix C.2.2, for benchmarks).
const SERVERS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// The first host of either that is given to a flow.
const FIRST_HOST: u32 = 10;

/// RTP by custom; HTTPS; a port has no meaning in an echo.
const fn port(protocol: Protocol) -> u16 {
    match protocol {
        Protocol::Udp => 5004,
        Protocol::Tcp => 443,
        Protocol::Icmp => 0,
    }
}

/// The header of what goes down in this flow's first connection.
pub fn of(flow: FlowId, protocol: Protocol) -> Header {
    let host = |network: Ipv4Addr, port| {
        let number = u32::from(network) + FIRST_HOST + u32::from(flow.0);
        Endpoint { address: IpAddr::V4(number.into()), port }
    };
    let client_port = if protocol == Protocol::Icmp { 0 } else { FIRST_CLIENT_PORT };
    Header {
        source: host(SERVERS, port(protocol)),
        destination: host(HOME, client_port),
        protocol,
        dscp: Dscp::default(),
    }
}
