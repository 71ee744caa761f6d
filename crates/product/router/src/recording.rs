//! What was so each second, in a file: an evening at home, of which `gameway gateway-record` makes a result folder.
//!
//! A line of JSON each second, and one in front of them that says what they are. A line stands by itself, so that a file that ends
//! anywhere loses its last line alone; who goes on in a file begins a new line.
//!
//! | in the first line | what it is |
//! |---|---|
//! | `gateway_record` | the version of these lines: 1 |
//! | `home`, `addresses` | the interface; whether ends are told by their addresses |
//! | `began_s` | when the gateway began, in seconds since 1970 |
//!
//! | in the others | what it is |
//! |---|---|
//! | `t` | seconds since the gateway began |
//! | `waits` | milliseconds that packets waited in front of the home in periods of that second |
//! | `to`, `from` | bits per second of TCP to the home and from it |
//! | `segments`, `lowered`, `lost` | since the gateway began: TCP segments, windows lowered, segments that it was not told of |
//! | `flows` | of the fastest connections number, end at home, end outside, bits per second, limit in bytes or `null` |
//! | `own` | of the gateway's own queue, where there is one: its rate in bits per second, renewals, what games and others waited at looks of that second, in microseconds, and of each class packets and bytes sent, bytes that wait, drops and marks since the queue is there |
//! | `games` | of each game number as in `flows`, end at home, end outside, protocol, by what (`behaviour`, `dscp`, `rule`), its name or `null`, for how many seconds, bits per second; without a game there is no such key |
//! | `skipped` | seconds that have no line since the last one, as the disk was too slow |
//!
//! Ends are called by numbers in the order in which they came, unless addresses are wanted: who talked with whom is nobody's
//! business to whom the file is shown. A hash of an address would hide nothing, since all addresses of IPv4 can be tried.
//!
//! | bound | value | why |
//! |---|---|---|
//! | lines that wait for the disk | 8 | it is written in a thread of its own: a disk that hangs must not hold up who steers |
//! | names, connections that are remembered | 4096 of each | 1 MB; beyond, numbers begin anew and are not given twice |
//! | games of a line | 20 | as a status tells them |
//! | name of a rule | 40 characters | a rule's name is as long as its owner likes |
//! | file | `record.max_size` | then it ends, and a message says so |

use crate::games::status::{Basis, Game};
use crate::own_queue::{Class, OwnQueueStatus};
use crate::status::{Connection, Status};
use gameway_runtime::clock::Clock;
use gameway_units::Bytes;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

const VERSION: u32 = 1;
const WAITING: usize = 8;
const REMEMBERED: usize = 4096;
/// Connections with less are told only while they are limited.
const IDLE_BPS: u64 = 1000;
const MAX_NAME: usize = 40;

#[derive(Debug, Serialize)]
struct HeaderLine<'a> {
    gateway_record: u32,
    home: &'a str,
    addresses: bool,
    began_s: f64,
}

#[derive(Debug, Serialize)]
struct SecondLine {
    t: f64,
    waits: Vec<f64>,
    /// What told the last of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    to: u64,
    from: u64,
    segments: u64,
    lowered: u64,
    lost: u64,
    flows: Vec<(u64, String, String, u64, Option<u64>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnQueueLine>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    games: Vec<Played>,
    #[serde(skip_serializing_if = "is_nothing")]
    skipped: u64,
}

/// Number, end at home, end outside, protocol, by what, its name, seconds, bits per second.
type Played = (u64, String, String, String, Basis, Option<String>, f64, u64);

#[derive(Debug, Serialize)]
struct OwnQueueLine {
    rate: u64,
    renewals: u64,
    waits: Vec<[u64; 2]>,
    game: [u64; 5],
    others: [u64; 5],
}

impl OwnQueueLine {
    fn of(queue: &OwnQueueStatus) -> Self {
        let counted = |class: &Class| {
            let Class { sent_packets, sent_bytes, backlog_bytes, drops, marks } = *class;
            [sent_packets, sent_bytes, backlog_bytes, drops, marks]
        };
        Self {
            rate: queue.rate_bps,
            renewals: queue.renewals,
            waits: queue.recent_waits_us.clone(),
            game: counted(&queue.game),
            others: counted(&queue.others),
        }
    }
}

fn is_nothing(count: &u64) -> bool {
    *count == 0
}

/// To a thousandth: more digits are noise.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Numbers in the order in which things came.
#[derive(Debug)]
struct Numbering<K> {
    known: BTreeMap<K, u64>,
    given: u64,
}

impl<K: Ord> Numbering<K> {
    const fn new() -> Self {
        Self { known: BTreeMap::new(), given: 0 }
    }

