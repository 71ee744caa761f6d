//! Both ends over loopback, in the process of the test: what arrives, what is written, what is refused.

use gameway_download::{DownloadConfig, DownloadError, Report, client, server};
use gameway_runtime::clock::Clock;
use gameway_runtime::stop::Stop;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::{env, fs, net, process, thread};

/// A folder of a test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("gameway-download-{name}-{}", process::id()));
        fs::create_dir_all(path.join("server")).expect("a folder");
        fs::create_dir_all(path.join("client")).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A port that nobody has.
#[expect(clippy::disallowed_types, reason = "a driver's test: the kernel tells a free port")]
fn free_port() -> u16 {
    let socket = net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

fn config(folder: &Path, own: &str, competitor: Value, port: u16, epoch_ns: i64) -> DownloadConfig {
    let config = json!({
        "epoch_ns": epoch_ns,
        "duration": "2 s",
        "competitor": competitor,
        "server": "127.0.0.1",
        "port": port,
        "client": "127.0.0.1",
        "observe_interval": "100 ms",
        "certificate": folder.join("certificate.der"),
        "folder": folder.join(own),
    });
    serde_json::from_value(config).expect("a configuration")
}

/// Both ends of a download; the server's report, then the client's.
#[expect(clippy::disallowed_methods, reason = "a driver's test: each end is a thread")]
fn both(name: &str, competitor: &Value) -> (Report, Report, Vec<String>) {
    let folder = Folder::new(name);
    let (port, epoch_ns) = (free_port(), Clock::monotonic_ns() + 200_000_000);
    let of = |own: &str| config(&folder.0, own, competitor.clone(), port, epoch_ns);
    let (tell, ready) = mpsc::channel();
    let serving = of("server");
    let serving = thread::spawn(move || {
        server(&serving, &Stop::new(), &mut || tell.send(()).expect("the test waits"))
    });
    ready.recv().expect("the server is ready");
    let received = client(&of("client"), &Stop::new(), &mut || {}).expect("a client");
    let sent = serving.join().expect("no panic").expect("a server");
    let mut tables = Vec::new();
    for own in ["server", "client"] {
        for file in fs::read_dir(folder.0.join(own)).expect("a folder") {
            let file = file.expect("a file").file_name();
            tables.push(format!("{own}/{}", file.to_string_lossy()));
        }
    }
    tables.sort();
    (sent, received, tables)
}

#[test]
fn all_that_is_asked_for_arrives_and_no_more() {
    let competitor = json!({
        "kind": "quic", "name": "update", "congestion_control": "bbr2", "bytes": "3 MB",
        "ack_packets": 10, "start": "100 ms",
    });
    let (sent, received, tables) = both("down", &competitor);
    assert_eq!(received.received_bytes.iter().sum::<u64>(), 3_000_000);
    assert!(received.received_bytes.len() <= 4, "{:?}", received.received_bytes);
    assert_eq!(sent.received_bytes, [] as [u64; 0]);
    assert_eq!(tables, ["server/controller.parquet", "server/events.parquet"]);
}

#[test]
fn an_upload_is_the_clients() {
    let hystart = json!({"kind": "cubic", "hystart": "on"});
    let competitor = json!({
        "kind": "quic", "name": "upload", "congestion_control": hystart, "bytes": "1 MB",
        "direction": "up", "datagram_size": "1200 B", "ack_packets": 10,
    });
    let (received, sent, tables) = both("up", &competitor);
    assert_eq!(received.received_bytes.iter().sum::<u64>(), 1_000_000);
    assert_eq!(sent.received_bytes, [] as [u64; 0]);
    assert_eq!(tables, ["client/controller.parquet", "client/events.parquet"]);
}

#[test]
fn what_the_library_cannot_do_is_refused() {
    let told = |more: Value| {
        let mut competitor = json!({
            "kind": "quic", "name": "a", "congestion_control": "bbr2", "ack_packets": 10,
        });
        for (key, value) in more.as_object().expect("keys") {
            competitor[key] = value.clone();
        }
        match config(Path::new("/"), "", competitor, 1, 0).transport() {
            Ok(_) => String::new(),
            Err(DownloadError::Config { field, why }) => format!("{field}: {why}"),
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(told(json!({})), "");
    assert!(told(json!({"ecn": "off"})).starts_with("competitor.ecn"));
    assert!(told(json!({"spin": "on"})).starts_with("competitor.spin"));
    assert!(told(json!({"ack_packets": 2})).starts_with("competitor.ack_packets"));
    assert!(told(json!({"congestion_control": "vegas"})).contains("\"cubic\""));
    // HyStart++ is chosen by the environment, which is as it was.
    assert!(told(json!({"congestion_control": "cubic"})).contains("must be set"));
}
