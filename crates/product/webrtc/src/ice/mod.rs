//! ICE (RFC 8445) over one socket: the host is controlled, the client controlling.
//!
//! Both are full agents. The host asks at the addresses that an offer names, so that a packet filter or an address translation in front
//! of it lets the client's own checks in, and whoever asks with this session's password is asked back. Media goes to an address only when
//! that has answered, except before any has: a check that is replayed from elsewhere moves nothing. (A lite host would send no checks: one behind
//! an address translation would be reached by nobody.) The client asks at all addresses that the host names, nominates the first
//! that answers, and repeats the nomination until that is answered. A browser nominates several pairs and changes its mind: the
//! host takes the nominated pair of the highest priority that is alive, and of equal ones the newest, so that a client that moves is followed.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | first check interval | 50 ms | RFC 8445 section 14: pacing of checks |
//! | slowest check interval | 400 ms | doubling stops there, so that 30 % loss costs half a second at most |
//! | consent interval | 2.5 s | half of RFC 7675 section 5.1's: a client that moved is found sooner |
//! | remembered transactions | 64 | more than a minute of checks: an old check replayed from elsewhere moves nothing |
//!
//! | deviation from RFC 8445 | why |
//! |---|---|
//! | our client nominates the first pair that answers, whatever its priority | waiting for a better one costs start-up time; all lead to the one socket |
//! | our client names no candidates in its offer | it reaches the host, which learns the address from the check |
//! | roles do not change: the other side gets 487 always (7.3.1.1) | the host answers offers, so it is controlled (6.1.1); who takes that role as well must change his |
//! | no foundations, no frozen pairs (6.1.2.6) | there is one component, and one socket for all pairs |
//! | checks go on to an address that did not answer seven times (RFC 8489 section 6.2.1) | its filter may open late; [`host`] has the bounds |
//! | candidates by name (mDNS) are passed over | who hides an address lets the host learn it from the check |

mod candidate;
mod client;
mod host;
pub mod reflexive;
pub mod stun;

use crate::secrets::Secrets;
use crate::transmit::{Remote, Transmit};
pub(crate) use candidate::CandidateLine;
pub use candidate::{LocalCandidate, RemoteCandidate};
use client::Checks;
use gameway_units::{Duration, Ecn, Instant};
use host::Pairs;
use std::collections::VecDeque;
use std::net::SocketAddr;
use stun::{Class, Message};

const FIRST_CHECK: Duration = Duration::from_millis(50);
const SLOWEST_CHECK: Duration = Duration::from_millis(400);
const CONSENT: Duration = Duration::from_millis(2_500);
const REMEMBERED: usize = 64;
/// Of a peer-reflexive candidate (RFC 8445 section 5.1.2), as which a check makes us known.
const PRIORITY: u32 = (110 << 24) | (65_535 << 8) | 255;

/// A name and a password.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// `ice-ufrag`.
    pub name: String,
    /// `ice-pwd`.
    pub password: String,
}

impl Credentials {
    pub(crate) fn draw(secrets: &mut Secrets) -> Self {
        Self { name: secrets.word::<8>(), password: secrets.word::<24>() }
    }
}

/// A pair of addresses: ours and theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub local: SocketAddr,
    pub remote: Remote,
}

/// What is sent to an address, from ours if that matters.
fn transmit(from: Option<SocketAddr>, to: Remote, ecn: Ecn, bytes: Vec<u8>) -> Transmit {
    Transmit { from, to: to.address, over: to.over, ecn, bytes }
}

impl Pair {
    pub(crate) fn transmit(self, bytes: Vec<u8>, ecn: Ecn) -> Transmit {
        transmit(Some(self.local), self.remote, ecn, bytes)
    }
}

/// Who nominates.
#[derive(Debug)]
enum Role {
    Controlled(Box<Pairs>),
    Controlling(Box<Checks>),
    /// A client without an answer.
    Waiting,
}

/// One side's ICE.
#[derive(Debug)]
pub(crate) struct Ice {
    pub local: Credentials,
    pub remote: Credentials,
    role: Role,
    /// When the other side last proved that it is there and knows the password.
    last_consent: Option<Instant>,
}

impl Ice {
    fn new(local: Credentials, remote: Credentials, role: Role) -> Self {
        Self { local, remote, role, last_consent: None }
    }

    /// A client's before it has an answer.
    pub(crate) fn waiting(local: Credentials) -> Self {
        Self::new(local, Credentials::default(), Role::Waiting)
    }

    pub(crate) fn controlled(
        local: Credentials,
        remote: Credentials,
        candidates: &[RemoteCandidate],
        now: Instant,
        secrets: Secrets,
    ) -> Self {
        let pairs = Pairs::new(candidates, now, secrets);
        Self::new(local, remote, Role::Controlled(Box::new(pairs)))
    }

