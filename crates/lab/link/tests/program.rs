//! The program on real packets, as a person starts and ends it, and `gameway link`, which is the same in Python, where
//! GAMEWAY_PYTHON names one that has it. Each needs root, and is left out without.
#![cfg(feature = "cli")]
#![expect(clippy::disallowed_methods, reason = "a test waits for programs")]
#![expect(clippy::disallowed_types, reason = "a test sends packets")]

#[path = "program/control.rs"]
mod control;

use std::os::unix::fs::{MetadataExt as _, lchown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const LINK: &str = env!("CARGO_BIN_EXE_gameway-link");
const PATH: [&str; 6] = ["--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB"];

/// The program, and the same in Python.
fn programs() -> Vec<Vec<String>> {
    let python = std::env::var("GAMEWAY_PYTHON").ok();
    let python = python.map(|python| vec![python, "-m".into(), "gameway".into(), "link".into()]);
    [vec![LINK.to_owned()]].into_iter().chain(python).collect()
}

/// With signals as a shell leaves them: tests that run under nohup ignore SIGHUP, and what they start would, too.
fn command(program: &[String], words: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").args(program).args(words);
    command
}

fn link(words: &[&str]) -> Output {
    Command::new(LINK).args(words).output().expect("the program")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether links can be made here; says so where not.
fn may() -> bool {
    let done = link(&[&PATH[..], &["--", "true"]].concat());
    let told = text(&done.stderr);
    let may = !told.contains("a link needs ");
    if !may {
        println!("left out: {told}");
    }
    may
}

/// Namespaces whose names have this number of a process.
fn left(process: u32) -> Vec<String> {
    let spaces = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let spaces = spaces.map(|one| one.file_name().to_string_lossy().into_owned());
    spaces.filter(|name| name.starts_with(&format!("gw-{process}-"))).collect()
}

/// What the calls of a system's programs say, one after the other.
fn system(calls: &[&str]) -> String {
    let mut said = String::new();
    for call in calls {
        let done = Command::new("sh").args(["-c", call]).output().expect("a shell");
        assert!(done.status.success(), "{call}: {}", text(&done.stderr));
        said += &text(&done.stdout);
    }
    said
}

/// The least round-trip time that a ping told, ms.
fn min_rtt(said: &str) -> f64 {
    let times = said.split_once("min/avg/max/mdev = ").expect("times").1;
    times.split('/').next().expect("the least").parse().expect("a number")
}

#[test]
fn a_command_behind_it_has_the_paths_round_trip_time_and_gives_the_exit_code() {
    if !may() {
        return;
    }
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("link");
    let _ = std::fs::remove_dir_all(&out);
    let folder = out.display().to_string();
    let ping = "ping -q -i 0.1 -c 10 $GAMEWAY_OUTSIDE && exit 7";
    let done = link(&[&PATH[..], &["--out", &folder, "sh", "-c", ping]].concat());
    let (said, told) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(7), "{said}{told}");
    assert!((20.0..23.0).contains(&min_rtt(&said)), "{said}");
    assert!(told.contains("packets came") && told.contains("lateness, us: median "), "{told}");
    assert!(out.join("bins.parquet").is_file() && out.join("lateness.parquet").is_file());
}

#[test]
fn links_that_start_together_have_addresses_of_their_own() {
    if !may() {
        return;
    }
    let start = |program: &Vec<String>| {
        let words = [&PATH[..], &["--", "sh", "-c", "echo $GAMEWAY_OUTSIDE; sleep 6"]].concat();
        command(program, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    };
    let together: Vec<_> = programs().iter().cycle().take(6).map(start).collect();
    let mut addresses = Vec::new();
    for process in together {
        let done = process.expect("the program").wait_with_output().expect("its output");
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        addresses.push(text(&done.stdout));
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 6, "{addresses:?}");
}

#[test]
fn what_cannot_be_run_or_is_ended_gives_what_a_shell_gives() {
    if !may() {
        return;
    }
    for (words, code) in [
        (&["no-such-program"][..], 127),
        (&["/etc/passwd"], 126),
        (&["sh", "-c", "kill -KILL $$"], 137),
    ] {
        let done = link(&[&PATH[..], &["--"], words].concat());
        assert_eq!(done.status.code(), Some(code), "{words:?}: {}", text(&done.stderr));
    }
}

#[test]
fn a_signal_gives_its_exit_code_and_leaves_nothing() {
    if !may() {
        return;
    }
    for program in programs() {
        for (signal, code) in [("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)] {
            let waits = ["--", "sh", "-c", "echo up; exec sleep 60"];
            let mut process = command(&program, &[&PATH[..], &waits].concat())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("the program");
            let mut up = [0; 3];
            let mut out = process.stdout.take().expect("its output");
            std::io::Read::read_exact(&mut out, &mut up).expect("the command runs");
            let number = process.id();
            assert_eq!(left(number).len(), 1);
            system(&[&format!("kill {signal} {number}")]);
            assert_eq!(process.wait().expect("an end").code(), code, "{signal}");
            // What a killed one leaves goes by itself, soon.
            for _ in 0..100 {
                if left(number).is_empty() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(left(number), Vec::<String>::new(), "{signal}");
        }
    }
}

/// A namespace that is the outside of a link, and behind it another that only the first reaches; removed at the end.
struct World {
    near: String,
    far: String,
}

impl World {
    fn make() -> Self {
        let name = |what| format!("test-{}-{what}", std::process::id());
        let world = Self { near: name("near"), far: name("far") };
        let Self { near, far } = &world;
        system(&[
            &format!("ip netns add {near} && ip netns add {far}"),
            &format!("ip -n {near} link set lo up"),
            &format!("ip -n {near} link add out0 type veth peer in0 netns {far}"),
            &format!("ip -n {near} address add 192.0.2.1/24 dev out0"),
            &format!("ip -n {far} address add 192.0.2.2/24 dev in0"),
            &format!("ip -n {near} link set out0 up && ip -n {far} link set in0 up"),
            &format!("ip netns exec {near} sysctl -q -w net.ipv4.ip_forward=0"),
        ]);
        world
    }

    /// Pings the far end from behind a link.
    fn ping(&self, program: &[String], nat: &[&str]) -> Output {
        let inside = ["ip", "netns", "exec", &self.near].map(str::to_owned);
        let program = [&inside, program].concat();
        let ping = ["--", "ping", "-q", "-i", "0.2", "-c", "4", "-W", "1", "192.0.2.2"];
        let done = command(&program, &[&PATH[..], nat, &ping].concat()).output();
        done.expect("the program")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for space in [&self.near, &self.far] {
            let _ = Command::new("ip").args(["netns", "delete", space]).status();
        }
    }
}

#[test]
fn with_nat_a_command_reaches_what_the_outside_reaches_and_nothing_is_left_of_it() {
    let has_nft = Command::new("nft").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !may() || !has_nft {
        return;
    }
    let world = World::make();
    let World { near, far } = &world;
    for program in programs() {
        // Nobody there knows the way back to the command.
        let done = world.ping(&program, &[]);
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains(" 100% packet loss"), "{}", text(&done.stdout));
        let count = |chain: &str| {
            format!(
                "ip netns exec {far} nft 'add table inet seen; add chain inet seen in {{ type filter hook input priority 0; }}; \
                 add rule inet seen in ip saddr {chain} counter'"
            )
        };
        system(&[&count("192.0.2.1"), &count("10.78.0.0/16")]);
        let done = world.ping(&program, &["--nat"]);
        let said = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{said}{}", text(&done.stderr));
        assert!(said.contains(" 0% packet loss"), "{said}");
        assert!((20.0..23.0).contains(&min_rtt(&said)), "{said}");
        // What arrives there has the address of the outside.
        let seen = system(&[&format!("ip netns exec {far} nft list table inet seen")]);
        let packets: Vec<&str> =
            seen.split("packets ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
        assert_eq!(packets, ["4", "0"], "{seen}");
        let after = system(&[
            &format!("ip netns exec {far} nft delete table inet seen"),
            &format!("ip netns exec {near} nft list tables"),
            &format!("ip netns exec {near} cat /proc/sys/net/ipv4/ip_forward"),
            &format!("ip -n {near} -oneline link show | grep -c gw || true"),
        ]);
        assert_eq!(after, "0\n0\n");
    }
}

#[test]
fn the_kernels_own_queues_carry_the_capacity_and_delay() {
    let has_ethtool = Command::new("ethtool").arg("--version").stdout(Stdio::null()).status();
    if !may() || has_ethtool.is_err() {
        return;
    }
    let path = ["--capacity", "20 Mb/s", "--rtt", "10 us", "--size", "60 kB", "--backend", "tc"];
    let ping = "ping -q -i 0.1 -c 10 $GAMEWAY_OUTSIDE && exit 7";
    let done = link(&[&path[..], &["--", "sh", "-c", ping]].concat());
    let (said, told) = (text(&done.stdout), text(&done.stderr));
    if told.contains("this kernel has no ") {
        println!("left out: {told}");
        return;
    }
    assert_eq!(done.status.code(), Some(7), "{said}{told}");
    assert!(said.contains(" 0% packet loss") && min_rtt(&said) < 5.0, "{said}");
    let counted = told.lines().find(|line| line.starts_with("bfifo: ")).expect("what was counted");
    let packets: u32 = counted.split(' ').nth(1).expect("packets").parse().expect("a number");
    assert!((10..60).contains(&packets) && counted.ends_with(" 0 dropped"), "{told}");
}

#[test]
fn under_sudo_what_it_writes_is_the_callers() {
    const CALLER: (u32, u32) = (65_534, 65_533);
    if !may() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("callers");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("a folder");
    let (out, pcap) = (folder.join("a/b"), folder.join("all.pcapng"));
    for (user, owner) in [(Some(CALLER), CALLER), (None, (0, 0))] {
        let places = [out.display().to_string(), pcap.display().to_string()];
        let words = ["--out", &places[0], "--pcap", &places[1], "--", "true"];
        let mut program = command(&programs()[0], &[&PATH[..], &words].concat());
        program.env_remove("SUDO_UID").env_remove("SUDO_GID").stderr(Stdio::null());
        if let Some((user, group)) = user {
            program.env("SUDO_UID", user.to_string()).env("SUDO_GID", group.to_string());
        }
        assert!(program.status().expect("the program").success());
        for made in [folder.join("a"), out.clone(), out.join("bins.parquet"), pcap.clone()] {
            let found = made.metadata().expect("it was made");
            assert_eq!((found.uid(), found.gid()), owner, "{}", made.display());
        }
        let above = folder.metadata().expect("a folder");
        assert_eq!(above.uid(), 0, "what was there before stays root's");
        std::fs::remove_dir_all(folder.join("a")).expect("removed");
        std::fs::remove_file(&pcap).expect("removed");
        lchown(&folder, Some(0), Some(0)).expect("root's");
    }
}

#[test]
fn what_was_typed_wrong_is_named() {
    for (words, told) in [
        (&["--capacity", "1 Mb/s", "--rtt", "20"][..], "error: --rtt: \"20\" has nothing as unit"),
        (
            &["--capacity", "1 Mb/s", "--rtt", "20 ms", "--out", "/proc/none"],
            "error: --out: \"/proc/none\" cannot be made",
        ),
        (
            &["--capacity", "1 Mb/s", "--rtt", "20 ms", "--pcap", "/proc/none"],
            "error: --pcap: \"/proc/none\" cannot be written",
        ),
        (&["--capcity", "1 Mb/s"], "error: unexpected argument '--capcity' found"),
    ] {
        let done = link(&[words, &["--", "true"]].concat());
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        assert!(text(&done.stderr).starts_with(told), "{words:?}: {}", text(&done.stderr));
    }
    let done = link(&["--help"]);
    assert_eq!(done.status.code(), Some(0));
    assert!(text(&done.stdout).contains("--up-capacity <RATE>"));
}
