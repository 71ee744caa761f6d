//! What the client writes down: frames, inputs, events.

use crate::client::hearing::Heard;
use crate::client::sound_meter::Measured;
use gameway_codec::Stamp;
use gameway_control::FrameId;
use gameway_events::{
    ClientFrameRecord, EventRecord, InputRecord, Name, SoundRecord, Table, TableError,
};
use gameway_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Frames that may wait for their picture at once.
const MAX_OPEN: usize = 1024;
/// Inputs that may wait for a picture at once.
const MAX_INPUTS: usize = 1024;

/// The tables of a client.
#[derive(Debug)]
pub struct ClientLog {
    stream: Name,
    session: u32,
    /// Frames that are whole or were given up, without their pictures.
    open: BTreeMap<u64, ClientFrameRecord>,
    /// Inputs whose effect was not seen yet, oldest first.
    waiting: VecDeque<InputRecord>,
    frames: Table<ClientFrameRecord>,
    inputs: Table<InputRecord>,
    sound: Table<SoundRecord>,
    events: Table<EventRecord>,
}

impl ClientLog {
    /// Creates the tables in `folder`, which must exist.
    ///
    /// # Errors
    /// If a table cannot be created.
    pub fn create(folder: &Path, stream: &str) -> Result<Self, TableError> {
        Ok(Self {
            stream: stream.into(),
            session: 0,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            frames: Table::create(folder)?,
            inputs: Table::create(folder)?,
            sound: Table::create(folder)?,
            events: Table::create(folder)?,
        })
    }

    /// The host counts this stay so.
    pub fn session(&mut self, session: u32) {
        self.session = session;
    }

    /// Something happened.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn event(&mut self, at: Instant, event: &str, value: f64) -> Result<(), TableError> {
        let (flow, event) = (self.stream.clone(), event.into());
        self.events.push(&EventRecord { time_ns: at.as_nanos(), flow, event, value })
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
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn given_up(&mut self, frame: FrameId, received: u16) -> Result<(), TableError> {
        self.record(frame).received_packets = received;
        self.close(frame)
    }

    /// A frame was decoded, and this was read from its picture; not decoded if there is no time.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn decoded(
        &mut self,
        frame: FrameId,
        at: Option<Instant>,
        stamp: Option<Stamp>,
    ) -> Result<(), TableError> {
        let record = self.record(frame);
        record.decoded_ns = at.map(Instant::as_nanos);
        record.picture_frame = stamp.map(|stamp| i64::from(stamp.frame));
        record.picture_captured_ns = stamp.map(|stamp| stamp.captured.as_nanos());
        if let (Some(at), Some(stamp)) = (at, stamp) {
            self.seen(stamp.input, at)?;
        }
        self.close(frame)
    }

    /// A packet of sound was decoded, or concealed.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(super) fn heard(&mut self, heard: &Heard, measured: &Measured) -> Result<(), TableError> {
        self.sound.push(&SoundRecord {
            stream: self.stream.clone(),
            session: self.session,
            captured_ns: measured.captured.map(Instant::as_nanos),
            arrived_ns: heard.packet.map(|(_, arrived)| arrived.as_nanos()),
            decoded_ns: heard.at.as_nanos(),
            offset_to_picture_ns: measured.offset.map(Duration::as_nanos),
        })
    }

    /// An input leaves.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn input(&mut self, input: u32, sent: Instant) -> Result<(), TableError> {
        self.waiting.push_back(InputRecord {
            stream: self.stream.clone(),
            session: self.session,
            input,
            sent_ns: sent.as_nanos(),
            picture_ns: None,
        });
        while self.waiting.len() > MAX_INPUTS {
            self.write_input(None)?;
        }
        Ok(())
    }

    /// Writes what is left and closes the tables.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        while let Some((_, record)) = self.open.pop_first() {
            self.frames.push(&record)?;
        }
        while !self.waiting.is_empty() {
            self.write_input(None)?;
        }
        self.frames.finish()?;
        self.inputs.finish()?;
        self.sound.finish()?;
        self.events.finish()
    }

    /// A picture shows the effect of this input, and so of those before it.
    fn seen(&mut self, input: u32, at: Instant) -> Result<(), TableError> {
        while self.waiting.front().is_some_and(|waiting| waiting.input <= input) {
            self.write_input(Some(at))?;
        }
        Ok(())
    }

    fn write_input(&mut self, at: Option<Instant>) -> Result<(), TableError> {
        let Some(mut record) = self.waiting.pop_front() else { return Ok(()) };
        record.picture_ns = at.map(Instant::as_nanos);
        self.inputs.push(&record)
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

    fn close(&mut self, frame: FrameId) -> Result<(), TableError> {
        if let Some(record) = self.open.remove(&frame.0) {
            self.frames.push(&record)?;
        }
        while self.open.len() > MAX_OPEN {
            if let Some((_, record)) = self.open.pop_first() {
                self.frames.push(&record)?;
            }
        }
        Ok(())
    }
}
