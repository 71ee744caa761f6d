//! The sending end of a stream: captures, encodes, cuts, paces, and listens to reports.
//!
//! # Order of things
//! At each frame interval the controller is asked for its target. From `bitrate x frame interval`, the
//! frame's bytes on the wire, headers and repair are taken off; the rest is the encoder's target, and
//! [`Sender::poll_encode`] asks for the frame. The driver gives it back with [`Sender::on_encoded`]: at once
//! from a model, later from an encoder that works meanwhile. The frame's packets enter the pacer; each gets
//! its transport-wide number when it leaves, so numbers are in order of departure whatever the pacer does.
//! An encoder that makes one slice after the other gives parts of a frame before: [`Sender::on_encoded_part`].
//!
//! # When the pacer falls behind
//! A frame is skipped (not encoded, and not numbered) while too many frames wait in the pacer. libwebrtc
//! bounds that queue to two seconds, for conversation; Pudica's pacing leaves at most one frame behind.
//! A game frame that waits longer than a stall is worth nothing, so the bound is 100 ms of frames.
//! A frame due while one is being encoded is captured when that is done; over half an interval late it is skipped.
//! Of a source that tells when something is drawn ([`Sender::on_drawn`]), frames are captured behind the drawings.
//!
//! | constant | default | origin |
//! |---|---|---|
//! | frames in the pacer | 6 | 100 ms at 60 fps: the frame delay that players call a stall (Pudica, section 2) |
//! | padding packet | 1200 B payload | libwebrtc pads with retransmissions where it can: packets of media size |

mod breaker;
mod encoded;
mod entries;
mod fillers;
mod handover;
mod leveled;
mod repeated;
#[cfg(test)]
mod tests;

use crate::capture_slots::CaptureSlots;
use crate::circuit_breaker::CircuitBreaker;
use crate::encode_request::EncodeRequest;
use crate::feedback::FeedbackPacket;
use crate::history::SentHistory;
use crate::packet::MediaPacket;
use crate::parity_losses::ParityLosses;
use crate::protection::Protection;
use crate::references::References;
use crate::repair_code::RepairCode;
use crate::resend::Resend;
use crate::sender_config::SenderConfig;
use crate::sender_event::SenderEvent;
use crate::sent_frames::SentFrames;
pub use encoded::ModelFrame;
use encoded::PartialFrame;
use entries::Entry;
use gameway_control::{
    FeedbackBatch, FrameId, FrameReceived, Notice, Pacer, PacerOutput, Pacing, PacketReport,
    RateController, SentPacket, SequenceNumber, Target,
};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use leveled::Leveled;
use std::collections::VecDeque;

/// The probes that are to follow the frame that left last.
#[derive(Debug, Clone, Copy, Default)]
struct ProbeCount {
    expected: u32,
    sent: u32,
}

/// The sending end.
pub struct Sender {
    config: SenderConfig,
    controller: Box<dyn RateController>,
    /// The first frame of which it is told.
    controlled_from: FrameId,
    breaker: Option<CircuitBreaker>,
    pacer: Pacer<MediaPacket>,
    history: SentHistory,
    sent_frames: SentFrames,
    /// If what is lost is sent again.
    resend: Option<Resend>,
    /// If parity mends what is not sent again.
    parity_losses: Option<ParityLosses>,
    /// If repair is planned by the losses.
    protection: Option<Protection>,
    /// When the next frame is captured.
    slots: CaptureSlots,
    next_frame: FrameId,
    /// The frame that is to be encoded or being so, with the target that it follows.
    encoding: Option<(EncodeRequest, Target)>,
    /// Whether that is still to be asked for.
    encode_wanted: bool,
    /// What of it is in the pacer, or has left.
    begun: Option<PartialFrame>,
    /// The frame that was due while that one was being encoded.
    late: Option<Instant>,
    /// For each frame that waits in the pacer, how many probes are to follow it.
    waiting: VecDeque<u32>,
    /// The newest frame of which a packet left.
    newest_sent: FrameId,
    probes: ProbeCount,
    leveled: Leveled,
    entry: Entry,
    /// The newest such frame of which a packet left.
    newest_entry: FrameId,
    references: References,
    /// The newest frame of which a packet is lost.
    newest_broken: Option<FrameId>,
    /// The newest frame that the receiver has shown, as it says beside its reports.
    shown: Option<FrameId>,
    /// One past the newest packet that a report told of.
    reported_end: u64,
    /// When the packet that left last was due.
    last_due: Instant,
    /// When the receiver made its latest report; what the sender concludes by itself carries it too.
    last_generated: ReceiverInstant,
    /// Kept for its memory.
    reports: Vec<PacketReport>,
    events: VecDeque<SenderEvent>,
}

