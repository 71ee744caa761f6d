//! What a link or a live run makes on this machine, and who removes it.
//!
//! Names hold the process that owns them and the tick at which it started, so that what a killed owner left is told from
//! what is in use: `gw-PID-TIME-client` a namespace, `gwPID-TIME` in base 36 the device outside and its table of NAT. A
//! shell in a session of its own, the warden, removes what was made: it waits at the end of a pipe of which the owner alone
//! holds the other, for a word, which it gets when [`Owned`] is dropped, or for the owner's end. No signal to the owner's
//! group reaches it. Where it was killed, the owner removes, or, where that was killed as well, the next link.

use super::machine::{self, add_address, call, family, ip, ip_in, named, tun};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where `ip netns` keeps namespaces.
const RUN: &str = "/run/netns";
/// CAP_NET_ADMIN and CAP_SYS_ADMIN (capabilities(7)).
const NEEDED: u64 = 1 << 12 | 1 << 21;
/// Removes a device ($1) with its NAT, namespaces (the rest) with what runs in them, then a folder ($2), in which nobody
/// writes any more; device and folder may be empty. Pairs of devices are deleted by name: without one a namespace stays, and
/// they with it, while a connection in it waits for an end that no longer answers. The last link with NAT ends forwarding if
/// it was off before the first: an empty chain says so.
const REMOVE: &str = r#"
device=$1; folder=$2; shift 2
for space; do
  tries=100
  while [ $tries -gt 0 ]; do
    inside=$(ip netns pids "$space" 2> /dev/null)
    [ -z "$inside" ] && break
    kill -KILL $inside 2> /dev/null
    tries=$((tries - 1)); sleep 0.01
  done
  ip -n "$space" -oneline link show type veth 2> /dev/null | sed 's/^[0-9]*: \([^@:]*\).*/\1/' | while read -r pair; do
    ip -n "$space" link delete "$pair" 2> /dev/null
  done
  ip netns delete "$space" 2> /dev/null
done
[ -n "$folder" ] && rm -rf -- "$folder"
[ -z "$device" ] && exit 0
ip link delete "$device" 2> /dev/null
if table=$(nft list table inet "$device" 2> /dev/null); then
  nft delete table inet "$device"
  case $table in
    *forwarding_was_off*)
      nft list tables inet | grep -Eq ' gw[0-9a-z]+-[0-9a-z]+$' || echo 0 > /proc/sys/net/ipv4/ip_forward ;;
  esac
fi
exit 0
"#;
/// A word and the end of the pipe say the same: nobody needs it any more.
const WAIT: &str = "trap '' HUP INT TERM; read -r word\n";

/// Namespaces of this process and a device outside, until it is dropped.
#[derive(Debug)]
pub struct Owned {
    prefix: String,
    parts: &'static [&'static str],
    /// The device outside, and the table of its NAT.
    pub device: String,
    folder: Option<PathBuf>,
    warden: Option<Child>,
}

impl Owned {
    /// Makes these namespaces, with their loopback up; the device has a name that nobody else has. `who` is as in
    /// [`require`]. A folder of temporary files, if there is one, is removed with them.
    ///
    /// # Errors
    /// What the machine has not, or refuses, and what to do.
    pub fn make(
        who: &str,
        parts: &'static [&'static str],
        folder: Option<&Path>,
    ) -> io::Result<Self> {
        require(who)?;
        clean()?;
        let process = std::process::id();
        let start = start_of(process).ok_or_else(|| io::Error::other("/proc is not there"))?;
        let mut owned = Self {
            prefix: format!("gw-{process}-{start}"),
            parts,
            device: format!("gw{}-{}", base36(process.into()), base36(start)),
            folder: folder.map(Path::to_owned),
            warden: None,
        };
        owned.watch()?;
        for part in parts {
            let space = owned.space(part);
            ip(&["netns", "add", &space])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
        }
        Ok(owned)
    }

    /// The name of the namespace of a part.
    #[must_use]
    pub fn space(&self, part: &str) -> String {
        format!("{}-{part}", self.prefix)
    }

    /// Its file.
    #[must_use]
    pub fn place(&self, part: &str) -> PathBuf {
        Path::new(RUN).join(self.space(part))
    }

    /// Makes a TUN device in the namespace of a part, with these addresses; everything goes through it.
    ///
    /// # Errors
    /// What the machine refuses.
    pub fn connect(&self, part: &str, device: &str, addresses: &[String]) -> io::Result<()> {
        let space = self.space(part);
        let space = Some(space.as_str());
        tun(space, device)?;
        for address in addresses {
            add_address(space, address, device)?;
        }
        for six in [false, true] {
            if addresses.iter().any(|address| address.contains(':') == six) {
                ip_in(space, &[family(six), "route", "add", "default", "dev", device])?;
            }
        }
        Ok(())
    }

    fn spaces(&self) -> Vec<String> {
        self.parts.iter().map(|part| self.space(part)).collect()
    }

    fn watch(&mut self) -> io::Result<()> {
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", &format!("{WAIT}{REMOVE}"), "gameway-link"]);
        shell.args(words(&self.device, self.folder.as_deref(), &self.spaces()));
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.warden = Some(shell.spawn().map_err(|error| named("setsid", &error))?);
        Ok(())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(mut warden) = self.warden.take() else { return };
        // One that was killed hears no word.
        let _ = warden.stdin.take().map(|mut pipe| pipe.write_all(b"done\n"));
        if !warden.wait().is_ok_and(|status| status.success()) {
            remove(&self.device, self.folder.as_deref(), &self.spaces());
        }
    }
}

