//! The control of a link: real packets feel what it changes, and nothing else.

use super::{LINK, PATH, command, may, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A link whose command does something for each line that it is told, and says a line.
struct Steered {
    process: Child,
    said: BufReader<ChildStdout>,
    told: ChildStdin,
    socket: PathBuf,
    out: PathBuf,
    /// The address of the outside.
    outside: String,
}

impl Steered {
    fn start(name: &str, each: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (socket, out) = (folder.join(format!("{name}.socket")), folder.join(name));
        let _ = std::fs::remove_dir_all(&out);
        let places = [socket.display().to_string(), out.display().to_string()];
        let each = format!("echo $GAMEWAY_OUTSIDE; while read line; do {each}; done");
        let words = ["--control", &places[0], "--out", &places[1], "--", "sh", "-c", &each];
        let mut process = command(&[LINK.to_owned()], &[&PATH[..], &words].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        let told = process.stdin.take().expect("its input");
        let mut said = BufReader::new(process.stdout.take().expect("its output"));
        let mut outside = String::new();
        said.read_line(&mut outside).expect("the command runs");
        Self { process, said, told, socket, out, outside: outside.trim().to_owned() }
    }

    /// What the command says next.
    fn next(&mut self) -> String {
        self.told.write_all(b"\n").expect("it reads");
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it says something");
        line
    }

    fn connect(&self) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(&self.socket).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        BufReader::new(stream)
    }

    /// Asks on a connection of its own.
    fn ask(&self, line: &str) -> Value {
        asked(&mut self.connect(), line)
    }

    fn set(&self, keys: &Value) -> Value {
        let answer = self.ask(&json!({ "set": keys }).to_string());
        assert!(answer["error"].is_null(), "{answer}");
        answer
    }

    /// Ends it; the list of changes.
    fn end(self) -> Vec<Value> {
        let Self { mut process, told, socket, out, .. } = self;
        drop(told);
        assert_eq!(process.wait().expect("an end").code(), Some(0));
        assert!(!socket.exists(), "it is removed");
        let listed = std::fs::read_to_string(out.join("changes.jsonl")).expect("a list");
        listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

fn asked(client: &mut BufReader<UnixStream>, line: &str) -> Value {
    client.get_mut().write_all(format!("{line}\n").as_bytes()).expect("it hears");
    let mut answer = String::new();
    client.read_line(&mut answer).expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

const PING: &str = "ping -q -i 0.1 -c 10 $GAMEWAY_OUTSIDE | grep min/avg";

/// The least round-trip time of some pings, ms.
fn ping(link: &mut Steered) -> f64 {
    let said = link.next();
    let times = said.split_once(" = ").expect("times").1;
    times.split('/').next().expect("the least").parse().expect("a number")
}

#[test]
fn a_ping_feels_a_change_of_the_round_trip_time_and_one_of_its_twin_does_not() {
    if !may() {
        return;
    }
    let (mut link, mut twin) = (Steered::start("rtt", PING), Steered::start("rtt-twin", PING));
    let mode = link.socket.metadata().expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for (rtt, min) in [(None, 20.0), (Some("60 ms"), 60.0), (Some("20 ms"), 20.0)] {
        if let Some(rtt) = rtt {
            let answer = link.set(&json!({ "path.base_rtt": rtt }));
            assert_eq!(answer["path"]["base_rtt"], *rtt);
            // What was refused is refused as a whole.
            let both = json!({ "set": { "path.base_rtt": "100 ms", "path.queue.kind": "codle" } });
            let refused = twin.ask(&both.to_string());
            let told = refused["error"].as_str().expect("an error");
            assert!(told.starts_with("path.queue.kind: unknown queue \"codle\""), "{told}");
        }
        let (found, beside) = (ping(&mut link), ping(&mut twin));
        assert!((min..min + 5.0).contains(&found), "{found} ms, and not {min}");
        assert!((20.0..25.0).contains(&beside), "{beside} ms");
    }
    let changes: Vec<Value> = link.end().iter().map(|one| one["set"].clone()).collect();
    let expected = ["60 ms", "20 ms"].map(|rtt| json!({ "path.base_rtt": rtt }));
    assert_eq!(changes, expected);
    assert_eq!(twin.end(), Vec::<Value>::new());
}

/// Sends 30 Mb/s of packets behind a link until it is told to stop.
fn flood(link: &Steered, stop: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let (behind, stop) = (link.outside.replacen("10.77.", "10.78.", 1), Arc::clone(stop));
    std::thread::spawn(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..13 {
                // The other end refuses, which is told here now and then.
                let _ = socket.send_to(&[0; 1400], (behind.as_str(), 9));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

#[test]
fn a_flow_feels_a_change_of_the_capacity_whoever_else_is_connected() {
    if !may() {
        return;
    }
    // Bytes that came, by the kernel's count.
    let mut link = Steered::start("capacity", "grep gw0 /proc/net/dev");
    let count = |link: &mut Steered| -> (Instant, f64) {
        let said = link.next();
        let bytes = said.split_whitespace().nth(1).expect("a counter").parse().expect("a number");
        (Instant::now(), bytes)
    };
    // Some say nothing, or what is no request.
    let _silent: Vec<_> = (0..8).map(|_| link.connect()).collect();
    let mut garbage = link.connect();
    garbage.get_mut().write_all(&[0xff; 100_000]).expect("it is read");
    let stop = Arc::new(AtomicBool::new(false));
    let sender = flood(&link, &stop);
    let mut client = link.connect();
    let mut before = asked(&mut client, r#"{"tell": "now"}"#);
    for mbps in [20.0, 5.0, 10.0] {
        link.set(
            &json!({ "path.capacity": format!("{mbps} Mb/s"), "path.queue": { "kind": "codel" } }),
        );
        std::thread::sleep(Duration::from_millis(300));
        let (start, first) = count(&mut link);
        std::thread::sleep(Duration::from_millis(1500));
        let (end, last) = count(&mut link);
        let found = (last - first) * 8.0 / end.duration_since(start).as_secs_f64() / 1e6;
        assert!((mbps * 0.9..mbps * 1.05).contains(&found), "{found} Mb/s, and not {mbps}");
        let now = asked(&mut client, r#"{"tell": "now"}"#);
        assert_eq!(now["capacity_bps"].as_u64(), Some((mbps * 1e6) as u64));
        let of = |told: &Value, key: &str| told["flows"][0][key].as_u64().expect(key);
        for key in ["sent_bytes", "arrived_bytes", "dropped_packets"] {
            assert!(of(&now, key) > of(&before, key), "{key}: {before} {now}");
        }
        assert!(now["waited"]["max_ns"].as_i64() >= now["waited"]["mean_ns"].as_i64());
        assert!(
            now["queue"]["bytes"].as_u64() > Some(0) && now["queue"]["delay_ns"].as_i64() > Some(0),
            "{now}"
        );
        before = now;
    }
    stop.store(true, Ordering::Relaxed);
    sender.join().expect("it sends");
    let mut told = String::new();
    garbage.read_line(&mut told).expect("an answer");
    assert!(told.contains("a line has more than 65536 bytes"), "{told}");
    assert_eq!(link.end().len(), 3);
}

#[test]
fn a_place_that_is_taken_is_told_and_what_a_killed_link_left_is_used() {
    if !may() {
        return;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("taken.socket");
    let _ = std::fs::remove_file(&place);
    std::fs::write(&place, "mine").expect("a file");
    let name = place.display().to_string();
    let words = ["--control", &name, "--", "true"];
    let done = super::link(&[&PATH[..], &words].concat());
    assert_eq!(done.status.code(), Some(2));
    let told = format!("error: control: \"{name}\" is there already");
    assert!(text(&done.stderr).starts_with(&told), "{}", text(&done.stderr));
    assert_eq!(std::fs::read(&place).expect("it is there"), b"mine");
    std::fs::remove_file(&place).expect("it is there");
    drop(std::os::unix::net::UnixListener::bind(&place).expect("a socket that nobody serves"));
    let done = super::link(&[&PATH[..], &words].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(!place.exists());
}
