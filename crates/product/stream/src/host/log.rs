//! What the host writes down: frames, the controller's state, events.

use gameway_control::{FrameId, RateController};
use gameway_events::{ControllerRecord, EventRecord, HostFrameRecord, Name, Table, TableError};
use gameway_session::SenderEvent;
use gameway_units::{Duration, Instant};
use gameway_webrtc::feedback::frames::{FrameNews, FrameRecord};
use std::collections::VecDeque;
use std::path::Path;

/// Frames that may be open at once: more than any pacer holds back.
const MAX_OPEN: usize = 512;

/// The tables of a host.
#[derive(Debug)]
pub struct HostLog {
    stream: Name,
    session: u32,
    open: VecDeque<HostFrameRecord>,
    frames: Table<HostFrameRecord>,
    controller: Table<ControllerRecord>,
    events: Table<EventRecord>,
    next_observation: Instant,
    observe_interval: Duration,
}

impl HostLog {
    /// Creates the tables in `folder`, which must exist.
    ///
    /// # Errors
    /// If a table cannot be created.
    pub fn create(
        folder: &Path,
        stream: &str,
        observe_interval: Duration,
    ) -> Result<Self, TableError> {
        Ok(Self {
            stream: stream.into(),
            session: 0,
            open: VecDeque::new(),
            frames: Table::create(folder)?,
            controller: Table::create(folder)?,
            events: Table::create(folder)?,
            next_observation: Instant::ZERO,
            observe_interval,
        })
    }

    /// A client has come: the frames from now on are of this session.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn session(&mut self, now: Instant, session: u32) -> Result<(), TableError> {
        self.close_until(None)?;
        self.session = session;
        self.event(now, "session", f64::from(session))
    }

    /// Something happened.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn event(&mut self, at: Instant, event: &str, value: f64) -> Result<(), TableError> {
        let (flow, event) = (self.stream.clone(), event.into());
        self.events.push(&EventRecord { time_ns: at.as_nanos(), flow, event, value })
    }

    /// What a browser's page tells of a frame: its decoding time in ms, or its size in bytes.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn on_page(&mut self, now: Instant, record: &FrameRecord) -> Result<(), TableError> {
        match record.news {
            FrameNews::Received { size, .. } => self.event(now, "page-received", f64::from(size)),
            FrameNews::Presented { decoding } => {
                self.event(now, "page-presented", decoding.as_millis_f64())
            }
            FrameNews::KeyFrameNeeded => self.event(now, "page-key-frame-needed", 0.0),
        }
    }

    /// What the sender did, as of `now`.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn on_sender_event(&mut self, now: Instant, event: &SenderEvent) -> Result<(), TableError> {
        match *event {
            SenderEvent::FrameEncoded {
                frame,
                captured,
                target,
                encoder_target,
                payload,
                wire_size,
                packets,
                key_frame,
            } => {
                self.open.push_back(HostFrameRecord {
                    stream: self.stream.clone(),
                    session: self.session,
                    frame: frame.0 as u32,
                    captured_ns: captured.as_nanos(),
                    target_bps: target.as_bps(),
                    encoder_target_bps: encoder_target.as_bps(),
                    payload_bytes: payload.get() as u32,
                    wire_bytes: wire_size.get() as u32,
                    packets,
                    key_frame,
                    encode_ns: (now - captured).as_nanos(),
                    first_sent_ns: None,
                    last_sent_ns: None,
                });
                while self.open.len() > MAX_OPEN {
                    self.close_front()?;
                }
                Ok(())
            }
            SenderEvent::FrameFirstSent { frame, at } => {
                if let Some(open) = self.open(frame) {
                    open.first_sent_ns = Some(at.as_nanos());
                }
                Ok(())
            }
            SenderEvent::FrameLastSent { frame, at } => {
                if let Some(open) = self.open(frame) {
                    open.last_sent_ns = Some(at.as_nanos());
                }
                self.close_until(Some(frame))
            }
            SenderEvent::FrameSkipped { captured } => self.event(captured, "frame-skipped", 0.0),
            SenderEvent::KeyFrameWanted { at } => self.event(at, "key-frame-request", 0.0),
        }
    }

    /// Writes the controller's state if that is due.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn observe(
        &mut self,
        now: Instant,
        controller: &dyn RateController,
    ) -> Result<(), TableError> {
        if now < self.next_observation {
            return Ok(());
        }
        self.next_observation = now + self.observe_interval;
        let mut result = Ok(());
        controller.observe(&mut |variable, value| {
            let (stream, variable) = (self.stream.clone(), variable.into());
            let record = ControllerRecord { stream, time_ns: now.as_nanos(), variable, value };
            if result.is_ok() {
                result = self.controller.push(&record);
            }
        });
        result
    }

    /// Writes what is left and closes the tables.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.close_until(None)?;
        self.frames.finish()?;
        self.controller.finish()?;
        self.events.finish()
    }

    fn open(&mut self, frame: FrameId) -> Option<&mut HostFrameRecord> {
        self.open.iter_mut().find(|open| u64::from(open.frame) == frame.0)
    }

    /// Writes the frames up to this one; all of them if none is given.
    fn close_until(&mut self, frame: Option<FrameId>) -> Result<(), TableError> {
        let last = frame.map_or(u64::MAX, |frame| frame.0);
        while self.open.front().is_some_and(|open| u64::from(open.frame) <= last) {
            self.close_front()?;
        }
        Ok(())
    }

    fn close_front(&mut self) -> Result<(), TableError> {
        self.open.pop_front().map_or(Ok(()), |record| self.frames.push(&record))
    }
}
