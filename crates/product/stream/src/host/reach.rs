//! The addresses at which a host is reached.

use std::net::{IpAddr, SocketAddr};

/// Where clients reach a host that listens there: `elsewhere`, where something hands on, or else straight here.
pub(crate) fn reached(listening: SocketAddr, elsewhere: &[IpAddr]) -> Vec<SocketAddr> {
    if elsewhere.is_empty() {
        return candidates(listening);
    }
    elsewhere.iter().map(|&ip| SocketAddr::new(ip, listening.port())).collect()
}

/// Where clients may reach the host: where we listen, or where this machine can be reached if we listen everywhere.
pub(crate) fn candidates(listening: SocketAddr) -> Vec<SocketAddr> {
    if !listening.ip().is_unspecified() {
        return vec![listening];
    }
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let ip = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => IpAddr::V4(v4.ip()),
            (_, Some(v6)) if listening.is_ipv6() && v6.scope_id() == 0 => IpAddr::V6(v6.ip()),
            _ => return None,
        };
        Some(SocketAddr::new(ip, listening.port()))
    });
    let mut found: Vec<SocketAddr> = addresses.collect();
    // A client elsewhere cannot use loopback, and tries in this order.
    found.sort_by_key(|address| address.ip().is_loopback());
    found
}
