//! The host's pairs: where clients may be, who has proven himself there, and where media goes.
//!
//! An address comes from the offer, or from a check that knows the password (peer reflexive). Each is asked until it answers or
//! its time is over. Of those that the client has nominated, the one of the highest priority (RFC 8445 section 6.1.2.3) has the
//! media, once it has answered; where the client has nominated none, the first that has proven itself.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | pairs | 24 | the offer's 16, and what else a client with several networks may have |
//! | between two checks | 50 ms | RFC 8445 section 14: Ta |
//! | of one address | 100 ms, doubled to 800 ms | an address translation of the client opens when he asks, and he asks for seconds |
//! | asking ends | after 15 s | a browser gives up then (libwebrtc) |
//! | silence of a nominated pair | 3 s | a browser asks on its own pair each 2.5 s: then a worse one that it nominates is taken |

use super::candidate::{HOST_PRIORITY, RemoteCandidate, TCP_PRIORITY};
use super::stun::{self, Message, Transaction};
use super::{Credentials, PRIORITY, Pair, REMEMBERED, transmit};
use crate::secrets::Secrets;
use crate::transmit::{Remote, Transmit, Transport};
use gameway_units::{Duration, Ecn, Instant};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::net::SocketAddr;

const MAX_PAIRS: usize = 24;
const PACE: Duration = Duration::from_millis(50);
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const LONGEST_INTERVAL: Duration = Duration::from_millis(800);
const ASKING: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(3);
/// Checks of one address whose answers are waited for.
const OPEN: usize = 8;

/// What is known of an address of the client.
#[derive(Debug)]
struct Known {
    local: Option<SocketAddr>,
    remote: Remote,
    priority: u64,
    /// Who is there knows our password.
    proven: bool,
    /// Who is there has answered.
    answered: bool,
    /// When the client last said that it wants this one.
    nominated: Option<Instant>,
    next: Option<Instant>,
    interval: Duration,
    asked: Option<Instant>,
    open: VecDeque<Transaction>,
}

impl Known {
    fn new(remote: Remote, theirs: u32, next: Option<Instant>) -> Self {
        Self {
            local: None,
            remote,
            priority: pair_priority(theirs, remote.over),
            proven: false,
            answered: false,
            nominated: None,
            next,
            interval: FIRST_INTERVAL,
            asked: None,
            open: VecDeque::new(),
        }
    }

    /// How much speaks for it, before its priority does.
    fn standing(&self, now: Instant) -> u8 {
        let is_wanted = |at: Instant| now.saturating_since(at) < SILENCE;
        match (self.nominated, self.answered) {
            (Some(at), true) if is_wanted(at) => 2,
            (Some(at), false) if is_wanted(at) => 1,
            _ => 0,
        }
    }
}

