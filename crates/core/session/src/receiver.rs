//! The receiving end of a stream: reports arrivals, puts frames together and shows them.

use crate::arrivals::ArrivalLog;
use crate::feedback::{FeedbackPacket, ReceivedPacket};
use crate::missing::MissingPackets;
use crate::packet::MediaPacket;
use gameway_control::{FeedbackStyle, FrameId, PacketKind, SequenceNumber};
use gameway_media::{
    Admission, FrameOutcome, FrameProgress, Playout, PlayoutConfig, PlayoutEvent, Reassembly,
};
use gameway_units::{Duration, Ecn, ReceiverInstant, Recovery, Repair};
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
    /// Whether it says what it has shown, so that a frame can refer to that.
    pub recovery: Recovery,
}

impl ReceiverConfig {
    /// The defaults, with reports in this style.
    #[must_use]
    pub fn new(feedback: FeedbackStyle) -> Self {
        let arrival_resolution = Duration::from_nanos(1);
        let (playout, repair) = (PlayoutConfig::default(), Repair::None);
        let recovery = Recovery::KeyFrame;
        Self { feedback, arrival_resolution, playout, repair, recovery }
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
    /// A frame that can be shown is asked for with the next report, which is due now.
    KeyFrameRequested {
        /// When.
        at: ReceiverInstant,
        /// The frame that was shown last, to which it may refer; it has to be a key frame if there is none.
        newest_shown: Option<FrameId>,
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

    /// Says what it has shown from now on, where it lacks something: a frame can refer to that.
    pub fn tell_what_was_shown(&mut self) {
        self.config.recovery = Recovery::Reference;
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
        let lacks = self.request_pending.is_some() || !report.asked.is_empty();
        report.newest_shown = self.newest_shown().filter(|_| lacks);
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

    /// The frame that was shown last, if that is told.
    fn newest_shown(&self) -> Option<FrameId> {
        self.playout.newest_shown().filter(|_| self.config.recovery == Recovery::Reference)
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
        let newest_shown = self.newest_shown();
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
                    ReceiverEvent::KeyFrameRequested { at, newest_shown }
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
            refers_back: 1,
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

    #[test]
    fn a_receiver_asks_for_what_is_missing_once_it_is_told_that_this_helps() {
        let asked = |told: bool| {
            let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
            if told {
                receiver.ask_for_missing();
            }
            for number in [0, 2] {
                let packet = MediaPacket {
                    sequence: SequenceNumber(number),
                    index: number as u16,
                    media_packets: 4,
                    train_packets: 4,
                    key_frame: true,
                    ..crate::packet::tests::packet(PacketKind::Media)
                };
                receiver.on_packet(ReceiverInstant::ZERO, &packet, Ecn::NotEct);
            }
            let mut report = FeedbackPacket::default();
            receiver.poll_feedback(ReceiverInstant::ZERO, &mut report);
            report.asked
        };
        assert_eq!(asked(true), [SequenceNumber(1)]);
        assert_eq!(asked(false), []);
    }

    /// Frames 0 to 4 are over, shown if the first is a key frame; of these others one of two packets has come, and whether it
    /// is of a key frame.
    fn scene(first_is_key: bool, begun: &[(u64, bool)]) -> (Reassembly, Playout) {
        let (mut frames, mut playout) = (Reassembly::new(), Playout::new(PlayoutConfig::default()));
        let mut arrive = |frame, key_frame, packets| {
            let (media_packets, train_packets) = (packets, packets);
            let frame = FrameId(frame);
            let packet = crate::packet::tests::packet(PacketKind::Media);
            let packet = MediaPacket { frame, key_frame, media_packets, train_packets, ..packet };
            frames.on_packet(ReceiverInstant::ZERO, &packet.place());
            playout.advance(ReceiverInstant::ZERO, &mut frames, |_| {});
        };
        (0..5).for_each(|frame| arrive(frame, first_is_key && frame == 0, 1));
        begun.iter().for_each(|&(frame, key_frame)| arrive(frame, key_frame, 2));
        assert_eq!(playout.next(), FrameId(5));
        (frames, playout)
    }

    #[test]
    fn a_packet_is_of_use_to_a_frame_that_lacks_it_and_can_be_shown() {
        let is_useful = |shown, begun: &[(u64, bool)], first, last| {
            let (frames, playout) = scene(shown, begun);
            useful(&frames, &playout)(FrameId(first), FrameId(last))
        };
        let begun = [(5, false), (6, false), (7, false)];
        // Frame 5 is waited for: whatever left behind it may be what was sent again for it.
        assert!(is_useful(true, &begun, 5, 5) && is_useful(true, &begun, 7, 7));
        assert!(!is_useful(true, &begun, 4, 4), "it is over");
        assert!(!is_useful(true, &begun[..1], 5, 5), "the other packet is not overdue");
        // Nothing can be shown that refers to what was not, unless between them lies a frame of which nothing came.
        for (first, last) in [(5, 5), (2, 5), (5, 6), (6, 7), (7, 7)] {
            assert!(!is_useful(false, &begun, first, last), "{first} {last}");
        }
        assert!(is_useful(false, &begun, 5, 7));
        // A key frame can be.
        let begun = [(5, false), (6, true), (7, false)];
        assert!(is_useful(false, &begun, 5, 6) && is_useful(false, &begun, 6, 7));
        assert!(!is_useful(false, &begun, 5, 5) && !is_useful(false, &begun, 7, 7));
    }

    #[test]
    fn what_is_to_come_of_a_frame_is_of_use_until_it_is_whole_or_cannot_be_shown() {
        let open = |shown, begun: &[(u64, bool)], frame| {
            let (frames, playout) = scene(shown, begun);
            still_open(&frames, &playout)(FrameId(frame))
        };
        let begun = [(5, false), (7, false)];
        assert_eq!([4, 5, 6, 7].map(|frame| open(true, &begun, frame)), [false, true, true, true]);
        assert_eq!([5, 6, 7].map(|frame| open(false, &begun, frame)), [false, true, false]);
        let (mut frames, playout) = scene(true, &begun);
        let last = MediaPacket {
            frame: FrameId(7),
            index: 1,
            media_packets: 2,
            train_packets: 2,
            ..crate::packet::tests::packet(PacketKind::Media)
        };
        frames.on_packet(ReceiverInstant::ZERO, &last.place());
        assert!(!still_open(&frames, &playout)(FrameId(7)), "it waits for 5 and 6");
    }
}
