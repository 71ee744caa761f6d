//! What families of generic netlink tell: ethtool of a device's features, nl80211 of the queues of Wi-Fi stations.
//!
//! The kernel's Wi-Fi (mac80211) has a queue for each station and traffic identifier, in front of the driver, if the driver takes
//! packets from there: since Linux 6.2 all of mac80211 do. An interface of such a driver has no queue of tc.
//!
//! Sources: `linux/genetlink.h`, `linux/ethtool_netlink.h` and `linux/nl80211.h` of Linux 6.1; `net/mac80211/sta_info.c` of it for
//! what is counted.

use super::{DUMP, NESTED, Netlink, attribute, attributes, find, text, u16_at, u32_at};
use rustix::net::netlink::GENERIC;
use std::io;
use std::path::Path;

/// The length of the head of a family's messages.
const HEAD: usize = 4;

/// A station of Wi-Fi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// Its address.
    pub address: [u8; 6],
    /// None where the driver has queues of its own.
    pub queues: Vec<StationQueue>,
}

/// A queue of a Wi-Fi station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StationQueue {
    /// Its traffic identifier (IEEE 802.11-2016, 5.1.1.3).
    pub identifier: u8,
    /// Bytes that it gave to the driver since the station is there, modulo 4 GiB.
    pub sent_bytes: u32,
    /// Bytes that wait.
    pub backlog_bytes: u32,
}

/// A socket of generic netlink, and the number of the family of this name. The kernel loads a module that has it.
fn family(name: &str) -> io::Result<(Netlink, u16)> {
    const CONTROL: u16 = 16;
    const GET_FAMILY: u8 = 3;
    const FAMILY_NAME: u16 = 2;
    const FAMILY_ID: u16 = 1;
    let socket = Netlink::open(Some(GENERIC))?;
    let own_name = attribute(FAMILY_NAME, &[name.as_bytes(), b"\0"].concat());
    let answer = socket.ask(CONTROL, 0, &[head(GET_FAMILY), own_name].concat())?;
    let number = answer.first().and_then(|one| u16_at(find(one.get(HEAD..)?, FAMILY_ID)?, 0));
    let number =
        number.ok_or_else(|| io::Error::other(format!("the kernel does not know {name}")))?;
    Ok((socket, number))
}

/// Of a message: its command, and a version.
fn head(command: u8) -> Vec<u8> {
    vec![command, 1, 0, 0]
}

/// The features of a device that are on, as ethtool names them.
///
/// # Errors
/// What the kernel says; older ones and small configurations tell of none.
pub fn features(device: &str) -> io::Result<Vec<String>> {
    const GET_FEATURES: u8 = 11;
    const DEVICE_HEADER: u16 = 1;
    const DEVICE_NAME: u16 = 2;
    let (socket, ethtool) = family("ethtool")?;
    let name = attribute(DEVICE_NAME, &[device.as_bytes(), b"\0"].concat());
    let device = attribute(DEVICE_HEADER | NESTED, &name);
    let answer = socket.ask(ethtool, 0, &[head(GET_FEATURES), device].concat())?;
    Ok(answer.first().map(|message| active_features(message)).unwrap_or_default())
}

pub(crate) fn active_features(message: &[u8]) -> Vec<String> {
    const ACTIVE: u16 = 4;
    const BITS: u16 = 3;
    const NAME: u16 = 2;
    let bits = message.get(HEAD..).and_then(|rest| find(find(rest, ACTIVE)?, BITS));
    let bits = attributes(bits.unwrap_or_default());
    bits.filter_map(|(_, bit)| find(bit, NAME).map(text)).collect()
}

/// Whether the interface of this name is one of Wi-Fi, by sysfs, which loads no module.
#[must_use]
pub fn is_wifi(name: &str) -> bool {
    Path::new("/sys/class/net").join(name).join("phy80211").exists()
}

/// A socket of nl80211, by which the kernel tells of Wi-Fi. Who gets no answer opens another one.
#[derive(Debug)]
pub struct Wifi {
    socket: Netlink,
    family: u16,
}

