//! The controller with frames of one packet over a path of 10 ms each way; the receiver's clock is a second ahead.

use super::*;
use crate::{PacketReport, SequenceNumber};
use gameway_units::Bytes;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn clock(millis: i64) -> ReceiverInstant {
    ReceiverInstant::ZERO + Duration::from_millis(1_000 + millis)
}

fn pudica(change: impl FnOnce(&mut PudicaOptions)) -> Pudica {
    let limits = RateLimits {
        min: Rate::from_mbps(1),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(20),
        frame_interval: Duration::from_millis(16),
    };
    let mut options = PudicaOptions::default();
    change(&mut options);
    Pudica::new(options, limits)
}

fn packet(frame: u64, sent: i64) -> SentPacket {
    SentPacket::new(SequenceNumber(frame), at(sent), FrameId(frame), Bytes::new(1_000))
}

fn send(pudica: &mut Pudica, frame: u64, now: i64) -> SentPacket {
    let target = pudica.target().bitrate;
    let sent = FrameSent::new(FrameId(frame), target, Bytes::new(1_000), 1);
    pudica.on_frame(at(now), &sent);
    let packet = packet(frame, now).with_first_of_frame(true).with_last_of_frame(true);
    pudica.on_sent(at(now), &packet);
    packet
}

/// The packets have arrived then, and the receiver took 3 ms to say so.
fn report(pudica: &mut Pudica, packets: &[(SentPacket, i64)]) {
    let reports: Vec<_> = packets
        .iter()
        .map(|(packet, arrived)| PacketReport::new(*packet, Some(clock(*arrived))))
        .collect();
    let newest = packets.iter().map(|(_, arrived)| *arrived).max().unwrap_or_default();
    let batch = FeedbackBatch::new(&reports, clock(newest + 3), Bytes::ZERO);
    pudica.on_feedback(at(newest + 13), &batch);
}

/// A frame that was sent at zero and met no queue.
fn begun(change: impl FnOnce(&mut PudicaOptions)) -> Pudica {
    let mut pudica = pudica(change);
    let packet = send(&mut pudica, 0, 0);
    report(&mut pudica, &[(packet, 10)]);
    pudica
}

/// Section 4.1: half of 16 ms is left, in which four probes have five gaps.
#[test]
fn probes_share_what_the_pace_leaves_of_the_frame_interval() {
    let of = |multiplier, probes| {
        pudica(|options| (options.pace, options.probes) = (Pace::Multiplier(multiplier), probes))
            .probe_gap()
    };
    assert_eq!(of(2.0, 4), Duration::from_micros(1_600));
    assert_eq!(of(4.0, 2), Duration::from_millis(4));
    assert_eq!(of(1.0, 4), Duration::ZERO);
}

/// Eq. 2: a quarter faster than the link, whose share of the interval the ratio is.
#[test]
fn the_pace_is_a_little_above_the_links() {
    let pudica = pudica(|_| {});
    for (ratio, pace) in [(0.5, 2.5), (1.0, 1.25), (3.0, 1.25), (0.01, 10.0)] {
        let found = pudica.pace_for(ratio);
        assert!((found - pace).abs() < 1e-9, "{ratio} {found}");
    }
}

/// Section 4.3: the least round trip of 20 ms, a frame interval, 3 ms of the receiver and the margin of 5 ms.
#[test]
fn a_frame_whose_feedback_is_overdue_lowers_the_next_once() {
    let mut pudica = begun(|_| {});
    assert_eq!(pudica.next_timer(), None);
    let before = pudica.target().bitrate;
    send(&mut pudica, 1, 100);
    assert_eq!(pudica.next_timer(), Some(at(144)));
    pudica.on_timer(at(143));
    assert_eq!(pudica.target().bitrate, before);
    pudica.on_timer(at(144));
    assert_eq!(pudica.target().bitrate, before.mul_f64(0.85));
    assert_eq!(pudica.next_timer(), None);
    // The lowered frame ends the fallback; the one before is still the oldest, and has had its own.
    send(&mut pudica, 2, 116);
    assert_eq!((pudica.target().bitrate, pudica.next_timer()), (before, None));
}

#[test]
fn without_fallback_and_at_a_set_bitrate_no_frame_is_late() {
    for hold in [None, Some(Rate::from_mbps(20))] {
        let mut pudica = begun(|options| (options.hold, options.fallback) = (hold, hold.is_some()));
        send(&mut pudica, 1, 100);
        assert_eq!(pudica.next_timer(), None);
    }
}

#[test]
fn above_one_the_options_say_whether_a_step_is_taken() {
    let steps = |change: fn(&mut PudicaOptions)| {
        let pudica = pudica(change);
        [1.0, 1.01].map(|smoothed| pudica.fairness_step(smoothed).is_some())
    };
    assert_eq!(steps(|_| {}), [true, true]);
    assert_eq!(steps(|options| options.above_one = AboveOne::Hold), [true, false]);
    assert_eq!(steps(|options| options.additive_only = true), [true, false]);
    let raised = pudica(|options| options.additive_only = true).fairness_step(0.9);
    assert_eq!(raised, Some(Rate::from_kbps(20_250)));
}

/// At twice the bitrate the pacer takes 8 ms for a frame; its encoder took 14.
#[test]
fn a_frame_in_parts_begins_as_long_before_its_end_as_the_pacer_takes() {
    let mut pudica = begun(|options| options.pace = Pace::Multiplier(2.0));
    let first = packet(1, 100).with_first_of_frame(true);
    pudica.on_sent(at(100), &first);
    let sent = FrameSent::new(FrameId(1), Rate::from_mbps(20), Bytes::new(2_000), 2);
    pudica.on_frame(at(114), &sent);
    let last = packet(1, 114).with_last_of_frame(true);
    pudica.on_sent(at(114), &last);
    report(&mut pudica, &[(first, 110), (last, 124)]);
    assert!((pudica.ratio - 0.5).abs() < 1e-9, "{}", pudica.ratio); // 124 - 106 - 10
}

/// Only with its own estimate, uncorrected, and above one.
#[test]
fn what_the_receiver_tells_ahead_is_judged_by_the_frames_own_ratio() {
    let lowered = |change: fn(&mut PudicaOptions), arrived| {
        let mut pudica = begun(change);
        let before = pudica.target().bitrate;
        let sent = send(&mut pudica, 1, 100);
        let received = FrameReceived::new(FrameId(1), at(100), sent, clock(arrived));
        pudica.on_notice(at(arrived), &Notice::FrameReceived(received));
        pudica.target().bitrate < before
    };
    assert!(!lowered(|_| {}, 126) && lowered(|_| {}, 127)); // 10 ms and a frame interval
    assert!(!lowered(|options| options.trigger = Trigger::Corrected, 200));
    assert!(!lowered(|options| options.bur = Bur::Sqp, 200));
    assert!(!lowered(|options| options.fallback = false, 200));
}
