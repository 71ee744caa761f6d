//! Lists that the kernel gives by netlink: interfaces, queues and filters of tc, tables of flows, features of devices, queues of
//! Wi-Fi stations. A router of OpenWrt has the tools for that not always, and a static binary brings none.
//!
//! Sources: netlink(7) and rtnetlink(7) for messages and attributes; `linux/rtnetlink.h`, `linux/if_link.h`, `linux/pkt_cls.h`,
//! `linux/netfilter/nf_tables.h` of Linux 6.1 for their numbers, which are fixed for good. Integers are in the machine's order,
//! those of nf_tables in the network's.

mod generic;

pub use generic::{Station, StationQueue, Wifi, features, is_wifi};
pub(crate) use generic::{active_features, station};

use ipnet::IpNet;
use rustix::fd::OwnedFd;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with,
};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

/// The kernel answers in milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of one read; the kernel's own buffer of a dump.
const BUFFER: usize = 32 * 1024;
/// A list has no more bytes: 10,000 interfaces.
const MAX_BYTES: usize = 16 << 20;
/// The family that has the number 0, `NETLINK_ROUTE`.
const ROUTE: Option<Protocol> = None;
const HEADER: usize = 16;
const GET_LINK: u16 = 18;
const REQUEST: u16 = 0x1;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Of an attribute's type: flags for nested ones and those in the network's order.
const TYPE: u16 = 0x3fff;
const NESTED: u16 = 0x8000;

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is switched on.
    pub is_up: bool,
    /// Whether something is at its other end.
    pub has_carrier: bool,
    /// "bridge", "veth", ...; empty: a device.
    pub kind: String,
    /// The number of the bridge of which it is a port.
    pub master: Option<u32>,
}

/// A table of flows that pass without the rest of the network stack (nftables).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowTable {
    /// Its name, with its table's in front.
    pub name: String,
    /// The devices at which it takes packets.
    pub devices: Vec<String>,
    /// Whether the devices themselves pass on packets.
    pub is_hardware: bool,
}

/// A queue of tc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qdisc {
    /// The number of its interface.
    pub interface: u32,
    /// "fq_codel", "clsact", ...
    pub kind: String,
    /// Its own number; 0: one that the kernel put there by itself.
    pub handle: u32,
    /// Whose place it has: [`ROOT`], or a class.
    pub parent: u32,
}

/// The parent of an interface's first queue.
pub const ROOT: u32 = u32::MAX;
/// The length of the head of tc's messages.
pub const TC_HEAD: usize = 20;

/// Attributes one after the other; what is cut short ends them.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The first attribute of a type.
pub fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number in the machine's order.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// An attribute, filled up to whole words.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Messages one after the other, as type and content; what is cut short ends them.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
        let kind = u16_at(bytes, 4)?;
        let content = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, content))
    })
}

fn request(kind: u16, flags: u16, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + content.len()).unwrap_or(u32::MAX);
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend((REQUEST | flags).to_ne_bytes());
    // Sequence number, and whom the kernel answers: both as they are.
    request.extend([0; 8]);
    request.extend_from_slice(content);
    request.resize(request.len().next_multiple_of(4), 0);
    request
}

/// A socket of one family.
#[derive(Debug)]
struct Netlink(OwnedFd);

impl Netlink {
    fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        Ok(Self(socket))
    }

    /// The contents of all messages of an answer; of a list, where `flags` ask for one.
    fn ask(&self, kind: u16, flags: u16, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.send(&request(kind, flags, content))?;
        self.answers(flags & DUMP != 0)
    }

    /// What the kernel answers; all that it lists, where it was asked for a list.
    fn answers(&self, is_list: bool) -> io::Result<Vec<Vec<u8>>> {
        let (mut found, mut total) = (Vec::new(), 0);
        loop {
            let mut buffer = vec![0; BUFFER];
            let (count, _) = recv(&self.0, &mut buffer, RecvFlags::empty())?;
            total += count;
            if count == 0 || total > MAX_BYTES {
                return Err(io::Error::other("the kernel's list has no end"));
            }
            for (kind, content) in messages(&buffer[..count]) {
                match kind {
                    DONE => return Ok(found),
                    ERROR => {
                        let code = u32_at(content, 0).unwrap_or(0).cast_signed();
                        // An error of 0 is consent, where that was asked for.
                        if code == 0 {
                            return Ok(found);
                        }
                        return Err(io::Error::from_raw_os_error(code.saturating_neg()));
                    }
                    _ => found.push(content.to_vec()),
                }
            }
            if !is_list {
                return Ok(found);
            }
        }
    }

    fn send(&self, requests: &[u8]) -> io::Result<()> {
        sendto(&self.0, requests, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }

    /// Hears the kernel's consent to so many requests.
    fn agreed(&self, mut count: usize) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        while count > 0 {
            let (length, _) = recv(&self.0, &mut buffer, RecvFlags::empty())?;
            for (kind, content) in messages(&buffer[..length]).take(count) {
                let code = u32_at(content, 0).unwrap_or(0).cast_signed();
                if kind == ERROR && code != 0 {
                    return Err(io::Error::from_raw_os_error(code.saturating_neg()));
                }
                count -= 1;
            }
        }
        Ok(())
    }

    fn list(&self, kind: u16, content: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.ask(kind, DUMP, content)
    }
}

