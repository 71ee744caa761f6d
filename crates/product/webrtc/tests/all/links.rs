//! Media by TCP at the port of signalling: what begins with a check is handed on, all else is closed, and nothing is collected.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this test talks to real sockets"
)]

use gameway_units::Ecn;
use gameway_webrtc::framing::framed;
use gameway_webrtc::http::{IceServers, SignalingConfig, SignalingServer};
use gameway_webrtc::ice::stun;
use gameway_webrtc::links::{TcpConnection, TcpLinks};
use gameway_webrtc::socket::MonotonicClock;
use gameway_webrtc::{Transmit, Transport};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3);

fn server() -> SignalingServer {
    SignalingServer::start(SignalingConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        token: "only-me-and-no-other".to_owned(),
        names: Vec::new(),
        pairing: None,
        certificate: None,
        lab: None,
        servers: IceServers::default(),
        wake: None,
    })
    .expect("a free port")
}

fn check(number: u8) -> Vec<u8> {
    let role = stun::Role::Controlling { tie_breaker: 1, nominates: false };
    stun::request(&[number; 12], "host:client", "a password of 22 letters", 1, role)
}

fn connect(to: &SignalingServer, first: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(first).expect("written");
    stream
}

fn taken(server: &SignalingServer) -> TcpConnection {
    for _ in 0..300 {
        if let Some(connection) = server.poll_connection() {
            return connection;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no connection");
}

fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0; 64]), Ok(1..))
}

fn packet(to: SocketAddr, bytes: Vec<u8>) -> Transmit {
    Transmit { from: None, to, over: Transport::Tcp, ecn: Ecn::NotEct, bytes }
}

#[test]
fn datagrams_pass_both_ways_once_a_check_has_come() {
    let server = server();
    let mut client = connect(&server, &framed(&check(1)).expect("short"));
    let mut links = TcpLinks::new(MonotonicClock::starting_now());
    let (mut got, from) = (Vec::new(), client.local_addr().expect("an address"));
    links.add(taken(&server), |one| got.push((one.from, one.over, one.bytes.to_vec())));
    let second = framed(&[200; 1_000]).expect("short");
    client.write_all(&second[..500]).expect("written");
    std::thread::sleep(Duration::from_millis(50));
    links.receive_in_turn(|one| got.push((one.from, one.over, one.bytes.to_vec())));
    client.write_all(&second[500..]).expect("written");
    std::thread::sleep(Duration::from_millis(50));
    links.receive_in_turn(|one| got.push((one.from, one.over, one.bytes.to_vec())));
    assert_eq!(got, [(from, Transport::Tcp, check(1)), (from, Transport::Tcp, vec![200; 1_000])]);
    links.send(&packet(from, vec![7; 300]));
    let mut back = [0; 302];
    client.read_exact(&mut back).expect("it comes");
    assert_eq!(back[..], framed(&[7; 300]).expect("short")[..]);
    links.send(&packet(([192, 0, 2, 1], 1).into(), vec![7; 300]));
    assert_eq!(links.lost(), 1, "nobody is there");
}

#[test]
fn a_client_opens_a_connection_by_what_it_sends_and_another_when_that_is_gone() {
    let server = server();
    let mut client = TcpLinks::new(MonotonicClock::starting_now());
    let mut host = TcpLinks::new(MonotonicClock::starting_now());
    for number in 1..=2 {
        let asked = packet(server.address(), check(number));
        // Until the connection stands, what is sent is lost, and asked again.
        let mut sent = 0;
        let connection = loop {
            client.reach(&asked).expect("a way");
            sent += 1;
            std::thread::sleep(Duration::from_millis(20));
            if let Some(connection) = server.poll_connection() {
                break connection;
            }
            assert!(sent < 100);
        };
        assert_eq!(client.count(), 1);
        let mut from = None;
        host.add(connection, |one| from = Some((one.from, one.bytes.to_vec())));
        let (from, first) = from.expect("its first frame");
        assert_eq!(first, check(number));
        host.send(&packet(from, vec![number; 900]));
        std::thread::sleep(Duration::from_millis(50));
        let mut got = Vec::new();
        client.receive_in_turn(|one| got.push((one.from, one.over, one.bytes.to_vec())));
        assert_eq!(got, [(server.address(), Transport::Tcp, vec![number; 900])]);
        host = TcpLinks::new(MonotonicClock::starting_now());
        std::thread::sleep(Duration::from_millis(50));
        client.receive_in_turn(|_| ());
        assert_eq!(client.count(), 0);
    }
    // Nobody listens there: the connection is none for long.
    drop(server);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr());
    let _ = client.reach(&packet(closed.expect("a port"), check(3)));
    std::thread::sleep(Duration::from_millis(50));
    client.receive_in_turn(|_| ());
    assert_eq!(client.count(), 0);
}

#[test]
fn what_does_not_begin_with_a_check_is_closed() {
    let server = server();
    let mut answer = check(2);
    answer[0] = 1;
    for first in [
        &framed(&[0; 40]).expect("short")[..],
        &[3, 255],
        &[0, 0],
        &framed(&answer).expect("short"),
    ] {
        let mut stream = connect(&server, first);
        // What is cut short is closed after five seconds, as a header of HTTP.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert!(is_closed(&mut stream), "{first:?}");
    }
    assert!(server.poll_connection().is_none());
}

#[test]
fn who_does_not_read_gets_no_more_than_the_kernel_holds() {
    let server = server();
    let client = connect(&server, &framed(&check(3)).expect("short"));
    let from = client.local_addr().expect("an address");
    let mut links = TcpLinks::new(MonotonicClock::starting_now());
    links.add(taken(&server), |_| ());
    for _ in 0..100_000 {
        links.send(&packet(from, vec![7; 1_200]));
    }
    // The client's window and what waits here: of 120 MB not a tenth.
    assert!(links.lost() > 90_000, "{}", links.lost());
    drop(client);
    std::thread::sleep(Duration::from_millis(50));
    links.receive_in_turn(|_| ());
    assert_eq!(links.count(), 0);
}

#[test]
fn who_does_not_prove_himself_makes_room() {
    let server = server();
    let mut links = TcpLinks::new(MonotonicClock::starting_now());
    let mut clients: Vec<TcpStream> = Vec::new();
    for number in 0..12 {
        clients.push(connect(&server, &framed(&check(number)).expect("short")));
        links.add(taken(&server), |_| ());
    }
    // Of one source eight that have not; the oldest go.
    assert_eq!(links.count(), 8);
    assert!(is_closed(&mut clients[0]) && is_closed(&mut clients[3]));
    let proven = clients[11].local_addr().expect("an address");
    links.keep(|remote| remote.address == proven);
    assert_eq!(links.count(), 8, "the others have time");
    links.keep(|_| false);
    assert_eq!(links.count(), 7, "whose session has ended goes at once");
    // A frame that is too long is no peer's.
    clients[10].write_all(&[255, 255]).expect("written");
    std::thread::sleep(Duration::from_millis(50));
    links.receive_in_turn(|_| ());
    assert_eq!(links.count(), 6);
}