    fn of(&mut self, key: K) -> u64 {
        if self.known.len() >= REMEMBERED && !self.known.contains_key(&key) {
            self.known.clear();
        }
        let given = &mut self.given;
        *self.known.entry(key).or_insert_with(|| {
            *given += 1;
            *given
        })
    }
}

/// Makes lines.
#[derive(Debug)]
struct Writer {
    has_addresses: bool,
    connections: Numbering<(SocketAddr, SocketAddr)>,
    devices: Numbering<IpAddr>,
    servers: Numbering<IpAddr>,
}

impl Writer {
    const fn new(has_addresses: bool) -> Self {
        Self {
            has_addresses,
            connections: Numbering::new(),
            devices: Numbering::new(),
            servers: Numbering::new(),
        }
    }

    fn line(&mut self, status: &Status, skipped: u64) -> String {
        let told = |one: &&Connection| one.rate_bps >= IDLE_BPS || one.limit_bytes.is_some();
        let second = SecondLine {
            t: rounded(status.time_s),
            waits: status.recent_waits_ms.iter().copied().map(rounded).collect(),
            by: status.wait_told_by.clone(),
            to: status.to_home_bps,
            from: status.from_home_bps,
            segments: status.segments,
            lowered: status.lowered,
            lost: status.lost_records,
            flows: status.connections.iter().filter(told).map(|one| self.flow(one)).collect(),
            own: status.own_queue.as_ref().map(OwnQueueLine::of),
            games: status.games.found.iter().map(|one| self.game(one)).collect(),
            skipped,
        };
        json!(second).to_string()
    }

    fn flow(&mut self, one: &Connection) -> (u64, String, String, u64, Option<u64>) {
        let (number, [device, server]) = self.ends(one.sender, one.receiver);
        (number, device, server, one.rate_bps, one.limit_bytes)
    }

    fn game(&mut self, one: &Game) -> Played {
        let (number, [device, server]) = self.ends(one.sender, one.receiver);
        let name = one.name.as_ref().map(|name| name.chars().take(MAX_NAME).collect());
        let (protocol, for_s) = (one.protocol.clone(), rounded(one.for_s));
        (number, device, server, protocol, one.by, name, for_s, one.rate_bps)
    }

    /// What a connection and its ends are called, the one at home first.
    fn ends(&mut self, sender: SocketAddr, receiver: SocketAddr) -> (u64, [String; 2]) {
        let number = self.connections.of((sender, receiver));
        let ends = match self.has_addresses {
            true => [receiver, sender].map(|end| end.to_string()),
            false => {
                let (device, server) =
                    (self.devices.of(receiver.ip()), self.servers.of(sender.ip()));
                [format!("device {device}"), format!("server {server}")]
            }
        };
        (number, ends)
    }
}

/// A file, and how much of it is left.
#[derive(Debug)]
struct Sink {
    file: File,
    left: u64,
}

impl Sink {
    /// Goes on where a file ends; of a line that was not written to its end, behind that.
    fn open(place: &Path, max: Bytes) -> io::Result<Self> {
        // Who was at home when is for its owner alone.
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).mode(0o600).open(place)?;
        let size = file.seek(SeekFrom::End(0))?;
        let mut sink = Self { file, left: max.get().saturating_sub(size) };
        if size > 0 {
            let mut last = [0];
            sink.file.seek(SeekFrom::End(-1))?;
            sink.file.read_exact(&mut last)?;
            if last != *b"\n" && !sink.write("")? {
                return Err(full(max));
            }
        }
        Ok(sink)
    }

    /// Whether there was room for a line.
    fn write(&mut self, line: &str) -> io::Result<bool> {
        let line = format!("{line}\n");
        let Some(left) = self.left.checked_sub(line.len() as u64) else { return Ok(false) };
        self.file.write_all(line.as_bytes())?;
        self.left = left;
        Ok(true)
    }
}

fn full(max: Bytes) -> io::Error {
    io::Error::other(format!("it has {max} already; name another file, or more as record.max_size"))
}

