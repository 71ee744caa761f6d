//! A host's session and a client's on the test network; an encoder that makes payloads of random bytes, so that
//! what arrives can be compared with what was sent; a player that knows which frames can be decoded; and a
//! controller that wants always the same and writes down what it is told.

mod encoder;

pub use encoder::FakeEncoder;

use gameway_control::{
    FeedbackBatch, FeedbackStyle, FrameId, FrameReceived, FrameSent, Notice, Pacing, PacketReport,
    RateController, SentPacket, Target,
};
use gameway_stream::client::session::{ClientEvent, ClientSession};
use gameway_stream::control::Hello;
use gameway_stream::host::session::{Session, SessionEvent};
use gameway_stream::host::sound::SoundPacket;
use gameway_stream::host::terms::Terms;
use gameway_testbed::{Ends, Fate, Fates, Random, Testbed, lost_if};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, Ratio, Recovery, Repair, VideoCodec};
use gameway_webrtc::{ClientConfig, HostConfig, Identity, Peer, Secrets, Transmit};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

pub const INTERVAL: Duration = Duration::from_nanos(16_666_667);
pub const ONE_WAY: Duration = Duration::from_millis(10);
/// A packet of sound holds so much.
pub const BLOCK: Duration = Duration::from_millis(10);
pub const SECOND: Duration = Duration::from_secs(1);

pub fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

pub fn at(millis: i64) -> Instant {
    Instant::ZERO + ms(millis)
}

pub fn host_address() -> SocketAddr {
    "10.77.0.1:8443".parse().unwrap()
}

/// Certificates take milliseconds to make; two serve all tests.
fn identities() -> &'static (Identity, Identity) {
    static BOTH: OnceLock<(Identity, Identity)> = OnceLock::new();
    BOTH.get_or_init(|| (Identity::generate().unwrap(), Identity::generate().unwrap()))
}

pub fn host_config(nack: bool) -> HostConfig {
    HostConfig {
        identity: identities().0.clone(),
        candidates: vec![host_address().into()],
        audio: true,
        h265: false,
        nack,
        parity: nack,
        references: true,
        export_keys: false,
    }
}

pub fn client_config(arrival_times: bool) -> ClientConfig {
    ClientConfig {
        identity: identities().1.clone(),
        codec: VideoCodec::H264,
        arrival_times,
        export_keys: false,
    }
}

/// What the controller was told.
#[derive(Debug, Default)]
pub struct Told {
    pub sent: Vec<SentPacket>,
    pub batches: Vec<(Instant, Vec<PacketReport>)>,
    /// Frames that the receiver told of ahead of their packets.
    pub frames: Vec<(Instant, FrameReceived)>,
    /// Round trips of RTCP's reports.
    pub round_trips: Vec<(Instant, Duration)>,
}

struct Scripted {
    target: Target,
    in_parts: bool,
    told: Arc<Mutex<Told>>,
}

impl RateController for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn sends_in_parts(&self) -> bool {
        self.in_parts
    }
    fn on_frame(&mut self, _now: Instant, _frame: &FrameSent) {}
    fn on_sent(&mut self, _now: Instant, packet: &SentPacket) {
        self.told.lock().unwrap().sent.push(*packet);
    }
    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        self.told.lock().unwrap().batches.push((now, batch.reports.to_vec()));
    }
    fn on_notice(&mut self, now: Instant, notice: &Notice) {
        let mut told = self.told.lock().unwrap();
        match *notice {
            Notice::FrameReceived(frame) => told.frames.push((now, frame)),
            Notice::RoundTrip(round_trip) => told.round_trips.push((now, round_trip)),
            _ => {}
        }
    }
    fn on_timer(&mut self, _now: Instant) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn target(&self) -> Target {
        self.target
    }
    fn observe(&self, _sink: &mut dyn FnMut(&str, f64)) {}
}

