use super::*;
use crate::{FrameId, PacketReport};
use gameway_units::{Rate, ReceiverInstant};

fn limits() -> RateLimits {
    RateLimits {
        min: Rate::from_mbps(1),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(10),
        frame_interval: Duration::from_nanos(16_666_667),
    }
}

const REFERENCE: ScreamOptions = ScreamOptions {
    version: ScreamVersion::Reference,
    exchanged: None,
    ecn: EcnMode::L4s,
    queue_delay_target: Duration::from_millis(60),
    loss_beta: 0.7,
    ecn_beta: 0.8,
    alpha_filter: AlphaFilter::FastAttack,
    variation_damping: true,
    min_pacing_factor: 1.0,
};

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Sent at `sent` ms, 20 ms on the way unless lost; the receiver's clock is a second ahead.
fn report(sequence: u64, sent: i64, lost: bool, ecn: Ecn) -> PacketReport {
    let packet = SentPacket::new(SequenceNumber(sequence), at(sent), FrameId(0), Bytes::new(1_000));
    let arrival = ReceiverInstant::from_nanos(at(1_020 + sent).as_nanos());
    PacketReport::new(packet, (!lost).then_some(arrival)).with_ecn(ecn)
}

fn feed(scream: &mut Scream, now: i64, reports: &[PacketReport]) {
    let generated = ReceiverInstant::from_nanos(at(now - 20 + 1_000).as_nanos());
    let batch = FeedbackBatch::new(reports, generated, Bytes::new(90_000));
    scream.on_feedback(at(now), &batch);
}

#[test]
fn it_begins_at_the_start_bitrate_whatever_the_first_round_trip() {
    let mut scream = Scream::new(ScreamOptions::default(), limits());
    assert_eq!(scream.target().bitrate, Rate::from_mbps(10));
    scream.on_sent(at(0), &report(0, 0, false, Ecn::Ect1).packet);
    feed(&mut scream, 40, &[report(0, 0, false, Ecn::Ect1)]);
    assert_eq!(scream.smoothed_rtt(), Duration::from_millis(40));
    let target = scream.target().bitrate.as_mbps_f64();
    assert!((9.9..10.3).contains(&target), "{target}");
}

#[test]
fn lost_packets_are_acknowledged_by_later_ones_and_late_ones_count_once() {
    let mut scream = Scream::new(ScreamOptions::default(), limits());
    let lost = report(1, 0, true, Ecn::NotEct);
    let first = [report(0, 0, false, Ecn::Ect1), lost, report(2, 0, false, Ecn::Ce)];
    let generated = ReceiverInstant::ZERO;
    let whole = FeedbackBatch::new(&first, generated, Bytes::ZERO);
    let tally = scream.tally(at(40), &whole);
    assert_eq!((tally.received, tally.marked, tally.lost), (2, 1, true));
    assert_eq!(Bytes::from_f64(tally.acknowledged_unmarked), Bytes::new(2_000));
    let late = [report(1, 0, false, Ecn::Ect1)];
    let late = FeedbackBatch::new(&late, generated, Bytes::ZERO);
    assert_eq!(Bytes::from_f64(scream.tally(at(45), &late).acknowledged_unmarked), Bytes::ZERO);
    let again = [report(2, 0, false, Ecn::Ect1)];
    let again = FeedbackBatch::new(&again, generated, Bytes::ZERO);
    assert_eq!(Bytes::from_f64(scream.tally(at(46), &again).acknowledged_unmarked), Bytes::ZERO);
}

#[test]
fn the_send_window_is_three_windows_when_calm_and_one_and_a_half_when_not() {
    let mut scream = Scream::new(ScreamOptions::default(), limits());
    let window = scream.window.bytes();
    assert_eq!(scream.target().window, Some(Bytes::from_f64(3.0 * window)));
    for step in 0..300 {
        let arrival = ReceiverInstant::from_nanos(at(step * 25).as_nanos());
        scream.queue_delay.on_packet(at(step * 25), at(step * 25), arrival);
        let late = Duration::from_millis(100);
        scream.queue_delay.on_report(at(step * 25), late, VIRTUAL_RTT, 0.01);
    }
    assert_eq!(scream.target().window, Some(Bytes::from_f64(1.5 * window)));
    assert!(scream.variation_headroom().abs() < 1e-9);
    scream.options.variation_damping = false;
    assert!((scream.variation_headroom() - 1.0).abs() < 1e-9);
}

