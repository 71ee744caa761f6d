//! The receiving end of a stream: reports arrivals, puts frames together and shows them.

use crate::arrivals::ArrivalLog;
use crate::feedback::{FeedbackPacket, ReceivedPacket};
use crate::missing::MissingPackets;
use crate::packet::MediaPacket;
use gameway_control::{FeedbackStyle, FrameId, PacketKind, SequenceNumber};
use gameway_media::{
    Admission, FrameOutcome, FrameProgress, Playout, PlayoutConfig, PlayoutEvent, Reassembly,
};
use gameway_units::{Duration, Ecn, ReceiverInstant, Repair};
use std::collections::VecDeque;

/// How a receiver behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// When it reports.
    pub feedback: FeedbackStyle,
    /// Arrival times are reported rounded down to multiples of this.
    pub arrival_resolution: Duration,
    /// How it decides about frames.
    pub playout: PlayoutConfig,
    /// How losses are repaired.
    pub repair: Repair,
}

impl ReceiverConfig {
    /// The defaults, with reports in this style.
    #[must_use]
    pub fn new(feedback: FeedbackStyle) -> Self {
        let arrival_resolution = Duration::from_nanos(1);
        let (playout, repair) = (PlayoutConfig::default(), Repair::None);
        Self { feedback, arrival_resolution, playout, repair }
    }
}

/// Something that happened at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// Enough of the frame's packets arrived.
    FrameComplete {
        /// Which frame.
        frame: FrameId,
        /// When.
        at: ReceiverInstant,
    },
    /// The player saw the frame.
    FrameShown {
        /// Which frame.
        frame: FrameId,
        /// When.
        at: ReceiverInstant,
    },
    /// The frames `first..=last` lacked packets when they were given up.
    FramesLost {
        /// The first of them.
        first: FrameId,
        /// The last of them.
        last: FrameId,
        /// When.
        at: ReceiverInstant,
    },
    /// The frames `first..=last` were whole, but what they refer to was not shown.
    FramesUndecodable {
        /// The first of them.
        first: FrameId,
        /// The last of them.
        last: FrameId,
        /// When.
        at: ReceiverInstant,
    },
    /// A key frame is asked for with the next report, which is due now.
    KeyFrameRequested {
        /// When.
        at: ReceiverInstant,
    },
    /// The picture stood still for longer than the stall limit, and moves again.
    Stall {
        /// When it moved again.
        at: ReceiverInstant,
        /// How long it had stood still.
        pause: Duration,
    },
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    arrivals: ArrivalLog,
    /// If it asks for what is missing.
    missing: Option<MissingPackets>,
    frames: Reassembly,
    playout: Playout,
    /// A key frame request waits for the next report since then.
    request_pending: Option<ReceiverInstant>,
    events: VecDeque<ReceiverEvent>,
}

