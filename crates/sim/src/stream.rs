//! A game stream in the simulator: its sender and receiver, and the log of its frames.

use crate::flow::FlowEnds;
use crate::frame_log::FrameLog;
use crate::packet::{Content, Packet};
use crate::recorder::Recorder;
use gameway_events::{ControllerRecord, Name, TableError};
use gameway_path::{DelayLine, FlowId};
use gameway_session::{FeedbackPacket, Receiver, ReceiverEvent, Sender, SenderEvent};
use gameway_units::{Duration, Instant, ReceiverInstant};

/// What the simulator needs beside the two ends.
pub struct StreamSetup {
    /// Its flow.
    pub flow: FlowId,
    /// When it stops capturing.
    pub stop: Option<Instant>,
    /// The receiver's clock shows this much more than the sender's.
    pub clock_offset: Duration,
    /// From client to server.
    pub return_delay: Duration,
    /// How often the controller's state is written, and first when.
    pub observe_interval: Duration,
    /// See `observe_interval`.
    pub start: Instant,
}

/// Names of what happens, made once.
struct EventNames {
    key_frame_request: Name,
    skipped: Name,
    stall: Name,
}

/// See the module's head.
pub struct Stream {
    setup: StreamSetup,
    sender: Sender,
    receiver: Receiver,
    reports: DelayLine<FeedbackPacket>,
    /// Reports that came in, kept for their memory.
    spare: Vec<FeedbackPacket>,
    frames: FrameLog,
    next_observation: Instant,
    events: EventNames,
    variables: Vec<(&'static str, Name)>,
}

impl Stream {
    /// A stream between these two ends.
    pub fn new(setup: StreamSetup, name: Name, sender: Sender, receiver: Receiver) -> Self {
        Self {
            reports: DelayLine::new(setup.return_delay),
            spare: Vec::new(),
            frames: FrameLog::new(name),
            next_observation: setup.start,
            events: EventNames {
                key_frame_request: "key-frame-request".into(),
                skipped: "frame-skipped".into(),
                stall: "stall".into(),
            },
            variables: Vec::new(),
            setup,
            sender,
            receiver,
        }
    }

    fn receiver_clock(&self, now: Instant) -> ReceiverInstant {
        ReceiverInstant::from_nanos((now + self.setup.clock_offset).as_nanos())
    }

    fn own_clock(&self, at: ReceiverInstant) -> Instant {
        Instant::from_nanos(at.as_nanos()) - self.setup.clock_offset
    }

    fn drain_sender(&mut self, log: &mut Recorder) -> Result<(), TableError> {
        while let Some(event) = self.sender.poll_event() {
            if let SenderEvent::FrameSkipped { captured } = event {
                log.event(captured, self.setup.flow, &self.events.skipped, 0.0)?;
            }
            self.frames.on_sender_event(&event);
        }
        Ok(())
    }

    fn drain_receiver(&mut self, log: &mut Recorder) -> Result<(), TableError> {
        while let Some(event) = self.receiver.poll_event() {
            let flow = self.setup.flow;
            match event {
                ReceiverEvent::FrameComplete { frame, at } => {
                    let at = self.own_clock(at);
                    let payload = self.frames.complete(frame, at);
                    log.payload(flow, payload);
                }
                ReceiverEvent::FrameShown { frame, at } => {
                    let at = self.own_clock(at);
                    self.frames.shown(frame, at);
                    log.frame_shown(flow);
                }
                ReceiverEvent::FramesLost { first, last, .. }
                | ReceiverEvent::FramesUndecodable { first, last, .. } => {
                    self.frames.decided(first, last);
                }
                ReceiverEvent::KeyFrameRequested { at } => {
                    let at = self.own_clock(at);
                    log.event(at, flow, &self.events.key_frame_request, 0.0)?;
                }
                ReceiverEvent::Stall { at, pause } => {
                    let at = self.own_clock(at);
                    log.event(at, flow, &self.events.stall, pause.as_millis_f64())?;
                }
            }
        }
        self.frames.write_closed(log)
    }

    fn poll_reports(&mut self, now: Instant) {
        let mut report = self.spare.pop().unwrap_or_default();
        if self.receiver.poll_feedback(self.receiver_clock(now), &mut report) {
            self.reports.push(now, report);
        } else {
            self.spare.push(report);
        }
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError> {
        let stream = log.name(self.setup.flow).clone();
        let controller = self.sender.controller();
        let mut values = Vec::new();
        let variables = &mut self.variables;
        controller
            .observe(&mut |variable, value| values.push((intern(variables, variable), value)));
        for (variable, value) in values {
            let stream = stream.clone();
            let record = ControllerRecord { stream, time_ns: now.as_nanos(), variable, value };
            log.tables.controller.push(&record)?;
        }
        Ok(())
    }
}

/// The shared form of a name that is written often.
pub fn intern(known: &mut Vec<(&'static str, Name)>, name: &'static str) -> Name {
    if let Some((_, shared)) = known.iter().find(|(text, _)| *text == name) {
        return shared.clone();
    }
    let shared: Name = name.into();
    known.push((name, shared.clone()));
    shared
}

impl FlowEnds for Stream {
    fn server_deadline(&self) -> Option<Instant> {
        let observation = Some(self.next_observation);
        [self.sender.next_deadline(), self.setup.stop, observation].into_iter().flatten().min()
    }

    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError> {
        if self.setup.stop.is_some_and(|stop| stop <= now) {
            self.setup.stop = None;
            self.next_observation = Instant::MAX;
            self.sender.stop(now);
        }
        if self.next_observation <= now {
            self.observe(now, log)?;
            self.next_observation = now + self.setup.observe_interval;
        }
        self.sender.on_deadline(now);
        self.drain_sender(log)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let media = self.sender.poll_transmit(now)?;
        Some(Packet::new(self.setup.flow, Content::Media(media)))
    }

    fn on_arrival(
        &mut self,
        now: Instant,
        packet: &Packet,
        log: &mut Recorder,
    ) -> Result<(), TableError> {
        let Content::Media(media) = &packet.content else { return Ok(()) };
        self.drain_sender(log)?;
        self.frames.accounted_for(media, false);
        self.receiver.on_packet(self.receiver_clock(now), media, packet.ecn);
        self.poll_reports(now);
        self.drain_receiver(log)
    }

    fn client_deadline(&self) -> Option<Instant> {
        self.receiver.next_deadline().map(|at| self.own_clock(at))
    }

    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError> {
        self.poll_reports(now);
        self.drain_receiver(log)
    }

    fn return_deadline(&self) -> Option<Instant> {
        self.reports.next_deadline()
    }

    fn on_return(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError> {
        if let Some(report) = self.reports.pop(now) {
            self.sender.on_feedback(now, &report);
            self.spare.push(report);
        }
        self.drain_sender(log)
    }

    fn on_forwarded(&mut self, packet: &Packet, queueing: Duration) {
        if let Content::Media(media) = &packet.content
            && media.is_train()
        {
            self.frames.met_queue(media.frame, queueing);
        }
    }

    fn on_gone(&mut self, packet: &Packet, log: &mut Recorder) -> Result<(), TableError> {
        if let Content::Media(media) = &packet.content {
            self.drain_sender(log)?;
            self.frames.accounted_for(media, true);
        }
        Ok(())
    }

    fn finish(&mut self, log: &mut Recorder) -> Result<(), TableError> {
        self.drain_sender(log)?;
        self.drain_receiver(log)?;
        self.frames.write_all(log)
    }
}