/// The reference's headroom begins at a half: 1.5 + 0.5 x 3.5 windows, and a segment.
#[test]
fn the_references_send_window_has_a_segment_more() {
    let scream = Scream::new(REFERENCE, limits());
    let expected = Bytes::from_f64(3.25 * scream.window.bytes() + 1_000.0);
    assert_eq!(scream.target().window, Some(expected));
}

#[test]
fn silence_reopens_the_window() {
    let mut scream = Scream::new(ScreamOptions::default(), limits());
    let before = scream.send_window();
    for sequence in 0..500 {
        scream.on_sent(at(0), &report(sequence, 0, false, Ecn::Ect1).packet);
    }
    assert_eq!(scream.next_timer(), Some(at(500)));
    scream.on_timer(at(500));
    assert_eq!(scream.send_window(), before.saturating_add(Bytes::new(500_000)));
}

#[test]
fn options_tell_how_to_read_marks() {
    let window_after_mark = |ecn| {
        let mut scream = Scream::new(ScreamOptions { ecn, ..ScreamOptions::default() }, limits());
        feed(&mut scream, 40, &[report(0, 0, false, Ecn::Ect1)]);
        let before = scream.window.bytes();
        feed(&mut scream, 55, &[report(1, 15, false, Ecn::Ce)]);
        scream.window.bytes() / before
    };
    assert!(window_after_mark(EcnMode::Off) >= 1.0);
    assert!((0.79..0.81).contains(&window_after_mark(EcnMode::Classic)));
    assert!((0.97..1.0).contains(&window_after_mark(EcnMode::L4s)));
}

/// Reports each 5 ms on a path of 0.4 ms: what leaves between two of them has room in the send window.
#[test]
fn where_the_round_trip_is_near_zero_the_window_lets_pass_what_leaves_between_reports() {
    let largest = RateLimits { max: Rate::from_mbps(40), ..limits() };
    let mut scream = Scream::new(ScreamOptions::default(), largest);
    for number in 0..2_000_i64 {
        let sent = Instant::ZERO + Duration::from_micros(5_000 * number);
        let mut one = report(number as u64, 0, false, Ecn::Ect1);
        one.packet.sent = sent;
        let arrival = sent.as_nanos() + 1_000_200_000;
        one.arrival = Some(ReceiverInstant::from_nanos(arrival));
        scream.on_sent(sent, &one.packet);
        let generated = ReceiverInstant::from_nanos(arrival);
        let reports = [one];
        let batch = FeedbackBatch::new(&reports, generated, Bytes::new(26_000));
        scream.on_feedback(sent + Duration::from_micros(400), &batch);
    }
    assert_eq!(scream.target().bitrate, largest.max);
    // 40 Mb/s for 5.4 ms are 27 kB, of which 3 times as much may be in flight; three windows of 0.4 ms are less.
    let window = scream.send_window().get();
    assert!((80_000..84_000).contains(&window), "{window}");
}

/// Reports each 10 ms, each on a packet that was under way for 20 ms.
fn steady(options: ScreamOptions, largest: Rate) -> Scream {
    let mut scream = Scream::new(options, RateLimits { max: largest, ..limits() });
    for number in 0..400 {
        let one = report(number, 10 * number as i64, false, Ecn::Ect1);
        scream.on_sent(at(10 * number as i64), &one.packet);
        feed(&mut scream, 10 * number as i64 + 40, &[one]);
    }
    scream
}

/// 1.5 times the largest bitrate in a round trip, or what was in flight of late if that is more.
#[test]
fn near_the_largest_bitrate_the_references_window_is_bounded() {
    for (mbps, max) in [(10, 90_000.0), (12, 92_250.0)] {
        let mut scream = steady(REFERENCE, Rate::from_mbps(mbps));
        scream.window.scale(10.0);
        let window = scream.window.bytes();
        scream.media.update(&scream.window, Duration::from_millis(40));
        scream.bound_window();
        assert!((scream.window.bytes() - max).abs() < 2_000.0, "{mbps} {}", scream.window.bytes());
        assert!(window > 2.0 * max);
    }
    let mut draft = steady(ScreamOptions::default(), Rate::from_mbps(10));
    draft.window.scale(10.0);
    let window = draft.window.bytes();
    draft.bound_window();
    assert!(draft.window.bytes() >= window);
    let mut below = steady(REFERENCE, Rate::from_mbps(50));
    let window = below.window.bytes();
    below.bound_window();
    assert!(below.media.share_of_largest() < 0.95 && below.window.bytes() >= window);
}

