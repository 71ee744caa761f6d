//! A video over HTTP in the simulator: a player, a server, and TCP between them.
//!
//! Source: RFC 9112 section 9.3 (persistent connections); the player is `gameway_dash`'s, TCP
//! `gameway_tcp`'s.
//! Model: one connection at a time. A request is a segment of data that the client sends with its next
//! acknowledgement; the server answers at once, as fast as TCP may, and is silent until the next one. A
//! request that is lost is sent again until the answer begins. What the player gives up closes the
//! connection with a reset, and the next request opens another one.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | a request is sent again after | the round trip of the handshake and the greater of 200 ms and twice that, doubled each time up to 120 s | RFC 6298 section 2 with Linux's bounds |
//!
//! | Deviation | Why |
//! |---|---|
//! | a request is one segment | that of a browser is: some hundred bytes |
//! | no TLS | two round trips more per connection, and there is one |
//! | the server needs no time | it reads files |

use crate::flow::FlowEnds;
use crate::packet::Packet;
use gameway_dash::{
    Action, Event, Fate, Player, Presentation, Request, Segment as MediaSegment, Settings,
};
use gameway_events::{Name, RunEvent, SegmentRecord};
use gameway_experiment::{Recorder, intern};
use gameway_path::FlowId;
use gameway_tcp::{
    Application, ConfiguredTcp, EcnMode, ReceiveWindow, Receiver, ReceiverConfig, Segment, Sender,
    SenderConfig,
};
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

const MIN_REPEAT: Duration = Duration::from_millis(200);
const MAX_REPEAT: Duration = Duration::from_secs(120);

/// What is played, and over what.
pub struct DashSetup {
    /// Its flow.
    pub flow: FlowId,
    /// The server's congestion control.
    pub congestion_control: ConfiguredTcp,
    /// Which ECN both ends agree on.
    pub ecn: EcnMode,
    /// The video.
    pub presentation: Presentation,
    /// The player.
    pub settings: Settings,
    /// What the client announces.
    pub receive_window: ReceiveWindow,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// When it opens the video.
    pub start: Instant,
    /// When it closes it; the end of the run at the latest.
    pub stop: Instant,
    /// Seed of what is random in the congestion control.
    pub seed: u64,
    /// How often its state is written.
    pub observe_interval: Duration,
}

/// A request on its way, and the answer to it.
#[derive(Debug, Clone, Copy)]
struct PendingRequest {
    request: Request,
    /// Bytes of the connection before the answer.
    before: Bytes,
    /// When it is sent again; none before it was, and once the answer begins.
    due: Option<Instant>,
    sent: bool,
    timeout: Duration,
}

/// Both ends of a connection.
struct Connection {
    number: u32,
    sender: Sender,
    receiver: Receiver,
    opened: Instant,
    round_trip: Option<Duration>,
    asked: Option<PendingRequest>,
    /// Where the next request begins in what goes up.
    uploaded: u64,
    /// Up to where the server has it.
    taken: u64,
    counted: Bytes,
}

impl Connection {
    fn new(setup: &DashSetup, number: u32, now: Instant) -> Self {
        let DashSetup { ecn, receive_window, segment_size, .. } = *setup;
        let application = Application { on_demand: true, ..Application::default() };
        let config = SenderConfig { application, ecn, segment_size, ..SenderConfig::default() };
        let receive =
            ReceiverConfig { ecn, receive_window, segment_size, ..ReceiverConfig::default() };
        let seed = setup.seed.wrapping_add(u64::from(number));
        Self {
            number,
            sender: Sender::new(config, setup.congestion_control.build(segment_size, seed)),
            receiver: Receiver::new(receive, now),
            opened: now,
            round_trip: None,
            asked: None,
            uploaded: 0,
            taken: 0,
            counted: Bytes::ZERO,
        }
    }

    fn ask(&mut self, request: Request) {
        let before = self.receiver.received();
        let timeout = MIN_REPEAT;
        self.asked = Some(PendingRequest { request, before, due: None, sent: false, timeout });
    }

    fn close(&mut self) {
        self.receiver.reset();
        self.asked = None;
    }

    fn next_deadline(&self) -> Option<Instant> {
        let repeated = self.asked.and_then(|asked| asked.due);
        self.receiver.next_deadline().into_iter().chain(repeated).min()
    }

