//! Which class takes a packet: rules over what its headers say, and over what a gateway recognised.
//!
//! Model: the rules are asked in their order, and the first that matches names the class; the default class
//! takes what none does. A rule matches if all that it says is so; an address or port of either end is that
//! of the source or of the destination, so that one rule is for both ways of a flow.
//!
//! Source: ours; tc-u32(8) and tc-flower(8) tell what rules of Linux can say.

use crate::PathPacket;
use crate::header::{Dscp, Endpoint, Header, HeaderError, Protocol, Traffic};
use core::net::IpAddr;
use gameway_units::Ecn;
use ipnet::IpNet;
use std::fmt;
use std::str::FromStr;

/// The addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix(IpNet);

impl Prefix {
    /// Whether an address is one of these.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    fn covers(self, other: Self) -> bool {
        self.0.contains(&other.0)
    }

    fn is_ipv4(self) -> bool {
        self.0.addr().is_ipv4()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            return write!(formatter, "{}", self.0.addr());
        }
        write!(formatter, "{}", self.0)
    }
}

impl FromStr for Prefix {
    type Err = HeaderError;

    /// Parses "198.18.0.0/16", "2001:db8::/32", or one address.
    fn from_str(word: &str) -> Result<Self, HeaderError> {
        let refused = |what| HeaderError { word: word.to_owned(), what };
        let parsed = if word.contains('/') {
            word.parse().ok()
        } else {
            word.parse::<IpAddr>().ok().map(IpNet::from)
        };
        let prefix: IpNet = parsed.ok_or_else(|| {
            refused("address or prefix, such as 192.0.2.7, 198.18.0.0/16 or 2001:db8::/32")
        })?;
        if prefix != prefix.trunc() {
            return Err(refused("prefix: bits behind its length are set"));
        }
        Ok(Self(prefix))
    }
}

/// Ports from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// Whether a port is one of these.
    #[must_use]
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    fn covers(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(formatter, "{}", self.first);
        }
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl FromStr for PortRange {
    type Err = HeaderError;

    /// Parses "5004" or "5000-5100".
    fn from_str(word: &str) -> Result<Self, HeaderError> {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|&port| port > 0);
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(HeaderError {
                word: word.to_owned(),
                what: "port or range of ports from 1 to 65535, such as 5004 or 5000-5100",
            }),
        }
    }
}

/// What must be so of a packet; what is not given may be anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rule {
    /// Its protocol.
    pub protocol: Option<Protocol>,
    /// The address of either end.
    pub address: Option<Prefix>,
    /// The address of its source.
    pub source: Option<Prefix>,
    /// The address of its destination.
    pub destination: Option<Prefix>,
    /// The port of either end.
    pub port: Option<PortRange>,
    /// The port of its source.
    pub source_port: Option<PortRange>,
    /// The port of its destination.
    pub destination_port: Option<PortRange>,
    /// Its code point.
    pub dscp: Option<Dscp>,
    /// Its ECN field.
    pub ecn: Option<Ecn>,
    /// What a gateway took its flow for.
    pub traffic: Option<Traffic>,
}

/// Whether what is given, if anything, is so.
fn holds<T>(given: Option<T>, test: impl FnOnce(T) -> bool) -> bool {
    given.is_none_or(test)
}

/// Whether one part of a rule takes all that the same part of another takes.
fn wider<T>(own: Option<T>, other: Option<T>, covers: impl FnOnce(T, T) -> bool) -> bool {
    match (own, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(own), Some(other)) => covers(own, other),
    }
}

impl Rule {
    /// Whether it takes a packet.
    pub fn matches(&self, packet: &impl PathPacket) -> bool {
        self.matches_header(&packet.header())
            && holds(self.ecn, |ecn| packet.ecn() == ecn)
            && holds(self.traffic, |traffic| packet.traffic() == Some(traffic))
    }

