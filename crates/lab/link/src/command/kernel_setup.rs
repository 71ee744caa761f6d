//! A path of the kernel's own queues, set up.
//!
//! ```text
//! outside ── veth ── router ── veth ── command
//! ```
//!
//! The router, a namespace, has the qdiscs of either way at its two ports, which are called as the ends that they lead to.

use super::WHO;
use super::kernel::{IP_PACKET, PACKET, Plan, Shaper};
use super::machine::{
    Space, add_address, alone, call, call_in, families, family, has_ipv6, ip, ip_in, within,
};
use super::owned::Owned;
use super::setup::{CLIENT, DEVICE, Ends};
use gameway_units::Duration;
use serde_json::Value;
use std::io;

const ROUTER: &str = "router";
/// The router's port towards the outside.
const OUTSIDE: &str = "server";
/// Of HTB's class: one full packet (Linux computes 1 to 60 thousand from the rate).
const QUANTUM: &str = "1514";
/// A delay below this needs no netem: two veths and a forwarding take tens of microseconds.
const OWN_DELAY: Duration = Duration::from_micros(100);

/// All that was made, until it is dropped.
#[derive(Debug)]
pub struct KernelSetup {
    owned: Owned,
    /// Its addresses.
    pub ends: Ends,
}

impl KernelSetup {
    /// Makes namespaces, devices and qdiscs.
    ///
    /// # Errors
    /// What the machine has not, or refuses, and what to do.
    pub fn make(plan: &Plan) -> io::Result<Self> {
        let owned = Owned::make(WHO, &[ROUTER, CLIENT], None)?;
        let alone = alone()?;
        let setup = Self { owned, ends: Ends::free()? };
        setup.wire()?;
        drop(alone);
        let (client, router) = (setup.namespace(), setup.router());
        shape(&router, CLIENT, &plan.down)?;
        if let Some(up) = &plan.up {
            shape(&router, OUTSIDE, up)?;
        }
        delay(None, &setup.owned.device, plan.delays[0])?;
        delay(Some(&client), DEVICE, plan.delays[1])?;
        Ok(setup)
    }

    /// The namespace of the command.
    #[must_use]
    pub fn namespace(&self) -> String {
        self.owned.space(CLIENT)
    }

    fn router(&self) -> String {
        self.owned.space(ROUTER)
    }

    /// What the qdiscs towards the command counted.
    ///
    /// # Errors
    /// If tc does not say.
    pub fn counted(&self) -> io::Result<Vec<String>> {
        let router = self.router();
        let words = ["-s", "-json", "qdisc", "show", "dev", CLIENT];
        let shown = call("tc", &[&within(Some(&router))[..], &words].concat())?;
        let found: Vec<Value> = serde_json::from_str(&shown)?;
        let told = |one: &Value| {
            let kind = one["kind"].as_str().unwrap_or_default();
            format!("{kind}: {} packets sent, {} dropped", one["packets"], one["drops"])
        };
        Ok(found.iter().map(told).collect())
    }

    fn wire(&self) -> io::Result<()> {
        let (router, client, device) =
            (self.router(), self.namespace(), self.owned.device.as_str());
        let client = Some(client.as_str());
        connect(&router, CLIENT, client, DEVICE)?;
        connect(&router, OUTSIDE, None, device)?;
        let settings = forwarding();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        call_in(Some(&router), "sysctl", &[&["-q", "-w"], &settings[..]].concat())?;
        for six in families() {
            let (own, behind) = (self.ends.outside(six), self.ends.behind(six));
            place(&router, CLIENT, client, DEVICE, &behind)?;
            place(&router, OUTSIDE, None, device, &own)?;
            ip_in(client, &[family(six), "route", "add", "default", "dev", DEVICE])?;
            ip(&[family(six), "route", "add", &behind, "dev", device])?;
        }
        if has_ipv6() {
            // The router answers for the address on its other side, as proxy ARP does of itself.
            let (own, behind) = (self.ends.outside(true), self.ends.behind(true));
            for (port, address) in [(CLIENT, own), (OUTSIDE, behind)] {
                let words = ["-6", "neigh", "add", "proxy", &address, "dev", port];
                ip_in(Some(&router), &words)?;
            }
        }
        Ok(())
    }
}

