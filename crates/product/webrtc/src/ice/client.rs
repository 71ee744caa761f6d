//! The client's checks: it asks everywhere, nominates the first that answers, and asks again as consent (RFC 7675). By TCP it asks
//! when nobody has answered by UDP for a second: what the path has lost is waited for there.

use super::RemoteCandidate;
use super::stun::{self, Message, Transaction};
use super::{
    CONSENT, Credentials, FIRST_CHECK, PRIORITY, Pair, REMEMBERED, SLOWEST_CHECK, transmit,
};
use crate::secrets::Secrets;
use crate::transmit::{Remote, Transmit, Transport};
use gameway_units::{Duration, Ecn, Instant};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// From the first check on: the fifth by UDP went unanswered for as long as one that is slow.
const TCP_AFTER: Duration = Duration::from_secs(1);

/// See the module's head.
#[derive(Debug)]
pub(super) struct Checks {
    candidates: Vec<Remote>,
    began: Instant,
    tie_breaker: u64,
    next: Instant,
    interval: Duration,
    /// Checks on their way, newest last.
    open: VecDeque<Open>,
    secrets: Secrets,
    selected: Option<Pair>,
    /// The client's own address, which its socket knows.
    local_address: Option<SocketAddr>,
}

/// A check that was not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    transaction: Transaction,
    to: Remote,
    nominates: bool,
}

impl Checks {
    pub(super) fn new(candidates: &[RemoteCandidate], now: Instant, mut secrets: Secrets) -> Self {
        Self {
            candidates: candidates.iter().map(|candidate| candidate.remote).collect(),
            began: now,
            tie_breaker: u64::from_be_bytes(secrets.bytes()),
            next: now,
            interval: FIRST_CHECK,
            open: VecDeque::new(),
            secrets,
            selected: None,
            local_address: None,
        }
    }

    pub(super) fn selected(&self) -> Option<Pair> {
        self.selected
    }

    pub(super) fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Whether it answers a check of ours.
    pub(super) fn on_success(
        &mut self,
        now: Instant,
        pair: Pair,
        message: &Message<'_>,
        credentials: (&Credentials, &Credentials),
        out: &mut VecDeque<Transmit>,
    ) -> bool {
        let is_it = |open: &Open| open.transaction == message.transaction && open.to == pair.remote;
        let place = self.open.iter().position(is_it);
        let Some(answered) = place.and_then(|place| self.open.remove(place)) else { return false };
        if answered.nominates {
            self.local_address = Some(pair.local);
            // What was asked before, here or elsewhere, is of no more interest.
            self.open.clear();
            self.interval = CONSENT;
            self.next = self.next.max(now.saturating_add(CONSENT));
        } else if self.selected.is_none() {
            self.local_address = Some(pair.local);
            self.selected = Some(pair);
            self.interval = FIRST_CHECK;
            self.next = now.saturating_add(FIRST_CHECK);
            out.push_back(self.check(pair.remote, true, credentials));
        }
        true
    }

    /// A check of a way, which nominates it or does not.
    fn check(
        &mut self,
        to: Remote,
        nominates: bool,
        (local, remote): (&Credentials, &Credentials),
    ) -> Transmit {
        let username = format!("{}:{}", remote.name, local.name);
        let transaction = self.secrets.bytes();
        let role = stun::Role::Controlling { tie_breaker: self.tie_breaker, nominates };
        let bytes = stun::request(&transaction, &username, &remote.password, PRIORITY, role);
        if self.open.len() == REMEMBERED {
            self.open.pop_front();
        }
        self.open.push_back(Open { transaction, to, nominates });
        transmit(self.local_address, to, Ecn::NotEct, bytes)
    }

    /// Sends checks that are due.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        credentials: (&Credentials, &Credentials),
        out: &mut VecDeque<Transmit>,
    ) {
        if now < self.next {
            return;
        }
        // A consent check that went unanswered is repeated soon: the route may have changed.
        let unanswered = self.selected.is_some() && !self.open.is_empty();
        if unanswered && self.interval == CONSENT {
            self.interval = SLOWEST_CHECK;
        }
        self.next = now.saturating_add(self.interval);
        if self.interval < CONSENT {
            self.interval = (self.interval * 2).min(SLOWEST_CHECK);
        }
        let late = now.saturating_since(self.began) >= TCP_AFTER;
        let is_asked = |remote: &&Remote| late || remote.over == Transport::Udp;
        let targets = match self.selected {
            Some(pair) => vec![pair.remote],
            None => self.candidates.iter().filter(is_asked).copied().collect(),
        };
        let nominates = self.selected.is_some();
        for to in targets {
            let check = self.check(to, nominates, credentials);
            out.push_back(check);
        }
    }
}
