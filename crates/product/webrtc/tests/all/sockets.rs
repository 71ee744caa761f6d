//! Real sockets on loopback: ECN and kernel timestamps, a whole session with signalling over HTTP, and a signalling
//! port under attack while a session runs.
#![expect(clippy::disallowed_methods, reason = "this test drives sockets and threads in real time")]
#![expect(clippy::disallowed_types, reason = "this test drives sockets and threads in real time")]

use gameway_units::{Duration, Ecn, Instant};
use gameway_webrtc::http::{IceServers, SignalingConfig, SignalingRequest, SignalingServer};
use gameway_webrtc::socket::{MediaSocket, MonotonicClock};
use gameway_webrtc::whep_client::{end_session, post_offer};
use gameway_webrtc::{
    ClientConfig, Event, Extensions, HostConfig, Identity, Peer, RtpHeader, RtpPacket, Secrets,
    Transmit, Transport,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub fn any(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), 0)
}

#[test]
fn ecn_and_arrival_times_are_the_kernel_s() {
    let clock = MonotonicClock::starting_now();
    for ip in ["127.0.0.1", "::1"] {
        let sender = MediaSocket::bind(any(ip), clock).unwrap();
        let mut receiver = MediaSocket::bind(any(ip), clock).unwrap();
        let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let mut sent = Vec::new();
        for (index, ecn) in marks.into_iter().cycle().take(8).enumerate() {
            let bytes = vec![index as u8; 100];
            let transmit = Transmit {
                from: Some(sender.address()),
                to: receiver.address(),
                over: Transport::Udp,
                ecn,
                bytes,
            };
            let before = clock.now();
            sender.send(&transmit).unwrap();
            sent.push((before, clock.now()));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        // Read late on purpose: the arrivals are the kernel's, not ours.
        let mut got = Vec::new();
        assert!(receiver.wait(clock.now() + Duration::from_secs(1)).unwrap());
        receiver.receive(|it| got.push((it.bytes[0], it.ecn, it.arrival, it.from, it.to))).unwrap();
        assert_eq!(got.len(), 8, "{ip}");
        for (index, (first, ecn, arrival, from, to)) in got.into_iter().enumerate() {
            assert_eq!((usize::from(first), ecn), (index, marks[index % 4]), "{ip}");
            assert_eq!((from, to), (sender.address(), receiver.address()));
            let (before, after) = sent[index];
            let slack = Duration::from_micros(300);
            assert!(
                arrival >= before - slack && arrival <= after + slack,
                "{ip}: {arrival:?} {before:?}"
            );
        }
    }
}

#[test]
fn waiting_ends_at_its_deadline() {
    let clock = MonotonicClock::starting_now();
    let socket = MediaSocket::bind(any("127.0.0.1"), clock).unwrap();
    let deadline = clock.now() + Duration::from_millis(20);
    assert!(!socket.wait(deadline).unwrap());
    let late = clock.now().saturating_since(deadline);
    assert!(late >= Duration::ZERO && late < Duration::from_millis(100), "{late}");
    assert!(!socket.wait(Instant::from_nanos(0)).unwrap(), "a past deadline does not block");
}

const TOKEN: &str = "only-me-and-no-other";

/// A host that sends 1000 packets/s to whoever is connected; `stop` ends it.
struct TestHost {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    offers: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl TestHost {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let offers = Arc::new(AtomicU64::new(0));
        let clock = MonotonicClock::starting_now();
        let socket = MediaSocket::bind(any("127.0.0.1"), clock).unwrap();
        let listen = any("127.0.0.1");
        let config = SignalingConfig {
            listen,
            token: TOKEN.to_owned(),
            names: Vec::new(),
            pairing: None,
            certificate: None,
            lab: None,
            servers: IceServers::default(),
            wake: None,
        };
        let signaling = SignalingServer::start(config).unwrap();
        let address = signaling.address();
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&offers));
        let thread =
            std::thread::spawn(move || host_loop(clock, socket, &signaling, &stopped, &counted));
        Self { address, stop, offers, thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}/whep", self.address)
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn host_loop(
    clock: MonotonicClock,
    mut socket: MediaSocket,
    signaling: &SignalingServer,
    stop: &AtomicBool,
    offers: &AtomicU64,
) {
    let identity = Identity::generate().unwrap();
    let candidates = vec![socket.address().into()];
    let config = HostConfig {
        identity,
        candidates,
        audio: true,
        h265: false,
        nack: false,
        parity: false,
        references: false,
        export_keys: false,
    };
    let mut session: Option<(String, Peer)> = None;
    let (mut next, mut sequence) = (clock.now(), 0_u16);
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        match signaling.poll() {
            Some(SignalingRequest::Offer { session: name, offer, reply, .. }) => {
                offers.fetch_add(1, Ordering::Relaxed);
                match Peer::answer(now, &config, Secrets::from_system(), &offer) {
                    Ok((peer, answer)) => {
                        session = Some((name, peer));
                        reply.accept(answer);
                    }
                    Err(error) => reply.refuse(400, error.to_string()),
                }
            }
            Some(SignalingRequest::Controller { reply, .. }) => {
                reply.refuse(404, "no controller here".to_owned());
            }
            Some(SignalingRequest::Watching { reply }) => {
                reply.refuse(404, "nobody watches here".to_owned());
            }
            Some(SignalingRequest::End { session: name, reply }) => {
                if session.as_ref().is_some_and(|(ours, _)| *ours == name) {
                    session = None;
                    reply.accept(String::new());
                } else {
                    reply.refuse(404, "no such session".to_owned());
                }
            }
            Some(SignalingRequest::Devices { .. }) | None => {}
        }
        if let Some((_, peer)) = &mut session {
            peer.handle_timeout(now);
            while now >= next && peer.is_connected() {
                next += Duration::from_millis(1);
                sequence = sequence.wrapping_add(1);
                let terms = peer.negotiated();
                let header = RtpHeader {
                    payload_type: terms.video.unwrap(),
                    sequence_number: sequence,
                    ssrc: terms.video_ssrc,
                    ..RtpHeader::default()
                };
                let extensions = Extensions::default();
                let packet = RtpPacket { header, extensions, payload: &[1; 500], padding: 0 };
                peer.send_rtp(&packet, Ecn::Ect1).unwrap();
            }
            while peer.poll_event().is_some() {}
            while let Some(transmit) = peer.poll_transmit() {
                socket.send(&transmit).unwrap();
            }
        }
        next = next.max(now - Duration::from_millis(20));
        socket.wait(now + Duration::from_millis(1)).unwrap();
        let peer = &mut session;
        let take = |got: gameway_webrtc::socket::Received<'_>| {
            if let Some((_, peer)) = peer {
                peer.handle_datagram(got.arrival, got.remote(), got.to, got.ecn, got.bytes);
            }
        };
        socket.receive(take).unwrap();
    }
}

