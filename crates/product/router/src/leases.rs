//! Names of devices, from the list of leases that a router's DHCP server keeps.
//!
//! Source: dnsmasq(8), option `--dhcp-leasefile`, which OpenWrt keeps in `/tmp/dhcp.leases`: a line for each lease with its end, the
//! device's hardware address, its address, its name or `*`, and its client's number. Devices choose their names themselves.
//!
//! | bound | value | why |
//! |---|---|---|
//! | list | 256 KiB | 3000 leases; what is beyond has no name |
//! | name | 63 characters | a label of DNS (RFC 1035 section 2.3.4) |

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

const MAX_BYTES: u64 = 256 << 10;
const MAX_NAME: usize = 63;

/// The names of this list, by address; none where it cannot be read.
#[must_use]
pub fn names(list: &Path) -> BTreeMap<IpAddr, String> {
    let mut bytes = Vec::new();
    let read = File::open(list).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        return BTreeMap::new();
    }
    String::from_utf8_lossy(&bytes).lines().filter_map(lease).collect()
}

pub(crate) fn lease(line: &str) -> Option<(IpAddr, String)> {
    let mut words = line.split_whitespace().skip(2);
    let address = words.next()?.parse().ok()?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name = words.next()?;
    let is_name = name.len() <= MAX_NAME && name.chars().all(is_plain);
    is_name.then(|| (address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lease_has_a_name_or_none() {
        let named = lease("1795819236 02:00:00:00:00:01 192.168.1.20 tv-living-room 01:02:00");
        let address = "192.168.1.20".parse().expect("an address");
        assert_eq!(named, Some((address, "tv-living-room".to_owned())));
        let six = lease("1795819236 01:02 fd00::20 laptop 00:01").expect("a lease");
        assert_eq!(six.1, "laptop");
        for other in ["", "duid 00:01:00", "1 m 192.168.1.20 *", "1 m x tv", "1 m 192.0.2.1 <b>"] {
            assert_eq!(lease(other), None, "{other}");
        }
        assert!(names(Path::new("/nowhere/dhcp.leases")).is_empty());
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in ".{0,80}", name in "[a-z*<&\"]{1,70}") {
            let _ = lease(&line);
            if let Some((_, read)) = lease(&format!("1 m 192.0.2.1 {name}")) {
                prop_assert_eq!(&read, &name);
                prop_assert!(name.len() <= MAX_NAME && !name.contains(['<', '&', '"', '*']));
            }
        }
    }
}