    fn matches_header(&self, header: &Header) -> bool {
        let Header { source, destination, protocol, dscp } = *header;
        let either = |test: &dyn Fn(Endpoint) -> bool| test(source) || test(destination);
        holds(self.protocol, |own| own == protocol)
            && holds(self.dscp, |own| own == dscp)
            && holds(self.source, |own| own.contains(source.address))
            && holds(self.destination, |own| own.contains(destination.address))
            && holds(self.source_port, |own| own.contains(source.port))
            && holds(self.destination_port, |own| own.contains(destination.port))
            && holds(self.port, |own| either(&|end| own.contains(end.port)))
            && holds(self.address, |own| either(&|end| own.contains(end.address)))
    }

    /// Whether it takes every packet that `other` takes, part by part.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        wider(self.protocol, other.protocol, |own, other| own == other)
            && wider(self.dscp, other.dscp, |own, other| own == other)
            && wider(self.ecn, other.ecn, |own, other| own == other)
            && wider(self.traffic, other.traffic, |own, other| own == other)
            && wider(self.source, other.source, Prefix::covers)
            && wider(self.destination, other.destination, Prefix::covers)
            && wider(self.source_port, other.source_port, PortRange::covers)
            && wider(self.destination_port, other.destination_port, PortRange::covers)
            && self.covers_either_end(other)
    }

    /// The source or the destination that `other` names is one of the either ends, too.
    fn covers_either_end(&self, other: &Self) -> bool {
        let ports = [other.port, other.source_port, other.destination_port];
        let addresses = [other.address, other.source, other.destination];
        holds(self.port, |own| ports.into_iter().flatten().any(|other| own.covers(other)))
            && holds(self.address, |own| {
                addresses.into_iter().flatten().any(|other| own.covers(other))
            })
    }

    /// Why no packet at all can match; `None` if one can.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        let ports = [self.port, self.source_port, self.destination_port];
        if self.protocol == Some(Protocol::Icmp) && ports.into_iter().any(|port| port.is_some()) {
            return Some("icmp has no ports");
        }
        let given = [self.address, self.source, self.destination];
        let mut versions = given.into_iter().flatten().map(Prefix::is_ipv4);
        let first = versions.next();
        if versions.any(|version| Some(version) != first) {
            return Some("no packet has addresses of IPv4 and of IPv6");
        }
        None
    }
}

/// Rules in their order, each with the number of its class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Classifier {
    rules: Vec<(Rule, usize)>,
    default: usize,
}

impl Classifier {
    /// Asks `rules` in this order; what none takes goes to `default`.
    #[must_use]
    pub fn new(rules: Vec<(Rule, usize)>, default: usize) -> Self {
        Self { rules, default }
    }

    /// The class of a packet.
    pub fn class_of(&self, packet: &impl PathPacket) -> usize {
        let found = self.rules.iter().find(|(rule, _)| rule.matches(packet));
        found.map_or(self.default, |&(_, class)| class)
    }