/// A client with its socket.
struct TestClient {
    clock: MonotonicClock,
    socket: MediaSocket,
    peer: Peer,
    location: String,
    packets: Vec<(u16, Ecn, Instant)>,
    closed: bool,
}

impl TestClient {
    fn connect(host: &TestHost) -> Self {
        let clock = MonotonicClock::starting_now();
        let socket = MediaSocket::bind(any("127.0.0.1"), clock).unwrap();
        let identity = Identity::generate().unwrap();
        let config = ClientConfig {
            identity,
            codec: gameway_units::VideoCodec::H264,
            arrival_times: true,
            export_keys: false,
        };
        let (mut peer, offer) = Peer::offer(clock.now(), &config, Secrets::from_system());
        let session = post_offer(&host.url(), TOKEN, &offer).unwrap();
        peer.accept_answer(clock.now(), &session.answer).unwrap();
        let location = session.location;
        Self { clock, socket, peer, location, packets: Vec::new(), closed: false }
    }

    fn run(&mut self, span: Duration) {
        let end = self.clock.now() + span;
        while self.clock.now() < end {
            let now = self.clock.now();
            self.peer.handle_timeout(now);
            while let Some(event) = self.peer.poll_event() {
                match event {
                    Event::Rtp { header, ecn, arrival, .. } => {
                        self.packets.push((header.sequence_number, ecn, arrival));
                    }
                    Event::Closed(_) => self.closed = true,
                    _ => {}
                }
            }
            while let Some(transmit) = self.peer.poll_transmit() {
                self.socket.send(&transmit).unwrap();
            }
            let deadline = self.peer.next_deadline().unwrap_or(end).min(end);
            if self.socket.wait(deadline).unwrap() {
                let peer = &mut self.peer;
                let take = |got: gameway_webrtc::socket::Received<'_>| {
                    peer.handle_datagram(got.arrival, got.remote(), got.to, got.ecn, got.bytes);
                };
                self.socket.receive(take).unwrap();
            }
        }
    }
}

