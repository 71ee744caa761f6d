//! A network of a thread's own.

use std::process::Command;

/// This thread gets a network of its own, with an interface `lan` behind which nobody answers; `false` without root.
#[allow(unsafe_code, reason = "no safe wrapper")]
pub fn has_network() -> bool {
    // SAFETY: it takes no pointer, and what it changes is this thread's network alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        eprintln!("left out: needs root");
        return false;
    }
    for line in [
        "link add lan type veth peer name end",
        "link set lan up",
        "link set end up",
        "address add 192.0.2.1/24 dev lan",
        "neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev lan",
    ] {
        let done = Command::new("ip").args(line.split(' ')).status();
        assert!(done.is_ok_and(|status| status.success()), "ip {line}");
    }
    true
}

/// What has come to an interface of this thread's network.
#[allow(dead_code, reason = "the benchmark counts nothing")]
pub fn received_bytes(interface: &str) -> u64 {
    let line = ["-j", "-s", "link", "show", "dev", interface];
    let done = Command::new("ip").args(line).output().expect("ip is there");
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    told[0]["stats64"]["rx"]["bytes"].as_u64().expect("a number")
}
