//! A host streams with a controller of somebody else's, which is named, listed and refused as ours are.
#![cfg(feature = "cli")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a host and who asks it have threads and sockets"
)]

#[path = "../../examples/own_host.rs"]
mod example;

use example::controllers;
use gameway_control::Controllers;
use gameway_events::{ControllerRecord, RunEvent};
use gameway_runtime::stop::Stop;
use gameway_stream::command::{self, Names};
use gameway_stream::{ClientConfig, HostConfig, StreamError, client, host};
use gameway_units::Rate;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::thread;

const TOKEN: &str = "a-token-of-this-test";

fn config(settings: &Value) -> HostConfig {
    HostConfig::read(settings.as_object().expect("a table")).expect("settings")
}

#[test]
fn it_is_built_by_its_name_with_its_options() {
    let built = |options: Value, known: &Controllers| {
        let config = config(&json!({ "controller": options, "start_bitrate": "7 Mb/s" }));
        config.build_controller(known).map_err(|error| error.to_string())
    };
    for options in [json!("mine"), json!({ "kind": "mine", "gain": "100 kb/s" })] {
        let controller = built(options, &controllers()).expect("a controller");
        assert_eq!(controller.name(), "mine");
        assert_eq!(controller.target().bitrate, Rate::from_mbps(7));
    }
    let refused = |options, known| built(options, &known).map(drop).expect_err("it cannot be");
    assert_eq!(
        refused(json!({ "kind": "mine", "gain": "100 Mb/s" }), controllers()),
        "controller: controller \"mine\": gain: 100 Mb/s is not between 1 kb/s and 10 Mb/s"
    );
    let known = "known are copa, fixed, gcc, mine, nada, pudica, salsify, scream, sqp";
    assert_eq!(
        refused(json!("nobody"), controllers()),
        format!("controller: unknown controller \"nobody\"; {known}")
    );
    assert_eq!(
        refused(json!("mine"), Controllers::standard()),
        format!("controller: unknown controller \"mine\"; {}", known.replace("mine, ", ""))
    );
}

#[test]
fn the_command_of_a_host_takes_it() {
    let code = |controller: &str, known| {
        let words = ["--listen=127.0.0.1:0", "--size=320x180", "--no-audio", "--duration=10ms"];
        let words = words.into_iter().chain(["--controller", controller]).map(OsString::from);
        command::host(Names::PROGRAMS, known, words)
    };
    assert_eq!(code("mine", controllers()), 0);
    assert_eq!(code("mine", Controllers::standard()), command::FAILED);
}

/// Status and body of the answer to a request.
fn ask(address: SocketAddr, method: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let text = format!(
        "{method} /controller HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).expect("a host");
    stream.write_all(text.as_bytes()).expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

fn watch(address: SocketAddr) -> Result<(), StreamError> {
    let config = json!({
        "connect": format!("http://{address}/whep"), "token": TOKEN, "duration": "3 s",
    });
    let config = ClientConfig::read(config.as_object().expect("a table"))?;
    client::run(&config, || Ok(None), &Stop::new(), &mut |_| ()).map(drop)
}

#[test]
fn who_plays_is_offered_it_and_the_stream_has_it() {
    let stop = Stop::new();
    let (sink, events) = channel();
    let (reached, address) = channel();
    let host = thread::spawn({
        let stop = stop.clone();
        let config = config(&json!({
            "controller": "fixed", "listen": "127.0.0.1:0", "token": TOKEN, "size": "320x180",
            "frame_rate": 30, "audio": false,
        }));
        move || {
            let ready = &mut |_, addresses: Vec<SocketAddr>| {
                reached.send(addresses[0]).expect("the test waits");
            };
            host::run(config, controllers(), None, Some(Box::new(sink)), &stop, ready)
        }
    });
    let address = address.recv().expect("a host");
    let told = |controller: &str| {
        let choices: Vec<&str> =
            vec!["copa", "fixed", "gcc", "mine", "nada", "pudica", "salsify", "scream", "sqp"];
        (200, json!({ "choices": choices, "controller": controller }).to_string())
    };
    assert_eq!(ask(address, "GET", ""), told("fixed"));
    let (status, why) = ask(address, "PUT", "nobody");
    assert!(status == 400 && why.contains("known are copa, fixed, gcc, mine, nada"), "{why}");
    assert_eq!(ask(address, "PUT", "mine"), told("mine"));
    watch(address).expect("a stay");
    stop.ask();
    host.join().expect("no panic").expect("a host");
    // No other controller tells this of itself.
    let is_its = |event: &RunEvent| matches!(event, RunEvent::Controller(ControllerRecord { variable, .. }) if &**variable == "queueing_ms");
    // Each half second, less what it takes to connect.
    let observed = events.try_iter().filter(is_its).count();
    assert!((3..=7).contains(&observed), "{observed} rows of its state");
}
