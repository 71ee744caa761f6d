//! Pairing over real sockets: a code of the host, typed on a new device, gives it a key, which lets it in until it is revoked.
#![expect(clippy::disallowed_methods, reason = "this test drives sockets and threads in real time")]

use crate::sockets::{any, ask, status};
use gameway_webrtc::ServerIdentity;
use gameway_webrtc::devices::{DeviceFile, DeviceId};
use gameway_webrtc::http::{
    IceServers, PairingConfig, PairingNews, SignalingConfig, SignalingRequest, SignalingServer,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

const OWN: &str = "127.0.0.1";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";

/// A host that has no stream: whoever is let in hears 404.
pub struct Host {
    pub address: SocketAddr,
    folder: PathBuf,
    news: Receiver<PairingNews>,
    /// Which devices the media loop was told of.
    lists: Receiver<Vec<DeviceId>>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Host {
    fn start(name: &str) -> Self {
        Self::serve(name, None)
    }

    /// With a certificate it speaks HTTPS.
    pub fn serve(name: &str, certificate: Option<ServerIdentity>) -> Self {
        let folder =
            std::env::temp_dir().join(format!("gameway-pair-{name}-{}", std::process::id()));
        let (teller, news) = channel();
        let (listed, lists) = channel();
        let tell = move |told| teller.send(told).unwrap();
        let pairing = PairingConfig { devices: folder.join("devices.json"), tell: Arc::new(tell) };
        let signaling = SignalingServer::start(SignalingConfig {
            listen: any(OWN),
            token: "only-me-and-no-other".to_owned(),
            names: Vec::new(),
            pairing: Some(pairing),
            certificate,
            lab: None,
            servers: IceServers::default(),
            wake: None,
        });
        let signaling = signaling.unwrap();
        let address = signaling.address();
        signaling.show_code();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match signaling.poll() {
                    Some(
                        SignalingRequest::Offer { reply, .. }
                        | SignalingRequest::Controller { reply, .. }
                        | SignalingRequest::End { reply, .. },
                    ) => reply.refuse(404, "no stream here".to_owned()),
                    Some(SignalingRequest::Devices { let_in }) => listed.send(let_in).unwrap(),
                    Some(SignalingRequest::Watching { reply }) => {
                        reply.refuse(404, "no stream here".to_owned());
                    }
                    None => std::thread::sleep(std::time::Duration::from_millis(2)),
                }
            }
        });
        Self { address, folder, news, lists, stop, thread: Some(thread) }
    }

    fn devices(&self) -> DeviceFile {
        DeviceFile::new(self.folder.join("devices.json"))
    }

    /// The code that was shown last.
    fn code(&self) -> String {
        let codes = self.news.try_iter().filter_map(|news| match news {
            PairingNews::Code(code) => Some(code),
            _ => None,
        });
        codes.last().expect("a code")
    }

    fn is_told_nothing(&self) -> bool {
        self.news.try_recv().is_err()
    }

    /// What a body gets that is posted to be paired, with more headers.
    fn pair(&self, from: &str, body: &str, more: &str) -> String {
        let length = body.len();
        let head =
            format!("Host: {OWN}:1\r\nUser-Agent: {FIREFOX}\r\nContent-Length: {length}\r\n");
        ask(from, self.address, &format!("POST /pair HTTP/1.1\r\n{head}{more}\r\n{body}"))
    }

    /// The status of a request with this key: 404 says that it was let in.
    fn knock(&self, key: &str) -> u16 {
        let head = format!("Host: {OWN}\r\nAuthorization: Bearer {key}\r\n");
        status(&ask(OWN, self.address, &format!("DELETE /whep/x HTTP/1.1\r\n{head}\r\n")))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(std::thread::JoinHandle::join);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// A code that is not this one.
fn other(code: &str, number: u32) -> String {
    format!("{:06}", (code.parse::<u32>().unwrap() + number) % 1_000_000)
}

#[test]
fn the_code_gives_a_key_once_and_the_key_opens_until_it_is_revoked() {
    let host = Host::start("once");
    let code = host.code();
    assert_eq!(host.knock("no-key"), 401);
    let answer = host.pair(OWN, &code, "");
    assert_eq!(status(&answer), 201, "{answer}");
    let key = body(&answer).to_owned();
    assert_eq!(key.len(), 24);
    let name = "Firefox on Linux".to_owned();
    let from = OWN.parse().unwrap();
    assert_eq!(host.news.recv().unwrap(), PairingNews::Paired { name, from });
    let next = host.code();
    assert_ne!(next, code, "the next device has a code of its own");
    assert_eq!(host.knock(&key), 404);
    assert_eq!(status(&host.pair(OWN, &code, "")), 403, "a code is good once");
    assert_eq!(status(&host.pair(OWN, &next, "")), 201);
    // Another program revokes the first.
    let revoked = host.devices().change(|devices| devices.revoke("Firefox on Linux")).unwrap();
    assert!(revoked.is_some());
    assert_eq!(host.knock(&key), 401);
    assert_eq!(host.devices().read().unwrap().all().len(), 1);
}

#[test]
fn five_wrong_codes_of_anybody_end_a_code() {
    let host = Host::start("five");
    let code = host.code();
    for (number, from) in [(1, "127.0.0.2"), (2, "127.0.0.3"), (3, "127.0.0.4"), (4, "127.0.0.5")] {
        let answer = host.pair(from, &other(&code, number), "");
        assert_eq!(status(&answer), 403, "{answer}");
        assert!(host.is_told_nothing());
    }
    let answer = host.pair("127.0.0.6", &other(&code, 5), "");
    assert_eq!(status(&answer), 410, "{answer}");
    let next = host.code();
    assert_eq!(status(&host.pair(OWN, &code, "")), if next == code { 201 } else { 403 });
    assert_eq!(host.devices().read().unwrap().all().len(), usize::from(next == code));
}

#[test]
fn who_types_many_wrong_codes_must_wait_and_so_must_all_together() {
    let host = Host::start("many");
    let mut code = host.code();
    let mut statuses = Vec::new();
    for number in 0..40 {
        // Ten of each address are looked at, twenty of all.
        let from = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"][number / 10];
        let answer = status(&host.pair(from, &other(&code, 1), ""));
        if answer == 410 {
            code = host.code();
        }
        statuses.push(answer);
    }
    let looked_at = statuses.iter().filter(|status| [403, 410].contains(*status)).count();
    assert_eq!(looked_at, 20, "{statuses:?}");
    assert!(statuses[20..].iter().all(|status| *status == 429), "{statuses:?}");
    // Not even the right one is looked at, or guessing would go on; a token is, of who has shown no wrong one.
    assert_eq!(status(&host.pair(OWN, &code, "")), 429);
    assert_eq!(host.knock("only-me-and-no-other"), 404);
}

#[test]
fn what_is_no_code_is_refused_and_costs_no_try() {
    let host = Host::start("hostile");
    let code = host.code();
    for (typed, wanted) in [
        ("12345", 400),
        ("1234567", 400),
        ("12345x", 400),
        ("\0\0\0\0\0\0", 400),
        ("１２", 400),
        ("{\"code\":123456}", 400),
        (&"1".repeat(65), 413),
        (&"1".repeat(100_000), 413),
    ] {
        let answer = status(&host.pair(OWN, typed, ""));
        // One that is told at once that its body is too long may still be sending.
        assert!(answer == wanted || (typed.len() > 10_000 && answer == 0), "{answer} {wanted}");
    }
    assert_eq!(status(&host.pair(OWN, &code, "Content-Length: 7\r\n")), 400, "two lengths");
    assert!(host.is_told_nothing());
    assert_eq!(status(&host.pair(OWN, &code, "")), 201);
}

#[test]
fn a_page_from_elsewhere_cannot_pair_even_with_the_code() {
    let host = Host::start("elsewhere");
    let code = host.code();
    for origin in ["http://example.org", "null", &format!("http://{OWN}:2"), "http://\u{e9}"] {
        for body in ["", &code] {
            let answer = host.pair(OWN, body, &format!("Origin: {origin}\r\n"));
            assert_eq!(status(&answer), 403, "{origin}");
            assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
        }
    }
    let rebound =
        format!("POST /pair HTTP/1.1\r\nHost: example.org\r\nContent-Length: 6\r\n\r\n{code}");
    assert_eq!(status(&ask(OWN, host.address, &rebound)), 421);
    assert_eq!(status(&host.pair(OWN, &code, &format!("Origin: http://{OWN}:1\r\n"))), 201);
}

#[test]
fn a_code_is_shown_anew_only_if_somebody_asks_and_none_is_good() {
    let host = Host::start("asks");
    let code = host.code();
    for _ in 0..5 {
        assert_eq!(status(&host.pair(OWN, "", "")), 204);
    }
    assert!(host.is_told_nothing(), "the first one is still good");
    assert_eq!(status(&host.pair(OWN, &code, "")), 201);
}

#[test]
fn a_list_that_cannot_be_read_lets_nobody_in_and_is_not_touched() {
    let host = Host::start("broken");
    let code = host.code();
    let key = body(&host.pair(OWN, &code, "")).to_owned();
    let code = host.code();
    let file = host.folder.join("devices.json");
    std::fs::write(&file, "broken").unwrap();
    assert_eq!(host.knock(&key), 500);
    let PairingNews::Failed(why) = host.news.recv().unwrap() else { panic!("it must be told") };
    assert!(why.contains(&file.display().to_string()), "{why}");
    assert_eq!(status(&host.pair(OWN, &code, "")), 500);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "broken");
    assert_eq!(host.knock("only-me-and-no-other"), 404, "who has the token needs no list");
}