#[test]
fn a_session_over_real_sockets_and_a_second_client_takes_over() {
    let host = TestHost::start();
    let mut first = TestClient::connect(&host);
    first.run(Duration::from_millis(500));
    assert!(first.packets.len() > 100, "{}", first.packets.len());
    assert!(first.packets.iter().all(|(_, ecn, _)| *ecn == Ecn::Ect1));
    // Without the token: nothing, and the stream goes on.
    let refused = post_offer(&host.url(), "guess", "v=0").unwrap_err().to_string();
    assert!(refused.contains("401"), "{refused}");
    let nonsense = post_offer(&host.url(), TOKEN, "nonsense").unwrap_err().to_string();
    assert!(nonsense.contains("400") && nonsense.contains("line 1"), "{nonsense}");
    let before = first.packets.len();
    first.run(Duration::from_millis(300));
    assert!(first.packets.len() > before + 100);
    // With it: the second has the stream, and the first one's session is gone.
    let mut second = TestClient::connect(&host);
    second.run(Duration::from_millis(500));
    assert!(second.packets.len() > 100);
    first.run(Duration::from_millis(50));
    let before = first.packets.len();
    first.run(Duration::from_millis(200));
    assert_eq!(first.packets.len(), before);
    assert!(end_session(&first.location, TOKEN).unwrap_err().to_string().contains("404"));
    assert!(end_session(&second.location, "guess").unwrap_err().to_string().contains("401"));
    end_session(&second.location, TOKEN).unwrap();
}

/// An address of this machine that is not the client's.
pub const STRANGER: &str = "127.0.0.2";

/// A connection from an address of this machine.
pub fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&any(from).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(std::time::Duration::from_secs(12))).unwrap();
    stream
}

