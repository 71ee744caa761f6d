//! The client's threads, socket and clock.

use crate::client::decoding::{self, Decoded, DecodedPicture, Job};
use crate::client::log::ClientLog;
use crate::client::session::{ClientEvent, ClientSession};
use crate::client::sound_decoding::SoundDecoding;
use crate::client::sound_meter::{SoundMeter, SoundReport};
use crate::cpu::{Meter, ThreadTime};
use crate::error::{BegunSink, system};
use crate::keys::KeyFile;
use crate::wake::{WakeReceiver, waking};
use crate::{ClientConfig, StreamError};
use gameway_codec::decoder;
use gameway_control::FrameId;
use gameway_runtime::clock::{self, Clock};
use gameway_runtime::stop::Stop;
use gameway_units::{Duration, Instant, VideoCodec};
use gameway_webrtc::links::TcpLinks;
use gameway_webrtc::socket::{MediaSocket, MonotonicClock, Received};
use gameway_webrtc::whep_client::post_offer;
use gameway_webrtc::{CloseReason, Identity, Peer, Secrets, Transport};
use rustix::event::{PollFd, PollFlags};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, channel};
use std::thread::JoinHandle;

/// How often a client looks whether it shall stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long a client tries to reach a host that is not there yet.
const PATIENCE: Duration = Duration::from_secs(10);
/// From try to try.
const RETRY: Duration = Duration::from_millis(200);

/// What a client did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientReport {
    /// Frames whose picture was decoded.
    pub decoded: u64,
    /// Frames that were not.
    pub given_up: u64,
    /// Pictures whose stamp could be read.
    pub stamped: u64,
    /// What was measured of sound.
    pub sound: SoundReport,
    /// Datagrams that were no message of the session.
    pub refused_datagrams: u64,
    /// Why it ended, if not by itself.
    pub closed: Option<CloseReason>,
    /// Why the host ended the stream, in its words.
    pub farewell: Option<String>,
    /// What each thread cost.
    pub cpu: Vec<ThreadTime>,
}

/// Receives until the end of its time, until the host says goodbye, or until asked to stop, and tells the sink of it. `sink` is
/// called once a host has answered, so that a client that is refused leaves no files. `ready` is called once
/// media may flow, with what the machine refused in the way of punctuality.
///
/// # Errors
/// If there is no host, it refuses, or the sink could not keep an event.
pub fn run(
    config: &ClientConfig,
    sink: impl FnOnce() -> BegunSink,
    stop: &Stop,
    ready: &mut dyn FnMut(Vec<String>),
) -> Result<ClientReport, StreamError> {
    let mut client = Client::connect(config, sink, stop)?;
    client.receive(stop, ready)?;
    client.finish()
}

struct Client {
    clock: Clock,
    end: Instant,
    socket: MediaSocket,
    /// Where no UDP passes.
    links: TcpLinks,
    session: ClientSession,
    jobs: Option<mpsc::Sender<Job>>,
    decoded: WakeReceiver<Decoded>,
    worker: Option<JoinHandle<ThreadTime>>,
    hearing: SoundDecoding,
    sound: SoundMeter,
    log: Option<ClientLog>,
    keys: Option<KeyFile>,
    meter: Meter,
    connected: bool,
    input_interval: Option<Duration>,
    next_input: Instant,
    report: ClientReport,
}

impl Client {
    fn connect(
        config: &ClientConfig,
        sink: impl FnOnce() -> BegunSink,
        stop: &Stop,
    ) -> Result<Self, StreamError> {
        let epoch_ns = config.epoch_ns.unwrap_or_else(Clock::monotonic_ns);
        let clock = Clock::new(epoch_ns);
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let socket = MediaSocket::bind(any, MonotonicClock::since(epoch_ns))
            .map_err(system("the media socket"))?;
        let failed = |error: gameway_webrtc::WebrtcError| StreamError::Host(error.to_string());
        let terms = gameway_webrtc::ClientConfig {
            identity: Identity::generate().map_err(failed)?,
            codec: config.codec,
            arrival_times: !config.plain_reports,
            export_keys: config.export_keys.is_some(),
        };
        refuse_undecodable(config)?;
        let (mut peer, offer) = Peer::offer(clock.now(), &terms, Secrets::from_system());
        let answer = ask(config, &offer, stop)?;
        peer.accept_answer(clock.now(), &answer).map_err(failed)?;
        if peer.negotiated().video.is_none() {
            return Err(StreamError::Host(format!("it cannot send {}", config.codec)));
        }
        let (jobs, decoded, worker) = start_decoding(config.codec, clock)?;
        Ok(Self {
            clock,
            end: config.duration.map_or(Instant::MAX, |duration| Instant::ZERO + duration),
            links: TcpLinks::new(socket.clock()),
            socket,
            session: ClientSession::new(peer).map_err(failed)?,
            jobs: Some(jobs),
            decoded,
            worker: Some(worker),
            hearing: SoundDecoding::start(clock)?,
            sound: SoundMeter::default(),
            log: sink()?.map(|sink| ClientLog::new(sink, &config.stream)),
            keys: config.export_keys.as_deref().map(KeyFile::create).transpose()?,
            meter: Meter::new("network"),
            connected: false,
            input_interval: config.input_interval,
            next_input: Instant::MAX,
            report: ClientReport::default(),
        })
    }