impl Sender {
    /// A sender that captures its first frame at the configured start.
    #[must_use]
    pub fn new(config: SenderConfig, controller: Box<dyn RateController>) -> Self {
        let padding = config.padding.min(config.overhead.payload) + config.overhead.packet;
        let breaker = config
            .circuit_breaker
            .map(|min| CircuitBreaker::new(config.start, config.frame_interval, min));
        Self {
            config,
            controller,
            controlled_from: FrameId(0),
            breaker,
            pacer: Pacer::new(config.frame_interval, padding),
            history: SentHistory::default(),
            sent_frames: SentFrames::default(),
            resend: config.repair.sends_again().then(|| Resend::of(&config)),
            parity_losses: (!config.repair.sends_again() && config.code == RepairCode::Interleaved)
                .then(ParityLosses::default),
            protection: config.repair.goal().map(|goal| Protection::new(goal, config.code)),
            slots: CaptureSlots::new(config.start, config.frame_interval),
            next_frame: FrameId(0),
            encoding: None,
            encode_wanted: false,
            begun: None,
            late: None,
            waiting: VecDeque::new(),
            newest_sent: FrameId(0),
            probes: ProbeCount::default(),
            leveled: Leveled::new(&config),
            entry: Entry::Wanted(None),
            newest_entry: FrameId(0),
            references: References::default(),
            newest_broken: None,
            shown: None,
            reported_end: 0,
            last_due: config.start,
            last_generated: ReceiverInstant::ZERO,
            reports: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The time given by [`Self::next_deadline`] has come; poll for a frame to encode and for packets
    /// afterwards.
    pub fn on_deadline(&mut self, now: Instant) {
        self.expire_silent_packets(now);
        self.check_breaker(now);
        self.send_again(now);
        if self.controller.next_timer().is_some_and(|due| due <= now) {
            self.controller.on_timer(now);
            self.retarget(now);
        }
        if let Some(due) = self.next_capture().filter(|&due| due <= now) {
            self.capture(now, due);
        }
    }

    /// Something was drawn, of a source that tells of that: it is captured as soon as a frame may be.
    pub fn on_drawn(&mut self, at: Instant) {
        self.slots.on_drawn(at);
    }

    fn next_capture(&self) -> Option<Instant> {
        self.slots.due(self.encoding.is_some())
    }

    /// The frame that is to be encoded now, once; answer with [`Self::on_encoded`] or
    /// [`Self::on_encoder_failed`].
    pub fn poll_encode(&mut self) -> Option<EncodeRequest> {
        let (request, _) = self.encoding?;
        std::mem::take(&mut self.encode_wanted).then_some(request)
    }

    /// A report of the receiver came; poll for packets afterwards.
    pub fn on_feedback(&mut self, now: Instant, feedback: &FeedbackPacket) {
        let shown = feedback.newest_shown;
        self.on_asked(now, &feedback.asked, shown);
        if feedback.only_asks() {
            return;
        }
        self.last_generated = feedback.generated;
        let end = feedback.base.0.saturating_add(feedback.packets.len() as u64);
        self.reported_end = self.reported_end.max(end);
        if feedback.key_frame_request {
            self.want_entry_after(now, end, shown);
        }
        self.reports.clear();
        self.history.on_feedback(now, feedback, &mut self.reports);
        if let Some(breaker) = &mut self.breaker {
            let in_flight = self.history.in_flight();
            let batch = FeedbackBatch::new(&self.reports, self.last_generated, in_flight);
            breaker.on_report(now, &batch);
        }
        self.tell_controller(now);
    }

    /// The receiver has all of a frame, which it says ahead of its report on the packets; its last packet arrived then, on
    /// the clock of reports, where that is known. Gives that packet's number; `None` if no such frame has left.
    pub fn on_frame_received(
        &mut self,
        now: Instant,
        frame: FrameId,
        arrival: Option<ReceiverInstant>,
    ) -> Option<SequenceNumber> {
        let (first_sent, last) = self.sent_frames.whole(frame)?;
        self.reported_end = self.reported_end.max(last.sequence.0 + 1);
        if let Some(arrival) = arrival.filter(|_| self.is_controlled(frame)) {
            let received = FrameReceived::new(frame, first_sent, last, arrival);
            self.controller.on_notice(now, &Notice::FrameReceived(received));
            self.retarget(now);
        }
        Some(last.sequence)
    }

    /// RTCP's reports told a round trip, without the time for which the receiver held it. To be called where reports on
    /// packets do not say when they were made.
    pub fn on_round_trip(&mut self, now: Instant, round_trip: Duration) {
        self.controller.on_notice(now, &Notice::RoundTrip(round_trip));
        self.retarget(now);
    }

    /// The receiver asks for a frame that it can show, without saying of which packets it knows; the newest report tells. It has
    /// shown that frame and none behind it, if it says so.
    pub fn on_key_frame_request(&mut self, now: Instant, shown: Option<FrameId>) {
        self.want_entry_after(now, self.reported_end, shown);
    }

    /// When the packet that [`Self::poll_transmit`] gave last was due: how late the driver is.
    #[must_use]
    pub fn last_due(&self) -> Instant {
        self.last_due
    }

    /// The next packet that may leave now; to be called until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<MediaPacket> {
        loop {
            let output = self.pacer.poll(now, self.history.in_flight())?;
            let (packet, due, probe_cluster) = match output {
                PacerOutput::Packet { token, due, probe_cluster } => (token, due, probe_cluster),
                PacerOutput::Probe { frame, due } => (self.probe(frame), due, None),
                PacerOutput::Padding { size, due, probe_cluster } => {
                    (self.padding(size), due, Some(probe_cluster))
                }
            };
            if self.is_in_time(now, &packet) {
                self.last_due = due;
                return Some(self.leave(now, packet, probe_cluster));
            }
        }
    }

    /// Whether what waits has no room in the window before a report comes.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.pacer.window_blocks(self.history.in_flight())
    }

