//! The home gateway in the simulator: it stands at the path's own bottleneck.
//!
//! What comes to that bottleneck passes it there, and what goes another way (back, mostly) where that leaves
//! the bottlenecks. Streams of bytes are numbered from 0 here and with 32 bits on the wire: each end's
//! numbers begin so that those of the data wrap after a megabyte, as they do sooner or later.

use crate::headers;
use crate::packet::{Content, Packet};
use crate::recorder::Recorder;
use gameway_events::{ControllerRecord, Name, TableError};
use gameway_gateway::{Flags, Gateway, Observation, Passage, Segment, Timestamps};
use gameway_path::Header;
use gameway_units::{Bytes, Duration, Instant};

/// First numbers of the end that sends data and of the other.
const INITIAL_NUMBERS: [u32; 2] = [u32::MAX - 1_000_000, 1];

/// Name of the gateway in the log, beside those of flows.
const NAME: &str = "gateway";

/// See the module's head.
pub struct HomeGateway {
    gateway: Box<dyn Gateway>,
    observe_interval: Duration,
    next_observation: Instant,
    name: Name,
    /// Of the data of each flow.
    headers: Vec<Header>,
    /// Variables, their names made once.
    words: Vec<(&'static str, Name)>,
    observations: Vec<Observation>,
}

impl HomeGateway {
    /// The gateway, which is observed so often, among flows whose data has these headers.
    pub fn new(
        gateway: Box<dyn Gateway>,
        observe_interval: Duration,
        headers: Vec<Header>,
    ) -> Self {
        Self {
            gateway,
            observe_interval,
            next_observation: Instant::ZERO + observe_interval,
            name: NAME.into(),
            headers,
            words: Vec::new(),
            observations: Vec::new(),
        }
    }

    /// A packet passes; the window that it carries may be lower then.
    pub fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet) {
        let mut wire = on_the_wire(packet);
        let (header, size) = (packet.header, packet.size);
        let mut seen = gameway_gateway::Packet { header, size, segment: wire.as_mut() };
        self.gateway.on_packet(now, passage, &mut seen);
        if let (Content::Tcp(segment), Some(wire)) = (&mut packet.content, wire) {
            segment.window = wire.window;
        }
    }

    /// A packet begins to leave the bottleneck after waiting so long.
    pub fn on_departure(&mut self, now: Instant, size: Bytes, queueing_delay: Duration) {
        self.gateway.on_departure(now, size, queueing_delay);
    }

    /// When [`Self::on_deadline`] is due.
    pub fn next_deadline(&self) -> Instant {
        self.gateway.next_deadline().min(self.next_observation)
    }

    /// That time has come; `oldest`: when what waits longest came to the bottleneck.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn on_deadline(
        &mut self,
        now: Instant,
        oldest: Option<Instant>,
        log: &mut Recorder,
    ) -> Result<(), TableError> {
        if self.gateway.next_deadline() <= now {
            self.gateway.on_deadline(now, oldest);
        }
        if self.next_observation <= now {
            self.next_observation = now.saturating_add(self.observe_interval);
            self.observe(now, log)?;
        }
        Ok(())
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError> {
        let found = &mut self.observations;
        self.gateway.observe(&mut |observation| found.push(observation));
        for Observation { flow, variable, value } in self.observations.drain(..) {
            let stream = match flow {
                None => self.name.clone(),
                Some(header) => match headers::flow_of(&self.headers, &header) {
                    Some(flow) => log.name(flow).clone(),
                    None => continue,
                },
            };
            let variable = crate::stream::intern(&mut self.words, variable);
            let time_ns = now.as_nanos();
            log.tables.controller.push(&ControllerRecord { stream, time_ns, variable, value })?;
        }
        Ok(())
    }
}

/// What a packet's TCP segment is on the wire.
fn on_the_wire(packet: &Packet) -> Option<Segment> {
    let Content::Tcp(segment) = &packet.content else { return None };
    let [data, other] = INITIAL_NUMBERS;
    let (own, others) = if packet.returning { (other, data) } else { (data, other) };
    let behind_syn = |offset: u64, first: u32| (offset as u32).wrapping_add(first).wrapping_add(1);
    let ticks = |time: Instant| (time.as_nanos() / 1_000_000) as u32;
    let flags = segment.flags;
    Some(Segment {
        header: packet.header,
        flags: Flags { syn: flags.syn, ack: flags.ack, fin: flags.fin, rst: false },
        sequence: if flags.syn { own } else { behind_syn(segment.sequence, own) },
        acknowledgment: behind_syn(segment.acknowledgment, others),
        length: segment.length,
        window: segment.window,
        window_scale: flags.syn.then_some(segment.window_scale),
        timestamps: Some(Timestamps {
            value: ticks(segment.timestamp_value),
            echo: ticks(segment.timestamp_echo),
        }),
    })
}
