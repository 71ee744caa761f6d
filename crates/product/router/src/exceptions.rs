//! Rules by hand: connections whose windows are left as they are, by the address or the port of one of their ends.

use gameway_path::{Endpoint, Header};
use gameway_units::declared::OptionError;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Some connections: those of which one end, at home or outside, has this address and this port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Exception {
    /// What it is, for people.
    #[schemars(extend("x-none" = "none"))]
    pub name: Option<String>,
    /// An address or a prefix, of IPv4 or IPv6.
    #[schemars(extend("x-none" = "any", "examples" = ["192.168.1.20", "2001:db8::/32"]))]
    pub address: Option<String>,
    /// A port of TCP.
    #[schemars(range(min = 1, max = 65535), extend("x-none" = "any"))]
    pub port: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    addresses: Option<IpNet>,
    port: Option<u16>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exceptions(Vec<Rule>);

impl Exceptions {
    /// As a file has them.
    ///
    /// # Errors
    /// The first that means nothing, and why.
    pub fn of(list: &[Exception]) -> Result<Self, OptionError> {
        let rules = list.iter().enumerate().map(|(index, one)| {
            Rule::of(one).map_err(|(key, why)| {
                let key = if key.is_empty() { String::new() } else { format!(".{key}") };
                OptionError { option: Some(format!("leave_alone.{index}{key}")), why }
            })
        });
        Ok(Self(rules.collect::<Result<_, _>>()?))
    }

    /// Whether the connection of this data is one of them.
    #[must_use]
    pub fn has(&self, header: &Header) -> bool {
        self.0.iter().any(|rule| rule.fits(&header.source) || rule.fits(&header.destination))
    }

    /// How many rules there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl Rule {
    fn of(one: &Exception) -> Result<Self, (&'static str, String)> {
        let addresses = one.address.as_deref().map(prefix).transpose();
        let addresses = addresses.map_err(|why| ("address", why))?;
        let port = one.port.map(|port| u16::try_from(port).ok().filter(|port| *port > 0));
        let port = match port {
            Some(None) => return Err(("port", "is not between 1 and 65535".to_owned())),
            other => other.flatten(),
        };
        if addresses.is_none() && port.is_none() {
            let why =
                "has neither an address nor a port; to leave all alone, do not start the gateway";
            return Err(("", why.to_owned()));
        }
        Ok(Self { addresses, port })
    }

    fn fits(&self, end: &Endpoint) -> bool {
        let address = end.address.to_canonical();
        self.addresses.is_none_or(|addresses| addresses.contains(&address))
            && self.port.is_none_or(|port| port == end.port)
    }
}

/// A single address is a prefix, too.
fn prefix(text: &str) -> Result<IpNet, String> {
    let single = text.parse::<IpAddr>().map(IpNet::from);
    single.or_else(|_| text.parse()).map_err(|_| {
        format!("{text:?} is no address; write for example \"192.168.1.20\", \"192.168.1.0/24\" or \"2001:db8::/32\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_path::{Dscp, Protocol};

    fn header(source: &str, destination: &str) -> Header {
        let end = |text: &str| {
            let one: std::net::SocketAddr = text.parse().expect("an end");
            Endpoint { address: one.ip(), port: one.port() }
        };
        let (source, destination) = (end(source), end(destination));
        Header { source, destination, protocol: Protocol::Tcp, dscp: Dscp::default() }
    }

    fn with(address: Option<&str>, port: Option<u32>) -> Exceptions {
        let one = Exception { name: None, address: address.map(str::to_owned), port };
        Exceptions::of(&[one]).expect("a rule")
    }

    #[test]
    fn either_end_may_fit_and_address_and_port_are_of_one_end() {
        let download = header("203.0.113.9:443", "192.168.7.2:40000");
        for (address, port, fits) in [
            (Some("192.168.7.2"), None, true),
            (Some("192.168.7.0/24"), None, true),
            (Some("192.168.8.0/24"), None, false),
            (Some("203.0.113.9"), Some(443), true),
            (Some("192.168.7.2"), Some(443), false),
            (None, Some(443), true),
            (None, Some(40000), true),
            (None, Some(80), false),
            (Some("::/0"), None, false),
        ] {
            assert_eq!(with(address, port).has(&download), fits, "{address:?} {port:?}");
        }
        let six = header("[2001:db8::9]:443", "[2001:db8:1::2]:40000");
        assert!(with(Some("2001:db8:1::/48"), None).has(&six));
        assert!(!with(Some("0.0.0.0/0"), None).has(&six));
        assert!(!Exceptions::default().has(&six));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = |one: Exception| Exceptions::of(&[one]).expect_err("nothing").to_string();
        let address = Some("192.168.7.300".to_owned());
        let told = refused(Exception { address, ..Exception::default() });
        assert!(
            told.starts_with("leave_alone.0.address: \"192.168.7.300\" is no address"),
            "{told}"
        );
        let told = refused(Exception { port: Some(65_536), ..Exception::default() });
        assert_eq!(told, "leave_alone.0.port: is not between 1 and 65535");
    }
}
