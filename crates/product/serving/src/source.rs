//! Who asks, as far as bounds are for each.

use std::net::IpAddr;

/// A source is an IPv4 address, or the 64 bits of an IPv6 address that a host is given as a whole (RFC 6177 section
/// 2): more addresses of one network are one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(u64);

impl Source {
    /// That of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            // No network of IPv6 begins with 32 bits of zero (RFC 4291 section 2.5).
            IpAddr::V4(v4) => Self(u32::from(v4).into()),
            IpAddr::V6(v6) => Self((u128::from(v6) >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_source_and_an_address_of_ipv4_is() {
        let source = |text: &str| Source::of(text.parse().expect("an address"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
    }
}
