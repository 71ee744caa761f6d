//! What the client tells of a stream: frames, inputs, sound, events.

use crate::client::hearing::Heard;
use crate::client::sound_meter::Measured;
use crate::cpu::{self, ThreadTime};
use gameway_codec::Stamp;
use gameway_control::FrameId;
use gameway_events::{
    ClientFrameRecord, EventRecord, InputRecord, Name, RunEvent, Sink, SinkError, SoundRecord,
};
use gameway_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Frames that may wait for their picture at once.
const MAX_OPEN: usize = 1024;
/// Inputs that may wait for a picture at once.
const MAX_INPUTS: usize = 1024;

/// Makes events of what happens, for a sink.
#[derive(Debug)]
pub struct ClientLog {
    sink: Box<dyn Sink>,
    stream: Name,
    session: u32,
    /// Frames that are whole or were given up, without their pictures.
    open: BTreeMap<u64, ClientFrameRecord>,
    /// Inputs whose effect was not seen yet, oldest first.
    waiting: VecDeque<InputRecord>,
}

impl ClientLog {
    /// Tells `sink`.
    #[must_use]
    pub fn new(sink: Box<dyn Sink>, stream: &str) -> Self {
        Self {
            sink,
            stream: stream.into(),
            session: 0,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Whether the sink has failed; [`Self::finish`] says why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.sink.has_failed()
    }

    /// The host counts this stay so.
    pub fn session(&mut self, session: u32) {
        self.session = session;
    }

    /// Something happened.
    pub fn event(&mut self, at: Instant, event: &str, value: f64) {
        let (flow, event) = (self.stream.clone(), event.into());
        self.sink.take(RunEvent::Flow(EventRecord { time_ns: at.as_nanos(), flow, event, value }));
    }

    /// Enough of a frame's packets arrived.
    pub fn complete(&mut self, frame: FrameId, at: Instant) {
        self.record(frame).complete_ns = Some(at.as_nanos());
    }

    /// A frame goes to the decoder.
    pub fn arrived(&mut self, frame: FrameId, received: u16, recovered: u16) {
        let record = self.record(frame);
        record.received_packets = received;
        record.recovered_packets = recovered;
    }

    /// A frame will not be decoded.
    pub fn given_up(&mut self, frame: FrameId, received: u16) {
        self.record(frame).received_packets = received;
        self.close(frame);
    }

    /// A frame was decoded, and this was read from its picture; not decoded if there is no time.
    pub fn decoded(&mut self, frame: FrameId, at: Option<Instant>, stamp: Option<Stamp>) {
        let record = self.record(frame);
        record.decoded_ns = at.map(Instant::as_nanos);
        record.picture_frame = stamp.map(|stamp| i64::from(stamp.frame));
        record.picture_captured_ns = stamp.map(|stamp| stamp.captured.as_nanos());
        if let (Some(at), Some(stamp)) = (at, stamp) {
            self.seen(stamp.input, at);
        }
        self.close(frame);
    }

    /// A packet of sound was decoded, or concealed.
    pub(super) fn heard(&mut self, heard: &Heard, measured: &Measured) {
        self.sink.take(RunEvent::Sound(SoundRecord {
            stream: self.stream.clone(),
            session: self.session,
            captured_ns: measured.captured.map(Instant::as_nanos),
            arrived_ns: heard.packet.map(|(_, arrived)| arrived.as_nanos()),
            decoded_ns: heard.at.as_nanos(),
            offset_to_picture_ns: measured.offset.map(Duration::as_nanos),
        }));
    }

    /// An input leaves.
    pub fn input(&mut self, input: u32, sent: Instant) {
        self.waiting.push_back(InputRecord {
            stream: self.stream.clone(),
            session: self.session,
            input,
            sent_ns: sent.as_nanos(),
            picture_ns: None,
        });
        while self.waiting.len() > MAX_INPUTS {
            self.end_input(None);
        }
    }

    /// Tells of what is left and of each thread.
    ///
    /// # Errors
    /// If the sink could not keep an event.
    pub fn finish(mut self, threads: &[ThreadTime]) -> Result<(), SinkError> {
        while let Some((_, record)) = self.open.pop_first() {
            self.sink.take(RunEvent::ClientFrame(record));
        }
        while !self.waiting.is_empty() {
            self.end_input(None);
        }
        cpu::tell(&mut *self.sink, &format!("client/{}", self.stream), threads);
        self.sink.finish()
    }

    /// A picture shows the effect of this input, and so of those before it.
    fn seen(&mut self, input: u32, at: Instant) {
        while self.waiting.front().is_some_and(|waiting| waiting.input <= input) {
            self.end_input(Some(at));
        }
    }

    fn end_input(&mut self, at: Option<Instant>) {
        let Some(mut record) = self.waiting.pop_front() else { return };
        record.picture_ns = at.map(Instant::as_nanos);
        self.sink.take(RunEvent::Input(record));
    }

    fn record(&mut self, frame: FrameId) -> &mut ClientFrameRecord {
        let (stream, session) = (&self.stream, self.session);
        self.open.entry(frame.0).or_insert_with(|| ClientFrameRecord {
            stream: stream.clone(),
            session,
            frame: frame.0 as u32,
            ..ClientFrameRecord::default()
        })
    }

    fn close(&mut self, frame: FrameId) {
        if let Some(record) = self.open.remove(&frame.0) {
            self.sink.take(RunEvent::ClientFrame(record));
        }
        while self.open.len() > MAX_OPEN {
            if let Some((_, record)) = self.open.pop_first() {
                self.sink.take(RunEvent::ClientFrame(record));
            }
        }
    }
}