    /// A packet of a byte of padding that leaves now whatever window and pacing say, for the report that it brings, as the
    /// probes of QUIC's senders do (RFC 9002 section 6.2.4).
    pub fn solicit(&mut self, now: Instant) -> MediaPacket {
        let min = self.config.overhead.packet + Bytes::new(1);
        self.leave(now, self.padding(min), None)
    }

    fn leave(&mut self, now: Instant, packet: MediaPacket, cluster: Option<u32>) -> MediaPacket {
        let packet = MediaPacket { sequence: self.history.end(), ..packet };
        let sent = SentPacket::new(packet.sequence, now, packet.frame, packet.wire_size())
            .with_kind(packet.kind)
            .with_first_of_frame(packet.is_first_of_frame())
            .with_last_of_frame(packet.is_last_of_frame())
            .with_probe_cluster(cluster);
        self.history.on_sent(sent);
        if let Some(breaker) = &mut self.breaker {
            breaker.on_sent(sent.size);
        }
        if self.is_controlled(sent.frame) {
            self.controller.on_sent(now, &sent);
        }
        if let Some(resend) = &mut self.resend {
            resend.on_sent(now, &packet);
        }
        if packet.is_train() {
            self.sent_frames.on_sent(&sent);
            if let Some(losses) = &mut self.parity_losses {
                losses.on_sent(&packet);
            }
            self.note_frame_progress(now, &packet);
        }
        packet
    }

    /// The number of copies of each audio packet that are to be sent after the packet itself. It is planned from the measured
    /// loss and the goal of repair. It is 0 unless repair is planned (`fec`, `adaptive`).
    #[must_use]
    pub fn audio_copies(&self) -> usize {
        self.protection.as_ref().map_or(0, Protection::audio_copies)
    }

    /// Reserves this rate of the target bitrate for audio from now on; frames get the rest. It is a rate on the wire, with
    /// headers.
    pub fn set_reserved_rate(&mut self, reserved_rate: Rate) {
        self.config.reserved_rate = reserved_rate;
    }

    /// An audio packet is sent now, ahead of all packets in the pacer. Feedback does not report it.
    pub fn pass(&mut self, now: Instant, size: Bytes) {
        self.pacer.pass(now, size);
    }