    pub(crate) fn controlling(
        local: Credentials,
        remote: Credentials,
        candidates: &[RemoteCandidate],
        now: Instant,
        secrets: Secrets,
    ) -> Self {
        let checks = Checks::new(candidates, now, secrets);
        Self::new(local, remote, Role::Controlling(Box::new(checks)))
    }

    /// Where to send, once known.
    pub(crate) fn selected(&self) -> Option<Pair> {
        match &self.role {
            Role::Controlled(pairs) => pairs.selected(),
            Role::Controlling(checks) => checks.selected(),
            Role::Waiting => None,
        }
    }

    /// From where the other side has proven itself.
    pub(crate) fn accepted(&self) -> Vec<Remote> {
        match &self.role {
            Role::Controlled(pairs) => pairs.proven().collect(),
            _ => self.selected().iter().map(|pair| pair.remote).collect(),
        }
    }

    pub(crate) fn accepts(&self, remote: Remote) -> bool {
        match &self.role {
            Role::Controlled(pairs) => pairs.proven().any(|known| known == remote),
            _ => self.selected().is_some_and(|pair| pair.remote == remote),
        }
    }

    pub(crate) fn last_consent(&self) -> Option<Instant> {
        self.last_consent
    }

    /// Whether a message is to the one of our name, or answers a check of ours.
    pub(crate) fn is_meant_by(&self, bytes: &[u8]) -> bool {
        let Some(message) = Message::parse(bytes) else { return false };
        match &self.role {
            Role::Controlled(pairs) if message.class != Class::Request => {
                pairs.has_asked(&message.transaction)
            }
            _ => {
                let to = message.username.and_then(|username| username.split_once(':'));
                to.is_some_and(|(to, _)| to == self.local.name)
            }
        }
    }

