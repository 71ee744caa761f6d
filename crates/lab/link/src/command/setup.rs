//! What a command behind a link needs: a network namespace of its own with a TUN device in it, and one outside.
//!
//! Names hold the process that owns them and the tick at which it started, so that what a killed owner left is told from
//! what is in use: `gw-PID-TIME-client` the namespace, `gwPID-TIME` in base 36 the device. What was made is removed when
//! [`Setup`] is dropped. A shell in a session of its own removes it where the owner is killed: it waits at the end of a
//! pipe of which the owner alone holds the other.
//!
//! iproute2 and nftables do the work, called as programs: they say what they refuse.

use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where `ip netns` keeps namespaces.
const RUN: &str = "/run/netns";
/// The TUN device in the namespace.
pub const DEVICE: &str = "gw0";
const MTU: &str = "1500";
/// Packets that may wait in the kernel for the link to read them: no drop but in our queues.
const QUEUE_LENGTH: &str = "10000";
/// Drawn once (RFC 4193 section 3.2): a prefix that no other network is likely to have.
const NETWORK6: &str = "fd5c:9e3a:b147";
const MAX_LINKS: u32 = 256;
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
/// CAP_NET_ADMIN and CAP_SYS_ADMIN (capabilities(7)).
const NEEDED: u64 = 1 << 12 | 1 << 21;
/// Removes a namespace ($1) with what runs in it, a device ($2) and its NAT; either may be empty. The last link with NAT
/// ends forwarding if it was off before the first: an empty chain says so.
const REMOVE: &str = r#"
tries=100
while [ -n "$1" ] && [ $tries -gt 0 ]; do
  inside=$(ip netns pids "$1" 2> /dev/null)
  [ -z "$inside" ] && break
  kill -KILL $inside 2> /dev/null
  tries=$((tries - 1)); sleep 0.01
done
[ -n "$1" ] && ip netns delete "$1" 2> /dev/null
[ -n "$2" ] && ip link delete "$2" 2> /dev/null
if [ -n "$2" ] && table=$(nft list table inet "$2" 2> /dev/null); then
  nft delete table inet "$2"
  case $table in
    *forwarding_was_off*)
      nft list tables inet | grep -Eq ' gw[0-9a-z]+-[0-9a-z]+$' || echo 0 > /proc/sys/net/ipv4/ip_forward ;;
  esac
fi
exit 0
"#;
/// A word dismisses the shell that waits; the end of the pipe without one is the owner's end.
const WAIT: &str = "trap '' HUP INT TERM; read -r word && exit 0\n";

/// All that was made, until it is dropped.
#[derive(Debug)]
pub struct Setup {
    /// Of the namespace of the command.
    pub namespace: String,
    /// The device outside.
    pub device: String,
    number: u32,
    warden: Option<Child>,
}

impl Setup {
    /// Makes namespace and devices.
    ///
    /// # Errors
    /// What the machine has not, or refuses, and what to do.
    pub fn make(nat: bool) -> io::Result<Self> {
        require()?;
        clean();
        let process = std::process::id();
        let start = start_of(process).ok_or_else(|| io::Error::other("/proc is not there"))?;
        let mut setup = Self {
            namespace: format!("gw-{process}-{start}-client"),
            device: format!("gw{}-{}", base36(process.into()), base36(start)),
            number: free_number()?,
            warden: None,
        };
        setup.watch()?;
        setup.inside()?;
        setup.outside()?;
        if nat {
            setup.nat()?;
        }
        Ok(setup)
    }

