//! The host's threads, sockets and clock.

mod signal;

use crate::cpu::{Meter, ThreadTime};
use crate::error::system;
use crate::host::drawn::Drawn;
use crate::host::encoding::{Job, Made};
use crate::host::log::HostLog;
use crate::host::mapping::Mapping;
use crate::host::metrics::Metrics;
use crate::host::notes::{Failures, tell};
use crate::host::page::PageCounts;
use crate::host::played::Played;
use crate::host::reach::reached;
use crate::host::servers;
use crate::host::session::{Session, SessionEvent};
use crate::host::signaling::{not_there, start_signaling};
use crate::host::sound::Sound;
use crate::host::stage::{Stage, StageNews};
use crate::host::start::{Started, start_encoding, start_sound};
use crate::host::stays::{CLOSED, Stay, Stays, Turn};
use crate::host::watching::Watching;
use crate::host::wires::Wires;
use crate::keys::KeyFile;
use crate::wake::{WakeReceiver, waking};
use crate::{HostConfig, StreamError};
use gameway_control::Controllers;
use gameway_events::Sink;
use gameway_runtime::clock::{self, Clock};
use gameway_runtime::lateness::LatenessSummary;
use gameway_runtime::stop::Stop;
use gameway_serving::scrape::ScrapeServer;
use gameway_session::{BreakerAction, SenderEvent};
use gameway_units::{Duration, Instant};
use gameway_webrtc::Identity;
use gameway_webrtc::http::{SignalingServer, check_token};
use gameway_webrtc::socket::{MediaSocket, MonotonicClock};
use rustix::event::{PollFd, PollFlags};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// How often a host looks whether it shall stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a host did.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReport {
    /// Clients that connected.
    pub sessions: u32,
    /// Datagrams that were no message of a session: garbage, forged, replayed, from elsewhere.
    pub refused_datagrams: u64,
    /// Encoders that died.
    pub encoder_failures: u64,
    /// What the pages of browsers told.
    pub page: PageCounts,
    /// How late packets left the pacer, if somebody hears of it.
    pub lateness: Option<LatenessSummary>,
    /// What each thread cost.
    pub cpu: Vec<ThreadTime>,
}

/// Serves with one of these controllers until the end of its time or until asked to stop, and tells `sink` of it. `ready` is called once
/// clients can come, with what the machine refused in the way of punctuality, and with the addresses at which the host is reached.
///
/// # Errors
/// If the configuration cannot be used, an address is taken, or the sink could not keep an event.
pub fn run(
    config: HostConfig,
    controllers: Controllers,
    stage: Option<Stage>,
    sink: Option<Box<dyn Sink>>,
    stop: &Stop,
    ready: &mut dyn FnMut(Vec<String>, Vec<SocketAddr>),
) -> Result<HostReport, StreamError> {
    refuse(&config, &controllers)?;
    let mut host = Host::new(config, controllers, sink)?;
    host.stage = stage;
    let mut addresses = reached(host.wires.address(), &host.config.addresses);
    addresses.extend(host.mapping.first(stop));
    ready(clock::be_punctual(), addresses);
    host.signaling.show_code();
    host.serve(stop)?;
    host.finish()
}

struct Host {
    config: HostConfig,
    controllers: Controllers,
    clock: Clock,
    end: Instant,
    wires: Wires,
    mapping: Mapping,
    signaling: SignalingServer,
    bell: WakeReceiver<()>,
    identity: Identity,
    stays: Stays,
    watching: Watching,
    jobs: Option<mpsc::Sender<Job>>,
    made: WakeReceiver<Made>,
    worker: Option<JoinHandle<ThreadTime>>,
    h265: bool,
    sound: Sound,
    page: PageCounts,
    log: Option<HostLog>,
    /// Tells a monitor; only while it is here.
    _scrape: Option<ScrapeServer>,
    keys: Option<KeyFile>,
    meter: Meter,
    played: Played,
    drawn: Drawn,
    /// What is played, if it is the host's own.
    stage: Option<Stage>,
    sessions: u32,
    refused: u64,
    failures: Failures,
}