/// A recording that goes on until it is dropped, the file is full or cannot be written.
#[derive(Debug)]
pub struct Recording {
    lines: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
    writer: Writer,
    skipped: u64,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
#[error("record.file: {}: {why}", file.display())]
pub struct RecordingError {
    file: PathBuf,
    why: io::Error,
}

impl Recording {
    /// Begins, or goes on in a file. `tell` is called with a message when it ends before it is dropped.
    ///
    /// # Errors
    /// If the file cannot be written, or is full.
    pub fn start(
        file: &Path,
        max: Bytes,
        has_addresses: bool,
        home: &str,
        tell: impl Fn(&str) + Send + 'static,
    ) -> Result<Self, RecordingError> {
        let refused = |why| RecordingError { file: file.to_owned(), why };
        let mut sink = Sink::open(file, max).map_err(refused)?;
        let clock = Clock::new(Clock::monotonic_ns());
        let began_s = clock.epoch_since_1970_ns() as f64 / 1e9;
        let first = HeaderLine { gateway_record: VERSION, home, addresses: has_addresses, began_s };
        if !sink.write(&json!(first).to_string()).map_err(refused)? {
            return Err(refused(full(max)));
        }
        let (lines, waiting) = sync_channel(WAITING);
        let name = file.display().to_string();
        let keep = move || {
            if let Some(why) = keep(&mut sink, &waiting, max) {
                tell(&format!("the recording in {name} has ended: {why}; the gateway goes on"));
            }
        };
        #[expect(clippy::disallowed_methods, reason = "a driver; a disk must not hold it up")]
        let thread = std::thread::Builder::new().name("record".to_owned()).spawn(keep);
        let thread = Some(thread.map_err(refused)?);
        let writer = Writer::new(has_addresses);
        Ok(Self { lines: Some(lines), thread, writer, skipped: 0 })
    }