    /// When to call [`Self::on_deadline`] and poll for packets next; `None` when the stream was stopped
    /// and all is sent (or waits for feedback).
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let capture = self.next_capture();
        let timer = self.controller.next_timer().filter(|_| capture.is_some());
        let pacer = self.pacer.next_deadline(self.history.in_flight());
        let again = self.resend.as_ref().and_then(Resend::next_deadline);
        let expiry = self.history.expiry();
        Instant::first_of([capture, timer, pacer, expiry, self.breaker_deadline(), again])
    }

    /// Captures no more frames; what is in the pacer still leaves.
    pub fn stop(&mut self, _now: Instant) {
        self.slots.stop();
    }

    /// Captures again after [`Self::stop`], beginning now, unless the circuit breaker has ended the stream.
    pub fn resume(&mut self, now: Instant) {
        match self.has_ended() {
            true => self.slots.stop(),
            false => self.slots.resume(now),
        }
    }

    /// The controller, for its log.
    #[must_use]
    pub fn controller(&self) -> &dyn RateController {
        &*self.controller
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// Bytes sent of which nothing is known yet.
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        self.history.in_flight()
    }

    /// Frames of which packets wait in the pacer.
    #[must_use]
    pub fn waiting_frames(&self) -> usize {
        self.waiting.len()
    }

    fn capture(&mut self, now: Instant, due: Instant) {
        if self.waiting.len() >= self.leveled.max_waiting_frames(&self.config) {
            self.events.push_back(SenderEvent::FrameSkipped { captured: due });
        } else if self.encoding.is_some() {
            let skipped = self.late.replace(due);
            self.events.extend(skipped.map(|captured| SenderEvent::FrameSkipped { captured }));
        } else {
            self.ask_for_frame(now, due);
        }
        let missed = self.slots.advance(now);
        self.events.extend(missed.map(|captured| SenderEvent::FrameSkipped { captured }));
    }

    /// The encoder is free: what was due meanwhile is captured now, unless the next is nearer.
    fn capture_late(&mut self, now: Instant) {
        let Some(due) = self.late.take() else { return };
        if now.saturating_since(due) <= self.leveled.frame_interval / 2
            && self.slots.next().is_some()
        {
            self.ask_for_frame(now, now);
        } else {
            self.events.push_back(SenderEvent::FrameSkipped { captured: due });
        }
    }

    fn ask_for_frame(&mut self, now: Instant, captured: Instant) {
        self.slots.on_captured();
        self.choose_level(now, captured);
        let target = self.target();
        self.controller.on_notice(now, &Notice::Captured);
        self.pacer.set_target(now, &target);
        let (payload, repair_share) = self.next_payload(now, &target);
        let refers_back = self.next_reference();
        let request = EncodeRequest {
            frame: self.next_frame,
            captured,
            rate: payload / self.leveled.frame_interval,
            payload,
            repair_share,
            bounded: target.requests.bounds_frame,
            level: self.leveled.level,
            key_frame: target.requests.key_frame || refers_back.is_none(),
            refers_back: refers_back.unwrap_or(1),
            in_parts: self.controller.sends_in_parts() && target.pacing != Pacing::Burst,
        };
        self.encoding = Some((request, target));
        self.encode_wanted = true;
    }

    fn note_frame_progress(&mut self, now: Instant, packet: &MediaPacket) {
        let frame = packet.frame;
        if packet.is_first_of_frame() {
            self.newest_sent = frame;
            if packet.is_of_entry() {
                self.newest_entry = frame;
            }
            // It is told of when it is encoded.
            match self.begun.as_mut().filter(|_| frame == self.next_frame) {
                Some(begun) => begun.first_sent = Some(now),
                None => self.events.push_back(SenderEvent::FrameFirstSent { frame, at: now }),
            }
        }
        if packet.is_last_of_frame() {
            self.frame_is_over();
            if packet.is_of_entry() {
                self.entry_left(now, packet.sequence);
            }
            self.events.push_back(SenderEvent::FrameLastSent { frame, at: now });
        }
    }

    /// The oldest frame in the pacer has no more packets; probes follow.
    fn frame_is_over(&mut self) {
        let expected = self.waiting.pop_front().unwrap_or(0);
        self.probes = ProbeCount { expected, sent: 0 };
    }

    fn expire_silent_packets(&mut self, now: Instant) {
        self.reports.clear();
        self.history.expire(now, &mut self.reports);
        self.tell_controller(now);
    }

    /// Hands the collected news to the controller and its new target to the pacer.
    fn tell_controller(&mut self, now: Instant) {
        if self.reports.is_empty() {
            return;
        }
        let batch =
            FeedbackBatch::new(&self.reports, self.last_generated, self.history.in_flight());
        let resend = self.resend.as_mut();
        let unmended = resend.map_or_else(Vec::new, |resend| resend.on_reports(now, &batch));
        if let Some(protection) = &mut self.protection {
            protection.on_reports(&self.reports);
        }
        self.report_to_controller(now);
        self.on_asked(now, &unmended, None);
        self.note_losses(now);
        self.retarget(now);
    }

    fn retarget(&mut self, now: Instant) {
        let target = self.target();
        self.pacer.set_target(now, &target);
    }
}
