//! The client that has the stream, and the one that is about to take it over.
//!
//! Who is let in takes over, but not with an offer alone: the client before keeps its stream until the new one
//! is connected, as its certificate says who it is. An offer that was mutilated, copied or given up on the way ends
//! nothing. One client may be about to come; a further one takes its place.

use crate::host::session::{Session, SessionEvent};
use gameway_units::Instant;
use gameway_webrtc::devices::DeviceId;
use gameway_webrtc::socket::Received;
use gameway_webrtc::{CloseReason, Remote};
use std::net::IpAddr;

/// What a client is told whose connection ended by itself.
pub(super) const CLOSED: &str = "the connection is closed";

/// One client's stay.
pub struct Stay {
    /// The name that signalling has for it.
    pub name: String,
    /// From where it made its offer.
    pub from: IpAddr,
    /// Which device it is; none of who showed the token.
    pub device: Option<DeviceId>,
    /// Its session.
    pub session: Session,
}

impl Stay {
    /// Whether it is one of a device that is none of these.
    #[must_use]
    pub fn is_revoked(&self, let_in: &[DeviceId]) -> bool {
        self.device.as_ref().is_some_and(|device| !let_in.contains(device))
    }
}

/// See the module's head.
#[derive(Default)]
pub struct Stays {
    /// Who has the stream.
    pub current: Option<Stay>,
    coming: Option<Stay>,
}

/// What became of the client that was about to come.
pub enum Turn {
    /// It has the stream now; `before` had it.
    Over {
        /// Who had it.
        before: Option<Stay>,
        /// What the new session told so far.
        events: Vec<SessionEvent>,
    },
    /// It is gone.
    Failed(Stay, CloseReason),
}

impl Stays {
    /// The session of who is about to come.
    pub fn coming(&mut self) -> Option<&mut Session> {
        self.coming.as_mut().map(|stay| &mut stay.session)
    }

    /// The sessions of both.
    pub fn sessions(&mut self) -> impl Iterator<Item = &mut Session> {
        let stays = [self.current.as_mut(), self.coming.as_mut()];
        stays.into_iter().flatten().map(|stay| &mut stay.session)
    }

    /// A client has made an offer; the one that was about to come before it.
    pub fn expect(&mut self, stay: Stay) -> Option<Stay> {
        self.coming.replace(stay)
    }

    /// Takes out a stay of which this holds.
    pub fn take(&mut self, is_it: impl Fn(&Stay) -> bool) -> Option<Stay> {
        let is_it = |stay: &mut Stay| is_it(stay);
        self.current.take_if(&is_it).or_else(|| self.coming.take_if(&is_it))
    }

    /// Takes out all.
    pub fn take_all(&mut self) -> impl Iterator<Item = Stay> + use<> {
        [self.current.take(), self.coming.take()].into_iter().flatten()
    }

    /// Hands a datagram to the session that it is for; whether there is one.
    pub fn handle(&mut self, datagram: &Received<'_>) -> bool {
        let from = datagram.remote();
        let coming = self.coming.as_mut();
        let coming = coming.filter(|stay| stay.session.peer_claims(from, datagram.bytes));
        let Some(stay) = coming.or(self.current.as_mut()) else { return false };
        stay.session.handle(datagram);
        true
    }

    /// Who was about to come has the stream once its session has begun.
    pub fn turn(&mut self) -> Option<Turn> {
        let events = self.coming.as_mut()?.session.take_events();
        let closed = events.iter().find_map(|event| match event {
            SessionEvent::Closed(reason) => Some(*reason),
            _ => None,
        });
        if let Some(reason) = closed {
            return self.coming.take().map(|stay| Turn::Failed(stay, reason));
        }
        if !events.contains(&SessionEvent::Began) {
            return None;
        }
        let before = std::mem::replace(&mut self.current, self.coming.take());
        Some(Turn::Over { before, events })
    }

    /// The addresses that ICE has accepted.
    #[must_use]
    pub fn accepted(&self) -> Vec<Remote> {
        let both = self.current.iter().chain(&self.coming);
        both.flat_map(|stay| stay.session.accepted()).collect()
    }

    /// When something is due next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let both = self.current.iter().chain(&self.coming);
        both.filter_map(|stay| stay.session.next_deadline()).min()
    }
}