/// All interfaces of this network namespace.
///
/// # Errors
/// What the kernel says.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let found = Netlink::open(ROUTE)?.list(GET_LINK, &[0; 16])?;
    Ok(found.iter().filter_map(|message| interface(message)).collect())
}

/// The interface of this number, whatever it is called by now.
///
/// # Errors
/// What the kernel says: `ENODEV` if there is none.
pub fn interface_at(index: u32) -> io::Result<Interface> {
    let mut content = [0; 16];
    content[4..8].copy_from_slice(&index.to_ne_bytes());
    let found = Netlink::open(ROUTE)?.ask(GET_LINK, 0, &content)?;
    let read = found.first().and_then(|message| interface(message));
    read.ok_or_else(|| io::Error::other("the kernel's answer is no interface"))
}

pub(crate) fn interface(message: &[u8]) -> Option<Interface> {
    const NAME: u16 = 3;
    const MASTER: u16 = 10;
    const LINK_INFO: u16 = 18;
    const INFO_KIND: u16 = 1;
    const UP: u32 = 0x1;
    const LOWER_UP: u32 = 0x1_0000;
    let rest = message.get(16..)?;
    let flags = u32_at(message, 8)?;
    let kind = find(rest, LINK_INFO).and_then(|info| find(info, INFO_KIND));
    Some(Interface {
        index: u32_at(message, 4)?,
        name: text(find(rest, NAME)?),
        is_up: flags & UP != 0,
        has_carrier: flags & LOWER_UP != 0,
        kind: kind.map(text).unwrap_or_default(),
        master: find(rest, MASTER).and_then(|value| u32_at(value, 0)),
    })
}

/// The addresses of the interface of this name, each with the length of its prefix; none if there is no such interface.
///
/// # Errors
/// What the kernel says.
pub fn addresses_of(name: &str) -> io::Result<Vec<IpNet>> {
    let found = interfaces()?.into_iter().find(|one| one.name == name);
    found.map_or(Ok(Vec::new()), |one| addresses(one.index))
}

/// Those of the interface of this number.
pub(crate) fn addresses(interface: u32) -> io::Result<Vec<IpNet>> {
    const GET_ADDRESS: u16 = 22;
    let found = Netlink::open(ROUTE)?.list(GET_ADDRESS, &[0; 8])?;
    let own = found.iter().filter(|message| u32_at(message, 4) == Some(interface));
    Ok(own.filter_map(|message| address(message)).collect())
}

pub(crate) fn address(message: &[u8]) -> Option<IpNet> {
    // The other end's where a link has two ends, and the own one.
    const ADDRESS: u16 = 1;
    const LOCAL: u16 = 2;
    let length = *message.get(1)?;
    let rest = message.get(8..)?;
    let bytes = find(rest, LOCAL).or_else(|| find(rest, ADDRESS))?;
    let address = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    IpNet::new(address, length).ok()
}

/// All queues of tc of this network namespace.
///
/// # Errors
/// What the kernel says.
pub fn qdiscs() -> io::Result<Vec<Qdisc>> {
    const GET_QDISC: u16 = 38;
    let found = Netlink::open(ROUTE)?.list(GET_QDISC, &[0; TC_HEAD])?;
    Ok(found.iter().filter_map(|message| qdisc(message)).collect())
}

pub(crate) fn qdisc(message: &[u8]) -> Option<Qdisc> {
    const KIND: u16 = 1;
    let kind = text(find(message.get(TC_HEAD..)?, KIND)?);
    let number = |at| u32_at(message, at);
    Some(Qdisc { interface: number(4)?, handle: number(8)?, parent: number(12)?, kind })
}

/// A request of tc, all of it.
pub fn tc_request(
    kind: u16,
    flags: u16,
    interface: u32,
    [handle, parent]: [u32; 2],
    attributes: &[u8],
) -> Vec<u8> {
    let mut content = vec![0; TC_HEAD];
    for (at, value) in [(4, interface), (8, handle), (12, parent)] {
        content[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    content.extend_from_slice(attributes);
    request(kind, flags, &content)
}

/// Sends several requests that ask for consent (`NLM_F_ACK`), at once.
///
/// # Errors
/// What the kernel says to the first that it refuses; it goes on with the others.
pub fn traffic_control_all(requests: &[Vec<u8>]) -> io::Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let socket = Netlink::open(ROUTE)?;
    socket.send(&requests.concat())?;
    socket.agreed(requests.len())
}

/// One request of tc that asks of an object, or for consent: its answer, empty where there is none but consent.
///
/// # Errors
/// What the kernel says.
pub fn traffic_control(
    kind: u16,
    flags: u16,
    interface: u32,
    place: [u32; 2],
    attributes: &[u8],
) -> io::Result<Vec<u8>> {
    let socket = Netlink::open(ROUTE)?;
    socket.send(&tc_request(kind, flags, interface, place, attributes))?;
    Ok(socket.answers(false)?.into_iter().next().unwrap_or_default())
}

/// What stands in front of an interface as filters of its `clsact`, in both directions: names of BPF programs, else kinds.
///
/// # Errors
/// What the kernel says.
pub fn filters(interface: u32) -> io::Result<Vec<String>> {
    const GET_FILTER: u16 = 46;
    const BLOCKS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];
    let socket = Netlink::open(ROUTE)?;
    let mut names = Vec::new();
    for block in BLOCKS {
        let mut content = [0; 20];
        content[4..8].copy_from_slice(&interface.to_ne_bytes());
        content[12..16].copy_from_slice(&block.to_ne_bytes());
        names.extend(socket.list(GET_FILTER, &content)?.iter().filter_map(|one| filter(one)));
    }
    Ok(names)
}

