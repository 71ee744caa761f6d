//! Against routers of PCP and NAT-PMP on loopback that answer as their RFCs say, or do not.

use super::*;
use std::net::Ipv4Addr;
#[expect(clippy::disallowed_types, reason = "a router of a test")]
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const PORT: u16 = 8_443;
const PATIENCE: Duration = Duration::from_secs(20);

/// A router at an address of its own that answers each datagram as it is told; what it heard.
#[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a router of a test")]
fn router(
    last: u8,
    answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
) -> (MappingRequest, Receiver<Vec<u8>>) {
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    let at = Ipv4Addr::new(127, high.max(1), low, last);
    let socket = UdpSocket::bind((at, 5_351)).expect("the port of PCP");
    let (sender, heard) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 1_100];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            // Before the answer: who has it finds the request among those heard.
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
            if let Some(answer) = answer(&buffer[..count]) {
                let _ = socket.send_to(&answer, from);
            }
        }
    });
    (MappingRequest::new(at, SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT)), heard)
}

/// RFC 6887 sections 7.2 and 11.1: the request comes back with the granted lifetime and address.
fn grants_by_pcp(lifetime: u32, outside: Ipv4Addr) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |request| {
        let mut answer = request.to_vec();
        let asked = u32::from_be_bytes(request[4..8].try_into().expect("four bytes"));
        answer[1] |= 0x80;
        answer[2..24].fill(0);
        answer[4..8].copy_from_slice(&asked.min(lifetime).to_be_bytes());
        answer[44..60].copy_from_slice(&outside.to_ipv6_mapped().octets());
        Some(answer)
    }
}

/// RFC 6886 sections 3.2, 3.3 and 3.5.
fn grants_by_nat_pmp(request: &[u8]) -> Option<Vec<u8>> {
    if request[0] != 0 {
        return Some(vec![0, 128, 0, 1, 0, 0, 0, 1]);
    }
    let mut answer = vec![0, request[1] | 0x80, 0, 0, 0, 0, 0, 1];
    match request[1] {
        0 => answer.extend(OUTSIDE.octets()),
        _ => answer.extend(&request[4..12]),
    }
    Some(answer)
}

fn at(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(OUTSIDE, port)
}

/// Whether a request is one to delete a mapping.
fn deletes(request: &[u8]) -> bool {
    let lifetime = if request[0] == 2 { &request[4..8] } else { &request[8..12] };
    lifetime == [0; 4]
}

#[test]
fn pcp_maps_both_ports_renews_at_half_the_lifetime_and_deletes_at_the_end() {
    let (request, heard) = router(1, grants_by_pcp(8, OUTSIDE));
    let mut mapping = PortMapping::ask(request).expect("a thread");
    let lifetime = Duration::from_secs(8);
    let mapped = Mapped { by: "PCP", udp: at(PORT), tcp: at(PORT), lifetime };
    assert_eq!(mapping.news(PATIENCE), Some(News::Mapped(mapped)));
    assert_eq!(mapping.mapped(), Some(mapped));
    let take = |count| (0..count).map(|_| heard.recv_timeout(PATIENCE).expect("a request"));
    let first: Vec<Vec<u8>> = take(2).collect();
    // UDP has number 17, TCP 6; the port that is asked for outside is the one inside.
    assert_eq!([first[0][36], first[1][36]], [17, 6]);
    assert!(
        first.iter().all(|one| one[40..44] == [PORT.to_be_bytes(), PORT.to_be_bytes()].concat())
    );
    assert!(heard.recv_timeout(Duration::from_secs(3)).is_err(), "half the lifetime is 4 s");
    let renewed: Vec<Vec<u8>> = take(2).collect();
    let nonces = |all: &[Vec<u8>]| all.iter().map(|one| one[24..36].to_vec()).collect::<Vec<_>>();
    assert_eq!(nonces(&renewed), nonces(&first), "who renews shows that it is the same");
    assert!(mapping.news(Duration::ZERO).is_none(), "nothing has changed");
    drop(mapping);
    let last: Vec<Vec<u8>> = heard.try_iter().collect();
    assert_eq!(last.len(), 2, "deleted when this is dropped, not later");
    assert!(last.iter().all(|one| deletes(one)));
}

