//! A host and its clients on loopback: one client takes H.265, the next H.264, and both read counter and clock
//! from what they decoded.
#![cfg(all(feature = "x264", feature = "x265", feature = "libav"))]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a host and a client have threads and sockets"
)]

use gameway_control::Controllers;
use gameway_runtime::stop::Stop;
use gameway_stream::client::ClientReport;
use gameway_stream::{StreamError, client, host};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::thread;

const TOKEN: &str = "a token for one test";

/// An address where nobody listens.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Small pictures: libx265 is slow.
fn host_config(address: &str) -> Value {
    json!({
        "controller": "fixed", "frame_rate": 30, "fec": "20 %", "start_bitrate": "2 Mb/s",
        "max_bitrate": "4 Mb/s", "listen": address, "token": TOKEN, "size": "320x180",
        "audio": false,
    })
}

fn watch(address: &str, codec: &str) -> Result<ClientReport, StreamError> {
    let config = json!({
        "connect": format!("http://{address}/whep"), "token": TOKEN, "codec": codec,
        "duration": "4 s",
    });
    let config = serde_json::from_value(config).expect("a client's configuration");
    client::run(&config, || Ok(None), &Stop::new(), &mut |_| ())
}

#[test]
fn each_client_has_the_codec_that_it_asks_for() {
    let (address, stop) = (free_address(), Stop::new());
    let config = serde_json::from_value(host_config(&address)).expect("a host's configuration");
    let asked = stop.clone();
    let host = thread::spawn(move || {
        host::run(config, Controllers::standard(), None, None, &asked, &mut |_, _| ())
    });
    for codec in ["h265", "h264"] {
        let report = watch(&address, codec).expect("a stay");
        // Four seconds at 30 frames/s, less what it takes to connect and what a busy machine leaves out.
        assert!((20..=120).contains(&report.decoded), "{codec}: {} decoded", report.decoded);
        assert_eq!(report.stamped, report.decoded, "{codec}: each has its number and time");
    }
    stop.ask();
    let report = host.join().expect("no panic").expect("a host");
    assert_eq!((report.sessions, report.encoder_failures), (2, 0));
}

#[test]
fn another_codec_is_refused_before_anything_is_sent() {
    let error = serde_json::from_value::<gameway_stream::ClientConfig>(json!({
        "connect": "http://127.0.0.1:1/whep", "token": TOKEN, "codec": "vp9",
    }));
    let error = error.expect_err("no such codec").to_string();
    assert!(error.contains("vp9") && error.contains("h265"), "{error}");
}
