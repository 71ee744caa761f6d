//! Rules by hand: some connections, by the address or the port of one of their ends.

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
    /// A port of TCP or UDP.
    #[schemars(range(min = 1, max = 65535), extend("x-none" = "any"))]
    pub port: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// Its own, or what it says.
    name: String,
    addresses: Option<IpNet>,
    port: Option<u16>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exceptions(Vec<Rule>);

impl Exceptions {
    /// As a file has them under `key`.
    ///
    /// # Errors
    /// The first that means nothing, and why.
    pub fn of(key: &str, list: &[Exception]) -> Result<Self, OptionError> {
        let rules = list.iter().enumerate().map(|(index, one)| {
            Rule::of(one).map_err(|(field, why)| {
                let field = if field.is_empty() { String::new() } else { format!(".{field}") };
                OptionError { option: Some(format!("{key}.{index}{field}")), why }
            })
        });
        Ok(Self(rules.collect::<Result<_, _>>()?))
    }

    /// Whether the connection of this data is one of them.
    #[must_use]
    pub fn has(&self, header: &Header) -> bool {
        self.name(header).is_some()
    }

    /// The name of the first rule that the connection of this data fits; without a name of its own, what it says.
    #[must_use]
    pub fn name(&self, header: &Header) -> Option<&str> {
        let fits = |rule: &&Rule| rule.fits(&header.source) || rule.fits(&header.destination);
        self.0.iter().find(fits).map(|rule| rule.name.as_str())
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
            return Err(("", "has neither an address nor a port; it means nothing".to_owned()));
        }
        let port_text = port.map(|port| format!("port {port}"));
        let parts: Vec<String> = one.address.iter().cloned().chain(port_text).collect();
        let name = one.name.clone().unwrap_or_else(|| parts.join(" "));
        Ok(Self { name, addresses, port })
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
        Exceptions::of("leave_alone", &[one]).expect("a rule")
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
    fn a_rule_is_called_by_its_name_or_by_what_it_says() {
        let download = header("203.0.113.9:443", "192.168.7.2:40000");
        let rule = |name: Option<&str>| Exception {
            name: name.map(str::to_owned),
            address: Some("192.168.7.0/24".to_owned()),
            port: Some(40_000),
        };
        for (name, told) in [(None, "192.168.7.0/24 port 40000"), (Some("tv"), "tv")] {
            let rules = Exceptions::of("game", &[rule(name)]).expect("a rule");
            assert_eq!(rules.name(&download), Some(told));
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = |one: Exception| {
            Exceptions::of("leave_alone", &[one]).expect_err("nothing").to_string()
        };
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
