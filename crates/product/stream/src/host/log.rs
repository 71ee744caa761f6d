//! What the host tells of a stream: frames, the controller's state, how late packets left, events.

use crate::cpu::{self, ThreadTime};
use gameway_control::{FrameId, RateController};
use gameway_events::{
    ClientFrameRecord, ControllerRecord, EventRecord, HostFrameRecord, Name, RunEvent, Sink,
    SinkError,
};
use gameway_media::Level;
use gameway_runtime::lateness::{Lateness, LatenessSummary};
use gameway_session::SenderEvent;
use gameway_units::{Duration, Instant, Rate};
use gameway_webrtc::feedback::frames::{FrameNews, FrameRecord};
use std::collections::VecDeque;

/// Frames that may be open at once: more than any pacer holds back.
const MAX_OPEN: usize = 512;

/// Makes events of what happens, for a sink.
#[derive(Debug)]
pub struct HostLog {
    sink: Box<dyn Sink>,
    stream: Name,
    session: u32,
    open: VecDeque<HostFrameRecord>,
    /// How many packets the newest frames have, by number.
    packets: VecDeque<(FrameId, u16)>,
    lateness: Lateness,
    next_observation: Instant,
    observe_interval: Duration,
    /// How often the sink keeps what it has, and when next.
    keep: Option<(Duration, Instant)>,
}

impl HostLog {
    /// Tells `sink`.
    #[must_use]
    pub fn new(sink: Box<dyn Sink>, stream: &str, observe_interval: Duration) -> Self {
        Self {
            sink,
            stream: stream.into(),
            session: 0,
            open: VecDeque::new(),
            packets: VecDeque::new(),
            lateness: Lateness::new("host"),
            next_observation: Instant::ZERO,
            observe_interval,
            keep: None,
        }
    }

    /// Has the sink keep what it has so often.
    #[must_use]
    pub fn keeping(mut self, interval: Option<Duration>) -> Self {
        self.keep = interval.map(|interval| (interval, Instant::ZERO + interval));
        self
    }