impl Host {
    fn new(
        config: HostConfig,
        controllers: Controllers,
        sink: Option<Box<dyn Sink>>,
    ) -> Result<Self, StreamError> {
        let epoch_ns = config.epoch_ns.unwrap_or_else(Clock::monotonic_ns);
        let (bell_giver, bell) = waking().map_err(system("no wake-up"))?;
        let signaling = start_signaling(&config, bell_giver)?;
        let socket = MediaSocket::bind(signaling.address(), MonotonicClock::since(epoch_ns))
            .map_err(|error| not_there("listen", config.listen, &error))?;
        let clock = Clock::new(epoch_ns);
        let pictures = Arc::default();
        let started = start_encoding(&config, clock, Arc::clone(&pictures))?;
        let Started { worker, opener, shown, h265, drawings } = started;
        let sound = start_sound(&config, clock, pictures)?;
        let (sink, scrape) = Metrics::serve(&config, sink)?;
        let wires = Wires::new(socket, clock, config.tcp, servers::addresses(&config));
        Ok(Self {
            clock,
            end: config.duration.map_or(Instant::MAX, |duration| Instant::ZERO + duration),
            mapping: Mapping::ask(&config, wires.address()),
            wires,
            signaling,
            bell,
            identity: Identity::generate().map_err(|error| StreamError::Host(error.to_string()))?,
            stays: Stays::default(),
            watching: Watching::new(opener, shown),
            jobs: Some(worker.jobs),
            made: worker.made,
            worker: Some(worker.thread),
            h265,
            sound,
            page: PageCounts::default(),
            log: sink.map(|sink| {
                HostLog::new(sink, &config.name, config.observe_interval)
                    .keeping(config.keep_interval)
            }),
            _scrape: scrape,
            keys: config.export_keys.as_deref().map(KeyFile::create).transpose()?,
            meter: Meter::new("network"),
            played: Played::open(&config, clock)?,
            drawn: Drawn::open(&config, drawings),
            stage: None,
            sessions: 0,
            refused: 0,
            failures: Failures::default(),
            config,
            controllers,
        })
    }

    fn serve(&mut self, stop: &Stop) -> Result<(), StreamError> {
        loop {
            let now = self.clock.now();
            let failed = self.log.as_ref().is_some_and(HostLog::has_failed);
            if now >= self.end || stop.is_asked() || failed {
                break;
            }
            self.signal(now);
            self.receive()?;
            self.wires.on_deadline(now)?;
            self.mapping.turn();
            self.take_over(now)?;
            self.turn(now)?;
            self.watch(now)?;
            match self.stage.as_mut().and_then(|stage| stage.poll(now)) {
                Some(StageNews::Note(note)) => tell("play", &note),
                Some(StageNews::Ended(why)) => {
                    tell("the end of the play", &why);
                    self.end_all(&why);
                    return Ok(());
                }
                None => {}
            }
            self.wait(now)?;
        }
        self.end_all("the host ends");
        Ok(())
    }

    /// Sound leaves at once, ahead of what the pacer lets go.
    fn send_sound(&mut self, now: Instant) -> Result<(), StreamError> {
        self.sound.bell().hush();
        let current = self.stays.current.as_mut().map(|stay| &mut stay.session);
        let mut sessions: Vec<&mut Session> =
            current.into_iter().chain(self.watching.sessions()).collect();
        self.sound.listen(sessions.iter().any(|session| session.wants_sound(now)));
        while let Some(packet) = self.sound.take() {
            match packet {
                Ok(packet) => {
                    sessions.iter_mut().for_each(|session| session.send_sound(now, &packet));
                }
                Err(why) => {
                    tell("no more sound", &why);
                    self.sound.has_ended();
                    sessions.iter_mut().for_each(|session| session.end_sound());
                }
            }
        }
        sessions.into_iter().try_for_each(|session| self.wires.send_all(session))
    }

    /// A turn of those who watch.
    fn watch(&mut self, now: Instant) -> Result<(), StreamError> {
        for (stay, why) in self.watching.turn(now, &self.config, &mut self.wires)? {
            self.end(stay, why);
        }
        let (count, log) = (self.watching.news(), self.log.as_mut());
        if let (Some(count), Some(log)) = (count, log) {
            log.event(now, "watchers", f64::from(count));
        }
        Ok(())
    }