/// The settings of the router.
fn forwarding() -> Vec<String> {
    let mut settings = vec!["net.ipv4.ip_forward=1".to_owned()];
    for device in [OUTSIDE, CLIENT] {
        settings.push(format!("net.ipv4.conf.{device}.proxy_arp=1"));
        settings.push(format!("net.ipv4.neigh.{device}.proxy_delay=0"));
        if has_ipv6() {
            settings.push(format!("net.ipv6.conf.{device}.disable_ipv6=0"));
            settings.push(format!("net.ipv6.conf.{device}.proxy_ndp=1"));
            settings.push(format!("net.ipv6.neigh.{device}.proxy_delay=0"));
        }
    }
    if has_ipv6() {
        settings.push("net.ipv6.conf.all.forwarding=1".to_owned());
    }
    settings
}

/// Joins a namespace to the router by a pair of devices that carry packets as large as their MTU only: queues count
/// packets of the wire.
fn connect(router: &str, port: &str, space: Space<'_>, device: &str) -> io::Result<()> {
    let here = std::process::id().to_string();
    let pair = ["link", "add", port, "type", "veth", "peer", device];
    ip_in(Some(router), &[&pair[..], &["netns", space.unwrap_or(&here)]].concat())?;
    ip_in(Some(router), &["link", "set", port, "up"])?;
    ip_in(space, &["link", "set", device, "up"])?;
    for (space, device) in [(Some(router), port), (space, device)] {
        let words = ["-K", device, "tso", "off", "gso", "off", "gro", "off"];
        call_in(space, "ethtool", &words)?;
    }
    Ok(())
}

/// Gives the end of a pair an address, and the router the way there.
fn place(
    router: &str,
    port: &str,
    space: Space<'_>,
    device: &str,
    address: &str,
) -> io::Result<()> {
    add_address(space, address, device)?;
    let six = address.contains(':');
    ip_in(Some(router), &[family(six), "route", "add", address, "dev", port]).map(drop)
}

/// HTB counts Ethernet headers, which the path does not: its rate is that of full packets.
fn shape(router: &str, port: &str, shaper: &Shaper) -> io::Result<()> {
    let rate = format!("{}bit", shaper.rate.as_bps() * PACKET / IP_PACKET);
    let packet = PACKET.to_string();
    let root = ["root", "handle", "1:", "htb", "default", "1"];
    qdisc(Some(router), port, &root, "htb")?;
    let class = ["class", "add", "dev", port, "parent", "1:", "classid", "1:1", "htb"];
    let limits = ["rate", &rate, "ceil", &rate, "burst", &packet, "cburst", &packet];
    let own = within(Some(router));
    call("tc", &[&own[..], &class, &limits, &["quantum", QUANTUM]].concat())?;
    let queue: Vec<&str> = shaper.queue.iter().map(String::as_str).collect();
    let kind = queue.first().copied().unwrap_or_default();
    qdisc(Some(router), port, &[&["parent", "1:1", "handle", "10:"], &queue[..]].concat(), kind)
}

fn delay(space: Space<'_>, device: &str, delay: Duration) -> io::Result<()> {
    if delay < OWN_DELAY {
        return Ok(());
    }
    let delay = format!("{}us", delay.as_nanos() / 1_000);
    let words = ["root", "handle", "1:", "netem", "delay", &delay, "limit", "100000"];
    qdisc(space, device, &words, "netem")
}

/// Adds a qdisc of this kind.
fn qdisc(space: Space<'_>, device: &str, words: &[&str], kind: &str) -> io::Result<()> {
    let own = within(space);
    let added = call("tc", &[&own[..], &["qdisc", "add", "dev", device], words].concat());
    added.map(drop).map_err(|error| match error.to_string() {
        told if told.contains("qdisc kind is unknown") => io::Error::other(format!(
            "--backend tc: this kernel has no {kind}; leave out --backend tc: the user-space path has every queue, and delays"
        )),
        _ => error,
    })
}
