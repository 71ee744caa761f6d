//! Packets that are lost and asked for: what the player sees, what it costs, and what a receiver cannot make the sender do.

use crate::support::{INTERVAL, Loop, ONE_WAY, ms, on_receiver, plain_target};
use gameway_control::{FeedbackStyle, FrameId, Pacing, PacketKind, SequenceNumber, Target};
use gameway_session::{FeedbackPacket, MediaPacket, SenderConfig};
use gameway_testbed::{Random, arrives, lost, lost_if};
use gameway_units::{Bytes, Duration, Instant, Rate, Repair, RepairGoal};
use std::collections::{BTreeMap, BTreeSet};

/// Packets of a frame at 12 Mb/s.
const PACKETS: u16 = 20;

fn asking(target: Target) -> Loop {
    repairing(target, Repair::Nack)
}

fn repairing(target: Target, repair: Repair) -> Loop {
    Loop::new(target, FeedbackStyle::PerFrame, |config: &mut SenderConfig| config.repair = repair)
}

/// A loop that loses these packets of frame 30, the first time that they are sent.
fn losing(doomed: fn(&MediaPacket) -> bool) -> Loop {
    let mut stream = asking(plain_target());
    stream.path.down = Box::new(move |_, packet| {
        let first = packet.kind == PacketKind::Media && packet.frame == FrameId(30);
        lost_if(first && doomed(packet))
    });
    stream
}

fn repeated(stream: &Loop) -> Vec<(Instant, MediaPacket)> {
    let again = |packet: &MediaPacket| packet.kind == PacketKind::Retransmission;
    stream.packets.iter().filter(|(_, packet)| again(packet)).copied().collect()
}

/// From capture to the player's eye.
fn delays(stream: &Loop) -> BTreeMap<FrameId, Duration> {
    let captured = stream.captured();
    stream.shown().into_iter().map(|(frame, at)| (frame, at - captured[&frame])).collect()
}

#[test]
fn a_frame_that_lost_a_packet_is_shown_a_round_trip_later_and_none_behind_it_by_more() {
    let usual = INTERVAL.mul_f64(0.8) + ONE_WAY;
    let late = ONE_WAY * 2 + ms(10);
    type Pattern = (&'static str, fn(&MediaPacket) -> bool, usize);
    let patterns: [Pattern; 6] = [
        ("first", |packet| packet.index == 0, 1),
        ("middle", |packet| packet.index == PACKETS / 2, 1),
        ("three", |packet| (7..10).contains(&packet.index), 3),
        // Longer than the receiver waits for the rest of a frame: it asks before all of them can have come.
        ("eight", |packet| (7..15).contains(&packet.index), 8),
        ("last but one", |packet| packet.index + 2 == packet.train_packets, 1),
        ("last", MediaPacket::is_last_of_frame, 1),
    ];
    for (name, doomed, count) in patterns {
        let mut stream = losing(doomed);
        stream.run(Duration::from_secs(2));
        stream.assert_frames_conserved();
        let delays = delays(&stream);
        assert_eq!((delays.len(), stream.requests()), (120, 0), "{name}: nothing is lost");
        assert_eq!(repeated(&stream).len(), count, "{name}");
        for (frame, delay) in delays {
            let max = if frame >= FrameId(30) { usual + late } else { usual + ms(1) };
            assert!(delay <= max, "{name}: frame {} after {delay}", frame.0);
            if frame >= FrameId(33) {
                assert!(delay <= usual + ms(2), "{name}: frame {} after {delay}", frame.0);
            }
        }
        assert_eq!(stream.key_frames(), [FrameId(0)], "{name}");
    }
}

#[test]
fn without_repair_nothing_is_asked_for_and_the_loss_costs_a_key_frame() {
    let mut stream = Loop::plain();
    stream.path.down =
        Box::new(|_, packet| lost_if(packet.frame == FrameId(30) && packet.index == 9));
    stream.run(Duration::from_secs(2));
    assert!(stream.feedback.iter().all(|(_, report)| report.asked.is_empty()));
    assert_eq!((repeated(&stream).len(), stream.key_frames().len()), (0, 2));
}

#[test]
fn random_losses_and_bursts_cost_few_pictures_and_no_more_bytes_than_the_target_has() {
    for (share, length, min_shown) in [
        (0.005, 1, 600),
        (0.01, 1, 600),
        (0.02, 1, 599),
        (0.05, 1, 595),
        (0.01, 3, 597),
        (0.05, 3, 590),
    ] {
        let mut stream = asking(plain_target());
        let (mut random, mut left) = (Random::new(1), 0);
        stream.path.down = Box::new(move |_, _| {
            if left == 0 && random.chance(share / f64::from(length)) {
                left = length;
            }
            let doomed = left > 0;
            left -= i32::from(doomed);
            lost_if(doomed)
        });
        stream.run(Duration::from_secs(10));
        stream.assert_frames_conserved();
        let shown = stream.shown().len();
        assert!((min_shown..=600).contains(&shown), "{share} {length}: {shown} shown");
        let bytes: Bytes = stream.packets.iter().map(|(_, packet)| packet.wire_size()).sum();
        let target = plain_target().bitrate * Duration::from_secs(10);
        assert!(bytes.as_f64() < 1.002 * target.as_f64(), "{share} {length}: {bytes} of {target}");
        assert!(bytes.as_f64() > 0.97 * target.as_f64(), "{share} {length}: {bytes} of {target}");
    }
}

#[test]
fn a_retransmission_that_is_lost_is_sent_once_more_within_two_round_trips() {
    let mut stream = losing(|packet| packet.index == 9);
    let mut again = 0;
    stream.path.down = Box::new(move |_, packet| {
        let first = packet.kind == PacketKind::Media && packet.frame == FrameId(30);
        again += u32::from(packet.kind == PacketKind::Retransmission);
        let lost_again = packet.kind == PacketKind::Retransmission && again <= 2;
        lost_if(lost_again || first && packet.index == 9)
    });
    stream.run(Duration::from_secs(2));
    let repeated = repeated(&stream);
    assert_eq!((repeated.len(), stream.shown().len(), stream.requests()), (3, 120, 0));
    for pair in repeated.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        assert!(gap >= ONE_WAY * 2 && gap <= ONE_WAY * 2 + ms(12), "{gap}");
        assert_eq!(pair[0].1.original, pair[1].1.original);
    }
}