    /// What the client sends: an acknowledgement, and in it the request if its time has come.
    fn poll_return(&mut self, now: Instant) -> Option<Segment> {
        let is_due =
            |asked: &PendingRequest| !asked.sent || asked.due.is_some_and(|due| due <= now);
        let due = self.asked.as_mut().filter(|asked| self.receiver.is_open() && is_due(asked));
        let Some(asked) = due else { return self.receiver.poll_transmit(now) };
        let round_trip = *self.round_trip.get_or_insert(now.saturating_since(self.opened));
        asked.timeout = match asked.sent {
            true => (asked.timeout * 2).min(MAX_REPEAT),
            false => round_trip + MIN_REPEAT.max(round_trip * 2),
        };
        asked.sent = true;
        asked.due = Some(now.saturating_add(asked.timeout));
        let length = asked.request.upload.get() as u32;
        self.receiver.on_request(now);
        let segment = self.receiver.poll_transmit(now)?;
        Some(Segment { sequence: self.uploaded, length, ..segment })
    }

    /// How much of the answer is there now, if more is than before.
    fn on_data(&mut self, now: Instant, segment: &Segment) -> Option<Bytes> {
        let before = self.receiver.received();
        self.receiver.on_segment(now, segment);
        let asked = self.asked.as_mut()?;
        let received = self.receiver.received();
        if received <= before.max(asked.before) {
            return None;
        }
        if asked.due.take().is_some() {
            self.uploaded += asked.request.upload.get();
        }
        Some(received.saturating_sub(asked.before))
    }

    /// What arrived anew since the last call.
    fn count(&mut self) -> Bytes {
        let received = self.receiver.received();
        received.saturating_sub(std::mem::replace(&mut self.counted, received))
    }

    /// What the server hears: acknowledgements, and each request once.
    fn on_return(&mut self, now: Instant, segment: &Segment) {
        self.sender.on_segment(now, segment);
        if segment.length > 0 && segment.sequence == self.taken {
            self.taken += u64::from(segment.length);
            self.sender.write(self.asked.map_or(Bytes::ZERO, |asked| asked.request.download));
        }
    }
}

/// See the module's head.
pub struct Dash {
    setup: DashSetup,
    player: Player,
    /// The last is in use; those before it are closed, and their servers do not all know it yet.
    connections: VecDeque<Connection>,
    next_observation: Instant,
    words: Vec<Name>,
}

impl Dash {
    /// A player that opens the video at its start.
    pub fn new(setup: DashSetup) -> Self {
        Self {
            player: Player::new(setup.settings, setup.presentation.clone(), setup.start),
            connections: VecDeque::new(),
            next_observation: setup.start,
            words: Vec::new(),
            setup,
        }
    }

