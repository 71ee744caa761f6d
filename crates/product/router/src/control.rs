//! The socket by which a gateway that runs is asked, and who asks there: a line of JSON each way.
//!
//! | line | answer |
//! |---|---|
//! | `{"tell": "now"}` | a [`Status`], as of the last second |
//! | `{"stop": "now"}` | `{"stopping": PROCESS}`; the connection ends when nothing of the gateway is in the kernel any more |
//! | anything else | `{"error": WHY}` |
//!
//! | constant | value | origin |
//! |---|---|---|
//! | patience with an answer | 5 s | it is made in microseconds |
//! | patience with an end | 10 s | it looks each 5 ms |
//! | longest answer | 1 MiB | 50 connections are 10 kB |

use crate::board::Board;
use crate::status::Status;
use gameway_runtime::lines::{LineServer, LineSocket};
use gameway_runtime::stop::Stop;
use serde::Deserialize;
use serde_json::json;
use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
const END_PATIENCE: Duration = Duration::from_secs(10);
const MAX_ANSWER: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tell: Option<Now>,
    stop: Option<Now>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Now {
    Now,
}

/// Why nothing was answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Nobody listens.
    #[error(
        "no gateway answers at {}: {why}; start it with `gameway-gateway up`, or name its socket with --control",
        socket.display()
    )]
    Nobody {
        /// Where.
        socket: PathBuf,
        /// What the kernel said.
        why: io::Error,
    },
    /// What it says is not understood.
    #[error("what answers at {} is no gateway of this version: {why}", socket.display())]
    Unknown {
        /// Where.
        socket: PathBuf,
        /// What it said.
        why: String,
    },
    /// It was asked to end, and goes on.
    #[error(
        "the gateway (process {process}) does not end: {why}; `kill {process}` asks once more, `kill -9 {process}` does not ask"
    )]
    Lasting {
        /// Its process.
        process: u32,
        /// What happened instead.
        why: String,
    },
}

/// Serves the socket until the result is dropped.
///
/// # Errors
/// If something else is there, a gateway that lives, or nothing can be made there.
pub fn serve(socket: &Path, board: Board, stop: Stop) -> io::Result<LineServer> {
    if let Some(folder) = socket.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    LineSocket::listen(socket)?.serve("control", move |line| answer(line, &board, &stop))
}

/// What is answered to any bytes.
pub(crate) fn answer(line: &[u8], board: &Board, stop: &Stop) -> String {
    let told = match serde_json::from_slice(line) {
        Ok(Line { tell: Some(Now::Now), stop: None }) => match board.status() {
            Some(status) => json!(status),
            None => json!({ "error": "the gateway has not begun yet" }),
        },
        Ok(Line { tell: None, stop: Some(Now::Now) }) => {
            stop.ask();
            json!({ "stopping": std::process::id() })
        }
        Ok(_) => {
            json!({ "error": "a request has one key: \"tell\" or \"stop\", which is \"now\"" })
        }
        Err(error) => json!({ "error": format!("is no request: {error}") }),
    };
    told.to_string()
}