#[test]
fn packets_that_a_slow_link_spreads_are_not_asked_for_before_they_are_due() {
    let mut stream = asking(Target::new(Rate::from_mbps(2), Pacing::FrameMultiplier(100.0)));
    // Frames leave at once, and a link of 3 Mb/s lies in between: further apart than the rest of a frame is late at the least.
    stream.path.down = Box::new(|_, packet| vec![ms(3) * i64::from(packet.index)]);
    stream.run(Duration::from_secs(2));
    let media = stream.packets.iter().filter(|(_, packet)| packet.kind == PacketKind::Media);
    assert!(media.count() > 3 * 120);
    // How far apart they are is not known before the first frame has come.
    assert!(repeated(&stream).len() <= 4, "{} for nothing", repeated(&stream).len());
    assert_eq!((stream.shown().len(), stream.requests()), (120, 0));
}

#[test]
fn packets_that_overtake_each_other_are_soon_no_longer_asked_for() {
    let mut stream = asking(plain_target());
    // Every ninth is late by five gaps.
    stream.path.down = Box::new(|_, packet| match packet.sequence.0 % 9 {
        0 => vec![INTERVAL.mul_f64(0.8) * 5 / i64::from(PACKETS)],
        _ => arrives(),
    });
    stream.run(Duration::from_secs(5));
    let asked = stream.feedback.iter().filter(|(_, report)| !report.asked.is_empty());
    let last = asked.clone().map(|(at, _)| *at).max().unwrap();
    let count = asked.map(|(_, report)| report.asked.len()).sum::<usize>();
    assert!(last < Instant::ZERO + ms(100) && (1..=8).contains(&count), "{count} until {last}");
    assert_eq!((stream.shown().len(), stream.requests()), (300, 0));
    let worst = *delays(&stream).values().max().unwrap();
    assert!(worst <= INTERVAL.mul_f64(0.8) + ONE_WAY + ms(4), "late originals count: {worst}");
}

#[test]
fn what_would_come_too_late_is_not_sent_again() {
    let mut stream = losing(|packet| packet.index == 9);
    // Requests take a second, and round trips are known to be short.
    stream.path.up = Box::new(|_, report| vec![if report.only_asks() { ms(1000) } else { ms(0) }]);
    stream.run(Duration::from_secs(3));
    assert_eq!(repeated(&stream).len(), 0);
    assert!(stream.requests() >= 1, "a key frame mends it");
    assert!(stream.shown().len() >= 150, "{}", stream.shown().len());
}

