//! Checks of how others reach a host here: port, addresses, certificate, paired devices.
//!
//! Source: proc(5) and proc_pid_fd(5) of Linux man-pages 6, for who has a port.

use super::Finding;
use crate::HostConfig;
use crate::command::{host::own_names, https, state};
use crate::host::{mapping, servers};
use gameway_port_mapping::why_not_internet;
use gameway_webrtc::ServerIdentity;
use gameway_webrtc::devices::DeviceFile;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

const NOWHERE: &str = "neither XDG_STATE_HOME nor HOME says where a host keeps what it must know";

/// The port can be had for page and media.
#[expect(clippy::disallowed_types, reason = "a command asks the system for a port")]
pub fn port(listen: SocketAddr) -> Finding {
    let tcp = std::net::TcpListener::bind(listen);
    // Port 0 is any: that which the page has.
    let same = tcp.as_ref().ok().and_then(|page| page.local_addr().ok()).unwrap_or(listen);
    let udp = std::net::UdpSocket::bind(same);
    let refusals = [("TCP", tcp.err()), ("UDP", udp.err())];
    let refused = refusals.into_iter().find_map(|(kind, error)| Some((kind, error?)));
    match refused {
        None => Finding::works(format!("{listen} is free for TCP and UDP")),
        Some((kind, error)) if error.kind() == io::ErrorKind::AddrInUse => {
            let owner = owner(listen.port()).map_or(String::new(), |owner| format!(" by {owner}"));
            let found = format!("{listen} is taken for {kind}{owner}");
            Finding::lacking(found, format!("end that, or --listen {}", other(listen.port())))
        }
        Some((kind, error)) => {
            let mend = "--listen PORT above 1023, or an address of this machine";
            Finding::lacking(format!("{listen} for {kind}: {error}"), mend)
        }
    }
}

/// The port beside it.
fn other(port: u16) -> u16 {
    port.checked_add(1).unwrap_or(port - 1)
}

/// The process that has a port, as far as this user may know.
fn owner(port: u16) -> Option<String> {
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|name| format!("/proc/net/{name}"));
    let lines = tables.iter().filter_map(|table| std::fs::read_to_string(table).ok());
    let sockets: Vec<String> = lines
        .flat_map(|text| text.lines().filter_map(|line| socket(line, port)).collect::<Vec<_>>())
        .collect();
    // Beside them /proc has names for this process itself.
    let is_process = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let has_it = |process: &Path| {
        let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let mut open = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        open.any(|file| sockets.iter().any(|socket| file.as_os_str() == socket.as_str()))
    };
    let mut processes =
        std::fs::read_dir("/proc").ok()?.flatten().filter(is_process).map(|entry| entry.path());
    let process = processes.find(|process| has_it(process))?;
    let name = std::fs::read_to_string(process.join("comm")).ok()?;
    Some(format!("{} (process {})", name.trim(), process.file_name()?.display()))
}

/// What an open file is called that is the socket of a line, if it has the port and waits for others: state 0A is a listening one of
/// TCP, 07 one of UDP.
fn socket(line: &str, port: u16) -> Option<String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, own) = fields.get(1)?.rsplit_once(':')?;
    let waits = matches!(*fields.get(3)?, "0A" | "07");
    (waits && u16::from_str_radix(own, 16) == Ok(port))
        .then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))
        .flatten()
}

/// The machine's own certificate can be read, and is for all of its names and addresses.
pub fn certificate() -> Finding {
    let Some(file) = state::certificate() else {
        return Finding::lacking(NOWHERE, "set HOME");
    };
    certified(&file, &https::own_names(&own_names(), &[]))
}

fn certified(file: &Path, names: &[String]) -> Finding {
    let away = format!("move {} away; the next start of a host makes a new one", file.display());
    if !file.exists() {
        return Finding::unneeded("none yet: the first start of a host makes one");
    }
    let own = match ServerIdentity::read(file, file) {
        Ok(own) => own,
        Err(error) => return Finding::lacking(error.to_string(), away),
    };
    let (has, lacks) = own.split(names);
    let has =
        if has.is_empty() { "none of this machine's names".to_owned() } else { has.join(", ") };
    if lacks.is_empty() {
        return Finding::works(format!("for {has}"));
    }
    let found = format!("for {has}; not for {}", lacks.join(", "));
    Finding::lacking(found, format!("{away}, for which each browser asks once"))
}

