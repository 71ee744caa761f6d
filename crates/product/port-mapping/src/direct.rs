//! PCP and NAT-PMP, by datagrams to the router's port 5351: the crate `crab_nat`, with the waiting times of who wants to play now.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | first wait of PCP | 250 ms, doubled twice | RFC 6887 section 8.1.1 wants 3 s, but a router of a home answers within milliseconds: three questions take 1.75 s |
//! | first wait of NAT-PMP | 250 ms, doubled once | RFC 6886 section 3.1; the port was silent for 1.75 s already |

use crate::outside::checked;
use crate::{Mapped, MappingRequest};
use crab_nat::{
    GatewayAddress, InternetProtocol, PortMapping, PortMappingOptions, PortMappingType,
    TimeoutConfig, natpmp, pcp,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;
use std::time::Duration;

const FIRST_WAIT: Duration = Duration::from_millis(250);

/// How it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// RFC 6887.
    Pcp,
    /// RFC 6886.
    NatPmp,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcp => "PCP",
            Self::NatPmp => "NAT-PMP",
        }
    }

    fn patience(self) -> TimeoutConfig {
        let max_retries = match self {
            Self::Pcp => 2,
            Self::NatPmp => 1,
        };
        TimeoutConfig { initial_timeout: FIRST_WAIT, max_retries, max_retry_timeout: None }
    }
}

/// What a router has granted.
#[derive(Debug)]
pub struct Direct {
    protocol: Protocol,
    outside: Ipv4Addr,
    udp: PortMapping,
    tcp: PortMapping,
}

/// Both ports, or none.
pub async fn obtain(
    protocol: Protocol,
    request: &MappingRequest,
    lifetime: Duration,
) -> Result<Direct, String> {
    let udp = one(protocol, request, InternetProtocol::Udp, lifetime).await?;
    let tcp = match one(protocol, request, InternetProtocol::Tcp, lifetime).await {
        Ok(tcp) => tcp,
        Err(why) => {
            let _ = udp.try_drop().await;
            return Err(why);
        }
    };
    let mut got = Direct { protocol, outside: Ipv4Addr::UNSPECIFIED, udp, tcp };
    match got.look_outside().await {
        Ok(()) => Ok(got),
        Err(why) => {
            got.delete().await;
            Err(why)
        }
    }
}

async fn one(
    protocol: Protocol,
    request: &MappingRequest,
    kind: InternetProtocol,
    lifetime: Duration,
) -> Result<PortMapping, String> {
    let local = request.local();
    let port = NonZeroU16::new(local.port()).ok_or("there is no port 0")?;
    let router = GatewayAddress::IpV4(request.router());
    let options = PortMappingOptions {
        external_port: Some(port),
        lifetime_seconds: u32::try_from(lifetime.as_secs()).ok(),
        timeout_config: Some(protocol.patience()),
    };
    match protocol {
        Protocol::Pcp => {
            let base = pcp::BaseMapRequest::new(router, IpAddr::V4(*local.ip()), kind, port);
            pcp::port_mapping(base, None, None, options).await.map_err(of_pcp)
        }
        Protocol::NatPmp => {
            natpmp::port_mapping(router, kind, port, options).await.map_err(of_nat_pmp)
        }
    }
}

impl Direct {
    pub fn mapped(&self) -> Mapped {
        let at = |one: &PortMapping| SocketAddrV4::new(self.outside, one.external_port().get());
        let lifetime = self.udp.lifetime().min(self.tcp.lifetime());
        Mapped {
            by: self.protocol.name(),
            udp: at(&self.udp),
            tcp: at(&self.tcp),
            lifetime: Duration::from_secs(u64::from(lifetime)),
        }
    }

    pub async fn renew(&mut self) -> Result<(), String> {
        self.udp.renew().await.map_err(|error| error.to_string())?;
        self.tcp.renew().await.map_err(|error| error.to_string())?;
        self.look_outside().await
    }

    /// The lifetime ends what cannot be deleted.
    pub async fn delete(self) {
        let _ = self.udp.try_drop().await;
        let _ = self.tcp.try_drop().await;
    }

    /// The router's address outside: PCP has told it with the mapping, NAT-PMP is asked.
    async fn look_outside(&mut self) -> Result<(), String> {
        let outside = match self.udp.mapping_type() {
            PortMappingType::Pcp { external_ip: IpAddr::V4(outside), .. } => outside,
            PortMappingType::Pcp { external_ip, .. } => {
                return Err(format!("it gave the address {external_ip} to one of IPv4"));
            }
            PortMappingType::NatPmp => {
                let patience = Some(self.protocol.patience());
                natpmp::external_address(self.udp.gateway(), patience).await.map_err(of_nat_pmp)?
            }
        };
        self.outside = checked(outside)?;
        Ok(())
    }
}

const SILENCE: &str = "no answer";

fn of_pcp(failure: pcp::Failure) -> String {
    match failure {
        pcp::Failure::Timeout => SILENCE.to_owned(),
        pcp::Failure::Socket(error) => of_socket(&error),
        other => other.to_string(),
    }
}

fn of_nat_pmp(failure: natpmp::Failure) -> String {
    match failure {
        natpmp::Failure::Timeout => SILENCE.to_owned(),
        natpmp::Failure::Socket(error) => of_socket(&error),
        other => other.to_string(),
    }
}

/// A router that has nobody at that port says so.
fn of_socket(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nobody is there".to_owned(),
        _ => error.to_string(),
    }
}
