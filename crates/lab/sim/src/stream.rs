//! A game stream in the simulator: its sender and receiver, and the log of its frames.
//!
//! A model encodes in no time, unless the stream is the twin of a live one: then a frame is ready after a time that is
//! drawn from those that the live encoder took ([`crate::encoding`]). Frames that leave unevenly meet each other in the
//! queue.

use crate::clock::ReceiverClock;
use crate::encoding::{EncodeTimes, Encoding};
use crate::flow::FlowEnds;
use crate::frame_log::FrameLog;
use crate::packet::{Content, Packet};
use gameway_events::Name;
use gameway_experiment::{Recorder, intern};
use gameway_media::EncoderModel;
use gameway_path::FlowId;
use gameway_session::{FeedbackPacket, Receiver, ReceiverEvent, Sender, SenderEvent};
use gameway_units::{Duration, Ecn, Instant, Rate};
use std::collections::VecDeque;

/// What the simulator needs beside the two ends.
pub struct StreamSetup {
    /// Its flow.
    pub flow: FlowId,
    /// When it starts, stops and pauses.
    pub schedule: Schedule,
    /// The receiver's clock.
    pub clock: ReceiverClock,
    /// The ECN field with which its packets leave.
    pub ecn: Ecn,
    /// How often the controller's state is written.
    pub observe_interval: Duration,
}

/// When a stream captures frames.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// From then on.
    pub start: Instant,
    /// Until then; for ever if not given.
    pub stop: Option<Instant>,
    /// But not between these.
    pub pause: Option<(Instant, Instant)>,
}

/// Names of what happens, made once.
struct EventNames {
    key_frame_request: Name,
    reference_request: Name,
    skipped: Name,
    stall: Name,
    picture_size: Name,
    frame_rate: Name,
}

/// See the module's head.
pub struct Stream {
    setup: StreamSetup,
    sender: Sender,
    encoder: EncoderModel,
    encode_times: Option<EncodeTimes>,
    encoding: Option<Encoding>,
    receiver: Receiver,
    /// When the receiver wants to act: asked for far more often than it changes.
    receiver_due: Option<Instant>,
    /// Where the receiver writes its next report.
    report: FeedbackPacket,
    /// Reports that are to leave now.
    to_send: VecDeque<FeedbackPacket>,
    /// Reports under way, oldest first, by number.
    under_way: VecDeque<(u64, FeedbackPacket)>,
    reports: u64,
    /// Reports that came in or were lost, kept for their memory.
    spare: Vec<FeedbackPacket>,
    frames: FrameLog,
    paused: bool,
    next_observation: Instant,
    events: EventNames,
    variables: Vec<Name>,
}

impl Stream {
    /// A stream between these two ends, of frames from this encoder.
    pub fn new(
        setup: StreamSetup,
        name: Name,
        (sender, encoder): (Sender, EncoderModel),
        receiver: Receiver,
    ) -> Self {
        Self {
            receiver_due: receiver.next_deadline().map(|at| setup.clock.own(at)),
            report: FeedbackPacket::default(),
            to_send: VecDeque::new(),
            under_way: VecDeque::new(),
            reports: 0,
            spare: Vec::new(),
            frames: FrameLog::new(name),
            paused: false,
            next_observation: setup.schedule.start,
            events: EventNames {
                key_frame_request: "key-frame-request".into(),
                reference_request: "reference-request".into(),
                skipped: "frame-skipped".into(),
                stall: "stall".into(),
                picture_size: "picture-size".into(),
                frame_rate: "frame-rate".into(),
            },
            variables: Vec::new(),
            setup,
            sender,
            encoder,
            encode_times: None,
            encoding: None,
            receiver,
        }
    }

    /// The same with an encoder that takes its time.
    pub fn with_encode_times(self, encode_times: Option<EncodeTimes>) -> Self {
        Self { encode_times, ..self }
    }

    fn encode(&mut self, now: Instant) {
        let Some(times) = &mut self.encode_times else {
            return self.sender.encode_with(now, &mut self.encoder);
        };
        if let Some(frame) = self.sender.encode_by(&mut self.encoder) {
            let took = times.at(now, frame.key_frame);
            let slices = self.encoder.slices_made();
            self.encoding = Some(Encoding::new(frame, now, took, slices));
        }
    }

    fn go_on_encoding(&mut self, now: Instant) {
        if let Some(one) = &mut self.encoding
            && one.advance(now, &mut self.sender)
        {
            self.encoding = None;
        }
    }

    fn drain_sender(&mut self, log: &mut Recorder) {
        while let Some(event) = self.sender.poll_event() {
            let flow = self.setup.flow;
            match event {
                SenderEvent::FrameSkipped { captured } => {
                    log.event(captured, flow, &self.events.skipped, 0.0);
                }
                SenderEvent::Level { at, level, frame_interval } => {
                    log.event(at, flow, &self.events.picture_size, level.share());
                    let rate = 1.0 / frame_interval.as_secs_f64();
                    log.event(at, flow, &self.events.frame_rate, rate);
                }
                SenderEvent::CircuitBreaker { at, action, limit } => {
                    let limit = limit.map_or(0.0, Rate::as_bps_f64);
                    log.event(at, flow, &action.event().into(), limit);
                }
                _ => {}
            }
            self.frames.on_sender_event(&event);
        }
    }

