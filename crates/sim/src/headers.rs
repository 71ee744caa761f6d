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

/// The flow that a header belongs to, either way.
pub fn flow_of(header: &Header) -> FlowId {
    let number = |address: IpAddr, network: Ipv4Addr| match address {
        IpAddr::V4(address) => u32::from(address).checked_sub(u32::from(network) + FIRST_HOST),
        IpAddr::V6(_) => None,
    };
    let home = number(header.source.address, HOME).filter(|number| *number <= u32::from(u16::MAX));
    let home = home.or_else(|| number(header.destination.address, HOME)).unwrap_or(0);
    FlowId(home as u16)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_its_flow_either_way() {
        for number in [0, 1, 245, 246, 999] {
            let header = of(FlowId(number), Protocol::Tcp);
            assert_eq!(flow_of(&header), FlowId(number));
            assert_eq!(flow_of(&header.reversed()), FlowId(number));
        }
    }
}