/// A stream whose receiver asks for these numbers in each of 1000 messages a second, as seen from packet `end`.
fn harassed(repair: Repair, numbers: impl Fn(u64) -> Vec<u64>, reports: bool) -> (Loop, Bytes) {
    let mut stream = repairing(plain_target(), repair);
    stream.path.down = Box::new(|_, packet| lost_if(packet.sequence.0 % 7 == 0));
    if !reports {
        stream.path.up = Box::new(|_, _| lost());
    }
    for step in 0..3000_i64 {
        let now = Instant::ZERO + ms(step);
        stream.run_until(now);
        let end = stream.packets.len() as u64;
        let asked = numbers(end).into_iter().map(SequenceNumber).collect();
        let (generated, packets) = (on_receiver(now), Vec::new());
        let base = SequenceNumber(0);
        let report =
            FeedbackPacket { base, packets, generated, asked, ..FeedbackPacket::default() };
        stream.sender.on_feedback(now, &report);
    }
    let again = repeated(&stream);
    let bytes = again.iter().map(|(_, packet)| packet.wire_size()).sum();
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for (_, packet) in &again {
        *times.entry(packet.original.unwrap().0).or_default() += 1;
    }
    assert!(times.values().all(|&times| times <= 10), "each a bounded number of times");
    (stream, bytes)
}

#[test]
fn whatever_is_asked_for_a_share_of_the_target_is_sent_again() {
    let in_three_seconds = (plain_target().bitrate * Duration::from_secs(3)).as_f64();
    type Numbers = fn(u64) -> Vec<u64>;
    let cases: [(&str, Numbers, bool); 4] = [
        ("everything", |end| (end.saturating_sub(1000)..end).collect(), false),
        ("everything, with reports", |end| (end.saturating_sub(500)..end).collect(), true),
        ("never sent", |end| (end + 100..end + 1100).chain([u64::MAX]).collect(), false),
        ("the same one", |end| vec![end.saturating_sub(9); 1000], false),
    ];
    // Time for one round alone, so that there are copies.
    let goal = RepairGoal { deadline: Some(ms(30)), ..RepairGoal::default() };
    // What is sent again, with what was saved up, and all, as parts of the target. In libwebrtc's way frames keep half of theirs.
    let kinds = [
        (Repair::Nack, 1.0 / 3.0, 1.1),
        (Repair::Adaptive(goal), 1.0 / 3.0, 1.1),
        (Repair::Libwebrtc, 3.5 / 3.0, 1.7),
    ];
    for ((name, numbers, reports), (repair, max_again, max_all)) in
        cases.iter().flat_map(|case| kinds.map(|repair| (*case, repair)))
    {
        let (stream, bytes) = harassed(repair, numbers, reports);
        let again = bytes.as_f64() / in_three_seconds;
        assert!(again <= max_again, "{name}: {again} of the target again");
        let all: Bytes = stream.packets.iter().map(|(_, packet)| packet.wire_size()).sum();
        let all = all.as_f64() / in_three_seconds;
        assert!(all <= max_all, "{name}: {all} of the target");
        if name == "never sent" {
            assert_eq!(bytes, Bytes::ZERO);
        }
    }
}

#[test]
fn a_packet_is_sent_again_once_in_a_round_trip() {
    let (stream, _) = harassed(Repair::Nack, |end| (end.saturating_sub(200)..end).collect(), true);
    assert!(repeated(&stream).len() > 100);
    let mut last: BTreeMap<u64, Instant> = BTreeMap::new();
    let mut numbers = BTreeSet::new();
    for (at, packet) in repeated(&stream) {
        let original = packet.original.unwrap().0;
        if let Some(before) = last.insert(original, at) {
            assert!(at - before >= ONE_WAY * 2, "{original}: {}", at - before);
        }
        assert!(numbers.insert(packet.sequence), "a number of its own");
    }
}

#[test]
fn pacing_by_rate_and_a_window_hold_for_what_is_sent_again() {
    let mut target = Target::new(Rate::from_mbps(12), Pacing::Rate(Rate::from_mbps(15)));
    let window = Bytes::new(60_000);
    target.window = Some(window);
    let mut stream = asking(target);
    let mut random = Random::new(1);
    stream.path.down = Box::new(move |_, _| lost_if(random.chance(0.1)));
    stream.run(Duration::from_secs(3));
    let mut free = Instant::ZERO;
    for (at, packet) in &stream.packets {
        assert!(*at + Duration::from_nanos(2) >= free, "packet {}", packet.sequence.0);
        free = free.max(*at) + Rate::from_mbps(15).time_for(packet.wire_size());
    }
    assert!(repeated(&stream).len() > 200);
    let told = stream.told.lock().unwrap();
    assert!(told.batches.iter().all(|(_, _, in_flight)| *in_flight <= window));
    let reported: BTreeSet<SequenceNumber> =
        told.reports().map(|report| report.packet.sequence).collect();
    assert_eq!(reported.len(), stream.packets.len(), "each transmission is sent and reported");
}
