//! Where a client reached this port, by the header `Host` of its request (RFC 9110 section 7.2).

use crate::authority;
use std::net::{IpAddr, Ipv4Addr};

/// The port that a scheme has where none is said.
fn usual(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// Address or name, and port; nothing if it is neither, or could not stand in a session description.
pub(super) fn of(host: Option<&str>, secure: bool) -> Option<(String, u16)> {
    let (name, port) = authority::split(host?, usual(secure))?;
    if let Ok(address) = name.parse::<IpAddr>() {
        return Some((address.to_canonical().to_string(), port));
    }
    if name.eq_ignore_ascii_case("localhost") {
        return Some((Ipv4Addr::LOCALHOST.to_string(), port));
    }
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.');
    let is_name = !name.is_empty() && name.len() < 254 && name.bytes().all(is_plain);
    is_name.then(|| (name.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_name_with_its_port() {
        for (host, secure, place) in [
            ("192.0.2.7:8443", true, Some(("192.0.2.7", 8443))),
            ("[2001:db8::7]:8443", true, Some(("2001:db8::7", 8443))),
            ("[::ffff:192.0.2.7]", true, Some(("192.0.2.7", 443))),
            ("Game-Box", false, Some(("game-box", 80))),
            ("localhost:1", false, Some(("127.0.0.1", 1))),
            ("game-box:0", true, None),
            ("game-box:x", true, None),
            ("[::1", true, None),
            ("", true, None),
            ("a b\r\na=x", true, None),
        ] {
            let found = of(Some(host), secure);
            assert_eq!(found, place.map(|(name, port)| (name.to_owned(), port)), "{host}");
        }
        assert_eq!(of(None, true), None);
    }
}
