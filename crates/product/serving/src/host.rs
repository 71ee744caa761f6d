//! Names under which a server is asked. DNS rebinding has a name of the attacker's, and no address: who answers to addresses and
//! to names of its own alone cannot be read by pages from elsewhere.

use std::net::IpAddr;

/// What a header `Host` (RFC 9110 section 7.2) has in front of the port.
#[must_use]
pub fn name_of(host: &str) -> &str {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    name.strip_suffix('.').unwrap_or(name)
}

/// The address that it is, if it is one.
#[must_use]
pub fn address_of(host: &str) -> Option<IpAddr> {
    name_of(host).parse().ok()
}

/// Whether it is one of these names.
#[must_use]
pub fn is_among(host: &str, names: &[String]) -> bool {
    let name = name_of(host);
    !name.is_empty() && names.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Whether a browser could not have been led here by somebody's name: it is an address, localhost or one of these names.
#[must_use]
pub fn is_served(host: &str, names: &[String]) -> bool {
    address_of(host).is_some()
        || name_of(host).eq_ignore_ascii_case("localhost")
        || is_among(host, names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_addresses_localhost_and_own_names_are_asked() {
        for host in ["127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "localhost:1", "192.0.2.7"] {
            assert!(is_served(host, &[]), "{host}");
        }
        let others =
            ["", "example.net", "127.0.0.1.example.net:80", "localhost.example.net", ":80"];
        for host in others {
            assert!(!is_served(host, &[]), "{host}");
        }
        let names = ["router.lan".to_owned()];
        for host in ["router.lan", "ROUTER.lan.:9443"] {
            assert!(is_served(host, &names) && is_among(host, &names), "{host}");
        }
        assert!(!is_served("router.lan.example.net", &names));
        assert!(!is_among("", &[String::new()]));
    }

    proptest! {
        #[test]
        fn any_text_has_a_name_that_is_a_part_of_it(host in ".{0,40}") {
            prop_assert!(host.contains(name_of(&host)));
        }
    }
}
