//! Which address a STUN server sees of the media socket (RFC 8489 section 2; RFC 8445 section 5.1.1.2). Sans-IO.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | first retransmission | 500 ms, doubled | RFC 8489 section 6.2.1: RTO |
//! | requests | 7 | the same: Rc; then the server counts as gone until the next question |
//! | again | 20 s | an address translation keeps an idle mapping of UDP for 30 s where it is in a hurry (RFC 4787 section 4.3 wants 2 min) |

use super::stun::{self, Class, Message, Transaction};
use crate::secrets::Secrets;
use crate::transmit::{Transmit, Transport};
use gameway_units::{Duration, Ecn, Instant};
use std::net::SocketAddr;

const FIRST_WAIT: Duration = Duration::from_millis(500);
const REQUESTS: u32 = 7;
const AGAIN: Duration = Duration::from_secs(20);

/// See the module's head.
#[derive(Debug)]
pub struct ReflexiveAddress {
    server: SocketAddr,
    secrets: Secrets,
    /// The question that waits for its answer, and how often it was sent.
    open: Option<(Transaction, u32)>,
    next: Instant,
    found: Option<SocketAddr>,
}

impl ReflexiveAddress {
    /// Asks this server from now on.
    #[must_use]
    pub fn new(server: SocketAddr, now: Instant, secrets: Secrets) -> Self {
        Self { server, secrets, open: None, next: now, found: None }
    }

    /// What the server saw, as long as it answers.
    #[must_use]
    pub fn found(&self) -> Option<SocketAddr> {
        self.found
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Takes a datagram; whether it was the answer.
    pub fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) -> bool {
        let Some((transaction, _)) = self.open.filter(|_| from == self.server) else {
            return false;
        };
        let Some(message) = Message::parse_of_server(bytes) else { return false };
        if message.transaction != transaction || message.class != Class::Success {
            return false;
        }
        self.found = message.mapped_address;
        self.open = None;
        self.next = now.saturating_add(AGAIN);
        true
    }

    /// When something is due.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.next
    }

    /// The question, if it is due.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Transmit> {
        if now < self.next {
            return None;
        }
        let (transaction, sent) = self.open.unwrap_or_else(|| (self.secrets.bytes(), 0));
        if sent == REQUESTS {
            (self.open, self.found) = (None, None);
            self.next = now.saturating_add(AGAIN);
            return None;
        }
        self.open = Some((transaction, sent + 1));
        self.next = now.saturating_add(FIRST_WAIT * (1_i64 << sent));
        Some(Transmit {
            from: None,
            to: self.server,
            over: Transport::Udp,
            ecn: Ecn::NotEct,
            bytes: stun::question(&transaction),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn asking() -> ReflexiveAddress {
        ReflexiveAddress::new(at("192.0.2.1:3478"), Instant::ZERO, Secrets::new([3; 32]))
    }

    #[test]
    fn an_answer_is_believed_from_the_server_alone_and_to_the_question_alone() {
        let (mut asking, seen) = (asking(), at("198.51.100.7:4000"));
        let question = asking.handle_timeout(Instant::ZERO).expect("it is due").bytes;
        let transaction: Transaction = question[8..20].try_into().expect("twelve bytes");
        let answer = stun::success(&transaction, seen, "unread");
        assert!(!asking.handle(Instant::ZERO, at("192.0.2.2:3478"), &answer));
        let other = stun::success(&[7; 12], seen, "unread");
        assert!(!asking.handle(Instant::ZERO, asking.server(), &other));
        assert!(!asking.handle(Instant::ZERO, asking.server(), &question));
        assert_eq!(asking.found(), None);
        assert!(asking.handle(Instant::ZERO, asking.server(), &answer));
        assert_eq!(asking.found(), Some(seen));
        assert!(!asking.handle(Instant::ZERO, asking.server(), &answer), "it is answered");
        assert_eq!(asking.next_deadline(), Instant::ZERO + AGAIN);
        assert!(asking.handle_timeout(Instant::ZERO + AGAIN).is_some());
    }

    #[test]
    fn a_server_that_is_silent_is_asked_seven_times_and_then_rests() {
        let mut asking = asking();
        let mut sent = 0;
        for milli in 0..80_000 {
            sent += u32::from(
                asking.handle_timeout(Instant::ZERO + Duration::from_millis(milli)).is_some(),
            );
        }
        // 63.5 s with seven, then 20 s of rest.
        assert_eq!((sent, asking.found()), (7, None));
    }
}
