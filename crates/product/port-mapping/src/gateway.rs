//! Which router is asked, and for what: the default gateway of IPv4, as the kernel's table has it (proc_net(5): `/proc/net/route`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// Of the network namespace of this thread; that of `/proc/net` is the process's.
const TABLE: &str = "/proc/thread-self/net/route";
/// The flags of a route that is up and leads to a gateway (RTF_UP, RTF_GATEWAY of `linux/route.h`).
const UP_BY_GATEWAY: u32 = 3;
/// The port of PCP and NAT-PMP (RFC 6887 section 19.5); to ask for a route there sends nothing.
const PORT: u16 = 5_351;

/// What is asked of a router: that it hands on to `local`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappingRequest {
    router: Ipv4Addr,
    local: SocketAddrV4,
}

impl MappingRequest {
    /// That the machine's router hands on to who listens there.
    ///
    /// # Errors
    /// Why no router can be asked for that.
    pub fn of(listening: SocketAddr) -> Result<Self, String> {
        if listening.ip().is_loopback() {
            return Err(format!("only this machine reaches {listening}"));
        }
        let table = std::fs::read_to_string(TABLE).map_err(|error| format!("{TABLE}: {error}"))?;
        let router =
            default_gateway(&table).ok_or("this machine has no default gateway of IPv4")?;
        let own = towards(router).map_err(|error| format!("no route to {router}: {error}"))?;
        let any = listening.ip().is_unspecified();
        if !any && listening.ip() != IpAddr::V4(own) {
            let at = listening.ip();
            return Err(format!("the router {router} knows this machine as {own}, and not {at}"));
        }
        Ok(Self { router, local: SocketAddrV4::new(own, listening.port()) })
    }

    /// Who is asked.
    #[must_use]
    pub fn router(&self) -> Ipv4Addr {
        self.router
    }

    pub(crate) fn local(&self) -> SocketAddrV4 {
        self.local
    }

    #[cfg(test)]
    pub(crate) fn new(router: Ipv4Addr, local: SocketAddrV4) -> Self {
        Self { router, local }
    }
}

/// The gateway of the default route with the least metric.
fn default_gateway(table: &str) -> Option<Ipv4Addr> {
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, to, gateway, flags, _, _, metric, mask, ..] = fields[..] else { return None };
        let number = |text| u32::from_str_radix(text, 16).ok();
        let is_default = number(to)? == 0 && number(mask)? == 0;
        let leads = number(flags)? & UP_BY_GATEWAY == UP_BY_GATEWAY;
        // As the machine has the four bytes of the network.
        let gateway = Ipv4Addr::from(number(gateway)?.to_ne_bytes());
        (is_default && leads).then_some((metric.parse::<u32>().ok()?, gateway))
    };
    // Of equal ones the first, as the kernel takes it.
    table.lines().filter_map(route).min_by_key(|(metric, _)| *metric).map(|(_, gateway)| gateway)
}

/// The address that this machine has towards there.
#[expect(clippy::disallowed_types, reason = "a driver asks the system for a route")]
fn towards(router: Ipv4Addr) -> io::Result<Ipv4Addr> {
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((router, PORT))?;
    match socket.local_addr()?.ip() {
        IpAddr::V4(own) => Ok(own),
        IpAddr::V6(own) => Err(io::Error::other(own.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT";

    fn line(to: &str, gateway: Ipv4Addr, flags: u32, metric: u32, mask: &str) -> String {
        let gateway = u32::from_ne_bytes(gateway.octets());
        format!("eth0\t{to}\t{gateway:08X}\t{flags:04X}\t0\t0\t{metric}\t{mask}\t0\t0\t0")
    }

    #[test]
    fn the_default_route_with_the_least_metric_counts() {
        let at = |last| Ipv4Addr::new(192, 0, 2, last);
        let (any, some) = ("00000000", "00FFFFFF");
        let table = |lines: &[String]| format!("{HEAD}\n{}\n", lines.join("\n"));
        let own_link = line(any, Ipv4Addr::UNSPECIFIED, 1, 0, any);
        let network = line(some, at(9), 3, 0, some);
        let is_down = line(any, at(8), 2, 0, any);
        let others = [own_link, network, is_down];
        assert_eq!(default_gateway(&table(&others)), None);
        let wifi = line(any, at(1), 3, 600, any);
        let cable = line(any, at(2), 3, 100, any);
        let lines = [others.as_slice(), &[wifi.clone(), cable.clone()]].concat();
        assert_eq!(default_gateway(&table(&lines)), Some(at(2)));
        assert_eq!(default_gateway(&table(&[wifi])), Some(at(1)));
        assert_eq!(default_gateway(""), None);
    }

    #[test]
    fn who_is_reached_by_this_machine_alone_asks_nobody() {
        for loopback in ["127.0.0.1:8443", "[::1]:8443"] {
            let why =
                MappingRequest::of(loopback.parse().expect("an address")).expect_err(loopback);
            assert_eq!(why, format!("only this machine reaches {loopback}"));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[0-9A-Fa-fx\\-\t\n ]{0,300}") {
            default_gateway(&text);
        }
    }
}