    fn receive(
        &mut self,
        stop: &Stop,
        ready: &mut dyn FnMut(Vec<String>),
    ) -> Result<(), StreamError> {
        let mut refusals = Some(clock::be_punctual());
        loop {
            let now = self.clock.now();
            let failed = self.log.as_ref().is_some_and(ClientLog::has_failed);
            let closed = self.report.closed.is_some();
            if now >= self.end || stop.is_asked() || closed || failed {
                break;
            }
            self.take_datagrams()?;
            self.session.on_deadline(now);
            self.take_decoded(now);
            self.take_heard();
            self.play(now);
            self.note(now)?;
            if self.connected
                && let Some(refusals) = refusals.take()
            {
                ready(refusals);
            }
            self.send()?;
            self.wait(now)?;
        }
        self.session.peer().close(self.clock.now());
        self.send()
    }

    fn take_datagrams(&mut self) -> Result<(), StreamError> {
        let session = &mut self.session;
        let mut take = |datagram: Received<'_>| {
            let (Received { to, ecn, arrival, bytes, .. }, from) = (datagram, datagram.remote());
            session.peer().handle_datagram(arrival, from, to, ecn, bytes);
            session.advance(arrival);
        };
        while self.socket.receive(&mut take).map_err(system("the media socket"))? > 0 {}
        self.links.receive_in_turn(take);
        Ok(())
    }

    fn take_decoded(&mut self, now: Instant) {
        self.decoded.hush();
        while let Some(Decoded { frame, result }) = self.decoded.take() {
            let shown = result.ok();
            if let Some(DecodedPicture { at, stamp, .. }) = shown {
                self.report.decoded += 1;
                if let Some(stamp) = stamp {
                    self.report.stamped += 1;
                    self.sound.see(stamp.captured, at);
                }
            } else {
                self.session.on_undecodable(now);
                self.report.given_up += 1;
            }
            if let Some(log) = &mut self.log {
                log.decoded(frame, shown);
            }
        }
    }

    fn take_heard(&mut self) {
        self.hearing.bell().hush();
        while let Some(heard) = self.hearing.take() {
            let measured = self.sound.hear(&heard);
            if let Some(log) = &mut self.log {
                log.heard(&heard, &measured);
            }
        }
    }

    /// The scripted player acts at even times.
    fn play(&mut self, now: Instant) {
        let Some(interval) = self.input_interval else { return };
        if now < self.next_input {
            return;
        }
        self.next_input = now + interval;
        if let (Some(number), Some(log)) = (self.session.input(now), &mut self.log) {
            log.input(number, now);
        }
    }

    fn note(&mut self, now: Instant) -> Result<(), StreamError> {
        for event in self.session.take_events() {
            match event {
                ClientEvent::Connected => {
                    self.connected = true;
                    self.next_input = now;
                }
                ClientEvent::Begin(frame, slices) => self.decode(frame, Some(slices), false),
                ClientEvent::Decode(frame, incoming) => {
                    if let Some(log) = &mut self.log {
                        log.arrived(frame, incoming.received, incoming.recovered);
                    }
                    self.decode(frame, incoming.payloads, true);
                }
                ClientEvent::GivenUp(frame, received) => {
                    self.report.given_up += 1;
                    if let Some(log) = &mut self.log {
                        log.given_up(frame, received);
                    }
                }
                ClientEvent::Sound(play) => self.hearing.play(play),
                ClientEvent::Goodbye(why) => self.report.farewell = Some(why),
                ClientEvent::Closed(reason) => self.report.closed = Some(reason),
                ClientEvent::Session(session) => self.begin(session)?,
                other => self.write(&other),
            }
        }
        Ok(())
    }

    fn decode(&self, frame: FrameId, payloads: Option<Vec<Vec<u8>>>, last: bool) {
        if let Some(jobs) = &self.jobs {
            // The thread ends with the client only.
            let _ = jobs.send(Job { frame, payloads, last });
        }
    }

    /// The host counts this stay so.
    fn begin(&mut self, session: u32) -> Result<(), StreamError> {
        if let Some(log) = &mut self.log {
            log.session(session);
        }
        match (&mut self.keys, self.session.peer().exported_keys()) {
            (Some(file), Some(keys)) => file.add(session, keys, false),
            _ => Ok(()),
        }
    }

    fn write(&mut self, event: &ClientEvent) {
        let Some(log) = &mut self.log else { return };
        match event {
            ClientEvent::Complete(frame, at) => log.complete(*frame, *at),
            ClientEvent::KeyFrameRequested(at) => log.event(*at, "key-frame-request", 0.0),
            ClientEvent::ReferenceRequested(at) => log.event(*at, "reference-request", 0.0),
            ClientEvent::Stall(at, pause) => log.event(*at, "stall", pause.as_millis_f64()),
            _ => {}
        }
    }

    fn send(&mut self) -> Result<(), StreamError> {
        while let Some(transmit) = self.session.poll_transmit() {
            match transmit.over {
                Transport::Udp => self.socket.send(&transmit).map_err(system("a report"))?,
                // A way that does not lead there is one that does not answer.
                Transport::Tcp => {
                    let _ = self.links.reach(&transmit);
                }
            }
        }
        Ok(())
    }

    fn wait(&self, now: Instant) -> Result<(), StreamError> {
        let input = self.input_interval.map(|_| self.next_input);
        let deadline = [self.session.next_deadline(), input].into_iter().flatten().min();
        let max = deadline.map_or(LOOK, |due| due.saturating_since(now).min(LOOK));
        let passed = self.clock.now().saturating_since(now);
        let mut descriptors = vec![
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&self.decoded, PollFlags::IN),
            PollFd::new(self.hearing.bell(), PollFlags::IN),
        ];
        descriptors.extend(self.links.descriptors());
        clock::wait(&mut descriptors, max.saturating_sub(passed)).map_err(system("waiting"))
    }

    fn finish(mut self) -> Result<ClientReport, StreamError> {
        drop(self.jobs.take());
        let mut times = vec![self.meter.read()];
        times.extend(self.worker.take().and_then(|worker| worker.join().ok()));
        times.extend(self.hearing.finish());
        times.push(self.meter.others(&times));
        let end = self.clock.now();
        self.take_decoded(end);
        self.take_heard();
        let counts = self.session.sound_counts();
        self.report.sound = SoundReport { counts, ..self.sound.report() };
        self.report.refused_datagrams = self.session.peer().refused_datagrams();
        self.log.take().map_or(Ok(()), |log| log.finish(&times))?;
        self.report.cpu = times;
        Ok(self.report)
    }
}

