//! What the system's programs do for a link: iproute2, sysctl, ethtool, nftables. They say what they refuse, and their
//! words are those that a reader of `ip(8)` can type to look inside.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

const MTU: &str = "1500";
/// Packets that may wait in the kernel for the link to read them: no drop but in our queues.
const QUEUE_LENGTH: &str = "10000";
/// The package of each program that is called.
const PACKAGES: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nft", "nftables"),
    ("sysctl", "procps"),
    ("ethtool", "ethtool"),
    ("setsid", "util-linux"),
];

/// Whoever holds this file may choose addresses.
const LOCK: &str = "/run/gameway-link.lock";

/// A network namespace by name, or that of the caller.
pub type Space<'a> = Option<&'a str>;

/// Calls iproute2's `ip`.
pub fn ip(words: &[&str]) -> io::Result<String> {
    call("ip", words)
}

/// The same for a namespace.
pub fn ip_in(space: Space<'_>, words: &[&str]) -> io::Result<String> {
    ip(&[&within(space)[..], words].concat())
}

/// The option of `ip` and `tc` for a namespace.
pub fn within(space: Space<'_>) -> Vec<&str> {
    space.map_or(vec![], |space| vec!["-n", space])
}

/// Calls a program; its output, or an error with its own words if it refuses.
pub fn call(program: &str, words: &[&str]) -> io::Result<String> {
    call_with(program, words, "")
}

/// Calls a program in a namespace.
pub fn call_in(space: Space<'_>, program: &str, words: &[&str]) -> io::Result<String> {
    match space {
        Some(space) => ip(&[&["netns", "exec", space, program], words].concat()),
        None => call(program, words),
    }
}

/// Calls a program with a text as its input.
pub fn call_with(program: &str, words: &[&str], input: &str) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| named(program, &error))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read its input says itself what is wrong.
        let _ = pipe.write_all(input.as_bytes());
    }
    let done = child.wait_with_output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    let call = [&[program], words].concat().join(" ");
    Err(io::Error::other(format!("{call}: {said}")))
}

/// Why a program could not be started; one that is not there with what to install.
pub fn named(program: &str, error: &io::Error) -> io::Error {
    let package = PACKAGES.into_iter().find(|(known, _)| *known == program);
    let why = match package {
        Some((_, package)) if error.kind() == io::ErrorKind::NotFound => {
            format!("a link needs the program {program}: install {package}")
        }
        _ => format!("{program}: {error}"),
    };
    io::Error::new(error.kind(), why)
}

/// Makes a TUN device, and brings it up.
pub fn tun(space: Space<'_>, device: &str) -> io::Result<()> {
    ip_in(space, &["tuntap", "add", "mode", "tun", "dev", device])?;
    // No router solicitations of a host that has no router to ask.
    ip_in(space, &["link", "set", "dev", device, "addrgenmode", "none"])?;
    let up = ["link", "set", "dev", device, "mtu", MTU, "txqueuelen", QUEUE_LENGTH, "up"];
    ip_in(space, &up).map(drop)
}

/// Gives a device an address, for itself alone.
pub fn add_address(space: Space<'_>, address: &str, device: &str) -> io::Result<()> {
    let six = address.contains(':');
    let whole = format!("{address}/{}", bits(six));
    let mut words = vec!["address", "add", &whole, "dev", device];
    if six {
        // Of our own device, whatever the machine's default is.
        let enable = format!("net.ipv6.conf.{device}.disable_ipv6=0");
        call_in(space, "sysctl", &["-q", "-w", &enable])?;
        // Nobody else can have it, and nobody answers to the question.
        words.push("nodad");
    }
    ip_in(space, &words).map(drop)
}

/// Waits until no other link is being set up; none is until this is dropped. Two that look for free addresses at the same
/// time would find the same.
pub fn alone() -> io::Result<OwnedFd> {
    let refused = |error: Errno| io::Error::other(format!("{LOCK}: {error}"));
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let file = open(LOCK, flags, Mode::RUSR | Mode::WUSR).map_err(refused)?;
    flock(&file, FlockOperation::LockExclusive).map_err(refused)?;
    Ok(file)
}

/// The names of the devices here.
pub fn devices() -> io::Result<Vec<String>> {
    let shown = ip(&["-oneline", "link", "show"])?;
    // "7: gw1-2@if3: <...": a number, the name, and for a pair where its other end is.
    let names = shown.lines().filter_map(|line| line.split(": ").nth(1)?.split('@').next());
    Ok(names.map(str::to_owned).collect())
}

/// The option of `ip` for a family of addresses.
pub const fn family(six: bool) -> &'static str {
    if six { "-6" } else { "-4" }
}

/// How long its addresses are.
pub const fn bits(six: bool) -> u32 {
    if six { 128 } else { 32 }
}

/// Whether this kernel has IPv6.
pub fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").is_dir()
}

/// The families that this kernel has; true is IPv6.
pub fn families() -> impl Iterator<Item = bool> {
    [false, true].into_iter().filter(|six| !six || has_ipv6())
}