pub(crate) fn filter(message: &[u8]) -> Option<String> {
    const KIND: u16 = 1;
    const OPTIONS: u16 = 2;
    const BPF_NAME: u16 = 7;
    let rest = message.get(20..)?;
    let kind = text(find(rest, KIND)?);
    // A filter is told twice: what it is, and with its options.
    let options = find(rest, OPTIONS)?;
    let name = (kind == "bpf").then(|| find(options, BPF_NAME).map(text)).flatten();
    Some(name.unwrap_or(kind))
}

/// All tables of flows of this network namespace.
///
/// # Errors
/// What the kernel says; where it has no nf_tables, there are none.
pub fn flow_tables() -> io::Result<Vec<FlowTable>> {
    const NF_TABLES: u16 = 10 << 8;
    const GET_FLOW_TABLE: u16 = 23;
    let listed = Netlink::open(Some(NETFILTER))?.list(NF_TABLES | GET_FLOW_TABLE, &[0; 4]);
    match listed {
        Ok(found) => Ok(found.iter().filter_map(|message| flow_table(message)).collect()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(crate) fn flow_table(message: &[u8]) -> Option<FlowTable> {
    const TABLE: u16 = 1;
    const NAME: u16 = 2;
    const HOOK: u16 = 3;
    const FLAGS: u16 = 7;
    const DEVICES: u16 = 3;
    const HARDWARE: u32 = 0x1;
    let rest = message.get(4..)?;
    let flags = find(rest, FLAGS).and_then(|value| u32_at(value, 0)).map_or(0, u32::from_be);
    let devices = find(rest, HOOK).and_then(|hook| find(hook, DEVICES)).unwrap_or_default();
    Some(FlowTable {
        name: format!("{} {}", text(find(rest, TABLE)?), text(find(rest, NAME)?)),
        devices: attributes(devices).map(|(_, name)| text(name)).collect(),
        is_hardware: flags & HARDWARE != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_loopback_is_found_with_its_address() {
        let all = interfaces().expect("a list");
        let own = all.iter().find(|one| one.name == "lo").expect("it is always there");
        assert_eq!((own.index, own.kind.as_str(), own.master), (1, "", None));
        let addresses = addresses(1).expect("a list");
        assert!(addresses.contains(&"127.0.0.1/8".parse().expect("a prefix")), "{addresses:?}");
        assert!(qdiscs().expect("a list").iter().all(|one| !one.kind.is_empty()));
    }

    fn text_attribute(kind: u16, text: &str) -> Vec<u8> {
        attribute(kind, &[text.as_bytes(), b"\0"].concat())
    }

    #[test]
    fn a_table_of_flows_is_read_as_nf_tables_lays_it_out() {
        let devices = [text_attribute(1, "lan1"), text_attribute(1, "wan")].concat();
        let hook = attribute(3 | NESTED, &attribute(3 | NESTED, &devices));
        let flags = attribute(7, &1_u32.to_be_bytes());
        let names = [text_attribute(1, "fw4"), text_attribute(2, "ft")].concat();
        let head = vec![2, 0, 0, 0];
        let read = flow_table(&[head.clone(), names.clone(), hook, flags].concat());
        let devices = vec!["lan1".to_owned(), "wan".to_owned()];
        let expected = FlowTable { name: "fw4 ft".to_owned(), devices, is_hardware: true };
        assert_eq!(read, Some(expected));
        let plain = flow_table(&[head.clone(), names].concat()).expect("a table");
        assert!(!plain.is_hardware && plain.devices.is_empty());
        assert_eq!(flow_table(&head), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for (_, content) in messages(&bytes) {
                interface(content);
                filter(content);
                address(content);
                flow_table(content);
                qdisc(content);
                active_features(content);
                station(content);
            }
            let _ = (interface(&bytes), filter(&bytes), flow_table(&bytes), active_features(&bytes), address(&bytes));
            let _ = (station(&bytes), qdisc(&bytes));
            prop_assert!(attributes(&bytes).count() <= bytes.len() / 4 + 1);
        }
    }
}
