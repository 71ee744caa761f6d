//! What a command behind a link needs: a network namespace of its own with a TUN device in it, and one outside.

use super::WHO;
use super::machine::{
    add_address, alone, bits, call, call_with, families, family, has_ipv6, ip, tun,
};
use super::owned::Owned;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// The device in the namespace.
pub const DEVICE: &str = "gw0";
/// The part of which that namespace is.
pub const CLIENT: &str = "client";
/// Drawn once (RFC 4193 section 3.2): a prefix that no other network is likely to have.
const NETWORK6: &str = "fd5c:9e3a:b147";
const MAX_LINKS: u32 = 256;
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
/// An empty chain of this name in a table of NAT says so: the last link with NAT ends it again.
const WAS_OFF: &str = "forwarding_was_off";

/// The addresses of a link's two ends.
#[derive(Debug, Clone, Copy)]
pub struct Ends(u32);

impl Ends {
    /// Addresses that no other link here has.
    pub fn free() -> io::Result<Self> {
        let shown = ip(&["-4", "-oneline", "address", "show"])?;
        let words = shown.split_whitespace();
        let used: Vec<IpAddr> =
            words.filter_map(|word| word.split('/').next()?.parse().ok()).collect();
        let is_free = |number: &u32| !used.contains(&IpAddr::from([10, 77, *number as u8, 1]));
        let none =
            || io::Error::other(format!("{MAX_LINKS} links are there already: end one first"));
        (0..MAX_LINKS).find(is_free).map(Self).ok_or_else(none)
    }

    /// That of the outside; true is IPv6.
    pub fn outside(self, six: bool) -> String {
        let Self(number) = self;
        if six { format!("{NETWORK6}:{number:x}::1") } else { format!("10.77.{number}.1") }
    }

    /// That behind the link.
    pub fn behind(self, six: bool) -> String {
        let Self(number) = self;
        if six { format!("{NETWORK6}:{number:x}::2") } else { format!("10.78.{number}.1") }
    }

    /// What a command behind the link is told.
    pub fn environment(self) -> Vec<(&'static str, String)> {
        let both = [("GAMEWAY_OUTSIDE", false), ("GAMEWAY_OUTSIDE6", true)];
        let known = both.into_iter().filter(|(_, six)| !six || has_ipv6());
        known.map(|(name, six)| (name, self.outside(six))).collect()
    }
}

/// All that was made, until it is dropped.
#[derive(Debug)]
pub struct Setup {
    owned: Owned,
    /// Its addresses.
    pub ends: Ends,
}

impl Setup {
    /// Makes namespace and devices.
    ///
    /// # Errors
    /// What the machine has not, or refuses, and what to do.
    pub fn make(nat: bool) -> io::Result<Self> {
        let owned = Owned::make(WHO, &[CLIENT], None)?;
        let _alone = alone()?;
        let setup = Self { owned, ends: Ends::free()? };
        setup.inside()?;
        setup.outside()?;
        if nat {
            setup.nat()?;
        }
        Ok(setup)
    }

    /// The namespace of the command.
    #[must_use]
    pub fn namespace(&self) -> String {
        self.owned.space(CLIENT)
    }

    /// Its file.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        self.owned.place(CLIENT)
    }

    /// The device outside.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.owned.device
    }

    fn inside(&self) -> io::Result<()> {
        let addresses: Vec<String> = families().map(|six| self.ends.behind(six)).collect();
        self.owned.connect(CLIENT, DEVICE, &addresses)
    }

    fn outside(&self) -> io::Result<()> {
        tun(None, self.device())?;
        for six in families() {
            let own = self.ends.outside(six);
            add_address(None, &own, self.device())?;
            let there = format!("{}/{}", self.ends.behind(six), bits(six));
            ip(&[family(six), "route", "add", &there, "dev", self.device(), "src", &own])?;
        }
        Ok(())
    }

    /// Lets what is behind the link reach what this machine reaches, under this machine's address.
    fn nat(&self) -> io::Result<()> {
        let (device, client) = (self.device(), self.ends.behind(false));
        let was_off = fs::read_to_string(FORWARDING)?.trim() == "0"
            || call("nft", &["list", "ruleset", "inet"])?.contains(WAS_OFF);
        let chain = if was_off { format!("chain {WAS_OFF} {{ }}") } else { String::new() };
        let rules = format!(
            "table inet {device} {{\n{chain}\nchain postrouting {{\ntype nat hook postrouting priority srcnat;\n\
             ip saddr {client} oifname != \"{device}\" masquerade\n}}\n}}\n"
        );
        call_with("nft", &["--file", "-"], &rules)?;
        fs::write(FORWARDING, "1\n")
    }
}