/// Refuses, with what to do, where namespaces cannot be made; `who` is "a link needs" or whoever needs them.
///
/// # Errors
/// What is missing.
pub fn require(who: &str) -> io::Result<()> {
    let refused = |what: &str| Err(io::Error::other(format!("{who} {what}")));
    if !Path::new("/dev/net/tun").exists() {
        return refused("/dev/net/tun: load the kernel's module tun");
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let own = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let own = own.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    if own & NEEDED == NEEDED {
        return Ok(());
    }
    refused(
        "root (or CAP_NET_ADMIN and CAP_SYS_ADMIN): sudo; in a container also --cap-add NET_ADMIN \
         --cap-add SYS_ADMIN --device /dev/net/tun",
    )
}

/// Removes what killed links and live runs have left.
///
/// # Errors
/// If the machine does not say what is there.
pub fn clean() -> io::Result<()> {
    for space in namespaces() {
        let owner = space.strip_prefix("gw-").and_then(|rest| rest.split_once('-'));
        let owner = owner.and_then(|(process, rest)| Some((process, rest.split_once('-')?.0)));
        if owner.is_some_and(|(process, start)| is_left(process.parse().ok(), start.parse().ok())) {
            remove("", None, &[space]);
        }
    }
    for device in machine::devices()?.into_iter().chain(tables_of_nat()) {
        let owner = device.strip_prefix("gw").and_then(|rest| rest.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 36).ok();
        if owner.is_some_and(|(process, start)| is_left(number(process), number(start))) {
            remove(&device, None, &[]);
        }
    }
    Ok(())
}

fn namespaces() -> Vec<String> {
    let entries = fs::read_dir(RUN).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The tables of links with NAT; none where there is no nftables.
fn tables_of_nat() -> Vec<String> {
    let listed = call("nft", &["list", "tables", "inet"]).unwrap_or_default();
    listed.lines().filter_map(|line| Some(line.rsplit_once(' ')?.1.to_owned())).collect()
}

/// Whether the owner of this number and start is gone; what has no such numbers is not ours.
fn is_left(process: Option<u64>, start: Option<u64>) -> bool {
    let process = process.and_then(|process| u32::try_from(process).ok());
    process.is_some_and(|process| start.is_some() && start_of(process) != start)
}

/// What [`REMOVE`] is to remove, as it reads it.
fn words<'a>(
    device: &'a str,
    folder: Option<&'a Path>,
    spaces: &'a [String],
) -> impl Iterator<Item = &'a OsStr> {
    let folder = folder.map_or(OsStr::new(""), Path::as_os_str);
    [OsStr::new(device), folder].into_iter().chain(spaces.iter().map(OsStr::new))
}

fn remove(device: &str, folder: Option<&Path>, spaces: &[String]) {
    let mut shell = Command::new("sh");
    shell.args(["-c", REMOVE, "gameway-link"]).args(words(device, folder, spaces));
    // What is left is found by the next link.
    let _ = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The tick at which a process started: field 22 of proc_pid_stat(5); a zombie owns nothing.
#[must_use]
pub fn start_of(process: u32) -> Option<u64> {
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