#[test]
fn the_media_loop_is_told_who_is_let_in_when_that_changes() {
    let host = Host::start("lists");
    let two_seconds = std::time::Duration::from_secs(2);
    let next = || host.lists.recv_timeout(two_seconds).expect("it is told within two seconds");
    assert_eq!(next(), [], "no file is no device");
    let key = body(&host.pair(OWN, &host.code(), "")).to_owned();
    let first = DeviceId::of(&key);
    assert_eq!(next(), std::slice::from_ref(&first));
    let second = body(&host.pair(OWN, &host.code(), "")).to_owned();
    assert_eq!(next(), [first.clone(), DeviceId::of(&second)]);
    host.devices().change(|devices| devices.revoke("2")).unwrap();
    assert_eq!(next(), std::slice::from_ref(&first));
    // What cannot be read is told to who runs the host, and to nobody else.
    let file = host.folder.join("devices.json");
    let good = std::fs::read(&file).unwrap();
    std::fs::write(&file, "broken").unwrap();
    let failed = |news: PairingNews| matches!(news, PairingNews::Failed(_));
    while !failed(host.news.recv_timeout(two_seconds).expect("it is told")) {}
    std::fs::write(&file, good).unwrap();
    assert!(host.lists.recv_timeout(two_seconds).is_err(), "mended, it is as it was");
    // Moved away, it has no device.
    std::fs::rename(&file, file.with_extension("away")).unwrap();
    assert_eq!(next(), []);
    assert_eq!(host.knock(&key), 401);
}

#[test]
fn no_more_devices_than_sixty_four_are_paired() {
    let host = Host::start("full");
    let code = host.code();
    let fill = |devices: &mut gameway_webrtc::devices::Devices| {
        while !devices.are_full() {
            let number = devices.all().len().to_string();
            devices.add(FIREFOX, &number, 1);
        }
    };
    host.devices().change(fill).unwrap();
    let answer = host.pair(OWN, &code, "");
    assert!(status(&answer) == 409 && answer.contains("gameway devices --revoke"), "{answer}");
    host.devices().change(|devices| devices.revoke("64")).unwrap();
    assert_eq!(status(&host.pair(OWN, &code, "")), 201, "the code is still good");
}
