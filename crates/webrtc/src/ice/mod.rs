//! ICE (RFC 8445): the host is lite and only answers; the client checks, nominates and keeps asking.
//!
//! The host has one socket with known addresses, so there is nothing to gather: it believes who knows
//! this session's password, and sends to the address from which the newest nomination came. A client
//! that moves to another address is therefore followed at its next check.
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
//! | checks nominate at once | the lite host has one address as a rule; the first that answers is used |
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
    /// Transactions on their way, newest last.
    open: VecDeque<(Transaction, SocketAddr)>,
    secrets: Secrets,
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

    /// Takes a datagram that looks like STUN; the answer to send, if any.
    pub(crate) fn handle(&mut self, now: Instant, pair: Pair, bytes: &[u8]) -> Option<Transmit> {
        let message = Message::parse(bytes)?;
        match message.class {
            Class::Request => self.on_request(now, pair, &message),
            Class::Success => {
                self.on_success(now, pair, &message);
                None
            }
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

    fn on_success(&mut self, now: Instant, pair: Pair, message: &Message<'_>) {
        let Role::Controlling(checks) = &mut self.role else { return };
        let asked = (message.transaction, pair.remote);
        if !checks.open.contains(&asked) || !message.is_from_holder_of(&self.remote.password) {
            return;
        }
        checks.open.retain(|open| *open != asked);
        checks.interval = CONSENT;
        checks.next = checks.next.max(now.saturating_add(CONSENT));
        self.last_consent = Some(now);
        self.local_address = Some(pair.local);
        if self.selected.is_none() {
            self.selected = Some(pair);
        }
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
        let username = format!("{}:{}", self.remote.name, self.local.name);
        let targets = match self.selected {
            Some(pair) => vec![pair.remote],
            None => checks.candidates.clone(),
        };
        for to in targets {
            let transaction = checks.secrets.bytes();
            let password = &self.remote.password;
            let bytes =
                stun::request(&transaction, &username, password, PRIORITY, checks.tie_breaker);
            if checks.open.len() == REMEMBERED {
                checks.open.pop_front();
            }
            checks.open.push_back((transaction, to));
            out.push_back(Transmit { from: self.local_address, to, ecn: Ecn::NotEct, bytes });
        }
        checks.next = now.saturating_add(checks.interval);
        if self.selected.is_none() {
            checks.interval = (checks.interval * 2).min(SLOWEST_CHECK);
        }
    }
}
