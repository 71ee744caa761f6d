//! Signalling over TLS on real sockets: who knows the certificate is served, plain HTTP is told where to ask, and handshakes
//! that do not end keep nobody out.
#![expect(clippy::disallowed_types, reason = "this test drives sockets in real time")]

use crate::pairing::Host;
use crate::sockets::{STRANGER, ask, connect, status};
use gameway_webrtc::socket::MonotonicClock;
use gameway_webrtc::whep_client::{end_session, post_offer};
use gameway_webrtc::{Fingerprint, ServerIdentity};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

const OWN: &str = "127.0.0.1";
const TOKEN: &str = "only-me-and-no-other";

/// A certificate of the machine's own; its file goes with the test.
struct Certificate(PathBuf, ServerIdentity);

impl Certificate {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("gameway-https-{name}-{}", std::process::id()));
        let own = ServerIdentity::own(&folder.join("certificate.pem"), &["localhost".to_owned()]);
        Self(folder, own.unwrap())
    }

    fn host(&self, name: &str) -> Host {
        Host::serve(&format!("https-{name}"), Some(self.1.clone()))
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_client_takes_the_certificate_of_its_link_alone() {
    let certificate = Certificate::new("link");
    let host = certificate.host("link");
    let url = |print: &str| format!("https://{}/whep{print}", host.address);
    let own = format!("#{}", certificate.1.fingerprint().as_word());
    // The host has no stream: it says so only to who is let in.
    let offered = |url: &str, token| post_offer(url, token, "v=0").unwrap_err().to_string();
    assert!(offered(&url(&own), TOKEN).contains("404"));
    assert!(offered(&url(&own), "a guess").contains("401"));
    let session = format!("https://{}/whep/x{own}", host.address);
    assert!(end_session(&session, TOKEN).unwrap_err().to_string().contains("404"));
    let other = format!("#{}", Fingerprint::of(b"another").as_word());
    let told = offered(&url(&other), TOKEN);
    assert!(told.contains("certificate is not that of the link"), "{told}");
    // No authority vouches for it.
    let told = offered(&url(""), TOKEN);
    assert!(told.contains("certificate"), "{told}");
    let told = offered(&url("#nonsense"), TOKEN);
    assert!(told.contains("64 digits"), "{told}");
}

#[test]
fn plain_http_is_told_where_to_ask_and_no_more() {
    let certificate = Certificate::new("plain");
    let host = certificate.host("plain");
    let answer = ask(OWN, host.address, "GET /x?y HTTP/1.1\r\nHost: localhost:7\r\n\r\n");
    assert_eq!(status(&answer), 308, "{answer}");
    assert!(answer.to_lowercase().contains("\r\nlocation: https://localhost:7/\r\n"), "{answer}");
    let head = format!("Host: {OWN}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n");
    for request in ["POST /whep", "DELETE /whep/x", "POST /pair"] {
        let answer = ask(OWN, host.address, &format!("{request} HTTP/1.1\r\n{head}"));
        assert!(status(&answer) == 400 && answer.contains("https://"), "{answer}");
    }
    let rebound = ask(OWN, host.address, "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert_eq!(status(&rebound), 421);
}

#[test]
fn handshakes_that_do_not_end_keep_nobody_out_and_are_cut_off() {
    let certificate = Certificate::new("slow");
    let host = certificate.host("slow");
    let url = format!("https://{}/whep#{}", host.address, certificate.1.fingerprint().as_word());
    // The head of a handshake, of which no more comes; and garbage that looks like one.
    let mut slow: Vec<TcpStream> = (0..70).map(|_| connect(STRANGER, host.address)).collect();
    for (number, stream) in slow.iter_mut().enumerate() {
        let hello: &[u8] = if number % 2 == 0 { &[22, 3, 1, 2, 0, 1] } else { &[22; 700] };
        // The server may have hung up: eight of a source are open at most.
        let _ = stream.write_all(hello);
    }
    let clock = MonotonicClock::starting_now();
    let told = post_offer(&url, TOKEN, "v=0").unwrap_err().to_string();
    assert!(told.contains("404"), "{told}");
    assert!((clock.now() - gameway_units::Instant::ZERO).as_secs_f64() < 2.0, "it had to wait");
    // All end, the last ones after the five seconds that a handshake has.
    let mut last = Vec::new();
    let _ = slow[68].read_to_end(&mut last);
    let passed = (clock.now() - gameway_units::Instant::ZERO).as_secs_f64();
    assert!((3.0..=9.0).contains(&passed), "{passed} s");
}