/// The list of paired devices can be read.
pub fn devices() -> Finding {
    let Some(file) = state::devices() else {
        return Finding::lacking(NOWHERE, "set HOME");
    };
    paired(&file)
}

fn paired(file: &Path) -> Finding {
    match DeviceFile::new(file.to_owned()).read() {
        Ok(devices) => match devices.all().len() {
            0 => Finding::works("none is paired yet"),
            1 => Finding::works("1 is paired"),
            many => Finding::works(format!("{many} are paired")),
        },
        Err(error) => {
            let away = format!("move {} away, and pair the devices anew", file.display());
            Finding::lacking(error.to_string(), away)
        }
    }
}

/// Others reach this machine.
pub fn ways(listen: SocketAddr) -> Finding {
    if listen.ip().is_loopback() {
        return Finding::unneeded(format!("only this machine reaches {listen}"));
    }
    reached(&crate::host::addresses(listen))
}

/// A STUN or TURN server that a host is told of answers, and says under which address others see this machine.
pub fn outside(config: &HostConfig) -> Finding {
    if config.stun.is_none() && config.turn.is_none() {
        return Finding::unneeded(
            "no STUN or TURN server is asked; with --stun or --turn it is tried",
        );
    }
    if let Err(error) = servers::for_browsers(config) {
        return Finding::lacking(error.to_string(), "give the option as its help says");
    }
    match servers::ask(config) {
        Ok(seen) => Finding::works(format!("others see this machine as {seen}")),
        Err(why) => Finding::lacking(
            why.to_string(),
            "look whether the server runs and UDP passes to it; without it media goes by TCP, where the page's port is reached",
        ),
    }
}

/// The router hands on the port, where a host is to ask for that; it is asked once and takes it back.
pub fn mapped(config: &HostConfig) -> Finding {
    if !config.map_ports {
        return Finding::unneeded("the router is not asked; with --map-ports it is tried");
    }
    match mapping::try_once(config.listen.0) {
        Ok(mapped) if why_not_internet(*mapped.tcp.ip()).is_none() => {
            Finding::works(mapping::told(&mapped))
        }
        Ok(mapped) => Finding::lacking(
            mapping::told(&mapped),
            "--turn with a server of the internet, or IPv6, which is not translated",
        ),
        Err(why) => Finding::lacking(
            why,
            "turn PCP, NAT-PMP or UPnP on in the router, or hand on the port there by hand",
        ),
    }
}

