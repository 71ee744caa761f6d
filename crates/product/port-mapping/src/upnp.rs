//! UPnP (UPnP Device Architecture 1.1 section 1.3.2 for the search, `WANIPConnection:2` for the rest): the crate `igd-next`, which looks at
//! no address but that of the device that answered, follows no redirects and reads 1 MiB at most. Of those devices the router alone is
//! believed.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | search at the router | 1 s | it is asked by its own address, and not all answer that |
//! | search by multicast | 4 s | a device may wait for 3 s (MX of the question) |
//! | length of an answer that is told | 200 characters | a sentence, not a page of HTML |

use crate::outside::checked;
use crate::{Mapped, MappingRequest};
use igd_next::{AddPortError, Gateway, PortMappingProtocol, SearchOptions};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

/// The port and the group of SSDP.
const PORT: u16 = 1_900;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);
const AT_ROUTER: Duration = Duration::from_secs(1);
const BY_MULTICAST: Duration = Duration::from_secs(4);
const MAX_TOLD: usize = 200;
/// What the router shows of a mapping.
const DESCRIPTION: &str = "gameway";

/// What a router has granted.
#[derive(Debug)]
pub struct Upnp {
    gateway: Gateway,
    local: SocketAddrV4,
    outside: Ipv4Addr,
    udp: u16,
    tcp: u16,
    lifetime: Duration,
}

/// Both ports, or none.
pub fn obtain(request: &MappingRequest, lifetime: Duration) -> Result<Upnp, String> {
    let gateway = search(request)?;
    let (local, port) = (request.local(), request.local().port());
    let outside = outside(&gateway)?;
    let udp = add(&gateway, PortMappingProtocol::UDP, port, local, lifetime)?;
    match add(&gateway, PortMappingProtocol::TCP, port, local, lifetime) {
        Ok(tcp) => Ok(Upnp { gateway, local, outside, udp, tcp, lifetime }),
        Err(why) => {
            let _ = gateway.remove_port(PortMappingProtocol::UDP, udp);
            Err(why)
        }
    }
}

/// The router, if it speaks UPnP.
fn search(request: &MappingRequest) -> Result<Gateway, String> {
    let ask = |whom: Ipv4Addr, timeout| {
        let mut options = SearchOptions::default();
        // From that address multicast leaves towards the router.
        options.bind_addr = SocketAddr::from((*request.local().ip(), 0));
        options.broadcast_address = SocketAddr::from((whom, PORT));
        options.timeout = Some(timeout);
        igd_next::search_gateway(options)
    };
    let found = ask(request.router(), AT_ROUTER).or_else(|_| ask(GROUP, BY_MULTICAST));
    let gateway = found.map_err(|error| match error {
        igd_next::SearchError::NoResponseWithinTimeout => "no answer".to_owned(),
        other => short(&other.to_string()),
    })?;
    let who = gateway.addr.ip();
    if who != IpAddr::V4(request.router()) {
        return Err(format!("{who} answered, which is not the router and is not believed"));
    }
    Ok(gateway)
}

fn outside(gateway: &Gateway) -> Result<Ipv4Addr, String> {
    match gateway.get_external_ip().map_err(|error| short(&error.to_string()))? {
        IpAddr::V4(outside) => checked(outside),
        IpAddr::V6(outside) => Err(format!("it gave the address {outside} to one of IPv4")),
    }
}

/// Asks for this port outside, else for any; gives which it is.
fn add(
    gateway: &Gateway,
    protocol: PortMappingProtocol,
    port: u16,
    local: SocketAddrV4,
    lifetime: Duration,
) -> Result<u16, String> {
    let seconds = u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX);
    let to = SocketAddr::V4(local);
    match gateway.add_port(protocol, port, to, seconds, DESCRIPTION) {
        Ok(()) => Ok(port),
        Err(AddPortError::PortInUse) => gateway
            .add_any_port(protocol, to, seconds, DESCRIPTION)
            .map_err(|error| short(&error.to_string())),
        Err(AddPortError::OnlyPermanentLeasesSupported) => {
            Err("it opens ports without an end alone, which a host that is killed would leave open"
                .to_owned())
        }
        Err(error) => Err(short(&error.to_string())),
    }
}

/// The beginning of what a device says, without what steers a terminal.
fn short(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { ' ' } else { one }).take(MAX_TOLD).collect()
}

impl Upnp {
    pub fn mapped(&self) -> Mapped {
        let at = |port| SocketAddrV4::new(self.outside, port);
        Mapped { by: "UPnP", udp: at(self.udp), tcp: at(self.tcp), lifetime: self.lifetime }
    }

    pub fn renew(&mut self) -> Result<(), String> {
        let Self { gateway, local, lifetime, .. } = self;
        self.outside = outside(gateway)?;
        self.udp = add(gateway, PortMappingProtocol::UDP, self.udp, *local, *lifetime)?;
        self.tcp = add(gateway, PortMappingProtocol::TCP, self.tcp, *local, *lifetime)?;
        Ok(())
    }

    /// The lifetime ends what cannot be deleted.
    pub fn delete(self) {
        let _ = self.gateway.remove_port(PortMappingProtocol::UDP, self.udp);
        let _ = self.gateway.remove_port(PortMappingProtocol::TCP, self.tcp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_says_is_told_in_short_and_steers_no_terminal() {
        let told = short(&format!("\u{1b}[2J{}\n", "é".repeat(500)));
        assert_eq!(told, format!(" [2J{}", "é".repeat(MAX_TOLD - 4)));
    }
}