    /// Whether the sink has failed; [`Self::finish`] says why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.sink.has_failed()
    }

    /// Counts how late packets leave.
    pub fn lateness(&mut self) -> &mut Lateness {
        &mut self.lateness
    }

    /// A client has come: the frames from now on are of this session.
    pub fn session(&mut self, now: Instant, session: u32) {
        self.close_until(None);
        self.packets.clear();
        self.session = session;
        self.event(now, "session", f64::from(session));
    }

    /// Something happened.
    pub fn event(&mut self, at: Instant, event: &str, value: f64) {
        let (flow, event) = (self.stream.clone(), event.into());
        self.sink.take(RunEvent::Flow(EventRecord { time_ns: at.as_nanos(), flow, event, value }));
    }

    /// What a browser's page tells of a frame: its decoding time in ms, or its size in bytes.
    pub fn on_page(&mut self, now: Instant, record: &FrameRecord) {
        match record.news {
            FrameNews::Received { size, .. } => self.event(now, "page-received", f64::from(size)),
            FrameNews::Presented { decoding, .. } => {
                self.event(now, "page-presented", decoding.as_millis_f64())
            }
            FrameNews::KeyFrameNeeded => self.event(now, "page-key-frame-needed", 0.0),
            FrameNews::CountsWanted => {}
        }
    }

    /// A browser shows a frame; what it shows is whole.
    pub fn on_shown(&mut self, frame: FrameId, complete: Option<Instant>, shown: Instant) {
        let place = self.packets.binary_search_by_key(&frame, |(known, _)| *known);
        let Ok(place) = place else { return };
        let (stream, session) = (self.stream.clone(), self.session);
        self.sink.take(RunEvent::ClientFrame(ClientFrameRecord {
            stream,
            session,
            frame: frame.0 as u32,
            received_packets: self.packets[place].1,
            complete_ns: Some(complete.unwrap_or(shown).min(shown).as_nanos()),
            decoded_ns: Some(shown.as_nanos()),
            ..ClientFrameRecord::default()
        }));
    }

    /// What the sender did, as of `now`.
    pub fn on_sender_event(&mut self, now: Instant, event: &SenderEvent) {
        match *event {
            SenderEvent::FrameEncoded {
                frame,
                captured,
                target,
                encoder_target,
                payload,
                wire_size,
                repair_size,
                packets,
                key_frame,
            } => {
                self.begin(HostFrameRecord {
                    stream: self.stream.clone(),
                    session: self.session,
                    frame: frame.0 as u32,
                    captured_ns: captured.as_nanos(),
                    target_bps: target.as_bps(),
                    encoder_target_bps: encoder_target.as_bps(),
                    payload_bytes: payload.get() as u32,
                    wire_bytes: wire_size.get() as u32,
                    repair_bytes: repair_size.get() as u32,
                    packets,
                    key_frame,
                    encode_ns: (now - captured).as_nanos(),
                    first_sent_ns: None,
                    last_sent_ns: None,
                });
            }
            SenderEvent::FrameFirstSent { frame, at } => {
                if let Some(open) = self.open(frame) {
                    open.first_sent_ns = Some(at.as_nanos());
                }
            }
            SenderEvent::FrameLastSent { frame, at } => {
                if let Some(open) = self.open(frame) {
                    open.last_sent_ns = Some(at.as_nanos());
                }
                self.close_until(Some(frame))
            }
            SenderEvent::FrameSkipped { captured } => self.event(captured, "frame-skipped", 0.0),
            SenderEvent::KeyFrameWanted { at } => self.event(at, "key-frame-request", 0.0),
            SenderEvent::Level { at, level, frame_interval: every } => self.level(at, level, every),
            SenderEvent::CircuitBreaker { at, action, limit } => {
                self.event(at, action.event(), limit.map_or(0.0, Rate::as_bps_f64));
            }
        }
    }

    /// A frame is encoded: how many packets it has is remembered beyond its last one.
    fn begin(&mut self, record: HostFrameRecord) {
        if self.packets.len() == MAX_OPEN {
            self.packets.pop_front();
        }
        self.packets.push_back((FrameId(record.frame.into()), record.packets));
        self.open.push_back(record);
        while self.open.len() > MAX_OPEN {
            self.close_front();
        }
    }

    fn level(&mut self, at: Instant, level: Level, frame_interval: Duration) {
        self.event(at, "picture-size", level.share());
        self.event(at, "frame-rate", 1.0 / frame_interval.as_secs_f64());
    }

    /// Tells of the controller's state and of lateness, and has all kept, if that is due.
    pub fn observe(&mut self, now: Instant, controller: Option<&dyn RateController>) {
        let Self { sink, lateness, stream, keep, .. } = self;
        lateness.tick(now, &mut |record| sink.take(RunEvent::Lateness(record)));
        if let Some((interval, next)) = keep
            && now >= *next
        {
            *next = now + *interval;
            sink.keep();
        }
        let Some(controller) = controller.filter(|_| now >= self.next_observation) else { return };
        self.next_observation = now + self.observe_interval;
        controller.observe(&mut |variable, value| {
            let (stream, variable) = (stream.clone(), variable.into());
            let record = ControllerRecord { stream, time_ns: now.as_nanos(), variable, value };
            sink.take(RunEvent::Controller(record));
        });
    }

    /// Tells of what is left and of each thread, and how late packets were.
    ///
    /// # Errors
    /// If the sink could not keep an event.
    pub fn finish(mut self, threads: &[ThreadTime]) -> Result<LatenessSummary, SinkError> {
        self.close_until(None);
        let Self { mut sink, lateness, stream, .. } = self;
        let summary = lateness.finish(&mut |record| sink.take(RunEvent::Lateness(record)));
        cpu::tell(&mut *sink, &format!("host/{stream}"), threads);
        sink.finish().map(|()| summary)
    }

    fn open(&mut self, frame: FrameId) -> Option<&mut HostFrameRecord> {
        self.open.iter_mut().find(|open| u64::from(open.frame) == frame.0)
    }

    /// Closes the frames up to this one; all of them if none is given.
    fn close_until(&mut self, frame: Option<FrameId>) {
        let last = frame.map_or(u64::MAX, |frame| frame.0);
        while self.open.front().is_some_and(|open| u64::from(open.frame) <= last) {
            self.close_front();
        }
    }

    fn close_front(&mut self) {
        if let Some(record) = self.open.pop_front() {
            self.sink.take(RunEvent::HostFrame(record));
        }
    }
}