/// A queue of 30 ms that never empties, of which an eighth of the target of 60 ms is a part.
#[test]
fn a_standing_queue_halves_the_references_target_after_a_minute() {
    for (version, halved) in [(ScreamVersion::Draft, false), (ScreamVersion::Reference, true)] {
        let mut scream = Scream::new(ScreamOptions { version, ..REFERENCE }, limits());
        feed(&mut scream, 40, &[report(0, 0, false, Ecn::Ect1)]);
        let mut number = 1;
        while number < 6_010 && scream.drain.share() >= 1.0 {
            let mut one = report(number, 10 * number as i64, false, Ecn::Ect1);
            one.arrival = one.arrival.map(|arrival| arrival + Duration::from_millis(30));
            feed(&mut scream, 10 * number as i64 + 70, &[one]);
            number += 1;
        }
        assert_eq!(number < 6_010, halved, "{number}");
        let target = scream.target().bitrate;
        let share = if halved { 0.5 } else { 1.0 };
        let expected = scream.media.target().mul_f64(share).max(limits().min);
        assert_eq!(target, expected);
        assert!(number > 5_990 && expected < limits().max);
    }
}

#[test]
fn there_is_no_room_between_reports_where_a_round_trip_is_longer_or_the_bitrate_may_grow() {
    let room_of = |options, mbps, rtt| {
        let mut scream = steady(options, Rate::from_mbps(mbps));
        scream.round_trip = RoundTrip::new(false);
        scream.round_trip.on_sample(at(0), rtt);
        scream.room_between_reports()
    };
    let room = |mbps, rtt| room_of(ScreamOptions::default(), mbps, rtt);
    assert_eq!(room(10, Duration::from_millis(5)), Bytes::ZERO);
    assert_eq!(room(100, Duration::from_millis(1)), Bytes::ZERO);
    // Three times 10 Mb/s for a millisecond and the five between reports.
    assert_eq!(room(10, Duration::from_millis(1)), Bytes::new(22_500));
    // The reference's receiver reports at the end of frames, it reckons with a millisecond more, and has up to
    // five times.
    let room = room_of(REFERENCE, 10, Duration::from_millis(10)).get();
    assert!((160_000..=172_916).contains(&room), "{room}");
    assert_eq!(room_of(REFERENCE, 10, Duration::from_millis(17)), Bytes::ZERO);
}

#[test]
fn the_queue_drains_already_where_all_is_marked_and_round_trips_fall() {
    let drains = |ecn, round_trip: i64| {
        let mut scream = Scream::new(ScreamOptions::default(), limits());
        feed(&mut scream, 40, &[report(0, 0, false, Ecn::Ect1)]);
        let mut one = report(1, 20, false, ecn);
        one.arrival = Some(ReceiverInstant::from_nanos(at(1_000 + round_trip).as_nanos()));
        feed(&mut scream, 20 + round_trip, &[one]);
        scream.path_state().drains_already
    };
    assert!(drains(Ecn::Ce, 35));
    assert!(!drains(Ecn::Ce, 45) && !drains(Ecn::Ect1, 35));
}

#[test]
fn packets_are_sent_with_the_codepoint_whose_marks_it_reads() {
    for (ecn, codepoint) in
        [(EcnMode::Off, Ecn::NotEct), (EcnMode::Classic, Ecn::Ect0), (EcnMode::L4s, Ecn::Ect1)]
    {
        assert_eq!(Scream::new(ScreamOptions { ecn, ..REFERENCE }, limits()).ecn(), codepoint);
    }
}

#[test]
fn frames_that_wait_and_exceed_their_size_are_heard_of() {
    let mut scream = Scream::new(ScreamOptions::default(), limits());
    for (number, now) in [(0, 0), (1, 32)] {
        let frame = FrameSent::new(FrameId(number), Rate::from_mbps(10), Bytes::new(40_000), 40);
        scream.on_frame(at(now), &frame);
    }
    assert!(scream.media.wait_adjustment() > 0.1 && scream.media.frame_excess() > 0.01);
}