    /// The file of the namespace.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        Path::new(RUN).join(&self.namespace)
    }

    /// What a command behind the link is told: the addresses of the outside.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let both = [("GAMEWAY_OUTSIDE", false), ("GAMEWAY_OUTSIDE6", true)];
        let known = both.into_iter().filter(|(_, six)| !six || has_ipv6());
        known.map(|(name, six)| (name, self.address(true, six))).collect()
    }

    /// The address outside or behind the link.
    fn address(&self, outside: bool, six: bool) -> String {
        let number = self.number;
        match (six, outside) {
            (false, true) => format!("10.77.{number}.1"),
            (false, false) => format!("10.78.{number}.1"),
            (true, true) => format!("{NETWORK6}:{number:x}::1"),
            (true, false) => format!("{NETWORK6}:{number:x}::2"),
        }
    }

    fn watch(&mut self) -> io::Result<()> {
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", &format!("{WAIT}{REMOVE}"), "gameway-link", &self.namespace]);
        shell.arg(&self.device).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.warden = Some(shell.spawn().map_err(|error| named("setsid sh", &error))?);
        Ok(())
    }

    fn inside(&self) -> io::Result<()> {
        let space = self.namespace.as_str();
        ip(&["netns", "add", space])?;
        ip(&["-n", space, "link", "set", "lo", "up"])?;
        tun(Some(space), DEVICE)?;
        for six in families() {
            add_address(Some(space), &self.address(false, six), DEVICE)?;
            ip(&["-n", space, family(six), "route", "add", "default", "dev", DEVICE])?;
        }
        Ok(())
    }

    fn outside(&self) -> io::Result<()> {
        tun(None, &self.device)?;
        for six in families() {
            let own = self.address(true, six);
            add_address(None, &own, &self.device)?;
            let there = format!("{}/{}", self.address(false, six), bits(six));
            let way = ["route", "add", &there, "dev", &self.device, "src", &own];
            ip(&[&[family(six)], &way[..]].concat())?;
        }
        Ok(())
    }

    /// Lets what is behind the link reach what this machine reaches, under this machine's address.
    fn nat(&self) -> io::Result<()> {
        let device = &self.device;
        let was_off = fs::read_to_string(FORWARDING)?.trim() == "0"
            || call("nft", &["list", "ruleset", "inet"])?.contains("forwarding_was_off");
        let chain = if was_off { "chain forwarding_was_off { }" } else { "" };
        let client = self.address(false, false);
        let rules = format!(
            "table inet {device} {{\n{chain}\nchain postrouting {{\ntype nat hook postrouting priority srcnat;\n\
             ip saddr {client} oifname != \"{device}\" masquerade\n}}\n}}\n"
        );
        let mut nft = Command::new("nft");
        nft.args(["--file", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut nft = nft.spawn().map_err(|error| named("nft", &error))?;
        if let Some(mut input) = nft.stdin.take() {
            input.write_all(rules.as_bytes())?;
        }
        let done = nft.wait_with_output()?;
        if !done.status.success() {
            return Err(io::Error::other(format!(
                "nft: {}",
                String::from_utf8_lossy(&done.stderr).trim()
            )));
        }
        fs::write(FORWARDING, "1\n")
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        remove(&self.namespace, &self.device);
        if let Some(mut warden) = self.warden.take() {
            // One that is gone needs no word.
            let _ = warden.stdin.take().map(|mut pipe| pipe.write_all(b"done\n"));
            let _ = warden.wait();
        }
    }
}

/// Refuses, with what to do, where namespaces cannot be made.
fn require() -> io::Result<()> {
    if !Path::new("/dev/net/tun").exists() {
        return Err(io::Error::other("a link needs /dev/net/tun: load the kernel's module tun"));
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let own = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let own = own.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    if own & NEEDED == NEEDED {
        return Ok(());
    }
    let why = "a link needs root (or CAP_NET_ADMIN and CAP_SYS_ADMIN): sudo; in a container also --cap-add NET_ADMIN \
               --cap-add SYS_ADMIN --device /dev/net/tun";
    Err(io::Error::other(why))
}

/// Removes what killed links have left.
fn clean() {
    for name in names(RUN) {
        let owner = name.strip_prefix("gw-").and_then(|rest| rest.split_once('-'));
        let owner = owner.and_then(|(process, rest)| Some((process, rest.split_once('-')?.0)));
        if owner.is_some_and(|(process, start)| is_left(process.parse().ok(), start.parse().ok())) {
            remove(&name, "");
        }
    }
    for name in names("/sys/class/net") {
        let owner = name.strip_prefix("gw").and_then(|rest| rest.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 36).ok();
        if owner.is_some_and(|(process, start)| is_left(number(process), number(start))) {
            remove("", &name);
        }
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Whether the owner of this number and start is gone; what has no such numbers is not ours.
fn is_left(process: Option<u64>, start: Option<u64>) -> bool {
    let process = process.and_then(|process| u32::try_from(process).ok());
    process.is_some_and(|process| start.is_some() && start_of(process) != start)
}

fn remove(namespace: &str, device: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", REMOVE, "gameway-link", namespace, device]);
    // What is left is found by the next link.
    let _ = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The tick at which a process started: field 22 of proc_pid_stat(5); a zombie owns nothing.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next().is_none_or(|state| matches!(state, "Z" | "X")) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// With digits and letters: 15 characters, as long as a device's name may be, hold any process and 24 years of ticks.
fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().collect()
}

/// A number whose addresses no other link has.
fn free_number() -> io::Result<u32> {
    let shown = ip(&["-4", "-oneline", "address", "show"])?;
    let used: Vec<IpAddr> =
        shown.split_whitespace().filter_map(|word| word.split('/').next()?.parse().ok()).collect();
    let is_free = |number: &u32| !used.contains(&IpAddr::from([10, 77, *number as u8, 1]));
    let none = || io::Error::other(format!("{MAX_LINKS} links are there already: end one first"));
    (0..MAX_LINKS).find(is_free).ok_or_else(none)
}

fn tun(space: Option<&str>, device: &str) -> io::Result<()> {
    let within = space.map_or(vec![], |space| vec!["-n", space]);
    let link = |words: &[&str]| ip(&[&within[..], words].concat()).map(drop);
    link(&["tuntap", "add", "mode", "tun", "dev", device])?;
    // No router solicitations of a host that has no router to ask.
    link(&["link", "set", "dev", device, "addrgenmode", "none"])?;
    link(&["link", "set", "dev", device, "mtu", MTU, "txqueuelen", QUEUE_LENGTH, "up"])
}

fn add_address(space: Option<&str>, address: &str, device: &str) -> io::Result<()> {
    let six = address.contains(':');
    let whole = format!("{address}/{}", bits(six));
    let within = space.map_or(vec![], |space| vec!["-n", space]);
    let mut words = [&within[..], &["address", "add", &whole, "dev", device]].concat();
    if six {
        // Of our own device, whatever the machine's default is.
        let enable = format!("net.ipv6.conf.{device}.disable_ipv6=0");
        let sysctl = ["sysctl", "-q", "-w", &enable];
        match space {
            Some(space) => ip(&[&["netns", "exec", space], &sysctl[..]].concat())?,
            None => call(sysctl[0], &sysctl[1..])?,
        };
        // Nobody else can have it, and nobody answers to the question.
        words.push("nodad");
    }
    ip(&words).map(drop)
}

const fn family(six: bool) -> &'static str {
    if six { "-6" } else { "-4" }
}

const fn bits(six: bool) -> u32 {
    if six { 128 } else { 32 }
}

fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").is_dir()
}

fn families() -> impl Iterator<Item = bool> {
    [false, true].into_iter().filter(|six| !six || has_ipv6())
}

fn ip(words: &[&str]) -> io::Result<String> {
    call("ip", words)
}

/// Calls a program; its own words if it refuses.
fn call(program: &str, words: &[&str]) -> io::Result<String> {
    let done = Command::new(program).args(words).stdin(Stdio::null()).output();
    let done = done.map_err(|error| named(program, &error))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(io::Error::other(format!("{program} {}: {said}", words.join(" "))))
}

fn named(program: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{program}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        let process = std::process::id();
        let start = start_of(process).expect("/proc");
        assert!(!is_left(Some(process.into()), Some(start)));
        // The same number with another start: a process that is gone.
        assert!(is_left(Some(process.into()), Some(start + 1)));
        assert!(!is_left(Some(process.into()), None) && !is_left(None, Some(start)));
        assert_eq!(["0", "z", "10"].map(str::to_owned), [0, 35, 36].map(base36));
        let longest = format!("gw{}-{}", base36(1 << 22), base36(24 * 366 * 86_400 * 100));
        assert!(longest.len() <= 15, "{longest}");
    }
}