#[test]
fn a_router_of_nat_pmp_alone_is_asked_by_that() {
    let (request, heard) = router(2, grants_by_nat_pmp);
    let mut mapping = PortMapping::ask(request).expect("a thread");
    let mapped = Mapped { by: "NAT-PMP", udp: at(PORT), tcp: at(PORT), lifetime: LIFETIME };
    assert_eq!(mapping.news(PATIENCE), Some(News::Mapped(mapped)));
    drop(mapping);
    let all: Vec<Vec<u8>> = heard.try_iter().collect();
    assert_eq!(all.iter().filter(|one| one.len() == 12 && deletes(one)).count(), 2, "{all:?}");
}

#[test]
fn what_is_no_answer_is_told_and_the_next_protocol_is_asked() {
    let (request, _heard) = router(3, |request| Some(request[..8].to_vec()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let why = obtain(&runtime.expect("a runtime"), &request).err().expect("nothing is granted");
    let router = request.router();
    assert!(why.starts_with(&format!("the router {router} was asked by PCP: ")), "{why}");
    assert!(why.contains("; by NAT-PMP: ") && why.ends_with("; by UPnP: no answer"), "{why}");
}

#[test]
fn an_answer_of_any_length_is_refused_or_read_to_its_end() {
    let lengths = Arc::new(AtomicUsize::new(0));
    let cut = Arc::clone(&lengths);
    let by_pcp = grants_by_pcp(600, OUTSIDE);
    let (request, _heard) = router(5, move |request| {
        let whole = if request[0] == 2 { by_pcp(request) } else { grants_by_nat_pmp(request) };
        whole.map(|mut whole| {
            whole.resize(cut.load(Ordering::SeqCst), 0xFF);
            whole
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut granted = Vec::new();
    for length in 0..=80 {
        lengths.store(length, Ordering::SeqCst);
        for protocol in [Protocol::Pcp, Protocol::NatPmp] {
            let got = runtime.block_on(direct::obtain(protocol, &request, LIFETIME));
            granted.extend(got.map(|got| (protocol.name(), length, got.mapped().tcp)));
        }
    }
    // PCP has 60 bytes, and options behind them in fours; NAT-PMP has 16, and what is behind them is not read.
    let whole = |by: &str| if by == "PCP" { 60 } else { 16 };
    let well = |(by, length, tcp): &(&str, usize, _)| *length >= whole(by) && *tcp == at(PORT);
    assert!(granted.iter().all(well), "{granted:?}");
    assert!(granted.contains(&("NAT-PMP", 16, at(PORT))), "{granted:?}");
    assert!(granted.contains(&("PCP", 60, at(PORT))), "{granted:?}");
}

#[test]
fn a_router_without_an_address_outside_maps_nothing_and_keeps_nothing() {
    let (request, heard) = router(4, grants_by_pcp(600, Ipv4Addr::UNSPECIFIED));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let asked = direct::obtain(Protocol::Pcp, &request, LIFETIME);
    let why = runtime.expect("a runtime").block_on(asked).expect_err("no address");
    assert_eq!(why, "it says that its address outside is 0.0.0.0, which is none");
    let asked: Vec<bool> = heard.try_iter().map(|one| deletes(&one)).collect();
    assert_eq!(asked, [false, false, true, true]);
}

#[test]
fn what_is_told_is_what_has_changed() {
    let mapped = |port, seconds| {
        let lifetime = Duration::from_secs(seconds);
        News::Mapped(Mapped { by: "PCP", udp: at(port), tcp: at(port), lifetime })
    };
    let refused = |why: &str| News::Refused(why.to_owned());
    for (told, now, new) in [
        (None, mapped(1, 600), true),
        (Some(mapped(1, 600)), mapped(1, 500), false),
        (Some(mapped(1, 600)), mapped(2, 600), true),
        (Some(mapped(1, 600)), refused("gone"), true),
        (Some(refused("gone")), refused("still"), false),
        (Some(refused("gone")), mapped(1, 600), true),
    ] {
        assert_eq!(is_new(told.as_ref(), &now), new, "{told:?} {now:?}");
    }
    let waits = [0, 8, 20, 600, 9_999].map(|seconds| wait(&mapped(1, seconds)).as_secs());
    assert_eq!(waits, [4, 4, 10, 300, 300]);
    assert_eq!(wait(&refused("")), AGAIN);
}
