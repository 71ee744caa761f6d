//! Whether a router's address outside is one at which the internet reaches it (RFC 6890 section 2.2.2).

use std::net::Ipv4Addr;

/// Why what the router hands on there does not come from the internet, if it does not.
#[must_use]
pub fn why_not_internet(outside: Ipv4Addr) -> Option<&'static str> {
    let [first, second, ..] = outside.octets();
    if outside.is_private() {
        Some("a private address (RFC 1918): there is another router before it")
    } else if first == 100 && (64..128).contains(&second) {
        Some("an address between the provider's customers and its own translation (RFC 6598)")
    } else if outside.is_link_local() {
        Some("an address of its own link (RFC 3927)")
    } else {
        None
    }
}

/// An address of one machine, or that the router has none.
pub(crate) fn checked(outside: Ipv4Addr) -> Result<Ipv4Addr, String> {
    let [first, ..] = outside.octets();
    if first == 0 || outside.is_loopback() || outside.is_multicast() || first >= 240 {
        return Err(format!("it says that its address outside is {outside}, which is none"));
    }
    Ok(outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_shared_addresses_are_not_of_the_internet() {
        for (address, reaches) in [
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.178.1", false),
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("169.254.1.1", false),
            ("8.8.8.8", true),
        ] {
            let address: Ipv4Addr = address.parse().expect("an address");
            assert_eq!(why_not_internet(address).is_none(), reaches, "{address}");
            assert_eq!(checked(address), Ok(address));
        }
        for none in ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"]
        {
            assert!(checked(none.parse().expect("an address")).is_err(), "{none}");
        }
    }
}