impl Receiver {
    /// A receiver that waits for frame zero.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            arrivals: ArrivalLog::new(config.feedback),
            missing: config.repair.sends_again().then(MissingPackets::default),
            frames: Reassembly::new(),
            playout: Playout::new(config.playout),
            request_pending: None,
            events: VecDeque::new(),
        }
    }

    /// Reports in this style from now on.
    pub fn report_as(&mut self, style: FeedbackStyle) {
        self.config.feedback = style;
        self.arrivals.report_as(style);
    }

    /// Asks for packets that are missing from now on: the sender sends them again.
    pub fn ask_for_missing(&mut self) {
        self.config.repair = Repair::Nack;
        self.missing.get_or_insert_default();
    }

    /// A frame that was to be shown turned out to be damaged: what refers to it cannot be shown either.
    pub fn on_undecodable(&mut self, now: ReceiverInstant) {
        self.playout.on_undecodable(now);
    }

    /// A packet arrived.
    pub fn on_packet(&mut self, now: ReceiverInstant, packet: &MediaPacket, ecn: Ecn) {
        let ends_frame = packet.last_probe || packet.is_last_of_frame();
        let received = ReceivedPacket { arrival: self.rounded(now), ecn };
        self.arrivals.on_packet(packet.sequence, received, ends_frame);
        self.note_missing(now, packet);
        let admission = match packet.kind {
            PacketKind::Media | PacketKind::Repair => self.frames.on_packet(now, &packet.place()),
            PacketKind::Retransmission => self.frames.on_repeated(now, &packet.place()),
            PacketKind::Probe | PacketKind::Padding => {
                self.frames.on_packet_after(now, packet.frame);
                Admission::Counted
            }
        };
        if admission == Admission::Completed {
            self.events.push_back(ReceiverEvent::FrameComplete { frame: packet.frame, at: now });
        }
        self.playout.on_arrival();
        self.play(now);
    }

    /// Fills in a report and returns true, if one is due; to be called after packets and at
    /// [`Self::next_deadline`].
    pub fn poll_feedback(&mut self, now: ReceiverInstant, report: &mut FeedbackPacket) -> bool {
        self.play(now);
        report.asked.clear();
        if let Some(missing) = &mut self.missing {
            let (frames, playout) = (&self.frames, &self.playout);
            let asked = &mut report.asked;
            missing.ask(now, useful(frames, playout), still_open(frames, playout), asked);
        }
        let due = self.arrivals.report_due().is_some_and(|due| due <= now);
        if due || self.request_pending.is_some() {
            self.arrivals.report(now, report);
            report.key_frame_request = self.request_pending.take().is_some();
            return true;
        }
        (report.base, report.generated) = (SequenceNumber(0), now);
        report.packets.clear();
        report.key_frame_request = false;
        !report.asked.is_empty()
    }

    /// When [`Self::poll_feedback`] is to be called although no packet came.
    #[must_use]
    pub fn next_deadline(&self) -> Option<ReceiverInstant> {
        let playout = self.playout.next_deadline(&self.frames);
        let (frames, player) = (&self.frames, &self.playout);
        let ask = self.missing.as_ref().and_then(|missing| {
            missing.next_deadline(useful(frames, player), still_open(frames, player))
        });
        let report = self.arrivals.report_due();
        ReceiverInstant::first_of([report, playout, self.request_pending, ask])
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// The oldest frame whose outcome is still open.
    #[must_use]
    pub fn next_undecided(&self) -> FrameId {
        self.playout.next()
    }

    fn note_missing(&mut self, now: ReceiverInstant, packet: &MediaPacket) {
        if let Some(missing) = &mut self.missing {
            missing.on_packet(now, packet);
            self.playout.wait_for_repair(missing.patience());
        }
    }

    fn rounded(&self, now: ReceiverInstant) -> ReceiverInstant {
        let resolution = self.config.arrival_resolution.as_nanos().max(1);
        if resolution == 1 {
            return now;
        }
        now.saturating_sub(Duration::from_nanos(now.as_nanos().rem_euclid(resolution)))
    }

    fn play(&mut self, at: ReceiverInstant) {
        let (events, pending) = (&mut self.events, &mut self.request_pending);
        self.playout.advance(at, &mut self.frames, |event| {
            events.push_back(match event {
                PlayoutEvent::Decided { first, last, outcome } => match outcome {
                    FrameOutcome::Shown => {
                        // The picture is whole again: a request not yet sent has no purpose.
                        *pending = None;
                        ReceiverEvent::FrameShown { frame: last, at }
                    }
                    FrameOutcome::Lost => ReceiverEvent::FramesLost { first, last, at },
                    FrameOutcome::Undecodable => {
                        ReceiverEvent::FramesUndecodable { first, last, at }
                    }
                },
                PlayoutEvent::KeyFrameRequested => {
                    *pending = Some(at);
                    ReceiverEvent::KeyFrameRequested { at }
                }
                PlayoutEvent::Stall { pause } => ReceiverEvent::Stall { at, pause },
            });
        });
    }
}

/// Whether a packet that left with one of the frames from the first to the second is of use. Between them can be a frame of
/// which nothing came, and among their packets one that was sent again for the frame that the player waits for.
fn useful<'a>(
    frames: &'a Reassembly,
    playout: &'a Playout,
) -> impl Fn(FrameId, FrameId) -> bool + 'a {
    move |first, last| {
        let lacks = |frame| playout.wants(frames, frame) && frames.lacks_packets(frame);
        let unseen = last.0 - first.0 > 1 && playout.next() < last;
        let next = playout.next();
        lacks(first) || lacks(last) || unseen || last >= next && lacks(next)
    }
}

/// Whether packets of a frame that are still to come can be of use.
fn still_open<'a>(frames: &'a Reassembly, playout: &'a Playout) -> impl Fn(FrameId) -> bool + 'a {
    move |frame| {
        let whole = matches!(frames.progress(frame), FrameProgress::Complete { .. });
        playout.wants(frames, frame) && !whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_style_moves_the_next_report() {
        let at = |millis| ReceiverInstant::ZERO + Duration::from_millis(millis);
        let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
        let padding = |sequence| MediaPacket {
            sequence: SequenceNumber(sequence),
            frame: FrameId(0),
            index: 0,
            media_packets: 0,
            train_packets: 0,
            payload: 1_200,
            header: 48,
            kind: PacketKind::Padding,
            key_frame: false,
            last_probe: false,
            original: None,
        };
        receiver.on_packet(at(0), &padding(0), Ecn::NotEct);
        assert!(receiver.poll_feedback(at(10), &mut FeedbackPacket::default()));
        receiver.on_packet(at(12), &padding(1), Ecn::NotEct);
        assert_eq!(receiver.next_deadline(), Some(at(22)), "10 ms later, as no frame has ended");
        receiver.report_as(FeedbackStyle::Interval(Duration::from_millis(50)));
        assert_eq!(receiver.next_deadline(), Some(at(60)), "50 ms after the last report");
    }
}
