//! The gateway's own queue in a network namespace of the test: what its changes cost, and that they lose nothing.

use crate::network::{has_network, received_bytes};
use gameway_router::own_queue::{OwnQueue, QueueError, QueueKind, Way};
use gameway_units::{Duration, Rate};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gameway-gateway");
const TARGET: Duration = Duration::from_millis(5);
const ROUNDS: usize = 10;
/// Of a round; the queue has room for 41 at 10 Mb/s.
const PACKETS: usize = 30;
const PAYLOAD: usize = 1400;
/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 42;

fn mbps(rate: u64) -> Rate {
    Rate::from_mbps(rate)
}

/// Puts a queue of HTB towards the home.
fn install(rate: Rate) -> Result<OwnQueue, QueueError> {
    OwnQueue::install_guarded_by(PROGRAM, ("lan", Way::ToHome), QueueKind::Htb, (rate, TARGET))
}

#[test]
#[expect(clippy::disallowed_types, reason = "what passes the queue")]
fn a_change_of_the_rate_loses_nothing_that_waits() {
    if !has_network() {
        return;
    }
    let mut queue = install(mbps(10)).expect("a queue");
    let sender = std::net::UdpSocket::bind("192.0.2.1:0").expect("a socket");
    let before = queue.follow().expect("figures").others;
    let mut after = before;
    for _ in 0..ROUNDS {
        for number in 0..PACKETS {
            sender.send_to(&[0; PAYLOAD], "192.0.2.2:9").expect("it is sent");
            queue.set_rate(mbps([10, 40, 15][number % 3])).expect("a rate");
        }
        let waiting = queue.follow().expect("figures").others.backlog_bytes;
        assert!(waiting > 5_000, "{waiting}");
        let others = std::iter::repeat_with(|| {
            gameway_runtime::clock::sleep(Duration::from_millis(20));
            queue.follow().expect("figures").others
        });
        after = others.take(200).find(|one| one.backlog_bytes == 0).expect("it empties");
    }
    let sent = after.sent_bytes - before.sent_bytes;
    let own = (ROUNDS * PACKETS * (PAYLOAD + HEADERS)) as u64;
    assert_eq!(after.drops, before.drops);
    // The kernel itself says a few words of IPv6.
    assert!((own..own + 2000).contains(&sent), "{sent} of {own}");
    assert_eq!(queue.follow().expect("figures").renewals, 0);
}

#[test]
#[expect(clippy::disallowed_types, reason = "what passes the queue")]
fn what_waits_when_it_ends_goes_on() {
    if !has_network() {
        return;
    }
    let mut queue = install(mbps(10)).expect("a queue");
    let sender = std::net::UdpSocket::bind("192.0.2.1:0").expect("a socket");
    let before = received_bytes("end");
    for _ in 0..PACKETS {
        sender.send_to(&[0; PAYLOAD], "192.0.2.2:9").expect("it is sent");
    }
    assert!(queue.follow().expect("figures").others.backlog_bytes > 5_000);
    drop(queue);
    let came = received_bytes("end") - before;
    let own = (PACKETS * (PAYLOAD + HEADERS)) as u64;
    assert!((own..own + 2000).contains(&came), "{came} of {own}");
}

#[test]
fn a_second_one_at_the_interface_waits_for_the_first_ones_guardian() {
    if !has_network() {
        return;
    }
    let first = install(mbps(10));
    let first = first.expect("a queue");
    let second = install(mbps(20));
    let told = second.map(|_| ()).expect_err("it is taken").to_string();
    assert!(told.starts_with("the gateway's queue at lan: its guardian: "), "{told}");
    drop(first);
    let mut third = install(mbps(20)).expect("it is free again");
    assert_eq!(third.follow().expect("figures").rate_bps, 20_000_000);
}