fn reached(addresses: &[SocketAddr]) -> Finding {
    let others = addresses.iter().filter(|address| !address.ip().is_loopback());
    let others: Vec<String> = others.map(ToString::to_string).collect();
    if others.is_empty() {
        let found = "this machine has no address but its own loopback";
        return Finding::lacking(found, "connect it to the network of those who are to play");
    }
    Finding::works(others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use std::path::PathBuf;

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("gameway-doctor-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "a test that takes a port")]
    fn a_port_that_is_taken_is_told_with_who_has_it() {
        let page = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let listen = page.local_addr().expect("an address");
        let found = port(listen);
        let own = std::process::id();
        assert_eq!(found.state, State::Lacking);
        assert!(found.found.starts_with(&format!("{listen} is taken for TCP by ")), "{found:?}");
        assert!(found.found.ends_with(&format!(" (process {own})")), "{found:?}");
        let mend = format!("end that, or --listen {}", other(listen.port()));
        assert_eq!(found.mend, Some(mend));
        drop(page);
        let media = std::net::UdpSocket::bind(listen).expect("the same port");
        let found = port(listen);
        assert!(found.found.starts_with(&format!("{listen} is taken for UDP by ")), "{found:?}");
        assert!(found.found.ends_with(&format!(" (process {own})")), "{found:?}");
        drop(media);
        assert_eq!(port(listen), Finding::works(format!("{listen} is free for TCP and UDP")));
        assert_eq!(port(at("192.0.2.1:0")).state, State::Lacking, "of another machine");
        assert_eq!([other(8443), other(u16::MAX)], [8444, u16::MAX - 1]);
    }

    #[test]
    fn a_certificate_is_for_all_names_or_is_made_anew() {
        let folder = Folder::new("certificate");
        let file = folder.0.join("certificate.pem");
        let name = |text: &str| text.to_owned();
        let names = [name("localhost"), name("game-box"), name("192.0.2.7"), name("2001:db8::7")];
        assert_eq!(certified(&file, &names).state, State::Unneeded);
        ServerIdentity::own(&file, &names).expect("a certificate");
        let works = Finding::works("for localhost, game-box, 192.0.2.7, 2001:db8::7");
        assert_eq!(certified(&file, &names), works);
        // The machine has moved.
        let found = certified(&file, &[name("localhost"), name("192.0.2.8"), name("gäme")]);
        assert_eq!(found.found, "for localhost; not for 192.0.2.8");
        let mend = found.mend.expect("how to mend it");
        assert!(mend.starts_with(&format!("move {} away; ", file.display())), "{mend}");
        std::fs::write(&file, "broken").expect("written");
        let found = certified(&file, &names);
        assert_eq!(found.state, State::Lacking);
        assert!(found.found.contains("certificate.pem\": "), "{found:?}");
    }

    #[test]
    fn devices_are_counted_or_why_not_is_told() {
        let folder = Folder::new("devices");
        let file = folder.0.join("devices.json");
        assert_eq!(paired(&file), Finding::works("none is paired yet"));
        let list = DeviceFile::new(file.clone());
        for (key, told) in [("one", "1 is paired"), ("two", "2 are paired")] {
            list.change(|devices| devices.add("", key, 1)).expect("written");
            assert_eq!(paired(&file), Finding::works(told));
        }
        std::fs::write(&file, "garbage").expect("written");
        let found = paired(&file);
        assert_eq!(found.state, State::Lacking);
        assert!(found.found.contains("devices.json\" cannot be read: "), "{found:?}");
        assert!(found.mend.is_some_and(|mend| mend.starts_with("move /")));
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "a test that answers nobody")]
    fn a_server_is_asked_where_one_is_named() {
        assert_eq!(outside(&HostConfig::default()).state, State::Unneeded);
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let stun = Some(silent.local_addr().expect("an address").to_string());
        let found = outside(&HostConfig { stun: stun.clone(), ..HostConfig::default() });
        assert_eq!(found.state, State::Lacking);
        assert!(found.found.contains("does not answer"), "{found:?}");
        let turn = Some("relay".to_owned());
        let found = outside(&HostConfig { turn, ..HostConfig::default() });
        assert!(found.found.starts_with("turn: \"relay\" is not turn:HOST:PORT"), "{found:?}");
    }

    #[test]
    fn a_router_is_asked_where_that_is_wished() {
        assert_eq!(mapped(&HostConfig::default()).state, State::Unneeded);
        let listen = "127.0.0.1:8443".parse().expect("a place");
        let config = HostConfig { map_ports: true, listen, ..HostConfig::default() };
        let found = mapped(&config);
        assert_eq!(found.state, State::Lacking);
        assert_eq!(found.found, "only this machine reaches 127.0.0.1:8443");
    }

    #[test]
    fn ways_are_those_of_others() {
        let found = reached(&[at("192.0.2.7:1"), at("127.0.0.1:1"), at("[2001:db8::7]:1")]);
        assert_eq!(found, Finding::works("192.0.2.7:1, [2001:db8::7]:1"));
        assert_eq!(reached(&[at("127.0.0.1:1")]).state, State::Lacking);
        assert_eq!(ways(at("127.0.0.1:8443")).state, State::Unneeded);
        assert_eq!(ways(at("192.0.2.7:8443")), Finding::works("192.0.2.7:8443"));
    }
}
