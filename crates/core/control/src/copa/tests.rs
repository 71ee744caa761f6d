use super::*;
use crate::{FrameId, SequenceNumber};
use gameway_units::ReceiverInstant;

const INTERVAL: Duration = Duration::from_millis(16);

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Limits of a stream in Mb/s, which begins with 5 Mb/s.
fn limits(min: u64, max: u64) -> RateLimits {
    let [min, max, start] = [min, max, 5].map(Rate::from_mbps);
    RateLimits { min, max, start, frame_interval: INTERVAL }
}

#[test]
fn a_second_of_silence_opens_the_window_at_the_least_rate() {
    let limits = limits(1, 50);
    let mut copa = Copa::new(CopaOptions::default(), limits);
    assert_eq!((copa.target().bitrate, copa.target().window), (limits.start, None));
    copa.on_received(at(20), Duration::from_millis(20), Bytes::new(1_248));
    copa.last_heard = Some(at(20));
    copa.next_check = Some(at(1_000));
    assert!(copa.target().window.is_some());
    copa.on_timer(at(1_000));
    assert!(copa.target().window.is_some());
    assert_eq!(copa.next_timer(), Some(at(1_020)));
    copa.on_timer(at(1_020));
    assert_eq!((copa.target().bitrate, copa.target().window), (limits.min, None));
}

/// As on loopback: 18 us of least round trip, 61 us that stand, of which the receiver's threads are the larger part.
#[test]
fn where_the_round_trip_is_near_zero_a_frame_and_a_report_have_room() {
    let limits = limits(2, 40);
    let mut copa = Copa::new(CopaOptions::default(), limits);
    copa.on_received(at(1), Duration::from_micros(18), Bytes::new(1_248));
    for millis in 2..4_000 {
        copa.on_received(at(millis), Duration::from_micros(61), Bytes::new(1_248));
    }
    // The law's own: 1/delta packets and what the queue's share of the round trip adds.
    assert!((10.0..16.0).contains(&copa.window.packets()), "{}", copa.window.packets());
    let target = copa.target();
    assert_eq!(target.bitrate, limits.max);
    // 40 Mb/s for 21 ms.
    let window = target.window.unwrap().get();
    assert!((105_000..106_000).contains(&window), "{window}");
}

/// Of at most 50 Mb/s, after a first round trip: the window is what 5 Mb/s need for that, a frame and a report.
fn after(round_trip: i64) -> Copa {
    let limits = limits(1, 50);
    let mut copa = Copa::new(CopaOptions::default(), limits);
    copa.on_received(at(round_trip), Duration::from_millis(round_trip), Bytes::new(1_248));
    copa
}

fn mbps(rate: Rate, expected: f64) {
    assert!((rate.as_mbps_f64() - expected).abs() < 0.01, "{rate} {expected}");
}

/// 25625 bytes in a round trip of 20 ms are 10.25 Mb/s.
#[test]
fn the_bitrate_makes_up_in_two_frames_for_what_the_window_lacks_and_in_four_for_what_is_late() {
    let mut copa = after(20);
    copa.observe(&mut |name, value| {
        assert!(name != "window_bytes" || (value - 25_625.0).abs() < 1e-6, "{value}");
    });
    mbps(copa.bitrate(), 10.25 + 25_625.0 * 8.0 / 32e3);
    mbps(copa.pacing_rate(), 2.0 * 10.25);
    let frame = FrameSent::new(FrameId(0), copa.bitrate(), Bytes::new(25_625), 21);
    copa.on_frame(at(20), &frame);
    mbps(copa.bitrate(), 10.25);
    copa.held.on_feedback(at(28), Bytes::ZERO, INTERVAL);
    mbps(copa.bitrate(), 10.25 - 12_812.5 * 8.0 / 64e3);
    copa.silent = true;
    mbps(copa.bitrate(), 1.0);
    mbps(copa.pacing_rate(), 2.0);
}

#[test]
fn silence_is_two_round_trips_if_they_are_longer_than_a_second() {
    let mut copa = after(800);
    copa.last_heard = Some(at(800));
    copa.next_check = Some(at(1_900));
    copa.on_timer(at(1_899));
    assert_eq!(copa.next_timer(), Some(at(1_900)));
    copa.on_timer(at(1_900));
    assert_eq!(copa.next_timer(), Some(at(2_400)));
    copa.on_timer(at(2_400));
    assert!(copa.silent);
}

/// Where a queue stands for 8 s: what the least bitrate needs on the empty path, and two packets at least.
#[test]
fn while_it_looks_for_the_empty_path_the_window_is_its_least() {
    for (round_trip, window) in [(10, 2_496), (100, 12_500)] {
        let mut copa = after(round_trip);
        let mut now = 100;
        while !copa.probe.is_draining() {
            copa.on_received(at(now), Duration::from_millis(round_trip + 50), Bytes::new(1_248));
            now += 1;
            assert!(now < 9_000);
        }
        assert_eq!(copa.target().window, Some(Bytes::new(window)));
        mbps(copa.bitrate(), 1.0);
    }
}

#[test]
fn where_half_is_lost_the_window_is_halved() {
    let mut copa = after(20);
    let window = copa.window.packets();
    let lost = |number| {
        let packet = SentPacket::new(SequenceNumber(number), at(0), FrameId(0), Bytes::new(1_248));
        PacketReport::new(packet, None)
    };
    let reports: Vec<_> = (0..30).map(lost).collect();
    let arrives = ReceiverInstant::from_nanos(0);
    for now in [20, 61] {
        let mut reports = reports.clone();
        for report in reports.iter_mut().skip(15) {
            // Held by the receiver for longer than since it was sent: no round trip.
            report.arrival = Some(arrives);
        }
        let generated = arrives + Duration::from_secs(5);
        copa.on_feedback(at(now), &FeedbackBatch::new(&reports, generated, Bytes::ZERO));
    }
    assert!((copa.window.packets() - 0.5 * window).abs() < 1e-9);
}

#[test]
fn a_round_trip_is_without_the_receivers_time_and_between_nothing_and_a_minute() {
    let of = |sent: i64, held: i64, now: i64| {
        let packet = SentPacket::new(SequenceNumber(0), at(sent), FrameId(0), Bytes::new(1_248));
        let arrival = ReceiverInstant::from_nanos(9_000_000_000);
        let report = PacketReport::new(packet, Some(arrival));
        let reports = [report];
        let generated = arrival + Duration::from_millis(held);
        let batch = FeedbackBatch::new(&reports, generated, Bytes::ZERO);
        sample(at(now), &batch, &report)
    };
    assert_eq!(of(100, 5, 125), Some((at(120), Duration::from_millis(20))));
    assert_eq!((of(100, -1, 125), of(100, 25, 125), of(100, 26, 125)), (None, None, None));
    assert_eq!(of(100, 0, 60_100), Some((at(60_100), Duration::from_secs(60))));
    assert_eq!(of(100, 0, 60_101), None);
}