    /// Writes what is so, unless the disk is too slow for that.
    pub fn take(&mut self, status: &Status) {
        let line = self.writer.line(status, self.skipped);
        let is_taken = self.lines.as_ref().is_some_and(|lines| lines.try_send(line).is_ok());
        self.skipped = if is_taken { 0 } else { self.skipped.saturating_add(1) };
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Writes lines until there are no more; why it ended before, if it did.
fn keep(sink: &mut Sink, lines: &Receiver<String>, max: Bytes) -> Option<String> {
    for line in lines {
        match sink.write(&line) {
            Ok(true) => {}
            Ok(false) => return Some(format!("it has {max} (record.max_size)")),
            Err(error) => return Some(error.to_string()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::status;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::sync::mpsc::{Sender, channel};

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let name = format!("gameway-record-{name}-{}.jsonl", std::process::id());
            let place = Self(std::env::temp_dir().join(name));
            let _ = std::fs::remove_file(&place.0);
            place
        }

        fn start(&self, max: u64, told: Sender<String>) -> Result<Recording, RecordingError> {
            let tell = move |text: &str| drop(told.send(text.to_owned()));
            Recording::start(&self.0, Bytes::new(max), false, "br-lan", tell)
        }

        fn lines(&self) -> Vec<Result<Value, serde_json::Error>> {
            let text = std::fs::read_to_string(&self.0).expect("a file");
            text.lines().map(serde_json::from_str).collect()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_second_is_a_line_without_an_address_unless_it_is_wanted() {
        let line = Writer::new(false).line(&status(), 0);
        assert_eq!(
            line,
            r#"{"by":"spin-bit","flows":[[1,"device 1","server 1",12300000,48000],[2,"device 1","server 1",7000000,null]],"from":412000,"lost":0,"lowered":789,"segments":123456,"t":3725.5,"to":19300000,"waits":[11.5,12.34]}"#
        );
        let addresses = Writer::new(true).line(&status(), 3);
        assert!(addresses.contains(r#"[1,"192.168.7.2:40000","203.0.113.9:443",12300000,48000]"#));
        assert!(addresses.contains(r#""skipped":3,"#), "{addresses}");
    }

    #[test]
    fn the_own_queue_and_games_are_recorded_without_an_address_unless_it_is_wanted() {
        let others =
            Class { sent_packets: 9000, sent_bytes: 9_000_000, drops: 3, ..Class::default() };
        let own = OwnQueueStatus {
            kind: "HTB".to_owned(),
            why: String::new(),
            rate_bps: 19_400_000,
            renewals: 1,
            recent_waits_us: vec![[0, 4100], [90, 3900]],
            game: Class { sent_packets: 60, backlog_bytes: 250, ..Class::default() },
            others: Class { backlog_bytes: 12_112, marks: 10, ..others },
        };
        let game = Game {
            sender: "203.0.113.9:443".parse().expect("an end"),
            receiver: "192.168.7.2:40000".parse().expect("an end"),
            protocol: "udp".to_owned(),
            by: Basis::Rule,
            name: Some("x".repeat(1000)),
            for_s: 12.3456,
            rate_bps: 8_490_000,
            confidence: None,
            reasons: Vec::new(),
        };
        let mut played = Status { own_queue: Some(own), ..status() };
        played.games.found = vec![game; 2];
        let line = Writer::new(false).line(&played, 0);
        let read: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            read["own"].to_string(),
            r#"{"game":[60,0,250,0,0],"others":[9000,9000000,12112,3,10],"rate":19400000,"renewals":1,"waits":[[0,4100],[90,3900]]}"#
        );
        let name = "x".repeat(MAX_NAME);
        let expected = format!(r#"[1,"device 1","server 1","udp","rule","{name}",12.346,8490000]"#);
        assert_eq!(read["games"].to_string(), format!("[{expected},{expected}]"));
        // The connection with the same ends has the same number.
        assert_eq!(read["flows"][0][0], 1);
        assert!(!line.contains("192.168") && !line.contains("203.0.113"), "{line}");
        let addresses = Writer::new(true).line(&played, 0);
        assert!(addresses.contains(r#""192.168.7.2:40000","203.0.113.9:443","udp""#));
    }

    #[test]
    fn a_number_means_one_thing() {
        let mut numbers = Numbering::new();
        assert_eq!([numbers.of(7), numbers.of(8), numbers.of(7)], [1, 2, 1]);
        let many: Vec<_> = (0..10_000).map(|key| numbers.of(key)).collect();
        assert!(many[8..].is_sorted_by(|one, next| one < next));
        assert!(numbers.known.len() <= REMEMBERED);
    }

    #[test]
    fn it_goes_on_behind_a_line_that_was_cut_and_ends_when_the_file_is_full() {
        let (place, (told, heard)) = (Place::new("full"), channel());
        let mut first = place.start(1 << 20, told.clone()).expect("a file");
        first.take(&status());
        drop(first);
        let whole = std::fs::read(&place.0).expect("a file");
        std::fs::write(&place.0, &whole[..whole.len() - 20]).expect("a file");
        let max = whole.len() as u64 + 400;
        let mut second = place.start(max, told.clone()).expect("it goes on");
        for _ in 0..4 {
            second.take(&status());
        }
        drop(second);
        let read: Vec<_> = place.lines().iter().map(Result::is_ok).collect();
        assert_eq!(read, [true, false, true, true], "{:?}", place.lines());
        assert!(std::fs::metadata(&place.0).expect("a file").len() <= max);
        let message = heard.try_recv().expect("a message");
        assert!(message.contains("has ended: it has ") && message.contains("(record.max_size)"));
        let size = std::fs::metadata(&place.0).expect("a file").len();
        let refused = place.start(size + 20, told).expect_err("it is full").to_string();
        assert!(refused.contains("already; name another file"), "{refused}");
    }

    #[test]
    fn where_nothing_can_be_written_is_told_with_the_file() {
        let place = Place(PathBuf::from("/nowhere/evening.jsonl"));
        let refused = place.start(1000, channel().0).expect_err("no folder").to_string();
        assert!(refused.starts_with("record.file: /nowhere/evening.jsonl: "), "{refused}");
    }

    proptest! {
        #[test]
        fn any_file_is_gone_on_with(left in prop::collection::vec(any::<u8>(), 0..300)) {
            let place = Place::new("any");
            std::fs::write(&place.0, &left).expect("a file");
            place.start(1 << 20, channel().0).expect("it goes on").take(&status());
            let bytes = std::fs::read(&place.0).expect("a file");
            prop_assert!(bytes.starts_with(&left));
            let lines = bytes[left.len()..].split(|byte| *byte == b'\n');
            let own = lines.filter(|line| serde_json::from_slice::<Value>(line).is_ok()).count();
            prop_assert_eq!(own, 2);
        }
    }
}