    fn drain_receiver(&mut self, now: Instant, log: &mut Recorder) {
        while let Some(event) = self.receiver.poll_event() {
            let flow = self.setup.flow;
            match event {
                ReceiverEvent::FrameComplete { frame, at } => {
                    let at = self.setup.clock.time_of(at, now);
                    let payload = self.frames.complete(frame, at);
                    log.payload(flow, payload);
                }
                ReceiverEvent::FrameShown { frame, at } => {
                    let at = self.setup.clock.time_of(at, now);
                    self.frames.shown(frame, at);
                    log.frame_shown(flow);
                }
                ReceiverEvent::FramesLost { first, last, .. }
                | ReceiverEvent::FramesUndecodable { first, last, .. } => {
                    self.frames.decided(first, last);
                }
                ReceiverEvent::KeyFrameRequested { at, newest_shown } => {
                    let at = self.setup.clock.time_of(at, now);
                    let name = match newest_shown {
                        Some(_) => &self.events.reference_request,
                        None => &self.events.key_frame_request,
                    };
                    log.event(at, flow, name, 0.0);
                }
                ReceiverEvent::Stall { at, pause } => {
                    let at = self.setup.clock.time_of(at, now);
                    log.event(at, flow, &self.events.stall, pause.as_millis_f64());
                }
            }
        }
        self.frames.write_closed(log)
    }

    fn poll_reports(&mut self, now: Instant) {
        let clock = &self.setup.clock;
        if self.receiver.poll_feedback(clock.shows(now), &mut self.report) {
            let memory = self.spare.pop().unwrap_or_default();
            self.to_send.push_back(std::mem::replace(&mut self.report, memory));
        }
        self.receiver_due = self.receiver.next_deadline().map(|at| clock.own(at));
    }

    /// Takes a report off the way; those before it that were lost went when they were.
    fn take_report(&mut self, number: u64) -> Option<FeedbackPacket> {
        let place = self.under_way.iter().position(|(one, _)| *one == number)?;
        self.under_way.remove(place).map(|(_, report)| report)
    }

    /// When the schedule next changes what the sender does.
    fn next_change(&self) -> Option<Instant> {
        let Schedule { stop, pause, .. } = self.setup.schedule;
        Instant::first_of([stop, pause.map(|(from, to)| if self.paused { to } else { from })])
    }

    fn follow_schedule(&mut self, now: Instant) {
        let Schedule { stop, pause, .. } = &mut self.setup.schedule;
        match *pause {
            Some((from, _)) if !self.paused && from <= now => {
                self.paused = true;
                self.sender.stop(now);
            }
            Some((_, to)) if self.paused && to <= now => {
                self.paused = false;
                *pause = None;
                self.sender.resume(now);
            }
            _ => {}
        }
        if stop.is_some_and(|stop| stop <= now) {
            (*stop, *pause) = (None, None);
            self.next_observation = Instant::MAX;
            self.sender.stop(now);
        }
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) {
        let controller = self.sender.controller();
        let mut values = Vec::new();
        let variables = &mut self.variables;
        controller
            .observe(&mut |variable, value| values.push((intern(variables, variable), value)));
        for (variable, value) in values {
            log.state(now, self.setup.flow, &variable, value);
        }
    }
}

impl FlowEnds for Stream {
    fn server_deadline(&self) -> Option<Instant> {
        let observation = Some(self.next_observation);
        let change = self.next_change();
        let encoded = self.encoding.as_ref().map(Encoding::next);
        Instant::first_of([self.sender.next_deadline(), change, observation, encoded])
    }

    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) {
        self.follow_schedule(now);
        if self.next_observation <= now {
            self.observe(now, log);
            self.next_observation = now + self.setup.observe_interval;
        }
        self.go_on_encoding(now);
        self.sender.on_deadline(now);
        self.encode(now);
        self.drain_sender(log)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let media = self.sender.poll_transmit(now)?;
        let packet = Packet::new(self.setup.flow, media.wire_size(), Content::Media(media));
        Some(Packet { ecn: self.setup.ecn, ..packet })
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Content::Media(media) = &packet.content else { return };
        self.drain_sender(log);
        if !packet.journey.is_copy {
            self.frames.accounted_for(media, false);
        }
        self.receiver.on_packet(self.setup.clock.shows(now), media, packet.ecn);
        self.poll_reports(now);
        self.drain_receiver(now, log)
    }

    fn client_deadline(&self) -> Option<Instant> {
        self.receiver_due
    }

    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder) {
        self.poll_reports(now);
        self.drain_receiver(now, log)
    }

    fn poll_return(&mut self, _now: Instant) -> Option<Packet> {
        let report = self.to_send.pop_front()?;
        let (number, size) = (self.reports, report.wire_size());
        self.reports += 1;
        self.under_way.push_back((number, report));
        Some(Packet::back(self.setup.flow, size, Content::Report(number)))
    }

    fn on_return(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Content::Report(number) = packet.content else { return };
        if let Some(report) = self.take_report(number) {
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

    fn on_gone(&mut self, packet: &Packet, log: &mut Recorder) {
        match &packet.content {
            Content::Media(media) => {
                self.drain_sender(log);
                self.frames.accounted_for(media, true);
            }
            Content::Report(number) => {
                let report = self.take_report(*number);
                self.spare.extend(report);
            }
            _ => {}
        }
    }

    fn finish(&mut self, log: &mut Recorder) {
        self.drain_sender(log);
        self.frames.write_all(log)
    }
}