/// What a request from there gets, whole; it is the only one of its connection.
pub fn ask(from: &str, to: SocketAddr, request: &str) -> String {
    let mut stream = connect(from, to);
    let alone = request.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
    let _ = stream.write_all(alone.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

const PAGE: &str = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

fn with_token(token: &str) -> String {
    format!("DELETE /whep/x HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer {token}\r\n\r\n")
}

#[test]
fn idle_connections_of_one_keep_nobody_out() {
    let host = TestHost::start();
    let idle: Vec<TcpStream> = (0..70).map(|_| connect(STRANGER, host.address)).collect();
    let clock = MonotonicClock::starting_now();
    // Others are served at once, and the one who holds them as well.
    for from in ["127.0.0.1", STRANGER] {
        let began = clock.now();
        assert_eq!(status(&ask(from, host.address, PAGE)), 200, "{from}");
        let took = clock.now() - began;
        assert!(took < Duration::from_secs(2), "{from}: {took}");
    }
    drop(idle);
}

#[test]
fn who_guesses_tokens_must_wait_and_others_need_not() {
    let host = TestHost::start();
    let answers: Vec<String> =
        (0..40).map(|n| ask(STRANGER, host.address, &with_token(&format!("guess-{n}")))).collect();
    let wrong = answers.iter().filter(|answer| status(answer) == 401).count();
    let later = answers.iter().filter(|answer| status(answer) == 429).count();
    // Ten, and one more for each ten seconds that the forty took.
    assert!((10..=13).contains(&wrong), "{wrong} were judged");
    assert_eq!(wrong + later, 40);
    let last = answers.last().unwrap().to_lowercase();
    let wait = last.lines().find_map(|line| line.strip_prefix("retry-after: ")).expect("a time");
    assert!((1..=10).contains(&wait.parse::<u32>().unwrap()), "{wait}");
    // Not even the right one is looked at, or guessing would go on.
    assert_eq!(status(&ask(STRANGER, host.address, &with_token(TOKEN))), 429);
    assert_eq!(status(&ask(STRANGER, host.address, PAGE)), 200, "the page has no secret");
    assert_eq!(status(&ask("127.0.0.1", host.address, &with_token(TOKEN))), 404);
}

#[test]
fn the_page_is_the_host_s_alone() {
    let host = TestHost::start();
    let answer = ask("127.0.0.1", host.address, PAGE);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    for wanted in [
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "frame-ancestors 'none'",
        "default-src 'none'",
        "connect-src 'self'",
    ] {
        assert!(head.contains(wanted), "{wanted}: {head}");
    }
    assert_eq!(head.matches("content-security-policy").count(), 1);
    for element in ["script", "style"] {
        assert!(head.contains(&format!("{element}-src 'sha256-")), "{element}: {head}");
        assert!(body.contains(&format!("<{element}>")));
    }
    for (name, wanted) in [("example.org", 421), ("127.0.0.1:80", 200), ("localhost", 200)] {
        let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n");
        assert_eq!(status(&ask("127.0.0.1", host.address, &request)), wanted, "{name}");
    }
    let unnamed = ask("127.0.0.1", host.address, "GET / HTTP/1.0\r\n\r\n");
    assert!((400..=421).contains(&status(&unnamed)), "{unnamed}");
}

#[test]
fn a_connection_takes_requests_for_a_while_and_ends_by_itself_or_with_a_refusal() {
    let host = TestHost::start();
    let clock = MonotonicClock::starting_now();
    let mut stream = connect("127.0.0.1", host.address);
    let own = "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for _ in 0..3 {
        stream.write_all(own.as_bytes()).unwrap();
        let mut answer = [0; 4_096];
        let read = stream.read(&mut answer).unwrap();
        assert_eq!(status(&String::from_utf8_lossy(&answer[..read])), 200);
    }
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    let passed = (clock.now() - Instant::ZERO).as_secs_f64();
    assert!(rest.is_empty() && (3.9..=7.0).contains(&passed), "{passed} s");
    let mut refused = connect("127.0.0.1", host.address);
    refused.write_all(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    refused.read_to_end(&mut rest).unwrap();
    assert_eq!(status(&String::from_utf8_lossy(&rest)), 404);
    let more = (clock.now() - Instant::ZERO).as_secs_f64() - passed;
    assert!(more < 2.0, "{more} s");
}

#[test]
fn a_token_that_can_be_guessed_is_refused() {
    for token in ["", "a", "only-me", "aaaaaaaaaaaaaaaaaaaaaaaa", "1212121212121212"] {
        let listen = any("127.0.0.1");
        let config = SignalingConfig {
            listen,
            token: token.to_owned(),
            names: Vec::new(),
            pairing: None,
            certificate: None,
            lab: None,
            servers: IceServers::default(),
            wake: None,
        };
        let refused = SignalingServer::start(config).expect_err(token).to_string();
        assert!(refused.contains("16 characters"), "{refused}");
    }
}

/// Datagrams that reach the socket, of one from each sender after it takes from the first of them only.
fn that_pass(listen: &str, senders: [&str; 2]) -> Vec<(usize, u8)> {
    let clock = MonotonicClock::starting_now();
    let mut socket = MediaSocket::bind(any(listen), clock).unwrap();
    let senders = senders.map(|ip| std::net::UdpSocket::bind(any(ip)).unwrap());
    let addresses: Vec<SocketAddr> = senders.iter().map(|one| one.local_addr().unwrap()).collect();
    socket.take_from(vec![addresses[0]]).unwrap();
    let mut stun = vec![0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42];
    stun.extend([0; 12]);
    let kinds = [stun, vec![0; 20], vec![22; 20], vec![0x80; 20], vec![0x80]];
    for sender in &senders {
        let target = if sender.local_addr().unwrap().is_ipv4() { "127.0.0.1" } else { "::1" };
        for kind in &kinds {
            sender.send_to(kind, (target, socket.address().port())).unwrap();
        }
    }
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut got = Vec::new();
    socket
        .receive_in_turn(|it| {
            let who = addresses.iter().position(|address| *address == it.from).unwrap();
            got.push((who, it.bytes[0]));
        })
        .unwrap();
    got.sort_unstable();
    got
}

#[test]
fn the_kernel_drops_what_nobody_wants() {
    // All but false STUN of the one that is known, and true STUN of the other.
    let wanted = [(0, 0), (0, 22), (0, 0x80), (0, 0x80), (1, 0)];
    for (listen, senders) in [
        ("127.0.0.1", ["127.0.0.1", "127.0.0.1"]),
        ("127.0.0.1", ["127.0.0.1", "127.0.0.2"]),
        ("::1", ["::1", "::1"]),
        ("0.0.0.0", ["127.0.0.2", "127.0.0.1"]),
    ] {
        assert_eq!(that_pass(listen, senders), wanted, "{listen} {senders:?}");
    }
}

#[test]
fn a_flood_is_taken_in_turns() {
    let clock = MonotonicClock::starting_now();
    let mut socket = MediaSocket::bind(any("127.0.0.1"), clock).unwrap();
    let sender = std::net::UdpSocket::bind(any("127.0.0.1")).unwrap();
    for _ in 0..1_500 {
        sender.send_to(&[1; 100], socket.address()).unwrap();
    }
    let mut turns = Vec::new();
    while turns.last() != Some(&0) {
        let mut taken = 0;
        socket.receive_in_turn(|_| taken += 1).unwrap();
        turns.push(taken);
    }
    assert_eq!(turns.iter().sum::<usize>(), 1_500);
    assert!(turns.iter().all(|taken| *taken <= 256), "{turns:?}");
    assert!(turns.len() >= 6);
}

/// One bogus request; what the server said.
fn bogus(address: SocketAddr, number: usize) -> String {
    let mut stream = connect(STRANGER, address);
    stream.set_read_timeout(Some(std::time::Duration::from_secs(12))).unwrap();
    let request: Vec<u8> = match number % 6 {
        0 => vec![number as u8; 2_000],
        1 => format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(100_000)).into_bytes(),
        2 => format!("POST /whep HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999{number}\r\n\r\n").into(),
        3 => b"POST /whep HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sdp\r\nContent-Length: 3\r\n\r\nv=0".to_vec(),
        4 => {
            let body = "a".repeat(70_000);
            let head = "POST /whep?token=only-me-and-no-other HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                        Authorization: Bearer only-me-and-no-other\r\nContent-Type: application/sdp\r\n";
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        }
        _ => b"DELETE /whep/../../x HTTP/1.0\r\nAuthorization: Bearer \xff\xfe\r\n\r\n".to_vec(),
    };
    // The server may hang up before it has read everything.
    let _ = stream.write_all(&request);
    if number.is_multiple_of(6) {
        // Garbage may look like the beginning of a long line; do not wait for its time to run out.
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).lines().next().unwrap_or("").to_owned()
}

#[test]
fn a_thousand_bogus_requests_do_not_disturb_a_session() {
    let host = TestHost::start();
    let mut client = TestClient::connect(&host);
    client.run(Duration::from_millis(300));
    let address = host.address;
    let began = client.clock.now();
    let before = client.packets.len();
    // Slow ones that never finish their header, all the while.
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = connect(STRANGER, address);
            stream.write_all(b"POST /whep HTTP/1.1\r\nHost").unwrap();
            stream
        })
        .collect();
    let attack =
        std::thread::spawn(move || (0..1_000).map(|n| bogus(address, n)).collect::<Vec<_>>());
    // Most are refused at once: the session is watched for two seconds at least.
    while !attack.is_finished() || client.clock.now() - began < Duration::from_secs(2) {
        client.run(Duration::from_millis(50));
        assert!(client.clock.now() - began < Duration::from_secs(60));
    }
    let answers = attack.join().unwrap();
    let offers = host.offers.load(Ordering::Relaxed);
    assert_eq!(offers, 1, "no bogus request reached the session");
    for (number, answer) in answers.iter().enumerate() {
        // Refused with 4xx, or hung up on.
        let refused = answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
        assert!(refused || answer.is_empty(), "{number}: {answer}");
    }
    let answered = |status: &str| answers.iter().filter(|it| it.contains(status)).count();
    let refused = answered(" 401 ") + answered(" 429 ");
    assert!(refused >= 300, "{refused}");
    assert!(answered(" 401 ") <= 20, "{}", answered(" 401 "));
    let span = (client.clock.now() - began).as_secs_f64();
    let expected = span * 1_000.0;
    let got = (client.packets.len() - before) as f64;
    assert!(got >= 0.95 * expected && got <= 1.05 * expected + 30.0, "{got} of {expected}");
    assert!(!client.closed);
    // And signalling still works, though the slow ones hold on.
    let refused = post_offer(&host.url(), TOKEN, "v=0").unwrap_err().to_string();
    assert!(refused.contains("400"), "{refused}");
    drop(slow);
}
