//! ICE (RFC 8445): the host is lite and only answers; the client checks, nominates and keeps asking.
//!
//! The host has one socket with known addresses, so there is nothing to gather: it believes who knows
//! this session's password, and sends to the address from which the newest nomination came. The client asks at all
//! addresses that the host names, nominates the first that answers, and repeats the nomination until that is answered: before,
//! the two might send on different ways, and refuse what comes on the other's. A client that moves to another address is
//! followed at its next check.
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
//! | the first pair that answers is nominated, whatever its priority | waiting for a better one costs start-up time; both lead to the one socket |
//! | no candidates of the client in its offer | a lite host sends no checks; it learns the address from the check |

pub mod stun;

use crate::secrets::Secrets;
use crate::transmit::Transmit;
use gameway_units::{Duration, Ecn, Instant};
use std::collections::VecDeque;
use std::net::SocketAddr;
use stun::{Class, Message, Transaction};

const FIRST_CHECK: Duration = Duration::from_millis(50);
const SLOWEST_CHECK: Duration = Duration::from_millis(400);
const CONSENT: Duration = Duration::from_millis(2_500);
const REMEMBERED: usize = 64;
/// Of a host candidate (RFC 8445 section 5.1.2), for the peer-reflexive pair that it would form.
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
    pub remote: SocketAddr,
}

impl Pair {
    pub(crate) fn transmit(self, bytes: Vec<u8>, ecn: Ecn) -> Transmit {
        Transmit { from: Some(self.local), to: self.remote, ecn, bytes }
    }
}

/// Who checks.
#[derive(Debug)]
enum Role {
    Lite { seen: VecDeque<Transaction> },
    Controlling(Box<Checks>),
}

/// The client's checks.
#[derive(Debug)]
struct Checks {
    candidates: Vec<SocketAddr>,
    tie_breaker: u64,
    next: Instant,
    interval: Duration,
    /// Checks on their way, newest last.
    open: VecDeque<Open>,
    secrets: Secrets,
}

/// A check that was not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    transaction: Transaction,
    to: SocketAddr,
    nominates: bool,
}

/// One side's ICE.
#[derive(Debug)]
pub(crate) struct Ice {
    pub local: Credentials,
    pub remote: Credentials,
    role: Role,
    selected: Option<Pair>,
    /// When the other side last proved that it is there and knows the password.
    last_consent: Option<Instant>,
    /// The client's own address, which its socket knows.
    local_address: Option<SocketAddr>,
}

impl Ice {
    pub(crate) fn lite(local: Credentials, remote: Credentials) -> Self {
        let role = Role::Lite { seen: VecDeque::with_capacity(REMEMBERED) };
        Self { local, remote, role, selected: None, last_consent: None, local_address: None }
    }

    pub(crate) fn controlling(
        local: Credentials,
        remote: Credentials,
        candidates: Vec<SocketAddr>,
        now: Instant,
        mut secrets: Secrets,
    ) -> Self {
        let role = Role::Controlling(Box::new(Checks {
            candidates,
            tie_breaker: u64::from_be_bytes(secrets.bytes()),
            next: now,
            interval: FIRST_CHECK,
            open: VecDeque::new(),
            secrets,
        }));
        Self { local, remote, role, selected: None, last_consent: None, local_address: None }
    }

    /// Where to send, once known.
    pub(crate) fn selected(&self) -> Option<Pair> {
        self.selected
    }

    pub(crate) fn last_consent(&self) -> Option<Instant> {
        self.last_consent
    }

    /// Whether a datagram is a request to the one of our name.
    pub(crate) fn is_named_by(&self, bytes: &[u8]) -> bool {
        let username = Message::parse(bytes).and_then(|message| message.username);
        let to = username.and_then(|username| username.split_once(':'));
        to.is_some_and(|(to, _)| to == self.local.name)
    }

    /// Takes a datagram that looks like STUN; what to send then, if anything, before all else.
    pub(crate) fn handle(&mut self, now: Instant, pair: Pair, bytes: &[u8]) -> Option<Transmit> {
        let message = Message::parse(bytes)?;
        match message.class {
            Class::Request => self.on_request(now, pair, &message),
            Class::Success => self.on_success(now, pair, &message),
            Class::Indication | Class::Error => None,
        }
    }

    fn on_request(&mut self, now: Instant, pair: Pair, message: &Message<'_>) -> Option<Transmit> {
        let (to, _) = message.username?.split_once(':')?;
        if to != self.local.name || !message.is_from_holder_of(&self.local.password) {
            return None;
        }
        let Role::Lite { seen } = &mut self.role else { return None };
        if message.controlled {
            let refusal = stun::role_conflict(&message.transaction, &self.local.password);
            return Some(pair.transmit(refusal, Ecn::NotEct));
        }
        let is_new = !seen.contains(&message.transaction);
        if is_new {
            if seen.len() == REMEMBERED {
                seen.pop_front();
            }
            seen.push_back(message.transaction);
            self.last_consent = Some(now);
            if message.use_candidate || self.selected.is_none() {
                self.selected = Some(pair);
            }
        } else if self.selected != Some(pair) {
            return None;
        }
        let answer = stun::success(&message.transaction, pair.remote, &self.local.password);
        Some(pair.transmit(answer, Ecn::NotEct))
    }