/// How the two are set up.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub rate: Rate,
    pub repair_share: Ratio,
    pub repair: Repair,
    pub recovery: Recovery,
    pub circuit_breaker: Option<Rate>,
    pub plain_reports: bool,
    pub ecn: Ecn,
    /// The host has a packet of sound each 10 ms, of the block's number.
    pub audio: bool,
    /// Whether frames leave while they are being encoded.
    pub in_parts: bool,
    /// Probes after each frame.
    pub probes: u32,
    /// The most that may be in flight.
    pub window: Option<Bytes>,
    /// How often the client reports; at each frame's end if not given.
    pub report_interval: Option<Duration>,
}

pub const PLAIN: Setting = Setting {
    rate: Rate::from_mbps(6),
    repair_share: Ratio::ZERO,
    repair: Repair::None,
    recovery: Recovery::KeyFrame,
    circuit_breaker: None,
    plain_reports: false,
    ecn: Ecn::Ect1,
    audio: false,
    in_parts: true,
    probes: 0,
    window: None,
    report_interval: None,
};

/// A frame that went to the decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    pub session: u32,
    pub frame: u64,
    pub at: Instant,
    pub recovered: u16,
    pub key_frame: bool,
}

/// Host and client, and what was seen of them.
pub struct Stay {
    /// When it was polled last.
    now: Instant,
    pub host: Session,
    pub client: ClientSession,
    pub client_address: SocketAddr,
    pub encoder: FakeEncoder,
    pub told: Arc<Mutex<Told>>,
    /// Frames that went to the decoder, byte by byte what was sent and after what they refer to.
    pub played: Vec<Played>,
    pub client_events: Vec<(Instant, ClientEvent)>,
    pub host_events: Vec<(Instant, SessionEvent)>,
    /// All that was sent, for those who listen on the wire.
    pub wire: Option<Vec<(Instant, Transmit)>>,
    /// When the next block of sound is over.
    sound_due: Option<Instant>,
    setting: Setting,
    sessions: u32,
    /// What came of frames that were begun before they were whole.
    begun: BTreeMap<(u32, u64), Vec<Vec<u8>>>,
    /// Frames that were begun before they were whole.
    pub ahead: u64,
}

pub type World = Testbed<Stay, Fates<Transmit, Transmit>>;

/// A network in which chance and the time decide what becomes of a datagram, the same both ways.
pub fn both_ways(
    fate: impl Fn(Instant, &mut Random) -> Fate + Copy + 'static,
) -> Fates<Transmit, Transmit> {
    let [mut down, mut up] = [1, 2].map(Random::new);
    Fates {
        delay: ONE_WAY,
        down: Box::new(move |now, _| fate(now, &mut down)),
        up: Box::new(move |now, _| fate(now, &mut up)),
    }
}

/// A network that loses all that is sent in a while.
pub fn dark(from: Instant, until: Instant) -> Fates<Transmit, Transmit> {
    both_ways(move |now, _| lost_if((from..until).contains(&now)))
}

pub fn terms(setting: &Setting, session: u32, told: &Arc<Mutex<Told>>) -> Terms {
    let mut target = Target::new(setting.rate, Pacing::FrameMultiplier(1.25));
    target.requests.probes_per_frame = setting.probes;
    target.window = setting.window;
    let report_interval_ns = setting.report_interval.map(Duration::as_nanos);
    Terms {
        controller: Box::new(Scripted {
            target,
            in_parts: setting.in_parts,
            told: Arc::clone(told),
        }),
        start: Instant::ZERO,
        frame_interval: INTERVAL,
        repair_share: setting.repair_share,
        repair: setting.repair,
        recovery: setting.recovery,
        ladder: None,
        circuit_breaker: setting.circuit_breaker,
        mtu: None,
        ecn: setting.ecn,
        plays: true,
        clipboard: true,
        card: false,
        audio: setting.audio,
        hello: Hello { session, frame_interval_ns: INTERVAL.as_nanos(), report_interval_ns },
    }
}