    /// Takes a datagram that looks like STUN; what to send then goes before all else.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        pair: Pair,
        bytes: &[u8],
        out: &mut VecDeque<Transmit>,
    ) {
        let Some(message) = Message::parse(bytes) else { return };
        match message.class {
            Class::Request => self.on_request(now, pair, &message, out),
            Class::Success if message.is_from_holder_of(&self.remote.password) => {
                self.on_success(now, pair, &message, out);
            }
            Class::Success | Class::Indication | Class::Error => {}
        }
    }

    fn on_request(
        &mut self,
        now: Instant,
        pair: Pair,
        message: &Message<'_>,
        out: &mut VecDeque<Transmit>,
    ) {
        let to = message.username.and_then(|username| username.split_once(':'));
        if to.is_none_or(|(to, _)| to != self.local.name)
            || !message.is_from_holder_of(&self.local.password)
        {
            return;
        }
        let is_conflict = match self.role {
            Role::Controlled(_) => message.controlled,
            Role::Controlling(_) => message.controlling,
            Role::Waiting => return,
        };
        let (transaction, password) = (&message.transaction, &self.local.password);
        if is_conflict {
            let refusal = stun::role_conflict(transaction, password);
            out.push_back(pair.transmit(refusal, Ecn::NotEct));
            return;
        }
        let answer = stun::success(transaction, pair.remote.address, password);
        let answer = pair.transmit(answer, Ecn::NotEct);
        let Role::Controlled(pairs) = &mut self.role else { return out.push_back(answer) };
        let Some(is_new) = pairs.on_request(now, pair, message) else { return };
        out.push_back(answer);
        if is_new {
            self.last_consent = Some(now);
            out.extend(pairs.check_back(now, pair, &self.local, &self.remote));
        }
    }

    fn on_success(
        &mut self,
        now: Instant,
        pair: Pair,
        message: &Message<'_>,
        out: &mut VecDeque<Transmit>,
    ) {
        let (local, remote) = (&self.local, &self.remote);
        let is_answer = match &mut self.role {
            Role::Controlled(pairs) => pairs.on_success(now, pair, message),
            Role::Controlling(checks) => {
                checks.on_success(now, pair, message, (local, remote), out)
            }
            Role::Waiting => false,
        };
        if is_answer {
            self.last_consent = Some(now);
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match &self.role {
            Role::Controlling(checks) => Some(checks.next_deadline()),
            Role::Controlled(pairs) => pairs.next_deadline(),
            Role::Waiting => None,
        }
    }

    /// Sends checks that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, out: &mut VecDeque<Transmit>) {
        let (local, remote) = (&self.local, &self.remote);
        match &mut self.role {
            Role::Controlling(checks) => checks.handle_timeout(now, (local, remote), out),
            Role::Controlled(pairs) => out.extend(pairs.handle_timeout(now, local, remote)),
            Role::Waiting => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn host(way: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, way as u8, 1], 8443))
    }

    /// The client is at another address on each way.
    fn client(way: usize) -> SocketAddr {
        SocketAddr::from(([10, 0, way as u8, 2], 40_000))
    }

    fn is_request(bytes: &[u8]) -> bool {
        Message::parse(bytes).is_some_and(|message| message.class == Class::Request)
    }

    /// Two ways, each with its delay; the pairs that host and client have chosen after so many milliseconds, and how many
    /// checks were sent. `lost` says which of the checks are.
    fn choose(
        delays: [i64; 2],
        millis: i64,
        lost: fn(usize) -> bool,
    ) -> ([Option<usize>; 2], usize) {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let start = (Instant::ZERO, || Secrets::new([7; 32]));
        let mut host_end = Ice::controlled(ours.clone(), theirs.clone(), &[], start.0, start.1());
        let named = [0, 1].map(|way| RemoteCandidate { remote: host(way).into(), priority: 1 });
        let mut asking = Ice::controlling(theirs, ours, &named, start.0, start.1());
        let mut flying: Vec<(Instant, bool, usize, Vec<u8>)> = Vec::new();
        let mut sent = 0;
        for step in 0..millis {
            let now = Instant::ZERO + MILLISECOND * step;
            let mut out = VecDeque::new();
            asking.handle_timeout(now, &mut out);
            let (due, later) = flying.into_iter().partition(|(at, ..)| *at <= now);
            flying = later;
            for (_, to_host, way, bytes) in due {
                if to_host {
                    let pair = Pair { local: host(way), remote: client(way).into() };
                    let mut answers = VecDeque::new();
                    host_end.handle(now, pair, &bytes, &mut answers);
                    for answer in answers {
                        flying.push((now + MILLISECOND * delays[way], false, way, answer.bytes));
                    }
                } else {
                    let pair = Pair { local: client(way), remote: host(way).into() };
                    asking.handle(now, pair, &bytes, &mut out);
                }
            }
            for message in out {
                let way = usize::from(message.to == host(1));
                let is_check = is_request(&message.bytes);
                sent += usize::from(is_check);
                if !is_check || !lost(sent) {
                    flying.push((now + MILLISECOND * delays[way], true, way, message.bytes));
                }
            }
        }
        let way = |pair: Option<Pair>, address: fn(usize) -> SocketAddr| {
            pair.and_then(|pair| (0..2).find(|way| address(*way) == pair.remote.address))
        };
        ([way(host_end.selected(), client), way(asking.selected(), host)], sent)
    }

    #[test]
    fn both_choose_the_way_that_answered_first_whichever_was_asked_last() {
        for (delays, chosen) in [([5, 5], 0), ([5, 9], 0), ([9, 5], 1), ([30, 2], 1), ([2, 30], 0)]
        {
            // Until the other way's check has come, too.
            let (ways, _) = choose(delays, 100, |_| false);
            assert_eq!(ways, [Some(chosen); 2], "{delays:?}");
        }
    }

    #[test]
    fn a_nomination_that_is_lost_is_repeated_and_then_there_are_only_consents() {
        // Both first checks come; of the nominations the first two are lost.
        let (ways, sent) = choose([9, 5], 400, |sent| sent == 3 || sent == 4);
        assert_eq!((ways, sent), ([Some(1); 2], 5));
        let (_, sent) = choose([9, 5], 2_900, |sent| sent == 3 || sent == 4);
        assert_eq!(sent, 6, "after 2.5 s the first consent check");
    }

    #[test]
    fn by_tcp_a_client_asks_when_nobody_has_answered_by_udp_for_a_second() {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let by_tcp = Remote { address: host(1), over: crate::transmit::Transport::Tcp };
        let named = [host(0).into(), by_tcp].map(|remote| RemoteCandidate { remote, priority: 1 });
        let first_by_tcp = |answers: bool| {
            let secrets = Secrets::new([7; 32]);
            let mut asking =
                Ice::controlling(theirs.clone(), ours.clone(), &named, Instant::ZERO, secrets);
            for milli in 0..5_000 {
                let now = Instant::ZERO + MILLISECOND * milli;
                let mut out = VecDeque::new();
                asking.handle_timeout(now, &mut out);
                if out.iter().any(|check| check.remote() == by_tcp) {
                    return Some(milli);
                }
                for check in out.iter().filter(|_| answers) {
                    let asked = Message::parse(&check.bytes).expect("a check");
                    let answer = stun::success(&asked.transaction, client(0), &ours.password);
                    let pair = Pair { local: client(0), remote: check.remote() };
                    asking.handle(now, pair, &answer, &mut VecDeque::new());
                }
            }
            None
        };
        assert_eq!(first_by_tcp(true), None);
        let at = first_by_tcp(false).expect("asked in the end");
        assert!((1_000..1_400).contains(&at), "{at}");
    }

    /// A host with these candidates of a browser, and how long its checks go on if nobody answers.
    #[test]
    fn who_is_named_is_asked_one_after_the_other_and_not_for_ever() {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let named = [0, 1, 2]
            .map(|way| RemoteCandidate { remote: client(way).into(), priority: 1 + way as u32 });
        let mut host_end =
            Ice::controlled(ours, theirs, &named, Instant::ZERO, Secrets::new([7; 32]));
        let mut sent: Vec<(i64, SocketAddr)> = Vec::new();
        for milli in 0..60_000 {
            let mut out = VecDeque::new();
            host_end.handle_timeout(Instant::ZERO + MILLISECOND * milli, &mut out);
            assert!(out.iter().all(|check| is_request(&check.bytes)));
            sent.extend(out.iter().map(|check| (milli, check.to)));
        }
        let first: Vec<SocketAddr> = sent.iter().take(3).map(|(_, to)| *to).collect();
        assert_eq!(first, [client(2), client(1), client(0)], "by their priority");
        assert!(sent.windows(2).all(|two| two[1].0 - two[0].0 >= 50));
        assert!(sent.len() < 70 && sent.iter().all(|(milli, _)| *milli < 15_000), "{}", sent.len());
        assert_eq!(host_end.next_deadline(), None);
    }

    /// What a host does with checks of a browser: from there, whether they nominate, whether the host's own is answered.
    fn selected_after(steps: &[(i64, usize, bool, bool)]) -> Option<SocketAddr> {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let named = [0, 1]
            .map(|way| RemoteCandidate { remote: client(way).into(), priority: 2 - way as u32 });
        let mut host_end =
            Ice::controlled(ours, theirs, &named, Instant::ZERO, Secrets::new([7; 32]));
        for (number, (milli, way, nominates, answers)) in steps.iter().enumerate() {
            let now = Instant::ZERO + MILLISECOND * *milli;
            let pair = Pair { local: host(0), remote: client(*way).into() };
            let role = stun::Role::Controlling { tie_breaker: 1, nominates: *nominates };
            let transaction = [number as u8 + 1; 12];
            let check = stun::request(&transaction, "host:client", &"p".repeat(24), 1, role);
            let mut out = VecDeque::new();
            host_end.handle(now, pair, &check, &mut out);
            host_end.handle_timeout(now, &mut out);
            let is_answered = |sent: &&Transmit| *answers && sent.to == client(*way);
            for sent in out.iter().filter(is_answered).filter(|sent| is_request(&sent.bytes)) {
                let asked = Message::parse(&sent.bytes).expect("a check");
                let answer = stun::success(&asked.transaction, host(0), &"p".repeat(24));
                let from = Pair { local: host(0), remote: sent.remote() };
                host_end.handle(now, from, &answer, &mut VecDeque::new());
            }
        }
        host_end.selected().map(|pair| pair.remote.address)
    }

    #[test]
    fn media_goes_where_the_client_wants_it_and_has_answered() {
        let (better, worse) = (0, 1);
        // Provisionally the first that asks; then what is nominated; of both the one of the higher priority.
        assert_eq!(selected_after(&[(0, worse, false, false)]), Some(client(worse)));
        let both = [(0, worse, true, true), (200, better, true, true)];
        assert_eq!(selected_after(&both), Some(client(better)));
        let reverse = [(0, better, true, true), (200, worse, true, true)];
        assert_eq!(selected_after(&reverse), Some(client(better)));
        // A check from elsewhere whose sender does not answer moves nothing.
        let silent = [(0, worse, true, true), (200, better, true, false)];
        assert_eq!(selected_after(&silent), Some(client(worse)));
        // The better one has not been wanted for long: the client is elsewhere now.
        let moved = [(0, better, true, true), (2_900, worse, true, true)];
        assert_eq!(selected_after(&moved), Some(client(better)));
        let moved = [(0, better, true, true), (3_000, worse, true, true)];
        assert_eq!(selected_after(&moved), Some(client(worse)));
    }

    #[test]
    fn who_comes_from_everywhere_is_not_collected() {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let mut host_end = Ice::controlled(ours, theirs, &[], Instant::ZERO, Secrets::new([7; 32]));
        for number in 0..200_u8 {
            let mut remote = client(0);
            remote.set_port(1_000 + u16::from(number));
            let pair = Pair { local: host(0), remote: remote.into() };
            let role = stun::Role::Controlling { tie_breaker: 1, nominates: number == 0 };
            let check = stun::request(&[number; 12], "host:client", &"p".repeat(24), 1, role);
            let mut out = VecDeque::new();
            host_end.handle(Instant::ZERO, pair, &check, &mut out);
            // The answer and one check back, whoever asks.
            assert_eq!(out.len(), 2);
        }
        assert!(host_end.accepted().len() <= 24);
        assert_eq!(host_end.selected().map(|pair| pair.remote.address.port()), Some(1_000));
    }
}
