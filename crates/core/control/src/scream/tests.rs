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
    // 60 Mb/s for 5.4 ms are 40.5 kB; three reference windows are less.
    let window = scream.send_window().get();
    assert!((40_000..48_000).contains(&window), "{window}");
}