/// Posts the offer until a host is there to answer.
#[expect(clippy::disallowed_methods, reason = "a driver waits for a host that is still starting")]
fn ask(config: &ClientConfig, offer: &str, stop: &Stop) -> Result<String, StreamError> {
    let begin = Clock::monotonic_ns();
    loop {
        match post_offer(&config.connect, &config.token, offer) {
            Err(error)
                if is_not_there(&error)
                    && Clock::monotonic_ns() - begin < PATIENCE.as_nanos()
                    && !stop.is_asked() =>
            {
                std::thread::sleep(std::time::Duration::from_nanos(
                    RETRY.as_nanos().unsigned_abs(),
                ));
            }
            result => {
                let answered = |error: io::Error| StreamError::Host(error.to_string());
                return result.map(|session| session.answer).map_err(answered);
            }
        }
    }
}

/// Whether a host may yet come.
fn is_not_there(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut)
}

/// What cannot be decoded here is not asked for.
fn refuse_undecodable(config: &ClientConfig) -> Result<(), StreamError> {
    let codec = config.codec;
    let why = "this build has no decoder of it; build with FFmpeg's libavcodec (feature libav)";
    if decoder::available(codec).is_empty() {
        return Err(StreamError::Config { field: "codec", why: format!("{codec}: {why}") });
    }
    Ok(())
}

type Worker = (mpsc::Sender<Job>, WakeReceiver<Decoded>, JoinHandle<ThreadTime>);

#[expect(clippy::disallowed_methods, reason = "the driver owns its threads")]
fn start_decoding(codec: VideoCodec, clock: Clock) -> Result<Worker, StreamError> {
    let (jobs, to_do) = channel();
    let (sender, decoded) = waking().map_err(system("no wake-up"))?;
    let work = move || {
        let meter = Meter::new("decoding");
        decoding::run(codec, &to_do, &sender, clock);
        meter.read()
    };
    let thread = std::thread::Builder::new().name("decoding".to_owned()).spawn(work);
    Ok((jobs, decoded, thread.map_err(system("the decoding thread"))?))
}