/// A connection to a gateway that runs.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    socket: PathBuf,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// If nobody listens there.
    pub fn connect(socket: &Path) -> Result<Self, ControlError> {
        let connected = UnixStream::connect(socket).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let socket = socket.to_owned();
        match connected {
            Ok(stream) => Ok(Self { stream, socket }),
            Err(why) => Err(ControlError::Nobody { socket, why }),
        }
    }

    /// What is so now.
    ///
    /// # Errors
    /// If it does not answer, or not as it should.
    pub fn status(&mut self) -> Result<Status, ControlError> {
        let answer = self.ask(r#"{"tell": "now"}"#)?;
        serde_json::from_str(&answer).map_err(|error| {
            let refusal = refusal(&answer);
            self.unknown(refusal.unwrap_or_else(|| error.to_string()))
        })
    }

    /// Asks the gateway to end, and waits until nothing of it is in the kernel. Gives its process.
    ///
    /// # Errors
    /// If it does not answer, or does not end.
    pub fn stop(mut self) -> Result<u32, ControlError> {
        #[derive(Deserialize)]
        struct Stopping {
            stopping: u32,
        }
        let answer = self.ask(r#"{"stop": "now"}"#)?;
        let stopping = serde_json::from_str(&answer);
        let Stopping { stopping: process } = stopping
            .map_err(|error| self.unknown(refusal(&answer).unwrap_or_else(|| error.to_string())))?;
        let lasting = |why: String| ControlError::Lasting { process, why };
        self.stream
            .set_read_timeout(Some(END_PATIENCE))
            .map_err(|error| lasting(error.to_string()))?;
        match self.stream.read(&mut [0]) {
            Ok(0) => Ok(process),
            Ok(_) => Err(lasting("it goes on talking".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(process),
            Err(error) => Err(lasting(error.to_string())),
        }
    }

    fn unknown(&self, why: String) -> ControlError {
        ControlError::Unknown { socket: self.socket.clone(), why }
    }

    fn ask(&mut self, line: &str) -> Result<String, ControlError> {
        let asked = writeln!(self.stream, "{line}").and_then(|()| self.hear());
        asked.map_err(|error| self.unknown(error.to_string()))
    }

    /// One line.
    fn hear(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        let mut bytes = [0; 4096];
        loop {
            let count = self.stream.read(&mut bytes)?;
            line.extend_from_slice(&bytes[..count]);
            if line.last() == Some(&b'\n') {
                return String::from_utf8(line).map_err(io::Error::other);
            }
            if count == 0 {
                return Err(io::Error::other("it hung up"));
            }
            if line.len() as u64 > MAX_ANSWER {
                return Err(io::Error::other("its answer has no end"));
            }
        }
    }
}

/// What an answer gives as reason, if it does.
fn refusal(answer: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    serde_json::from_str::<Refused>(answer).ok().map(|refused| refused.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn place(name: &str) -> PathBuf {
        let name = format!("gameway-gateway-{name}-{}.sock", std::process::id());
        std::env::temp_dir().join(name)
    }

    fn error(line: &[u8]) -> bool {
        let stop = Stop::new();
        let answer = answer(line, &Board::default(), &stop);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        answer["error"].is_string() && !stop.is_asked()
    }

    #[test]
    fn what_is_no_request_changes_nothing() {
        for line in ["", "{}", "{\"stop\": 1}", "{\"stop\": \"later\"}", "\u{0}", "[]"] {
            assert!(error(line.as_bytes()), "{line}");
        }
        assert!(error(br#"{"stop": "now", "tell": "now"}"#));
        assert!(error(br#"{"stop": "now", "more": 1}"#));
        // The twin.
        assert!(!error(br#"{"stop": "now"}"#));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(line in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(error(&line));
        }

        #[test]
        fn whoever_answers_anything_is_understood_or_refused(said in prop::collection::vec(any::<u8>(), 0..300)) {
            let (own, mut other) = UnixStream::pair().expect("a pair");
            let mut client = Client { stream: own, socket: PathBuf::new() };
            other.write_all(&said).expect("it hears");
            drop(other);
            prop_assert!(client.hear().is_ok() == (said.last() == Some(&b'\n') && std::str::from_utf8(&said).is_ok()));
        }
    }

    #[test]
    fn who_asks_to_end_waits_for_the_end() {
        let (board, stop) = (Board::default(), Stop::new());
        let server = serve(&place("end"), board, stop.clone()).expect("a socket");
        let socket = server.place().to_owned();
        let ending = {
            let client = Client::connect(&socket).expect("it listens");
            #[expect(clippy::disallowed_methods, reason = "the other side")]
            std::thread::spawn(move || client.stop())
        };
        while !stop.is_asked() {
            gameway_runtime::clock::sleep(gameway_units::Duration::from_millis(1));
        }
        assert!(!ending.is_finished());
        drop(server);
        let process = ending.join().expect("no panic").expect("an end");
        assert_eq!(process, std::process::id());
        let again = Client::connect(&socket).map(|_| ()).expect_err("nobody").to_string();
        assert!(again.starts_with("no gateway answers at "), "{again}");
    }

    #[test]
    fn what_is_told_before_the_start_is_a_refusal_and_a_stale_socket_is_replaced() {
        let socket = place("stale");
        // A socket that nobody serves any more.
        drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket"));
        assert!(socket.exists());
        let server = serve(&socket, Board::default(), Stop::new()).expect("it is replaced");
        let told = Client::connect(&socket).and_then(|mut client| client.status());
        let told = told.expect_err("nothing yet").to_string();
        assert!(told.ends_with("the gateway has not begun yet"), "{told}");
        // One that is served is not.
        let second = serve(&socket, Board::default(), Stop::new()).map(|_| ());
        assert_eq!(second.expect_err("it lives").kind(), io::ErrorKind::AlreadyExists);
        drop(server);
    }
}
