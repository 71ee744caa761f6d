//! Pudica's fallback on a frame of which the receiver tells ahead of its packets, and without that.

use crate::common::controller;
use gameway_control::{
    FeedbackBatch, FrameId, FrameReceived, FrameSent, Notice, PacketReport, RateController,
    SentPacket, SequenceNumber,
};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};

const INTERVAL: i64 = 16_667;
/// One way, the clocks' offset in it.
const MIN_ONE_WAY: i64 = 1_010_000;

fn at(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn arrival(micros: i64) -> ReceiverInstant {
    ReceiverInstant::ZERO + Duration::from_micros(micros)
}

struct Stream {
    controller: Box<dyn RateController>,
    frames: u64,
}

impl Stream {
    /// Two hundred frames that went through an idle path.
    fn begun() -> Self {
        let mut stream = Self { controller: controller("pudica", &[]), frames: 0 };
        for _ in 0..200 {
            let packet = stream.send();
            stream.report(packet, MIN_ONE_WAY);
        }
        stream
    }

    /// The next frame, of one packet.
    fn send(&mut self) -> SentPacket {
        let sent = at(self.frames as i64 * INTERVAL);
        let frame = FrameId(self.frames);
        self.frames += 1;
        let size = Bytes::new(1_000);
        let target = self.controller.target().bitrate;
        self.controller.on_frame(sent, &FrameSent::new(frame, target, size, 1));
        let packet = SentPacket::new(SequenceNumber(frame.0), sent, frame, size)
            .with_first_of_frame(true)
            .with_last_of_frame(true);
        self.controller.on_sent(sent, &packet);
        packet
    }

    /// When a packet arrives that takes so long, and when the sender can know.
    fn times(packet: &SentPacket, one_way: i64) -> (ReceiverInstant, Instant) {
        let sent = packet.sent.as_nanos() / 1_000;
        (arrival(sent + one_way), at(sent + one_way - MIN_ONE_WAY + 20_000))
    }

    fn report(&mut self, packet: SentPacket, one_way: i64) {
        let (arrived, now) = Self::times(&packet, one_way);
        let reports = [PacketReport::new(packet, Some(arrived))];
        let in_flight = Bytes::ZERO;
        self.controller.on_feedback(now, &FeedbackBatch::new(&reports, arrived, in_flight));
    }

    fn tell_ahead(&mut self, packet: SentPacket, one_way: i64) {
        let (arrival, now) = Self::times(&packet, one_way);
        let SentPacket { frame, sent: first_sent, .. } = packet;
        let received = FrameReceived::new(frame, first_sent, packet, arrival);
        self.controller.on_notice(now, &Notice::FrameReceived(received));
    }

    fn target(&self) -> Rate {
        self.controller.target().bitrate
    }
}

/// By how much the next frame's target is lower.
fn lowered(before: Rate, after: Rate) -> f64 {
    1.0 - after.as_bps_f64() / before.as_bps_f64()
}

#[test]
fn a_frame_that_is_being_encoded_serves_no_fallback_that_is_called_for_meanwhile() {
    let mut stream = Stream::begun();
    let before = stream.target();
    let late = stream.send();
    let capture = |stream: &mut Stream| {
        let now = at(stream.frames as i64 * INTERVAL);
        stream.controller.on_notice(now, &Notice::Captured);
    };
    capture(&mut stream);
    stream.tell_ahead(late, MIN_ONE_WAY + 20_000);
    stream.send();
    let share = lowered(before, stream.target());
    assert!((0.149..0.151).contains(&share), "it was captured with the old target: {share}");
    capture(&mut stream);
    stream.send();
    assert!(lowered(before, stream.target()) < 0.001, "this one was captured with the lowered");
}

#[test]
fn a_late_frame_lowers_the_next_as_soon_as_it_is_told_of() {
    for (late, expected) in [(20_000, 0.15), (10_000, 0.0)] {
        let mut stream = Stream::begun();
        let before = stream.target();
        let packet = stream.send();
        stream.tell_ahead(packet, MIN_ONE_WAY + late);
        let share = lowered(before, stream.target());
        assert!((expected - 0.001..=expected + 0.001).contains(&share), "{late} us: {share}");
        // Its packets say the same later: it has had its fallback, which a frame has served.
        stream.send();
        let before = stream.target();
        stream.report(packet, MIN_ONE_WAY + late);
        assert!(lowered(before, stream.target()) <= 0.02, "{late} us: twice");
    }
}

#[test]
fn without_that_the_packets_lower_it() {
    let mut stream = Stream::begun();
    let packet = stream.send();
    stream.send();
    let before = stream.target();
    stream.report(packet, MIN_ONE_WAY + 20_000);
    let share = lowered(before, stream.target());
    assert!((0.1..=0.2).contains(&share), "{share}");
}

#[test]
fn what_was_reported_already_or_never_sent_changes_nothing() {
    let mut stream = Stream::begun();
    let packet = stream.send();
    stream.report(packet, MIN_ONE_WAY);
    let before = stream.target();
    stream.tell_ahead(packet, MIN_ONE_WAY + 50_000);
    let mut strange = packet;
    strange.frame = FrameId(9_999);
    stream.tell_ahead(strange, MIN_ONE_WAY + 50_000);
    assert_eq!(stream.target(), before);
}
