//! The kernel, the rights of who asks, and the interface.

use super::{Check, Place};
use crate::data_path::DataPath;
use crate::netlink::Interface;
use crate::own_queue::{KernelQueues, told};
use aya::util::KernelVersion;

/// BPF's ring, by which the data path tells of segments, came with 5.8; 5.10 is the oldest that is still maintained.
const OLDEST: (u8, u8) = (5, 10);
/// Bits of `CapEff` (capability.h).
const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;
/// To read at a place on BPF's stack that is known at run time only, as the list of TCP's options.
const PERFMON: u32 = 38;
const BPF: u32 = 39;

pub(super) fn kernel() -> Check {
    const NAME: &str = "kernel";
    let mend = format!("install a kernel of {}.{} or later", OLDEST.0, OLDEST.1);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match KernelVersion::current() {
        Ok(own) if own >= KernelVersion::new(OLDEST.0, OLDEST.1, 0) => {
            Check::ok(NAME, format!("Linux {}", release.trim()))
        }
        Ok(_) => Check::fault(NAME, format!("Linux {} is too old", release.trim()), mend),
        Err(error) => Check::warning(NAME, format!("its version is unknown: {error}"), mend),
    }
}

pub(super) fn rights() -> Check {
    const NAME: &str = "rights";
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    rights_of(NAME, effective)
}

fn rights_of(name: &'static str, effective: Option<u64>) -> Check {
    let mend = "run it as root, or with the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN";
    let Some(effective) = effective else {
        return Check::warning(
            name,
            "they are unknown: /proc/self/status does not tell them",
            mend,
        );
    };
    let has = |bit: u32| effective >> bit & 1 == 1;
    let lacks = |bit| !has(bit) && (bit == NET_ADMIN || !has(SYS_ADMIN));
    let wanted = [("CAP_BPF", BPF), ("CAP_PERFMON", PERFMON), ("CAP_NET_ADMIN", NET_ADMIN)];
    let lacking = wanted.iter().filter(|(_, bit)| lacks(*bit)).map(|(name, _)| *name);
    match &lacking.collect::<Vec<_>>()[..] {
        [] => Check::ok(name, "BPF and the network may be administered"),
        some => Check::fault(name, format!("no {}", some.join(", no ")), mend),
    }
}

/// Loads it, and lets it go.
pub(super) fn data_path() -> Check {
    const NAME: &str = "data path";
    match DataPath::load() {
        Ok(_) => Check::ok(NAME, "the kernel verifies it, with its maps and its ring"),
        Err(error) => Check::fault(
            NAME,
            error.to_string(),
            "a kernel needs CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT, CONFIG_NET_CLS_ACT and CONFIG_NET_CLS_BPF",
        ),
    }
}

pub(super) fn attachment() -> Check {
    const NAME: &str = "attachment";
    match KernelVersion::current() {
        Ok(own) if own >= KernelVersion::new(6, 6, 0) => {
            Check::ok(NAME, "by TCX: programs leave the kernel with the process, even by kill -9")
        }
        _ => Check::ok(
            NAME,
            "by filters of clsact: what kill -9 leaves does nothing after a second, and the next start takes it away",
        ),
    }
}

/// Whether a gateway could have a queue of its own.
pub(super) fn own_queue() -> Check {
    const NAME: &str = "own queue";
    let mend = "for mode \"shape\", load sch_cake or sch_htb (OpenWrt: kmod-sched-cake, kmod-sched-core); mode \"windows\" needs none";
    match KernelQueues::of_this_kernel().map(told) {
        Ok(Some(found)) => Check::ok(NAME, found),
        Ok(None) => Check::warning(NAME, "the kernel has no CAKE and no HTB", mend),
        Err(error) => Check::warning(NAME, format!("the kernel does not tell: {error}"), mend),
    }
}

pub(super) fn no_interface(home: &str, all: &[Interface]) -> Check {
    let names: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
    let bridges = all.iter().filter(|one| one.kind == "bridge").map(|one| one.name.as_str());
    let bridges: Vec<_> = bridges.collect();
    let mend = match &bridges[..] {
        [] => "name the interface towards the home".to_owned(),
        some => {
            format!("name the interface towards the home: the bridge {}, mostly", some.join(" or "))
        }
    };
    let found = format!("there is no {home}; there are {}", names.join(", "));
    Check::fault("interface", found, mend)
}

pub(super) fn interface(place: &Place, all: &[Interface]) -> Check {
    const NAME: &str = "interface";
    let Place { home, ports } = place;
    if let Some(bridge) = home.master.and_then(|own| all.iter().find(|one| one.index == own)) {
        let found = format!(
            "{} is a port of the bridge {}: what other ports of the home download is not seen",
            home.name, bridge.name
        );
        return Check::warning(NAME, found, format!("name {} instead", bridge.name));
    }
    let what = match (home.kind.as_str(), ports.len()) {
        ("bridge", 0) => "is a bridge without ports".to_owned(),
        ("bridge", _) => {
            let names: Vec<_> = ports.iter().map(|one| one.name.as_str()).collect();
            format!("is a bridge of {}", names.join(", "))
        }
        ("", _) => "is a device".to_owned(),
        (kind, _) => format!("is of the kind {kind}"),
    };
    let found = format!("{} {what}", home.name);
    if !home.is_up {
        let mend = format!("`ip link set {} up`; a gateway may run before that", home.name);
        return Check::warning(NAME, format!("{found}, and is down"), mend);
    }
    if !home.has_carrier {
        let mend = "plug something in; a gateway may run before that";
        return Check::warning(NAME, format!("{found}, and nothing is at its other end"), mend);
    }
    Check::ok(NAME, found)
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn rights_are_those_that_bpf_and_tc_ask_for() {
        let bits = |bits: &[u32]| Some(bits.iter().fold(0, |sum, bit| sum | 1_u64 << bit));
        for (effective, state, found) in [
            (
                bits(&[BPF, PERFMON, NET_ADMIN]),
                State::Ok,
                "BPF and the network may be administered",
            ),
            (bits(&[SYS_ADMIN, NET_ADMIN]), State::Ok, "BPF and the network may be administered"),
            (bits(&[NET_ADMIN]), State::Fault, "no CAP_BPF, no CAP_PERFMON"),
            (bits(&[BPF, NET_ADMIN]), State::Fault, "no CAP_PERFMON"),
            (bits(&[SYS_ADMIN]), State::Fault, "no CAP_NET_ADMIN"),
            (None, State::Warning, "they are unknown: /proc/self/status does not tell them"),
        ] {
            let check = rights_of("rights", effective);
            assert_eq!((check.state, check.found.as_str()), (state, found));
        }
    }
}