    fn on_success(&mut self, now: Instant, pair: Pair, message: &Message<'_>) -> Option<Transmit> {
        let Role::Controlling(checks) = &mut self.role else { return None };
        let is_it = |open: &Open| open.transaction == message.transaction && open.to == pair.remote;
        let place = checks.open.iter().position(is_it)?;
        if !message.is_from_holder_of(&self.remote.password) {
            return None;
        }
        let answered = checks.open.remove(place)?;
        self.last_consent = Some(now);
        if answered.nominates {
            self.local_address = Some(pair.local);
            // What was asked before, here or elsewhere, is of no more interest.
            checks.open.clear();
            checks.interval = CONSENT;
            checks.next = checks.next.max(now.saturating_add(CONSENT));
            return None;
        }
        if self.selected.is_some() {
            return None;
        }
        self.local_address = Some(pair.local);
        self.selected = Some(pair);
        checks.interval = FIRST_CHECK;
        checks.next = now.saturating_add(FIRST_CHECK);
        self.check(pair.remote, true)
    }

    /// A check of a way, which nominates it or does not.
    fn check(&mut self, to: SocketAddr, nominates: bool) -> Option<Transmit> {
        let username = format!("{}:{}", self.remote.name, self.local.name);
        let Role::Controlling(checks) = &mut self.role else { return None };
        let transaction = checks.secrets.bytes();
        let (password, tie_breaker) = (&self.remote.password, checks.tie_breaker);
        let bytes =
            stun::request(&transaction, &username, password, PRIORITY, tie_breaker, nominates);
        if checks.open.len() == REMEMBERED {
            checks.open.pop_front();
        }
        checks.open.push_back(Open { transaction, to, nominates });
        Some(Transmit { from: self.local_address, to, ecn: Ecn::NotEct, bytes })
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match &self.role {
            Role::Controlling(checks) => Some(checks.next),
            Role::Lite { .. } => None,
        }
    }

    /// Sends checks that are due.
    pub(crate) fn handle_timeout(&mut self, now: Instant, out: &mut VecDeque<Transmit>) {
        let Role::Controlling(checks) = &mut self.role else { return };
        if now < checks.next {
            return;
        }
        // A consent check that went unanswered is repeated soon: the route may have changed.
        let unanswered = self.selected.is_some() && !checks.open.is_empty();
        checks.interval =
            if unanswered && checks.interval == CONSENT { SLOWEST_CHECK } else { checks.interval };
        let interval = checks.interval;
        checks.next = now.saturating_add(interval);
        if interval < CONSENT {
            checks.interval = (interval * 2).min(SLOWEST_CHECK);
        }
        let targets = match self.selected {
            Some(pair) => vec![pair.remote],
            None => checks.candidates.clone(),
        };
        let nominates = self.selected.is_some();
        for to in targets {
            let check = self.check(to, nominates);
            out.extend(check);
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

    /// Two ways, each with its delay; the pairs that host and client have chosen after so many milliseconds, and how many
    /// checks were sent. `lost` says which of the checks are.
    fn choose(
        delays: [i64; 2],
        millis: i64,
        lost: fn(usize) -> bool,
    ) -> ([Option<usize>; 2], usize) {
        let credentials = |name: &str| Credentials { name: name.into(), password: "p".repeat(24) };
        let (ours, theirs) = (credentials("host"), credentials("client"));
        let mut lite = Ice::lite(ours.clone(), theirs.clone());
        let addresses = vec![host(0), host(1)];
        let secrets = Secrets::new([7; 32]);
        let mut asking = Ice::controlling(theirs, ours, addresses, Instant::ZERO, secrets);
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
                    let pair = Pair { local: host(way), remote: client(way) };
                    if let Some(answer) = lite.handle(now, pair, &bytes) {
                        flying.push((now + MILLISECOND * delays[way], false, way, answer.bytes));
                    }
                } else {
                    let pair = Pair { local: client(way), remote: host(way) };
                    out.extend(asking.handle(now, pair, &bytes));
                }
            }
            for check in out {
                let way = usize::from(check.to == host(1));
                sent += 1;
                if !lost(sent) {
                    flying.push((now + MILLISECOND * delays[way], true, way, check.bytes));
                }
            }
        }
        let way = |pair: Option<Pair>, address: fn(usize) -> SocketAddr| {
            pair.and_then(|pair| (0..2).find(|way| address(*way) == pair.remote))
        };
        ([way(lite.selected(), client), way(asking.selected(), host)], sent)
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
}