    /// One turn: what is due, then what that makes possible.
    fn turn(&mut self, now: Instant) -> Result<(), StreamError> {
        self.send_sound(now)?;
        self.made.hush();
        if let Some(session) = self.stays.coming() {
            session.on_deadline(now);
            self.wires.send_all(session)?;
        }
        let Some(Stay { session, .. }) = &mut self.stays.current else {
            self.played.serve_alone(now);
            return Ok(());
        };
        while let Some(made) = self.made.take() {
            if made.session == session.number()
                && let Some(why) = session.on_made(now, made)
            {
                self.failures.add(&why);
            }
        }
        let stop = self.config.stop.map(|stop| Instant::ZERO + stop);
        if stop.is_some_and(|stop| stop <= now) {
            session.stop(now);
        }
        self.drawn.look(now, session);
        session.on_deadline(now);
        self.played.take(now, session);
        self.played.show(now, session);
        if let (Some(job), Some(jobs)) = (session.poll_job(), &self.jobs) {
            // The thread ends with the host only.
            let _ = jobs.send(Job { hand: self.played.hand(now), ..job });
        }
        let (clock, mut lateness) = (self.clock, self.log.as_mut().map(HostLog::lateness));
        if let Some(lateness) = &mut lateness {
            lateness.wake_up();
        }
        session.transmit(now, |due| {
            if let Some(lateness) = &mut lateness {
                lateness.add(due, clock.now());
            }
        });
        self.wires.send_all(session)?;
        if let Some(photon) = session.photon().filter(|photon| photon.is_leaving()) {
            photon.on_departure(clock.now());
        }
        self.note(now)
    }

    /// Writes down what happened.
    fn note(&mut self, now: Instant) -> Result<(), StreamError> {
        let Some(Stay { session, .. }) = &mut self.stays.current else { return Ok(()) };
        let events = session.take_events();
        self.note_events(now, events)
    }

    fn note_events(&mut self, now: Instant, events: Vec<SessionEvent>) -> Result<(), StreamError> {
        let Some(Stay { session, .. }) = &mut self.stays.current else { return Ok(()) };
        let mut over = None;
        for event in events {
            match event {
                SessionEvent::Began => {
                    if let Some(log) = &mut self.log {
                        log.session(now, session.number());
                    }
                    if let (Some(file), Some(keys)) =
                        (&mut self.keys, session.peer().exported_keys().cloned())
                    {
                        file.add(session.number(), &keys, true)?;
                    }
                }
                SessionEvent::Sender(event) => {
                    if let Some(log) = &mut self.log {
                        log.on_sender_event(now, &event);
                    }
                    if let SenderEvent::CircuitBreaker { action, .. } = event {
                        over = tell_breaker(action).or(over);
                    }
                }
                SessionEvent::Page(record) => {
                    if let Some(log) = &mut self.log {
                        log.on_page(now, &record);
                    }
                }
                SessionEvent::Shown { frame, complete, shown } => {
                    if let Some(log) = &mut self.log {
                        log.on_shown(frame, complete, shown);
                    }
                }
                SessionEvent::Closed(reason) => {
                    over = over.or(Some(CLOSED));
                    tell("the client has gone", &format!("{reason:?}"));
                }
            }
        }
        if let Some(log) = &mut self.log {
            log.observe(now, session.sender().map(|sender| sender.controller()));
        }
        if let Some(why) = over
            && let Some(stay) = self.stays.current.take()
        {
            self.end(stay, why);
        }
        Ok(())
    }

    /// A client that has come and is connected has the stream; who had it is told.
    fn take_over(&mut self, now: Instant) -> Result<(), StreamError> {
        match self.stays.turn() {
            None => Ok(()),
            Some(Turn::Failed(stay, reason)) => {
                let from = stay.from;
                tell("a client did not come", &format!("{from} made an offer: {reason:?}"));
                self.end(stay, "");
                Ok(())
            }
            Some(Turn::Over { before, events }) => {
                self.sessions += 1;
                let from = self.stays.current.as_ref().map(|stay| stay.from.to_string());
                let from = from.unwrap_or_default();
                if let Some(before) = before {
                    let who = format!("{from} has the stream, {} had it", before.from);
                    tell("another client has taken over", &who);
                    self.end(before, &format!("another client has taken over, from {from}"));
                }
                self.note_events(now, events)
            }
        }
    }

