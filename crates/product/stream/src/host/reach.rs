//! The addresses at which a host is reached.

use crate::HostConfig;
use gameway_webrtc::ice::LocalCandidate;
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

/// The ways that an answer names: where media is received, where others see that, and where the page was opened, `at`, from which
/// it follows that a port of TCP is reached there.
pub(crate) fn ways(
    config: &HostConfig,
    listening: SocketAddr,
    reflexive: impl Iterator<Item = SocketAddr>,
    at: Option<(String, u16)>,
) -> Vec<LocalCandidate> {
    let own = reached(listening, &config.media_addresses);
    let mut ways: Vec<LocalCandidate> = own.iter().copied().map(LocalCandidate::Host).collect();
    if !config.media_addresses.is_empty() {
        // What is in front of the host hands on what it was told to, and measures it: nothing goes past it.
        return ways;
    }
    let mut known = own;
    let page =
        at.as_ref().and_then(|(host, port)| Some(SocketAddr::new(host.parse().ok()?, *port)));
    // A router that hands on the page's port most likely does so for UDP as well.
    let page = page.filter(|page| !page.ip().is_loopback());
    for outside in reflexive.chain(page) {
        if !known.contains(&outside) {
            known.push(outside);
            ways.push(LocalCandidate::Reflexive(outside));
        }
    }
    ways.extend(at.filter(|_| config.tcp).map(|(host, port)| LocalCandidate::Tcp(host, port)));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn where_the_page_was_opened_media_can_come_by_tcp() {
        let config = HostConfig::default();
        let (own, seen) = (at("192.0.2.7:8443"), at("198.51.100.1:4000"));
        let page = |host: &str| Some((host.to_owned(), 443));
        let all = |host: &str| ways(&config, own, std::iter::once(seen), page(host));
        let tcp = |host: &str| LocalCandidate::Tcp(host.to_owned(), 443);
        let (host, outside) = (LocalCandidate::Host(own), LocalCandidate::Reflexive(seen));
        assert_eq!(all("127.0.0.1"), [host.clone(), outside.clone(), tcp("127.0.0.1")]);
        assert_eq!(all("game-box"), [host.clone(), outside.clone(), tcp("game-box")]);
        let forwarded = LocalCandidate::Reflexive(at("198.51.100.9:443"));
        let expected = [host.clone(), outside.clone(), forwarded, tcp("198.51.100.9")];
        assert_eq!(all("198.51.100.9"), expected);
        let none = std::iter::empty;
        let without = HostConfig { tcp: false, ..HostConfig::default() };
        let alone = [host];
        assert_eq!(ways(&without, own, none(), page("game-box")), alone);
        assert_eq!(ways(&config, own, std::iter::once(own), None), alone);
        // Nothing goes past what is in front.
        let media_addresses = vec![at("203.0.113.1:1").ip()];
        let behind = HostConfig { media_addresses, ..HostConfig::default() };
        let handed = [LocalCandidate::Host(at("203.0.113.1:8443"))];
        assert_eq!(ways(&behind, own, std::iter::once(seen), page("203.0.113.1")), handed);
    }
}