    /// Every class that a packet may be given to.
    pub(super) fn classes(&self) -> impl Iterator<Item = usize> {
        self.rules.iter().map(|&(_, class)| class).chain([self.default])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use gameway_units::Bytes;

    struct Packet(Header, Ecn, Option<Traffic>);

    impl PathPacket for Packet {
        fn wire_size(&self) -> Bytes {
            Bytes::new(1500)
        }
        fn flow(&self) -> FlowId {
            FlowId(0)
        }
        fn header(&self) -> Header {
            self.0
        }
        fn traffic(&self) -> Option<Traffic> {
            self.2
        }
        fn ecn(&self) -> Ecn {
            self.1
        }
        fn set_ecn(&mut self, ecn: Ecn) {
            self.1 = ecn;
        }
    }

    fn end(address: &str, port: u16) -> Endpoint {
        Endpoint { address: address.parse().unwrap(), port }
    }

    /// A game's packet on its way to the home.
    fn down() -> Packet {
        let header = Header {
            source: end("198.18.0.12", 5004),
            destination: end("192.168.0.12", 49_152),
            protocol: Protocol::Udp,
            dscp: Dscp(46),
        };
        Packet(header, Ecn::Ect1, Some(Traffic::Game))
    }

    fn up() -> Packet {
        let Packet(header, ecn, traffic) = down();
        Packet(header.reversed(), ecn, traffic)
    }

    fn ports(text: &str) -> Option<PortRange> {
        Some(text.parse().unwrap())
    }

    fn prefix(text: &str) -> Option<Prefix> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_rule_takes_what_is_so_in_all_that_it_says() {
        let any = Rule::default();
        let cases = [
            (any, true, true),
            (Rule { port: ports("5004"), ..any }, true, true),
            (Rule { port: ports("5000-5003"), ..any }, false, false),
            (Rule { source_port: ports("5000-5100"), ..any }, true, false),
            (Rule { destination_port: ports("5000-5100"), ..any }, false, true),
            (Rule { address: prefix("198.18.0.0/15"), ..any }, true, true),
            (Rule { source: prefix("198.18.0.12"), ..any }, true, false),
            (Rule { destination: prefix("198.18.0.13"), ..any }, false, false),
            (Rule { address: prefix("::/0"), ..any }, false, false),
            (Rule { address: prefix("0.0.0.0/0"), ..any }, true, true),
            (Rule { protocol: Some(Protocol::Tcp), ..any }, false, false),
            (Rule { dscp: Some(Dscp(46)), ecn: Some(Ecn::Ect1), ..any }, true, true),
            (Rule { dscp: Some(Dscp(46)), ecn: Some(Ecn::Ect0), ..any }, false, false),
            (Rule { traffic: Some(Traffic::Game), ..any }, true, true),
            (Rule { traffic: Some(Traffic::Other), ..any }, false, false),
        ];
        for (rule, takes_down, takes_up) in cases {
            assert_eq!(rule.matches(&down()), takes_down, "{rule:?}");
            assert_eq!(rule.matches(&up()), takes_up, "{rule:?}");
        }
        let unknown = Packet(down().0, Ecn::Ect1, None);
        assert!(!Rule { traffic: Some(Traffic::Other), ..any }.matches(&unknown));
    }

    #[test]
    fn the_first_rule_wins_and_the_default_takes_the_rest() {
        let port = Rule { port: ports("5004"), ..Rule::default() };
        let udp = Rule { protocol: Some(Protocol::Udp), ..Rule::default() };
        assert_eq!(Classifier::new(vec![(port, 1), (udp, 2)], 3).class_of(&down()), 1);
        assert_eq!(Classifier::new(vec![(udp, 2), (port, 1)], 3).class_of(&down()), 2);
        let tcp = Rule { protocol: Some(Protocol::Tcp), ..Rule::default() };
        assert_eq!(Classifier::new(vec![(tcp, 1)], 3).class_of(&down()), 3);
    }

    #[test]
    fn what_covers_what() {
        let any = Rule::default();
        let range = Rule { port: ports("5000-5100"), ..any };
        let one = Rule { port: ports("5004"), protocol: Some(Protocol::Udp), ..any };
        assert!(any.covers(&range) && range.covers(&one));
        assert!(!one.covers(&range) && !range.covers(&any));
        let source = Rule { source_port: ports("5004"), ..any };
        assert!(range.covers(&source) && !source.covers(&range));
        let wide = Rule { address: prefix("198.18.0.0/16"), ..any };
        let host = Rule { source: prefix("198.18.0.5"), ..any };
        assert!(wide.covers(&host) && !host.covers(&wide));
        assert!(!wide.covers(&Rule { source: prefix("198.19.0.5"), ..any }));
    }

    /// Of two values of one part, none is wider than the other; of ranges of ports and prefixes one is if it has all
    /// of the other.
    #[test]
    fn a_rule_covers_its_own_part_alone() {
        let any = Rule::default();
        let pairs = [
            [Protocol::Udp, Protocol::Tcp].map(|one| Rule { protocol: Some(one), ..any }),
            [Dscp(46), Dscp(8)].map(|one| Rule { dscp: Some(one), ..any }),
            [Ecn::Ect1, Ecn::Ect0].map(|one| Rule { ecn: Some(one), ..any }),
            [Traffic::Game, Traffic::Other].map(|one| Rule { traffic: Some(one), ..any }),
            ["5000-5010", "5005-5020"].map(|one| Rule { port: ports(one), ..any }),
            ["5000-5010", "4990-5005"].map(|one| Rule { source_port: ports(one), ..any }),
            ["5000-5010", "5011"].map(|one| Rule { destination_port: ports(one), ..any }),
            ["198.18.0.0/16", "198.19.0.0/16"].map(|one| Rule { source: prefix(one), ..any }),
        ];
        for [one, other] in pairs {
            assert!(one.covers(&one) && !one.covers(&other) && !other.covers(&one), "{one:?}");
        }
    }

    #[test]
    fn contradictions_are_told() {
        let any = Rule::default();
        let icmp = Rule { protocol: Some(Protocol::Icmp), port: ports("5004"), ..any };
        assert!(icmp.contradiction().is_some());
        let mixed = Rule { source: prefix("10.0.0.0/8"), destination: prefix("::/0"), ..any };
        assert!(mixed.contradiction().is_some());
        assert_eq!(Rule { port: ports("5004"), ..any }.contradiction(), None);
    }

    #[test]
    fn bad_words_are_refused_with_what_is_allowed() {
        let refused = |word: &str| word.parse::<Prefix>().unwrap_err().to_string();
        for word in ["", "198.18", "198.18.0.0/33", "::/129", "198.18.0.0/-1", "198.18.0.0/"] {
            assert!(refused(word).contains("192.0.2.7"), "{word}");
        }
        assert!(refused("198.18.0.5/16").contains("bits behind its length"));
        for word in ["", "0", "65536", "5100-5000", "5000-", "-5000", "http"] {
            let error = word.parse::<PortRange>().unwrap_err().to_string();
            assert!(error.contains("5000-5100"), "{word}");
        }
        assert!("::/0".parse::<Prefix>().unwrap().contains("2001:db8::1".parse().unwrap()));
        assert!("64".parse::<Dscp>().unwrap_err().to_string().contains("0 to 63"));
        assert_eq!("EF".parse::<Dscp>(), Ok(Dscp(46)));
        assert_eq!("va".parse::<Dscp>().ok(), None);
    }

    #[test]
    fn names_of_code_points_are_what_the_rfcs_say() {
        // RFC 2597 section 6: class c, drop precedence p is 8 c + 2 p; RFC 2474 section 4.2.2.2: 8 c.
        for class in 1..=4u8 {
            for precedence in 1..=3u8 {
                let name = format!("af{class}{precedence}");
                assert_eq!(name.parse(), Ok(Dscp(8 * class + 2 * precedence)));
                assert_eq!(Dscp(8 * class + 2 * precedence).to_string(), name);
            }
        }
        for class in 0..=7u8 {
            assert_eq!(format!("cs{class}").parse(), Ok(Dscp(8 * class)));
        }
        assert_eq!("le".parse(), Ok(Dscp(1)));
        assert_eq!("voice-admit".parse(), Ok(Dscp(44)));
        assert_eq!(Dscp(45).to_string(), "45");
        assert_eq!("df".parse(), Ok(Dscp(0)));
    }

    #[test]
    fn what_is_written_reads_back() {
        for word in ["icmp", "tcp", "udp"] {
            assert_eq!(word.parse::<Protocol>().map(|read| read.to_string()), Ok(word.to_owned()));
        }
        for word in ["game", "other"] {
            assert_eq!(word.parse::<Traffic>().map(|read| read.to_string()), Ok(word.to_owned()));
        }
        for word in ["198.18.0.0/16", "192.0.2.7", "2001:db8::/32", "2001:db8::1"] {
            assert_eq!(word.parse::<Prefix>().map(|read| read.to_string()), Ok(word.to_owned()));
        }
        for word in ["5004", "5000-5100"] {
            assert_eq!(word.parse::<PortRange>().map(|read| read.to_string()), Ok(word.to_owned()));
        }
        for number in 0..64 {
            assert_eq!(Dscp(number).to_string().parse(), Ok(Dscp(number)));
        }
    }
}