/// Both ends of a stay that begins.
fn pair(
    setting: &Setting,
    session: u32,
    told: &Arc<Mutex<Told>>,
    now: Instant,
) -> (Session, ClientSession) {
    let secret = |side: u8| Secrets::new([side.wrapping_add((2 * session) as u8); 32]);
    let (mut client, offer) = Peer::offer(now, &client_config(!setting.plain_reports), secret(1));
    let host = host_config(setting.repair.sends_again());
    let (host, answer) = Peer::answer(now, &host, secret(2), &offer).unwrap();
    client.accept_answer(now, &answer).unwrap();
    (
        Session::new(session, host, terms(setting, session, told)),
        ClientSession::new(client).unwrap(),
    )
}

pub fn client_address(session: u32) -> SocketAddr {
    SocketAddr::from(([10, 78, 0, 1], 40_000 + session as u16))
}

pub fn world(setting: Setting) -> World {
    let told = Arc::default();
    let (host, client) = pair(&setting, 0, &told, Instant::ZERO);
    let stay = Stay {
        now: Instant::ZERO,
        host,
        client,
        client_address: client_address(0),
        encoder: FakeEncoder::default(),
        told,
        played: Vec::new(),
        client_events: Vec::new(),
        host_events: Vec::new(),
        wire: None,
        sound_due: setting.audio.then_some(Instant::ZERO + BLOCK),
        setting,
        sessions: 1,
        begun: BTreeMap::new(),
        ahead: 0,
    };
    Testbed::new(Fates::new(ONE_WAY), vec![stay])
}

impl Ends for Stay {
    type Down = Transmit;
    type Up = Transmit;

    fn on_down(&mut self, now: Instant, transmit: Transmit) {
        self.deliver(now, &transmit);
    }
    fn on_up(&mut self, now: Instant, transmit: Transmit) {
        self.deliver(now, &transmit);
    }
    fn next_deadline(&self) -> Option<Instant> {
        let (host, client) = (self.host.next_deadline(), self.client.next_deadline());
        let due = Instant::first_of([host, client, self.encoder.due(), self.sound_due]);
        // What a session held back is due at once when it may go on.
        due.map(|due| due.max(self.now))
    }
    fn on_deadline(&mut self, now: Instant) {
        if let Some(due) = self.sound_due.filter(|&due| due <= now) {
            self.host.send_sound(now, &block(due - BLOCK));
            self.sound_due = Some(due + BLOCK);
        }
        if let Some(made) = self.encoder.finish(now) {
            self.host.on_made(now, made);
        }
        self.host.on_deadline(now);
        self.client.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(job) = self.host.poll_job() {
            self.encoder.begin(now, job);
        }
        self.host.transmit(now, |_| ());
        let transmit = self.host.poll_transmit();
        let events = self.host.take_events();
        self.host_events.extend(events.into_iter().map(|event| (now, event)));
        self.sent(now, host_address(), transmit)
    }
    fn poll_up(&mut self, now: Instant) -> Option<Transmit> {
        self.now = now;
        let transmit = self.client.poll_transmit();
        for event in self.client.take_events() {
            self.play(now, &event);
            self.client_events.push((now, event));
        }
        self.sent(now, self.client_address, transmit)
    }
}

impl Stay {
    /// The client was killed without a word, and comes again: a new socket, a new session.
    pub fn client_comes_back(&mut self, now: Instant) {
        (self.host, self.client) = pair(&self.setting, self.sessions, &self.told, now);
        self.client_address = client_address(self.sessions);
        self.sessions += 1;
    }

    fn sent(
        &mut self,
        now: Instant,
        from: SocketAddr,
        transmit: Option<Transmit>,
    ) -> Option<Transmit> {
        let transmit = Transmit { from: Some(from), ..transmit? };
        self.wire.iter_mut().for_each(|wire| wire.push((now, transmit.clone())));
        Some(transmit)
    }

    /// Hands a datagram to whom it is addressed to.
    pub fn deliver(&mut self, now: Instant, Transmit { from, to, ecn, bytes, .. }: &Transmit) {
        let from = from.unwrap();
        if *to == host_address() {
            self.host.peer().handle_datagram(now, from, *to, *ecn, bytes);
            self.host.advance(now);
        } else if *to == self.client_address {
            self.client.peer().handle_datagram(now, from, *to, *ecn, bytes);
            self.client.advance(now);
        }
    }