    /// Ends a client's stay; it is told why, if it is still there.
    fn end(&mut self, mut stay: Stay, why: &str) {
        let session = &mut stay.session;
        let now = self.clock.now();
        session.end(now, why);
        self.played.end(now, session);
        while let Some(transmit) = session.poll_transmit() {
            // The end of a stay that cannot be told is found by silence.
            let _ = self.wires.send(&transmit);
        }
        self.refused += session.peer().refused_datagrams();
        self.page = self.page + session.page_counts();
    }

    fn end_all(&mut self, why: &str) {
        for stay in self.stays.take_all().chain(self.watching.take_all()) {
            self.end(stay, why);
        }
    }

    fn receive(&mut self) -> Result<(), StreamError> {
        let (stays, watching, refused) = (&mut self.stays, &mut self.watching, &mut self.refused);
        self.wires.receive(&self.signaling, |datagram| {
            *refused += u64::from(!watching.handle(&datagram) && !stays.handle(&datagram));
        })?;
        // Before ICE is answered: what the client sends then must pass.
        let mut accepted = self.stays.accepted();
        accepted.extend(self.watching.accepted());
        self.wires.keep(&accepted);
        Ok(())
    }

    fn wait(&self, now: Instant) -> Result<(), StreamError> {
        let drawn = self.stays.current.as_ref().map(|_| &self.drawn);
        let look = drawn.and_then(|drawn| drawn.next_look(now));
        let (stays, wires) = (self.stays.next_deadline(), self.wires.next_deadline());
        let session = self.stays.current.as_ref().map(|stay| &stay.session);
        let (watching, played) =
            (self.watching.next_deadline(), self.played.next_deadline(session));
        let deadlines = [stays, wires, watching, played, look];
        let deadline = deadlines.into_iter().flatten().min();
        let max = deadline.map_or(LOOK, |due| due.saturating_since(now).min(LOOK));
        let passed = self.clock.now().saturating_since(now);
        let own = [
            PollFd::new(&self.made, PollFlags::IN),
            PollFd::new(&self.bell, PollFlags::IN),
            PollFd::new(self.sound.bell(), PollFlags::IN),
        ];
        let gamepads = self.played.descriptors();
        let drawings = drawn.and_then(|drawn| drawn.descriptor(now));
        let others =
            gamepads.chain(drawings).map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
        let watchers = self.watching.bells().map(|made| PollFd::new(made, PollFlags::IN));
        let mut descriptors: Vec<PollFd<'_>> =
            self.wires.descriptors().chain(own).chain(others).chain(watchers).collect();
        clock::wait(&mut descriptors, max.saturating_sub(passed)).map_err(system("waiting"))
    }

    fn finish(mut self) -> Result<HostReport, StreamError> {
        drop(self.jobs.take());
        let mut times = vec![self.meter.read()];
        times.extend(self.worker.take().and_then(|worker| worker.join().ok()));
        times.extend(self.sound.finish());
        times.push(self.meter.others(&times));
        let lateness = self.log.map(|log| log.finish(&times)).transpose()?;
        Ok(HostReport {
            sessions: self.sessions,
            refused_datagrams: self.refused,
            encoder_failures: self.failures.count(),
            page: self.page,
            lateness,
            cpu: times,
        })
    }
}

/// Refuses what a client would find wrong when it comes.
fn refuse(config: &HostConfig, controllers: &Controllers) -> Result<(), StreamError> {
    config.build_controller(controllers)?;
    check_token(&config.token).map_err(|why| StreamError::Config { field: "token", why })
}

/// Says what the circuit breaker does; gives what the client is told if the stream is over.
fn tell_breaker(action: BreakerAction) -> Option<&'static str> {
    match action {
        BreakerAction::Reduce(cause) => tell("the least bitrate from now on", cause.as_str()),
        BreakerAction::Close => tell("the bitrate is the controller's again", "the path is well"),
        BreakerAction::End(cause) => {
            tell("the stream ends", cause.as_str());
            return Some(cause.as_str());
        }
        _ => {}
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_session::TripCause;
    use gameway_units::Rate;

    #[test]
    fn a_stream_that_the_circuit_breaker_ends_tells_its_client_why() {
        let cause = TripCause::MediaTimeout;
        assert_eq!(tell_breaker(BreakerAction::End(cause)), Some("nothing of the stream arrives"));
        assert_eq!(tell_breaker(BreakerAction::Reduce(cause)), None);
        assert_eq!(tell_breaker(BreakerAction::Restore(Rate::from_mbps(1))), None);
    }
}
