//! The program on real packets, as a person starts and ends it; each needs root, and is left out without.
#![cfg(feature = "cli")]
#![expect(clippy::disallowed_methods, reason = "a test waits for programs")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const LINK: &str = env!("CARGO_BIN_EXE_gameway-link");
const PATH: [&str; 6] = ["--capacity", "20 Mb/s", "--rtt", "20 ms", "--size", "60 kB"];

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

/// Namespaces and devices whose names have this number of a process.
fn left(process: u32) -> Vec<String> {
    let spaces = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let spaces = spaces.map(|one| one.file_name().to_string_lossy().into_owned());
    spaces.filter(|name| name.starts_with(&format!("gw-{process}-"))).collect()
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
    let times = said.split_once("min/avg/max/mdev = ").expect("times").1;
    let least: f64 = times.split('/').next().expect("the least").parse().expect("a number");
    assert!((20.0..23.0).contains(&least), "{said}");
    assert!(told.contains("packets came") && told.contains("lateness, us: median "), "{told}");
    assert!(out.join("bins.parquet").is_file() && out.join("lateness.parquet").is_file());
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
    for (signal, code) in [("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)] {
        let mut process = Command::new(LINK)
            .args(PATH)
            .args(["--", "sh", "-c", "echo up; exec sleep 60"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        let mut up = [0; 3];
        let mut out = process.stdout.take().expect("its output");
        std::io::Read::read_exact(&mut out, &mut up).expect("the command runs");
        let number = process.id();
        assert_eq!(left(number).len(), 1);
        let told = Command::new("kill").args([signal, &number.to_string()]).status();
        assert!(told.expect("kill").success());
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

#[test]
fn what_was_typed_wrong_is_named() {
    for (words, told) in [
        (
            &["--capacity", "fast", "--rtt", "20 ms"][..],
            "error: invalid value 'fast' for '--capacity <RATE>': \"fast\" has no number in front",
        ),
        (
            &["--capacity", "1 Mb/s", "--rtt", "20"],
            "error: invalid value '20' for '--rtt <TIME>': \"20\" has nothing as unit",
        ),
        (&["--capacity", "1 Mb/s", "--rtt", "20 ms", "--queue", "none"], "error: --queue: "),
        (
            &["--capacity", "1 Mb/s", "--rtt", "20 ms", "--size", "large"],
            "error: invalid value 'large' for '--size",
        ),
        (&["--capacity", "1 Mb/s", "--rtt", "20 ms", "--loss", "200 %"], "error: --loss: "),
        (
            &["--capacity", "1 Mb/s", "--rtt", "20 ms", "--out", "/proc/none"],
            "error: --out: \"/proc/none\"",
        ),
        (
            &["--steps", "0 s: x", "--rtt", "20 ms"],
            "error: --steps: \"0 s: x\": \"x\" has no number",
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