    fn connection(&mut self, number: u32) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|connection| connection.number == number)
    }

    /// Does what the player wants and writes what it tells.
    fn follow(&mut self, now: Instant, log: &mut Recorder) {
        while let Some(action) = self.player.poll_action() {
            match action {
                Action::Send(request) => self.send(now, request),
                Action::Close => {
                    if let Some(connection) = self.connections.back_mut() {
                        connection.close();
                    }
                }
            }
        }
        while let Some(event) = self.player.poll_event() {
            self.write(event, log);
        }
    }

    fn send(&mut self, now: Instant, request: Request) {
        let number = request.connection;
        if self.connections.back().is_none_or(|last| last.number != number) {
            self.connections.push_back(Connection::new(&self.setup, number, now));
        }
        if let Some(connection) = self.connections.back_mut() {
            connection.ask(request);
        }
    }

    fn write(&mut self, event: Event, log: &mut Recorder) {
        let (at, word, value) = match event {
            Event::Started { at, delay } => (at, "playback-started", delay.as_secs_f64()),
            Event::Stalled { at } => (at, "interrupted", 0.0),
            Event::Resumed { at, lasted } => (at, "resumed", lasted.as_secs_f64()),
            Event::Ended { at } => (at, "playback-ended", 0.0),
            Event::Segment(segment) => return self.write_segment(segment, log),
        };
        let word = intern(&mut self.words, word);
        log.event(at, self.setup.flow, &word, value)
    }

    fn write_segment(&mut self, segment: MediaSegment, log: &mut Recorder) {
        let fate = match segment.fate {
            Fate::Displayed(_) => "displayed",
            Fate::Replaced(_) => "replaced",
            Fate::TooLate => "too late",
            Fate::Abandoned(_) => "abandoned",
            Fate::TimedOut(_) => "timed out",
            Fate::Buffered => "buffered",
            Fate::Unfinished => "unfinished",
        };
        let displayed = match segment.fate {
            Fate::Displayed(at) => Some(at),
            _ => None,
        };
        let record = SegmentRecord {
            flow: log.name(self.setup.flow).clone(),
            segment: segment.index as u32,
            level: segment.level as u16 + 1,
            bitrate_bps: self.setup.presentation.ladder().bitrate(segment.level).as_bps(),
            size_bytes: segment.size.get(),
            received_bytes: segment.received.get(),
            requested_ns: segment.requested.map(Instant::as_nanos),
            first_byte_ns: segment.first_byte.map(Instant::as_nanos),
            complete_ns: segment.complete.map(Instant::as_nanos),
            displayed_ns: displayed.map(Instant::as_nanos),
            fate: intern(&mut self.words, fate),
        };
        log.tell(RunEvent::Segment(record));
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) {
        let state = self.player.state(now);
        let tcp = self.connections.back().map(|connection| connection.sender.stats());
        let rtt = tcp.and_then(|stats| stats.smoothed_rtt);
        let values = [
            ("buffer_level_s", Some(state.buffer.as_secs_f64())),
            ("buffer_target_s", Some(state.buffer_target.as_secs_f64())),
            ("throughput_estimate_mbps", state.throughput_kbps.map(|kbps| kbps / 1e3)),
            ("level", Some(state.level as f64 + 1.0)),
            ("bola_active", Some(f64::from(u8::from(state.uses_bola)))),
            ("cwnd_bytes", tcp.map(|stats| stats.cwnd.as_f64())),
            ("smoothed_rtt_ms", rtt.map(Duration::as_millis_f64)),
        ];
        for (variable, value) in values {
            if let Some(value) = value {
                log.state(now, self.setup.flow, &intern(&mut self.words, variable), value);
            }
        }
    }

    /// The first packet that `poll` finds in any connection.
    fn poll(&mut self, poll: impl Fn(&mut Connection) -> Option<Packet>) -> Option<Packet> {
        self.connections.iter_mut().find_map(|connection| {
            let number = connection.number;
            poll(connection).map(|packet| Packet { connection: number, ..packet })
        })
    }
}

impl FlowEnds for Dash {
    fn server_deadline(&self) -> Option<Instant> {
        self.connections.iter().filter_map(|connection| connection.sender.next_deadline()).min()
    }

    fn on_server_deadline(&mut self, now: Instant, _log: &mut Recorder) {
        for connection in &mut self.connections {
            connection.sender.on_deadline(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let flow = self.setup.flow;
        self.poll(|connection| {
            let segment = connection.sender.poll_transmit(now)?;
            Some(Packet::of_segment(flow, segment))
        })
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Some(segment) = packet.segment() else { return };
        let Some(connection) = self.connection(packet.connection) else { return };
        let answered = connection.on_data(now, &segment);
        log.payload(packet.flow, connection.count());
        if let Some(answered) = answered {
            self.player.on_received(now, answered);
            self.follow(now, log);
        }
    }

    fn client_deadline(&self) -> Option<Instant> {
        let connections = self.connections.iter().filter_map(Connection::next_deadline);
        let player = self.player.next_deadline();
        let own = (!self.player.is_finished()).then(|| self.next_observation.min(self.setup.stop));
        connections.chain(player).chain(own).min()
    }

    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder) {
        self.player.on_deadline(now);
        if self.setup.stop <= now {
            self.player.stop(now);
        } else if self.next_observation <= now && !self.player.is_finished() {
            self.observe(now, log);
            self.next_observation = now + self.setup.observe_interval;
        }
        for connection in &mut self.connections {
            connection.receiver.on_deadline(now);
        }
        self.follow(now, log)
    }

    fn poll_return(&mut self, now: Instant) -> Option<Packet> {
        let flow = self.setup.flow;
        self.poll(|connection| {
            let segment = connection.poll_return(now)?;
            Some(Packet::back_of_segment(flow, segment))
        })
    }

    fn on_return(&mut self, now: Instant, packet: &Packet, _log: &mut Recorder) {
        let Some(segment) = packet.segment() else { return };
        if let Some(connection) = self.connection(packet.connection) {
            connection.on_return(now, &segment);
        }
        self.connections.retain(|connection| !connection.sender.is_finished());
    }

    fn finish(&mut self, log: &mut Recorder) {
        let end = self.setup.stop;
        self.player.stop(end);
        self.follow(end, log)
    }
}
