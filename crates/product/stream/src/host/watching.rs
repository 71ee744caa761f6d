//! Those who watch beside the client that plays. Each has a session, a controller and an encoder of its own, so that its path decides
//! its picture and nobody else's; all encode the pictures that the player's frames are made of. While nobody plays, nothing is
//! captured and the last picture stands.
//!
//! A watcher's channels for input are not listened to.

use crate::host::encoders::Opener;
use crate::host::encoding::Made;
use crate::host::notes::{Failures, tell};
use crate::host::picture_feed::PictureFeed;
use crate::host::session::{Session, SessionEvent};
use crate::host::start::{Worker, start_watching};
use crate::host::stays::{CLOSED, Stay};
use crate::host::wires::Wires;
use crate::wake::WakeReceiver;
use crate::{HostConfig, StreamError};
use gameway_session::{BreakerAction, SenderEvent};
use gameway_units::Instant;
use gameway_webrtc::Remote;
use gameway_webrtc::socket::Received;

/// One of them.
struct Watcher {
    stay: Stay,
    /// From when the client is connected.
    worker: Option<Worker>,
    failures: Failures,
    /// Why, if it is.
    gone: Option<&'static str>,
}

/// See the module's head.
pub(super) struct Watching {
    opener: Opener,
    /// What they see.
    shown: PictureFeed,
    watchers: Vec<Watcher>,
    /// How many have come so far.
    came: u32,
    /// How many [`Self::news`] told of.
    told: u32,
}

impl Watching {
    /// Nobody watches yet.
    pub(super) fn new(opener: Opener, shown: PictureFeed) -> Self {
        Self { opener, shown, watchers: Vec::new(), came: 0, told: 0 }
    }

    /// How many watch, or are about to.
    pub(super) fn count(&self) -> usize {
        self.watchers.len()
    }

    /// The number of the next one's session.
    pub(super) fn next_number(&self) -> u32 {
        self.came
    }

    /// One more has made an offer.
    pub(super) fn expect(&mut self, stay: Stay) {
        self.came += 1;
        self.watchers.push(Watcher {
            stay,
            worker: None,
            failures: Failures::default(),
            gone: None,
        });
    }

    /// Their sessions.
    pub(super) fn sessions(&mut self) -> impl Iterator<Item = &mut Session> {
        self.watchers.iter_mut().map(|watcher| &mut watcher.stay.session)
    }

    /// Hands a datagram to the one that it is for; whether there is one.
    pub(super) fn handle(&mut self, datagram: &Received<'_>) -> bool {
        let is_its =
            |session: &&mut Session| session.peer_claims(datagram.remote(), datagram.bytes);
        let Some(session) = self.sessions().find(is_its) else { return false };
        session.handle(datagram);
        true
    }

    /// Does what is due for each; gives those that are gone, and why.
    pub(super) fn turn(
        &mut self,
        now: Instant,
        config: &HostConfig,
        wires: &mut Wires,
    ) -> Result<Vec<(Stay, &'static str)>, StreamError> {
        for watcher in &mut self.watchers {
            watcher.on_events(&self.opener, &self.shown, config)?;
            watcher.turn(now);
            wires.send_all(&mut watcher.stay.session)?;
        }
        let gone = self.watchers.extract_if(.., |watcher| watcher.gone.is_some());
        Ok(gone.map(|watcher| (watcher.stay, watcher.gone.unwrap_or(CLOSED))).collect())
    }

    /// How many are connected, if that has changed; it is said, too.
    pub(super) fn news(&mut self) -> Option<u32> {
        let connected =
            self.watchers.iter().filter(|watcher| watcher.worker.is_some()).count() as u32;
        let before = std::mem::replace(&mut self.told, connected);
        (before != connected).then(|| {
            tell("who watches beside the player", &format!("{connected} now, {before} before"));
            connected
        })
    }

    /// Takes out a stay of which this holds.
    pub(super) fn take(&mut self, is_it: impl Fn(&Stay) -> bool) -> Option<Stay> {
        let at = self.watchers.iter().position(|watcher| is_it(&watcher.stay))?;
        Some(self.watchers.remove(at).stay)
    }

    /// Takes out all.
    pub(super) fn take_all(&mut self) -> Vec<Stay> {
        self.watchers.drain(..).map(|watcher| watcher.stay).collect()
    }

    /// The addresses that ICE has accepted.
    pub(super) fn accepted(&self) -> impl Iterator<Item = Remote> {
        self.watchers.iter().flat_map(|watcher| watcher.stay.session.accepted())
    }

    /// When something is due next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.watchers.iter().filter_map(|watcher| watcher.stay.session.next_deadline()).min()
    }

    /// What rings when a frame was made.
    pub(super) fn bells(&self) -> impl Iterator<Item = &WakeReceiver<Made>> {
        self.watchers.iter().filter_map(|watcher| Some(&watcher.worker.as_ref()?.made))
    }
}

impl Watcher {
    /// An encoder begins with the stream.
    fn on_events(
        &mut self,
        opener: &Opener,
        shown: &PictureFeed,
        config: &HostConfig,
    ) -> Result<(), StreamError> {
        for event in self.stay.session.take_events() {
            match event {
                SessionEvent::Began => {
                    self.worker = Some(start_watching(config, opener.clone(), shown.watch())?);
                }
                SessionEvent::Closed(_) => self.gone = self.gone.or(Some(CLOSED)),
                SessionEvent::Sender(SenderEvent::CircuitBreaker {
                    action: BreakerAction::End(cause),
                    ..
                }) => self.gone = Some(cause.as_str()),
                _ => {}
            }
        }
        Ok(())
    }

    fn turn(&mut self, now: Instant) {
        let session = &mut self.stay.session;
        session.on_deadline(now);
        let Some(worker) = &self.worker else { return };
        worker.made.hush();
        while let Some(made) = worker.made.take() {
            if let Some(why) = session.on_made(now, made) {
                self.failures.add(&why);
            }
        }
        if let Some(job) = session.poll_job() {
            // The thread ends with the watcher only.
            let _ = worker.jobs.send(job);
        }
        session.transmit(now, |_| {});
    }
}
