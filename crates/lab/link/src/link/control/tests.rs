//! The socket and its clients, beside a link that is this test.

use super::*;
use gameway_runtime::clock;
use gameway_units::Duration;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

const SET: &str = r#"{"set": {"path.base_rtt": "10 ms"}}"#;

struct Bench(Control);

impl Bench {
    fn new(name: &str) -> Self {
        let socket = format!("gameway-{name}-{}.socket", std::process::id());
        let config = json!({
            "seed": 1, "path": { "capacity": "10 Mb/s", "base_rtt": "20 ms" }, "folder": "",
            "server": { "device": "a" }, "client": { "device": "b" },
        });
        let config = serde_json::from_value(config).expect("it is a link");
        let (socket, known) = (std::env::temp_dir().join(socket), LinkRegistry::standard());
        Self(Control::new(&socket, &config, Arc::new(known)).expect("a socket"))
    }

    fn connect(&self) -> BufReader<UnixStream> {
        let stream = UnixStream::connect(self.0._server.place()).expect("a socket");
        let max = std::time::Duration::from_secs(10);
        stream.set_read_timeout(Some(max)).expect("a time");
        BufReader::new(stream)
    }

    /// Waits until something is asked.
    fn asked(&self) -> PendingRequest {
        for _ in 0..10_000 {
            if let Some(asked) = self.0.asked() {
                return asked;
            }
            clock::sleep(Duration::from_millis(1));
        }
        panic!("nothing is asked");
    }

    /// Does what is asked, so many times.
    fn serve(&self, times: usize) {
        for _ in 0..times {
            self.asked().answer.send(Response::Changed(Instant::ZERO)).expect("someone waits");
        }
    }
}

fn say(client: &mut BufReader<UnixStream>, text: &str) {
    client.get_mut().write_all(text.as_bytes()).expect("it hears");
}

/// Whether the next answer is a path; `None` once the connection is closed.
fn answer(client: &mut BufReader<UnixStream>) -> Option<bool> {
    let mut line = String::new();
    client.read_line(&mut line).expect("an answer");
    let answer = (!line.is_empty()).then(|| serde_json::from_str::<Value>(&line).expect("JSON"));
    answer.map(|answer| answer["path"].is_object())
}

#[test]
fn lines_come_in_pieces_and_several_at_once_and_the_last_without_an_end() {
    let bench = Bench::new("pieces");
    let mut client = bench.connect();
    say(&mut client, &SET[..10]);
    clock::sleep(Duration::from_millis(20));
    assert!(bench.0.asked().is_none(), "half a line is none");
    say(&mut client, &format!("{}\n{SET}\nno request\n{SET}", &SET[10..]));
    client.get_ref().shutdown(Shutdown::Write).expect("it says no more");
    bench.serve(3);
    let answers: Vec<bool> = std::iter::from_fn(|| answer(&mut client)).collect();
    assert_eq!(answers, [true, true, false, true]);
}

#[test]
fn for_one_client_more_the_one_that_was_silent_longest_has_to_go() {
    let bench = Bench::new("many");
    let mut clients: Vec<_> = (0..16).map(|_| bench.connect()).collect();
    // All are let in, and the first speaks last.
    for number in (0..16).rev() {
        say(&mut clients[number], "no request\n");
        assert_eq!(answer(&mut clients[number]), Some(false));
    }
    let mut further = bench.connect();
    say(&mut further, &format!("{SET}\n"));
    bench.serve(1);
    assert_eq!(answer(&mut further), Some(true));
    let mut last = clients.pop().expect("sixteen");
    assert_eq!(answer(&mut last), None);
    for client in &mut clients {
        say(client, &format!("{SET}\n"));
    }
    bench.serve(15);
    assert!(clients.iter_mut().all(|client| answer(client) == Some(true)));
}

#[test]
fn who_does_not_read_holds_up_nobody() {
    let bench = Bench::new("unread");
    let mut deaf = bench.connect();
    deaf.get_ref().set_nonblocking(true).expect("it may");
    let mut client = bench.connect();
    let mut heard = 0;
    for _ in 0..40 {
        // Until the kernel and the control take no more of it.
        let lines = "no request\n".repeat(1000);
        while deaf.get_mut().write(lines.as_bytes()).is_ok() {
            heard += 1;
        }
        say(&mut client, &format!("{SET}\n"));
        bench.serve(1);
        assert_eq!(answer(&mut client), Some(true));
    }
    assert!(heard > 0);
}

#[test]
fn an_end_waits_for_nobody() {
    let bench = Bench::new("end");
    let place = bench.0._server.place().to_owned();
    let (mut client, mut silent) = (bench.connect(), bench.connect());
    say(&mut client, &format!("{SET}\n"));
    // It is asked, and nobody answers.
    clock::sleep(Duration::from_millis(50));
    drop(bench);
    assert!(!place.exists());
    let mut rest = Vec::new();
    assert_eq!(silent.read_to_end(&mut rest).expect("an end"), 0);
}
