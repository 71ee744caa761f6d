//! The router's mapping of the host's port, where one is asked for (`map_ports`): what it hands on, and what is said of it.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | wait before the links are told | 9 s | a router that answers nothing is asked for 7.5 s; the links name the address outside if there is one |

use crate::HostConfig;
use crate::host::notes::tell;
use gameway_port_mapping::{Mapped, MappingRequest, News, PortMapping, why_not_internet};
use gameway_runtime::stop::Stop;
use std::net::SocketAddr;
use std::time::Duration;

/// In so many looks whether the host is to stop.
const LOOKS: u32 = 90;
const LOOK: Duration = Duration::from_millis(100);
const NONE: &str = "no port is mapped";
const PLAIN: &str = "the page is plain HTTP; without --no-https it is not";

/// See the module's head.
pub(super) struct Mapping {
    asked: Option<PortMapping>,
    port: u16,
    /// Whether the page is plain HTTP.
    plain: bool,
}

impl Mapping {
    /// Asks the router, if the host is told to.
    pub(super) fn ask(config: &HostConfig, listening: SocketAddr) -> Self {
        let asked = config.map_ports.then(|| asked(config, listening));
        let asked = asked.and_then(|asked| asked.map_err(|why| tell(NONE, &why)).ok());
        Self { asked, port: listening.port(), plain: config.certificate.is_none() }
    }

    /// Waits for the router's first answer; where the page is reached from outside.
    pub(super) fn first(&mut self, stop: &Stop) -> Option<SocketAddr> {
        for _ in 0..LOOKS {
            if stop.is_asked() || self.look(LOOK)? {
                break;
            }
        }
        Some(SocketAddr::V4(self.asked.as_ref()?.mapped()?.tcp))
    }

    /// Says what has changed.
    pub(super) fn turn(&mut self) {
        self.look(Duration::ZERO);
    }

    /// Where media comes in.
    pub(super) fn outside(&self) -> Option<SocketAddr> {
        Some(SocketAddr::V4(self.asked.as_ref()?.mapped()?.udp))
    }

    /// Whether something has changed within this time, which is said; nothing if nobody is asked.
    fn look(&mut self, within: Duration) -> Option<bool> {
        let news = self.asked.as_mut()?.news(within);
        match &news {
            Some(News::Mapped(mapped)) => {
                tell("the router hands on", &told(mapped));
                if self.plain {
                    tell("who is on the way can read the token", PLAIN);
                }
            }
            Some(News::Refused(why)) => {
                let others =
                    format!("hand on port {} by hand, or see --stun and --turn", self.port);
                tell(NONE, &format!("{why}; {others}"));
            }
            None => {}
        }
        Some(news.is_some())
    }
}

fn asked(config: &HostConfig, listening: SocketAddr) -> Result<PortMapping, String> {
    if !config.addresses.is_empty() || !config.media_addresses.is_empty() {
        return Err("something in front of the host hands on, at the addresses it is told".into());
    }
    let request = MappingRequest::of(listening)?;
    PortMapping::ask(request).map_err(|error| format!("no thread: {error}"))
}

/// A mapping in a sentence, and how far it reaches.
pub(crate) fn told(mapped: &Mapped) -> String {
    let Mapped { by, udp, tcp, lifetime } = mapped;
    let seconds = lifetime.as_secs();
    let limit = why_not_internet(*tcp.ip())
        .map(|why| format!("; it does not reach the internet, {} is {why}", tcp.ip()));
    let limit = limit.unwrap_or_default();
    format!("TCP at {tcp} and UDP at {udp}, by {by}, for {seconds} s at a time{limit}")
}

/// Asks the router once and takes the mapping back; what it would hand on.
///
/// # Errors
/// What was asked and what was answered.
#[cfg(feature = "cli")]
pub(crate) fn try_once(listening: SocketAddr) -> Result<Mapped, String> {
    let mut asked = asked(&HostConfig::default(), listening)?;
    match asked.news(LOOK * LOOKS) {
        Some(News::Mapped(mapped)) => Ok(mapped),
        Some(News::Refused(why)) => Err(why),
        None => Err("the router has not answered to the end".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(outside: &str) -> Mapped {
        let at = |port: u16| format!("{outside}:{port}").parse().expect("an address");
        Mapped { by: "PCP", udp: at(1), tcp: at(2), lifetime: Duration::from_secs(600) }
    }

    #[test]
    fn a_mapping_is_told_with_how_far_it_reaches() {
        let plain = "TCP at 198.51.100.7:2 and UDP at 198.51.100.7:1, by PCP, for 600 s at a time";
        assert_eq!(told(&mapped("198.51.100.7")), plain);
        let shared = told(&mapped("100.64.0.7"));
        let limit = "; it does not reach the internet, 100.64.0.7 is an address between the provider's customers";
        assert!(shared.contains(limit), "{shared}");
    }

    #[test]
    fn nobody_is_asked_unless_it_is_wished_and_can_be() {
        let mut quiet = Mapping::ask(&HostConfig::default(), "0.0.0.0:1".parse().expect("a place"));
        assert!(quiet.asked.is_none() && quiet.first(&Stop::new()).is_none());
        let at = "127.0.0.1:8443".parse().expect("a place");
        let config = HostConfig { map_ports: true, ..HostConfig::default() };
        assert_eq!(asked(&config, at).err(), Some(format!("only this machine reaches {at}")));
        let media_addresses = vec!["192.0.2.1".parse().expect("an address")];
        let behind = HostConfig { media_addresses, ..config };
        let why = asked(&behind, at).expect_err("it cannot be");
        assert!(why.starts_with("something in front of the host"), "{why}");
        assert!(Mapping::ask(&behind, at).outside().is_none());
    }
}