impl Wifi {
    /// Opens one.
    ///
    /// # Errors
    /// What the kernel says: it has no Wi-Fi.
    pub fn open() -> io::Result<Self> {
        let (socket, family) = family("nl80211")?;
        Ok(Self { socket, family })
    }

    /// All stations of the interface of this number.
    ///
    /// # Errors
    /// What the kernel says: it is no interface of Wi-Fi.
    pub fn stations(&self, interface: u32) -> io::Result<Vec<Station>> {
        const GET_STATION: u8 = 17;
        const INTERFACE: u16 = 3;
        let own = attribute(INTERFACE, &interface.to_ne_bytes());
        let found = self.socket.ask(self.family, DUMP, &[head(GET_STATION), own].concat())?;
        Ok(found.iter().filter_map(|message| station(message)).collect())
    }
}

pub(crate) fn station(message: &[u8]) -> Option<Station> {
    const ADDRESS: u16 = 6;
    const INFO: u16 = 21;
    const BY_IDENTIFIER: u16 = 31;
    let rest = message.get(HEAD..)?;
    let address = find(rest, ADDRESS)?.try_into().ok()?;
    let all = find(rest, INFO).and_then(|info| find(info, BY_IDENTIFIER)).unwrap_or_default();
    let queues = attributes(all).filter_map(|(number, of_one)| queue(number, of_one)).collect();
    Some(Station { address, queues })
}

fn queue(number: u16, of_identifier: &[u8]) -> Option<StationQueue> {
    const QUEUE: u16 = 6;
    const BACKLOG: u16 = 1;
    const SENT: u16 = 9;
    let figures = find(of_identifier, QUEUE)?;
    let figure = |kind| u32_at(find(figures, kind)?, 0);
    // Attributes have the identifier's number and one.
    let identifier = u8::try_from(number.checked_sub(1)?).ok()?;
    let (sent_bytes, backlog_bytes) = (figure(SENT)?, figure(BACKLOG)?);
    Some(StationQueue { identifier, sent_bytes, backlog_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_features_and_is_no_wifi() {
        let found = features("lo").expect("features");
        assert!(found.iter().any(|one| one == "rx-gro"), "{found:?}");
        assert!(!found.iter().any(|one| one == "hw-tc-offload"), "{found:?}");
        assert!(features("gwd-nowhere").is_err());
        assert!(!is_wifi("lo") && !is_wifi("gwd-nowhere"));
    }

    #[test]
    fn a_stations_queues_are_read_as_nl80211_lays_them_out() {
        let number = |kind, value: u32| attribute(kind, &value.to_ne_bytes());
        let own = |sent, backlog| {
            let figures = [number(1, backlog), number(2, 9), number(9, sent), number(10, 7)];
            let sent_packets = attribute(2, &5_u64.to_ne_bytes());
            [sent_packets, attribute(6 | NESTED, &figures.concat())].concat()
        };
        // One that a driver's own queues serve has packets, and no queue here.
        let bare = attribute(2, &5_u64.to_ne_bytes());
        let all = [(1, own(1_000, 200)), (6, own(30_000, 0)), (17, bare)];
        let all: Vec<_> = all.iter().map(|(number, one)| attribute(number | NESTED, one)).collect();
        let info = [number(1, 40), attribute(31 | NESTED, &all.concat())].concat();
        let address = [2, 0, 0, 0, 0, 1];
        let parts = [head(19), number(3, 5), attribute(6, &address), attribute(21 | NESTED, &info)];
        let queues = [(0, 1_000, 200), (5, 30_000, 0)];
        let queues = queues.map(|(identifier, sent_bytes, backlog_bytes)| StationQueue {
            identifier,
            sent_bytes,
            backlog_bytes,
        });
        let read = station(&parts.concat());
        assert_eq!(read, Some(Station { address, queues: queues.to_vec() }));
        let bare = station(&parts[..3].concat());
        assert_eq!(bare, Some(Station { address, queues: Vec::new() }));
        assert_eq!(station(&parts[..2].concat()), None);
    }
}