    fn play(&mut self, now: Instant, event: &ClientEvent) {
        let session = self.sessions - 1;
        if let ClientEvent::Begin(frame, slices) = event {
            self.begun.entry((session, frame.0)).or_default().extend(slices.clone());
        }
        let ClientEvent::Decode(frame, incoming) = event else { return };
        let sent = &self.encoder.made[&(session, frame.0)];
        let begun = self.begun.remove(&(session, frame.0));
        self.ahead += u64::from(begun.is_some());
        let mut payloads = begun.unwrap_or_default();
        payloads.extend(incoming.payloads.clone().expect("a whole frame"));
        assert_eq!(payloads, sent.payloads, "frame {} is not what was sent", frame.0);
        let refers_to = frame.0.wrapping_sub(u64::from(sent.refers_back));
        let was_shown = |it: &Played| (it.session, it.frame) == (session, refers_to);
        let decodable = sent.key_frame || self.played.iter().any(was_shown);
        assert!(decodable, "frame {} cannot be decoded", frame.0);
        self.played.push(Played {
            session,
            frame: frame.0,
            at: now,
            recovered: incoming.recovered,
            key_frame: sent.key_frame,
        });
    }

    /// Frames that were captured from `begin` to `end`.
    pub fn captured(&self, begin: Instant, end: Instant) -> Vec<(u32, u64)> {
        let frames = self.encoder.made.iter();
        let within = frames.filter(|(_, made)| (begin..end).contains(&made.captured));
        within.map(|(key, _)| *key).collect()
    }

    /// The share of frames captured from `begin` to `end` that were shown.
    pub fn shown_share(&self, begin: Instant, end: Instant) -> f64 {
        let captured = self.captured(begin, end);
        let shown =
            |key: &&(u32, u64)| self.played.iter().any(|it| (it.session, it.frame) == **key);
        captured.iter().filter(shown).count() as f64 / captured.len().max(1) as f64
    }

    /// When each event of the client came that `pick` picks.
    pub fn when(&self, pick: impl Fn(&ClientEvent) -> bool) -> Vec<Instant> {
        let picked = self.client_events.iter().filter(|(_, event)| pick(event));
        picked.map(|(at, _)| *at).collect()
    }

    /// Every frame of a session that was decided: shown or given up, in order.
    pub fn decided(&self) -> Vec<u64> {
        let number = |event: &ClientEvent| match event {
            ClientEvent::Decode(FrameId(frame), _) | ClientEvent::GivenUp(FrameId(frame), _) => {
                Some(*frame)
            }
            _ => None,
        };
        self.client_events.iter().filter_map(|(_, event)| number(event)).collect()
    }

    pub fn requests(&self) -> usize {
        self.when(|event| {
            matches!(event, ClientEvent::KeyFrameRequested(_) | ClientEvent::ReferenceRequested(_))
        })
        .len()
    }

    pub fn key_frames(&self) -> Vec<(u32, u64)> {
        let made = self.encoder.made.iter();
        made.filter(|(_, made)| made.key_frame).map(|(key, _)| *key).collect()
    }
}

/// A block of sound that says when it began.
pub fn block(captured: Instant) -> SoundPacket {
    let mut payload = captured.as_nanos().to_be_bytes().to_vec();
    payload.resize(120, 0);
    SoundPacket { captured, payload }
}

/// Whether a datagram is a packet of sound, with older ones or without: its payload type is not encrypted.
pub fn is_sound(transmit: &Transmit) -> bool {
    is_media(transmit)
        && transmit.bytes.get(1).is_some_and(|second| [111, 63].contains(&(second & 127)))
}

/// Whether a datagram is RTP or RTCP (RFC 7983).
pub fn is_media(transmit: &Transmit) -> bool {
    transmit.bytes.first().is_some_and(|first| (128..192).contains(first))
}
