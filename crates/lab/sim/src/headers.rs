//! Addresses and ports of the flows: each has a client of its own in the home and a server of its own, unless
//! its specification says otherwise.

use crate::simulation::{CLIENT_PORTS, FIRST_CLIENT_PORT, Flow};
use gameway_experiment::spec::{HeaderSpec, Word};
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

/// The flow that a header belongs to, either way, among flows whose data has these first headers. Flows of one
/// client have their connections' ports one behind the other.
pub fn flow_of(flows: &[Header], header: &Header) -> Option<FlowId> {
    let first = |wanted: &Header| {
        let alike = |own: &Header| {
            own.protocol == wanted.protocol
                && own.source == wanted.source
                && own.destination.address == wanted.destination.address
                && own.destination.port <= wanted.destination.port
        };
        let found = flows.iter().enumerate().filter(|(_, own)| alike(own));
        found.max_by_key(|(_, own)| own.destination.port).map(|(number, _)| FlowId(number as u16))
    };
    first(header).or_else(|| first(&header.reversed()))
}

/// Ports between the first ones of flows of one client, for the connections of each.
const PORTS_PER_FLOW: u16 = 64;

/// The header of what goes down in this flow's first connection, from the first port of its client.
pub fn of(flow: FlowId, protocol: Protocol, spec: &HeaderSpec) -> Header {
    let host = |network: Ipv4Addr, given: Option<Word<IpAddr>>| {
        let number = u32::from(network) + FIRST_HOST + u32::from(flow.0);
        given.map_or(IpAddr::V4(number.into()), |word| word.0)
    };
    let has_ports = protocol != Protocol::Icmp;
    Header {
        source: Endpoint {
            address: host(SERVERS, spec.server),
            port: spec.port.filter(|_| has_ports).unwrap_or(port(protocol)),
        },
        destination: Endpoint {
            address: host(HOME, spec.client),
            port: if has_ports { FIRST_CLIENT_PORT } else { 0 },
        },
        protocol,
        dscp: spec.dscp.map_or(Dscp::default(), |word| word.0),
    }
}

/// Gives flows of one client and protocol different ports, in their order.
pub fn separate(flows: &mut [Flow]) {
    for index in 0..flows.len() {
        let Header { destination, protocol, .. } = flows[index].header;
        let same = |other: &&Flow| {
            let header = other.header;
            header.destination.address == destination.address && header.protocol == protocol
        };
        let before = flows[..index].iter().filter(same).count() as u64;
        if protocol != Protocol::Icmp && before > 0 {
            let offset = before * u64::from(PORTS_PER_FLOW) % u64::from(CLIENT_PORTS);
            flows[index].header.destination.port = FIRST_CLIENT_PORT + offset as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_tells_its_flow_either_way() {
        let mut headers: Vec<Header> = [0, 1, 245, 246, 999]
            .map(|number| of(FlowId(number), Protocol::Tcp, &HeaderSpec::default()))
            .into();
        // A second flow of the last one's client and server.
        let mut second = headers[4];
        second.destination.port += PORTS_PER_FLOW;
        headers.push(second);
        for (number, header) in headers.iter().enumerate() {
            let mut connection = *header;
            connection.destination.port += 3;
            for one in [connection, connection.reversed()] {
                assert_eq!(flow_of(&headers, &one), Some(FlowId(number as u16)));
            }
        }
        assert_eq!(flow_of(&headers, &Header::numbered(1)), None);
    }
}