/// RFC 8445 section 6.1.2.3: the client is controlling.
fn pair_priority(theirs: u32, over: Transport) -> u64 {
    let ours = match over {
        Transport::Udp => HOST_PRIORITY,
        Transport::Tcp => TCP_PRIORITY,
    };
    let (min, max) = (theirs.min(ours), theirs.max(ours));
    (u64::from(min) << 32) + 2 * u64::from(max) + u64::from(theirs > ours)
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Pairs {
    list: Vec<Known>,
    selected: Option<Remote>,
    seen: VecDeque<Transaction>,
    tie_breaker: u64,
    secrets: Secrets,
    began: Instant,
    pace: Instant,
}

impl Pairs {
    pub(super) fn new(candidates: &[RemoteCandidate], now: Instant, mut secrets: Secrets) -> Self {
        // A client opens connections to the host, the host none to him.
        let asked = candidates.iter().filter(|one| one.remote.over == Transport::Udp);
        let list = asked.map(|one| Known::new(one.remote, one.priority, Some(now)));
        Self {
            list: list.take(MAX_PAIRS).collect(),
            selected: None,
            seen: VecDeque::with_capacity(REMEMBERED),
            tie_breaker: u64::from_be_bytes(secrets.bytes()),
            secrets,
            began: now,
            pace: now,
        }
    }

    fn find(&mut self, remote: Remote) -> Option<&mut Known> {
        self.list.iter_mut().find(|known| known.remote == remote)
    }

    pub(super) fn selected(&self) -> Option<Pair> {
        let known = self.list.iter().find(|known| Some(known.remote) == self.selected)?;
        Some(Pair { local: known.local?, remote: known.remote })
    }

    pub(super) fn proven(&self) -> impl Iterator<Item = Remote> {
        self.list.iter().filter(|known| known.proven).map(|known| known.remote)
    }

    pub(super) fn has_asked(&self, transaction: &Transaction) -> bool {
        self.list.iter().any(|known| known.open.contains(transaction))
    }

    /// Somebody who knows our password asks. Whether that is news; nothing if it is not to be answered.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        pair: Pair,
        message: &Message<'_>,
    ) -> Option<bool> {
        if self.seen.contains(&message.transaction) {
            return (self.selected == Some(pair.remote)).then_some(false);
        }
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        self.seen.push_back(message.transaction);
        if self.find(pair.remote).is_none() && !self.add(pair.remote, message.priority) {
            return None;
        }
        let known = self.find(pair.remote)?;
        known.local = Some(pair.local);
        known.proven = true;
        if message.use_candidate {
            known.nominated = Some(now);
        }
        self.choose(now, pair.remote);
        Some(true)
    }

    /// Makes room for an address; whether there is some.
    fn add(&mut self, remote: Remote, priority: Option<u32>) -> bool {
        if self.list.len() == MAX_PAIRS {
            let rank = |known: &Known| (known.proven, known.answered, known.priority);
            let others = self.list.iter().filter(|known| Some(known.remote) != self.selected);
            let Some(worst) = others.min_by_key(|known| rank(known)).map(|known| known.remote)
            else {
                return false;
            };
            self.list.retain(|known| known.remote != worst);
        }
        self.list.push(Known::new(remote, priority.unwrap_or(PRIORITY), None));
        true
    }

    /// Something new is known of this address: whether media goes there from now on.
    fn choose(&mut self, now: Instant, remote: Remote) {
        let standing = |of: Remote| {
            let known = self.list.iter().find(|known| known.remote == of && known.proven)?;
            Some((known.standing(now), known.priority))
        };
        let (Some(new), current) = (standing(remote), self.selected.and_then(standing)) else {
            return;
        };
        let wanted = new.0 > 0;
        if current.is_none_or(|current| new > current || (new == current && wanted)) {
            self.selected = Some(remote);
        }
    }

    /// Whether it answers a check of ours.
    pub(super) fn on_success(&mut self, now: Instant, pair: Pair, message: &Message<'_>) -> bool {
        let Some(known) = self.find(pair.remote) else { return false };
        if !known.open.contains(&message.transaction) {
            return false;
        }
        known.open.clear();
        known.local.get_or_insert(pair.local);
        (known.answered, known.next) = (true, None);
        self.choose(now, pair.remote);
        true
    }

    /// The triggered check (RFC 8445 section 7.3.1.4), if it has not answered yet and was not asked just now.
    pub(super) fn check_back(
        &mut self,
        now: Instant,
        pair: Pair,
        local: &Credentials,
        remote: &Credentials,
    ) -> Option<Transmit> {
        let known = self.find(pair.remote)?;
        let recent = known.asked.is_some_and(|at| now.saturating_since(at) < PACE);
        if known.answered || recent {
            return None;
        }
        self.check(now, pair.remote, local, remote)
    }

    fn check(
        &mut self,
        now: Instant,
        to: Remote,
        local: &Credentials,
        remote: &Credentials,
    ) -> Option<Transmit> {
        let username = format!("{}:{}", remote.name, local.name);
        let transaction = self.secrets.bytes();
        let role = stun::Role::Controlled { tie_breaker: self.tie_breaker };
        let bytes = stun::request(&transaction, &username, &remote.password, PRIORITY, role);
        let known = self.find(to)?;
        if known.open.len() == OPEN {
            known.open.pop_front();
        }
        known.open.push_back(transaction);
        known.asked = Some(now);
        Some(transmit(known.local, to, Ecn::NotEct, bytes))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let due = self.list.iter().filter_map(|known| known.next).min()?;
        Some(due.max(self.pace))
    }

    /// The check that is due, if one is.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        local: &Credentials,
        remote: &Credentials,
    ) -> Option<Transmit> {
        if now.saturating_since(self.began) >= ASKING {
            self.list.iter_mut().for_each(|known| known.next = None);
        }
        if now < self.pace {
            return None;
        }
        let due = |known: &&mut Known| known.next.is_some_and(|next| next <= now);
        // Who has waited longest; of those the best.
        let rank = |known: &&mut Known| (known.next, Reverse(known.priority));
        let known = self.list.iter_mut().filter(due).min_by_key(rank)?;
        known.next = Some(now.saturating_add(known.interval));
        known.interval = (known.interval * 2).min(LONGEST_INTERVAL);
        let to = known.remote;
        self.pace = now.saturating_add(PACE);
        self.check(now, to, local, remote)
    }
}
