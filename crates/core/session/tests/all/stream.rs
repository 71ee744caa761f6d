//! Sender and receiver in a loop: what the player sees under every kind of loss, and what the
//! controller is told.

use crate::support::{INTERVAL, Loop, ONE_WAY, Scripted, ms, plain_target};
use gameway_control::{
    Controllers, FeedbackStyle, FrameId, Pacing, PacketKind, RateLimits, Target,
};
use gameway_media::{HEADER, Overhead, Train};
use gameway_session::{
    FeedbackPacket, MediaPacket, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent,
};
use gameway_testbed::{arrives, lost_if};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, Ratio};
use std::collections::BTreeMap;

/// Packets of a frame at 12 Mb/s: 25000 B on the wire, at most 1248 B each: 20 full ones.
const PACKETS: u16 = 20;

/// A loop that loses some packets of frame 30.
fn losing(doomed: fn(&MediaPacket) -> bool) -> Loop {
    let mut stream = Loop::plain();
    stream.path.down =
        Box::new(move |_, packet| lost_if(packet.frame == FrameId(30) && doomed(packet)));
    stream
}

#[test]
fn on_a_clean_path_every_frame_is_shown_as_soon_as_its_last_packet_arrives() {
    let mut stream = Loop::plain();
    stream.run(Duration::from_secs(2));
    stream.assert_frames_conserved();
    let (captured, shown) = (stream.captured(), stream.shown());
    assert_eq!((captured.len(), shown.len()), (120, 120));
    for (frame, captured) in &captured {
        // Spread over 80% of the interval, then the path.
        let delay = shown[frame] - *captured;
        let expected = INTERVAL.mul_f64(0.8) + ONE_WAY;
        assert!((delay - expected).as_nanos().abs() < 2_000, "frame {}: {delay}", frame.0);
    }
    assert_eq!(stream.key_frames(), [FrameId(0)]);
    assert_eq!((stream.requests(), stream.sender.in_flight()), (0, Bytes::ZERO));
}

#[test]
fn the_wire_carries_payload_and_48_bytes_for_each_packet_and_keeps_to_the_target() {
    let mut stream = Loop::plain();
    stream.run(Duration::from_secs(1));
    let told = stream.told.lock().unwrap();
    let mut on_wire: BTreeMap<FrameId, (Bytes, Bytes, u16)> = BTreeMap::new();
    for (_, packet) in &stream.packets {
        let sums = on_wire.entry(packet.frame).or_default();
        sums.0 += packet.wire_size();
        sums.1 += Bytes::new(packet.payload.into());
        sums.2 += 1;
    }
    let budget = plain_target().bitrate * INTERVAL;
    for event in &stream.sender_events {
        let SenderEvent::FrameEncoded { frame, payload, wire_size, repair_size, packets, .. } =
            *event
        else {
            continue;
        };
        assert_eq!(on_wire[&frame], (wire_size, payload, packets));
        assert_eq!(wire_size, payload + HEADER * u64::from(packets));
        assert_eq!(repair_size, Bytes::ZERO);
        assert!(wire_size <= budget && budget - wire_size <= HEADER, "{wire_size} of {budget}");
        assert_eq!(packets, PACKETS);
    }
    let frames = told.frames.iter().map(|frame| frame.size).sum::<Bytes>();
    assert_eq!(told.sent.iter().map(|packet| packet.size).sum::<Bytes>(), frames);
}

#[test]
fn losing_any_packet_of_a_frame_costs_pictures_until_a_key_frame_within_a_round_trip() {
    type Pattern = (&'static str, fn(&MediaPacket) -> bool);
    let patterns: [Pattern; 4] = [
        ("first", |packet| packet.index == 0),
        ("middle", |packet| packet.index == PACKETS / 2),
        ("last", MediaPacket::is_last_of_frame),
        ("all", |_| true),
    ];
    for (name, doomed) in patterns {
        let mut stream = losing(doomed);
        stream.run(Duration::from_secs(2));
        stream.assert_frames_conserved();
        let key_frames = stream.key_frames();
        assert_eq!(key_frames.len(), 2, "{name}: one key frame mends it");
        let (captured, shown) = (stream.captured(), stream.shown());
        for frame in captured.keys() {
            let hidden = (FrameId(30)..key_frames[1]).contains(frame);
            assert_eq!(shown.contains_key(frame), !hidden, "{name}: frame {}", frame.0);
        }
        // The last and all are missed when the next frame comes. Then grace, request, capture, delivery.
        let broken = captured[&FrameId(30)] + INTERVAL + ONE_WAY;
        let mended = shown[&key_frames[1]];
        let bound = ms(10) + ONE_WAY * 2 + INTERVAL * 2;
        assert!(mended - broken <= bound, "{name}: {} after the loss", mended - broken);
        assert!(key_frames[1] > FrameId(30), "{name}");
    }
}

#[test]
fn one_repair_packet_saves_a_frame_from_any_single_loss_and_not_from_two() {
    let run = |losses: u16| {
        let share = |config: &mut SenderConfig| {
            config.repair_share = Ratio::from_ppm(10_000);
        };
        let mut stream = Loop::new(plain_target(), FeedbackStyle::PerFrame, share);
        stream.path.down = Box::new(move |_, packet| lost_if(packet.index < losses));
        stream.run(Duration::from_secs(1));
        stream.assert_frames_conserved();
        (stream.captured().len(), stream.shown().len(), stream.requests())
    };
    assert_eq!(run(1), (60, 60, 0), "every frame loses a packet, and none is missed");
    let (captured, shown, requests) = run(2);
    assert_eq!((captured, shown), (60, 0));
    assert!((15..=21).contains(&requests), "{requests}: every 50 ms for a second");
}

#[test]
fn the_controller_hears_of_each_packet_once() {
    let mut stream = losing(|packet| packet.index % 3 == 1);
    stream.run(Duration::from_secs(1));
    let told = stream.told.lock().unwrap();
    let mut fates = BTreeMap::new();
    for report in told.reports() {
        assert_eq!(fates.insert(report.packet.sequence, report.arrival), None);
        let ecn = if report.arrival.is_some() { Ecn::Ect1 } else { Ecn::NotEct };
        assert_eq!(report.ecn, ecn);
    }
    for (sent, packet) in &stream.packets {
        let doomed = packet.frame == FrameId(30) && packet.index % 3 == 1;
        let arrival = (!doomed).then_some(crate::support::on_receiver(*sent + ONE_WAY));
        assert_eq!(fates[&packet.sequence], arrival, "{packet:?}");
    }
    for (_, reports, _) in &told.batches {
        assert!(reports.windows(2).all(|pair| pair[0].packet.sequence < pair[1].packet.sequence));
    }
    assert_eq!(told.batches.last().map(|batch| batch.2), Some(Bytes::ZERO), "nothing is in flight");
}

#[test]
fn a_loss_is_known_once_three_later_packets_have_arrived() {
    let mut stream = losing(|packet| packet.index + 3 == PACKETS);
    stream.run(Duration::from_secs(1));
    let told = stream.told.lock().unwrap();
    let lost = told.reports().find(|report| report.arrival.is_none()).unwrap().packet.sequence.0;
    let (known, _, _) = told
        .batches
        .iter()
        .find(|(_, reports, _)| reports.iter().any(|report| report.packet.sequence.0 == lost))
        .unwrap();
    let later = |report: &FeedbackPacket| {
        let numbers = (report.base.0..).zip(&report.packets);
        numbers.filter(|(number, received)| *number > lost && received.is_some()).count()
    };
    assert!(stream.feedback.iter().any(|(_, report)| later(report) == 2), "too few to be sure");
    let (sure, _) = stream.feedback.iter().find(|(_, report)| later(report) >= 3).unwrap();
    assert_eq!(*known, *sure + ONE_WAY);
}

#[test]
fn two_of_three_reports_can_be_lost_without_a_packet_taken_for_lost() {
    let mut stream = Loop::plain();
    let mut count = 0;
    stream.path.up = Box::new(move |_, _| {
        count += 1;
        lost_if(count % 3 != 0)
    });
    stream.run(Duration::from_secs(2));
    let told = stream.told.lock().unwrap();
    let taken_for_lost = told.reports().filter(|report| report.arrival.is_none());
    // The very last reports are lost too, and nothing comes after them.
    assert!(taken_for_lost.map(|report| report.packet.frame).all(|frame| frame == FrameId(119)));
}

#[test]
fn duplicates_and_reordering_change_nothing() {
    let mut stream = Loop::plain();
    stream.path.down = Box::new(|_, packet| match packet.sequence.0 % 7 {
        0 => vec![Duration::ZERO, ms(3), ms(40)],
        3 => vec![ms(2)],
        _ => arrives(),
    });
    stream.path.up = Box::new(|_, report| match report.generated.as_nanos() % 3 {
        0 => vec![Duration::ZERO, ms(20)],
        1 => vec![ms(30)],
        _ => arrives(),
    });
    stream.run(Duration::from_secs(2));
    stream.assert_frames_conserved();
    assert_eq!(stream.shown().len(), stream.captured().len());
    let told = stream.told.lock().unwrap();
    let received: Vec<_> =
        told.reports().filter(|r| r.arrival.is_some()).map(|r| r.packet.sequence).collect();
    let mut once = received.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), received.len(), "none is reported received twice");
    assert_eq!(received.len(), told.sent.len(), "all are");
}

#[test]
fn a_packet_that_comes_after_it_was_taken_for_lost_is_reported_again() {
    let mut stream = Loop::plain();
    stream.path.down = Box::new(|_, packet| {
        if packet.frame == FrameId(30) && packet.index == 1 { vec![ms(12)] } else { arrives() }
    });
    stream.run(Duration::from_secs(1));
    let told = stream.told.lock().unwrap();
    let doomed =
        told.sent.iter().find(|packet| packet.frame == FrameId(30)).unwrap().sequence.0 + 1;
    let fates: Vec<bool> = told
        .reports()
        .filter(|report| report.packet.sequence.0 == doomed)
        .map(|report| report.arrival.is_some())
        .collect();
    assert_eq!(fates, [false, true]);
}

#[test]
fn on_a_long_path_repeated_requests_still_make_one_key_frame() {
    let mut stream = losing(|packet| packet.index == 3);
    stream.path.delay = ms(150);
    stream.run(Duration::from_secs(2));
    stream.assert_frames_conserved();
    assert!((6..=8).contains(&stream.requests()), "{}: one in 50 ms", stream.requests());
    assert_eq!(stream.key_frames().len(), 2);
}

#[test]
fn a_lost_key_frame_is_asked_for_again() {
    let mut stream = Loop::plain();
    stream.path.down = Box::new(|now, packet| {
        let doomed =
            packet.frame == FrameId(30) || (packet.key_frame && now < Instant::ZERO + ms(700));
        lost_if(doomed && packet.frame > FrameId(0))
    });
    stream.run(Duration::from_secs(2));
    stream.assert_frames_conserved();
    assert!(stream.key_frames().len() > 2);
    assert_eq!(stream.shown().keys().next_back(), stream.captured().keys().next_back());
}

#[test]
fn a_blackout_ends_with_a_key_frame_and_every_frame_is_accounted_for() {
    let mut stream = Loop::plain();
    let dark = Instant::ZERO + ms(500)..Instant::ZERO + ms(6_000);
    stream.path.down = Box::new(move |now, _| lost_if(dark.contains(&now)));
    stream.run(Duration::from_secs(8));
    stream.assert_frames_conserved();
    let shown = stream.shown();
    let (captured, first_after) = (stream.captured(), stream.key_frames()[1]);
    assert!(captured[&first_after] < Instant::ZERO + ms(6_000) + INTERVAL * 4 + ONE_WAY * 2);
    let after = captured.keys().filter(|frame| **frame >= first_after);
    assert!(after.into_iter().all(|frame| shown.contains_key(frame)));
    let told = stream.told.lock().unwrap();
    let lost = told.reports().filter(|report| report.arrival.is_none()).count();
    let dark = told.sent.iter().filter(|packet| {
        (Instant::ZERO + ms(500)..Instant::ZERO + ms(6_000)).contains(&packet.sent)
    });
    assert_eq!(lost, dark.count(), "all of them, and no other, is told as lost");
}

#[test]
fn a_window_full_of_lost_packets_opens_again() {
    let target = plain_target().with_window(Some(Bytes::new(20_000)));
    let mut stream = Loop::new(target, FeedbackStyle::PerFrame, |_| {});
    let dark = Instant::ZERO + ms(500)..Instant::ZERO + ms(600);
    stream.path.down = Box::new(move |now, _| lost_if(dark.contains(&now)));
    stream.run(Duration::from_secs(4));
    stream.assert_frames_conserved();
    let resumed = stream.packets.iter().find(|(sent, _)| *sent > Instant::ZERO + ms(600)).unwrap();
    assert!(resumed.0 <= Instant::ZERO + ms(1_700), "nothing left until {}", resumed.0);
    assert_eq!(stream.shown().keys().next_back(), stream.captured().keys().next_back());
}

#[test]
fn while_the_pacer_is_behind_frames_are_skipped_and_the_queue_stays_short() {
    // A tenth of what the frames need.
    let pacing = Pacing::Rate(Rate::from_kbps(1_200));
    let mut stream =
        Loop::new(Target::new(plain_target().bitrate, pacing), FeedbackStyle::PerFrame, |_| {});
    stream.run_until(Instant::ZERO + Duration::from_secs(3));
    assert!(stream.sender.waiting_frames() <= 6);
    let skipped = |event: &&SenderEvent| matches!(event, SenderEvent::FrameSkipped { .. });
    let skipped = stream.sender_events.iter().filter(skipped).count();
    let encoded = stream.captured().len();
    assert_eq!(skipped + encoded, 180, "every capture is told of");
    // Three seconds at 1.2 Mb/s carry 18 frames.
    assert!((18..=26).contains(&encoded), "{encoded} frames encoded");
}

#[test]
fn probes_follow_each_frame_and_the_last_one_makes_a_report() {
    let target = plain_target().asking(|requests| requests.probes_per_frame = 4);
    let mut stream = Loop::new(target, FeedbackStyle::PerFrame, |_| {});
    stream.run(Duration::from_secs(1));
    let probes: Vec<&MediaPacket> = stream
        .packets
        .iter()
        .map(|(_, packet)| packet)
        .filter(|packet| packet.kind == PacketKind::Probe && packet.frame == FrameId(20))
        .collect();
    let marks: Vec<_> =
        probes.iter().map(|p| (p.index, p.last_probe, p.wire_size().get())).collect();
    assert_eq!(marks, [(0, false, 48), (1, false, 48), (2, false, 48), (3, true, 48)]);
    let ends =
        |(_, packet): &&(Instant, MediaPacket)| packet.last_probe || packet.is_last_of_frame();
    let ends: Vec<_> =
        stream.packets.iter().filter(ends).map(|(sent, _)| *sent + ONE_WAY).collect();
    assert_eq!(ends.len(), 2 * stream.captured().len());
    let reported = |end: &Instant| stream.feedback.iter().any(|(at, _)| at == end);
    assert!(ends.iter().all(reported), "the frame's end and its probes' end make a report");
}

#[test]
fn reports_at_an_interval_cover_everything_and_come_no_more_often() {
    let mut stream = Loop::new(plain_target(), FeedbackStyle::Interval(ms(50)), |_| {});
    stream.run(Duration::from_secs(2));
    let gaps: Vec<_> = stream.feedback.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|&gap| gap >= ms(50) && gap < ms(51)), "{gaps:?}");
    let told = stream.told.lock().unwrap();
    assert_eq!(told.reports().count(), told.sent.len());
}

#[test]
fn a_lost_last_packet_delays_the_report_by_ten_milliseconds_at_most() {
    let mut stream = losing(MediaPacket::is_last_of_frame);
    stream.run(Duration::from_secs(1));
    let longest = stream.feedback.iter().flat_map(|(at, report)| {
        let oldest = report.packets.iter().flatten().map(|received| received.arrival);
        oldest
            .filter(move |arrival| crate::support::on_sender(*arrival) <= *at)
            .max()
            .map(|new| (*at, new))
    });
    for (at, newest) in longest {
        assert!(at - crate::support::on_sender(newest) <= ms(10));
    }
    assert!(!stream.feedback.iter().any(|(_, report)| report.packets.is_empty()));
}

#[test]
fn the_size_of_a_report_is_that_of_its_rtcp_packet() {
    let mut stream = losing(|packet| packet.index == 0);
    stream.run(Duration::from_secs(1));
    for (_, report) in &stream.feedback {
        // Two bytes a packet, padded to four; RTCP 8, block 8, timestamp 4, IPv4 and UDP 28.
        let padded = (report.packets.len() as u64 * 2).next_multiple_of(4);
        let request = if report.key_frame_request { 12 } else { 0 };
        assert_eq!(report.wire_size().get(), 48 + padded + request);
    }
    assert!(stream.feedback.iter().any(|(_, report)| report.key_frame_request));
}

#[test]
fn every_controller_fills_a_wide_path_and_loses_no_picture() {
    let limits = RateLimits {
        min: Rate::from_mbps(2),
        max: Rate::from_mbps(20),
        start: Rate::from_mbps(5),
        frame_interval: INTERVAL,
    };
    let known = Controllers::standard();
    for spec in known.descriptions() {
        let controller = known.build(spec.name, &Options::new(), limits).unwrap();
        let style = controller.feedback_style();
        let config = SenderConfig::new(Instant::ZERO, INTERVAL);
        let mut stream = Loop::controlled(controller, style, config);
        stream.run(Duration::from_secs(20));
        stream.assert_frames_conserved();
        let captured = stream.captured().len();
        assert_eq!(stream.shown().len(), captured, "{}", spec.name);
        assert_eq!((captured, stream.requests()), (1_200, 0), "{}", spec.name);
        let fixed = spec.name == "fixed";
        let last = stream.sender.controller().target().bitrate;
        let enough = if fixed { limits.start } else { limits.max.mul_f64(0.9) };
        assert!(last >= enough && last <= limits.max, "{}: ends at {last}", spec.name);
    }
}

#[test]
fn a_coarse_clock_rounds_arrivals_down() {
    let mut stream = Loop::plain();
    let resolution = Duration::from_nanos(1_000_000_000 / 1_024);
    let mut config = ReceiverConfig::new(FeedbackStyle::PerFrame);
    config.arrival_resolution = resolution;
    stream.receiver = Receiver::new(config);
    stream.run(Duration::from_secs(1));
    let told = stream.told.lock().unwrap();
    for report in told.reports() {
        let exact = crate::support::on_receiver(report.packet.sent + ONE_WAY);
        let error = exact - report.arrival.unwrap();
        assert!((Duration::ZERO..resolution).contains(&error), "{error}");
        assert_eq!(report.arrival.unwrap().as_nanos() % resolution.as_nanos(), 0);
    }
    assert!(told.reports().count() > 1_000);
}

/// A sender whose frames are encoded elsewhere, at the time of its first one.
fn with_an_encoder_elsewhere() -> Sender {
    let (controller, _) = Scripted::new(plain_target());
    let mut sender = Sender::new(SenderConfig::new(Instant::ZERO, INTERVAL), Box::new(controller));
    sender.on_deadline(Instant::ZERO);
    sender
}

#[test]
fn a_frame_is_asked_for_once_and_leaves_when_it_is_encoded() {
    let mut sender = with_an_encoder_elsewhere();
    let request = sender.poll_encode().unwrap();
    assert_eq!((request.frame, request.captured), (FrameId(0), Instant::ZERO));
    assert!(request.key_frame, "the first frame refers to none");
    assert_eq!(sender.poll_encode(), None);
    assert_eq!(sender.poll_transmit(Instant::ZERO), None);

    let encoded = Instant::ZERO + ms(4);
    let overhead = Overhead::default();
    let train = Train::of_packets(vec![900, 900], 2, overhead).unwrap();
    sender.on_encoded(encoded, &train, true);
    let first = sender.poll_transmit(encoded).unwrap();
    assert_eq!((first.frame, first.payload, first.media_packets), (FrameId(0), 900, 2));
}

/// What a sender skips, and when it captures, if its first frame takes so long to encode.
fn with_a_slow_first_frame(encoding: Duration) -> (Vec<Instant>, Vec<Instant>) {
    let mut sender = with_an_encoder_elsewhere();
    let train = Train::of_packets(vec![900], 1, Overhead::default()).unwrap();
    let first = sender.poll_encode().unwrap();
    let mut captured = Vec::new();
    let mut busy_until = Some(first.captured + encoding);
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + INTERVAL * 6 {
        now = [busy_until, sender.next_deadline()].into_iter().flatten().min().unwrap();
        if busy_until == Some(now) {
            sender.on_encoded(now, &train, false);
            busy_until = None;
        }
        sender.on_deadline(now);
        while sender.poll_transmit(now).is_some() {}
        if let Some(request) = sender.poll_encode() {
            captured.push(request.captured);
            busy_until = Some(now + ms(1));
        }
    }
    let skipped = std::iter::from_fn(|| sender.poll_event()).filter_map(|event| match event {
        SenderEvent::FrameSkipped { captured } => Some(captured),
        _ => None,
    });
    (captured, skipped.collect())
}

#[test]
fn a_frame_due_while_another_is_encoded_is_late_or_skipped() {
    let grid = |frame: i64| Instant::ZERO + INTERVAL * frame;
    let (captured, skipped) = with_a_slow_first_frame(ms(20));
    assert_eq!(captured[..3], [Instant::ZERO + ms(20), grid(2), grid(3)], "3 ms late");
    assert_eq!(skipped, []);
    let (captured, skipped) = with_a_slow_first_frame(ms(30));
    assert_eq!(captured[..2], [grid(2), grid(3)]);
    assert_eq!(skipped, [grid(1)], "13 ms late is nearer to the next");
    let (captured, skipped) = with_a_slow_first_frame(ms(55));
    assert_eq!(captured[..2], [Instant::ZERO + ms(55), grid(4)]);
    assert_eq!(skipped, [grid(1), grid(2)]);
}

#[test]
fn a_damaged_frame_is_followed_by_a_key_frame() {
    let mut stream = Loop::plain();
    stream.run_until(Instant::ZERO + ms(500));
    let damaged = *stream.shown().keys().next_back().unwrap();
    let now = stream.now;
    stream.receiver.on_undecodable(crate::support::on_receiver(now));
    stream.run(ms(500));
    let second = stream.key_frames()[1];
    let shown = stream.shown();
    let next = *shown.keys().find(|frame| **frame > damaged).unwrap();
    assert_eq!(next, second, "nothing that refers to the damaged frame is shown");
    assert!(second.0 - damaged.0 <= 4, "a round trip and two frames: {damaged:?}, {second:?}");
    assert_eq!(stream.key_frames().len(), 2, "asked for once");
}

#[test]
fn a_request_without_a_report_is_answered_once_the_key_frame_was_told_of() {
    let mut stream = Loop::plain();
    stream.run_until(Instant::ZERO + ms(5));
    let now = stream.now;
    stream.sender.on_key_frame_request(now, None);
    stream.run_until(Instant::ZERO + ms(100));
    assert_eq!(stream.key_frames().len(), 1, "the key frame under way is the answer");
    let now = stream.now;
    stream.sender.on_key_frame_request(now, None);
    let now = stream.now;
    stream.sender.on_key_frame_request(now, None);
    stream.run_until(Instant::ZERO + ms(200));
    assert_eq!(stream.key_frames().len(), 2);
}

#[test]
fn when_an_encoder_dies_the_next_frame_is_a_key_frame_of_the_same_number() {
    let mut sender = with_an_encoder_elsewhere();
    let train = Train::of_packets(vec![900], 1, Overhead::default()).unwrap();
    let mut requests = Vec::new();
    for (number, dies) in [false, false, true, false, false].into_iter().enumerate() {
        let now = Instant::ZERO + INTERVAL * number as i64;
        sender.on_deadline(now);
        let request = sender.poll_encode().unwrap();
        requests.push((request.frame.0, request.key_frame));
        if dies {
            sender.on_encoder_failed(now);
        } else {
            sender.on_encoded(now, &train, request.key_frame);
        }
        while sender.poll_transmit(now).is_some() {}
    }
    assert_eq!(requests, [(0, true), (1, false), (2, false), (2, true), (3, false)]);
}
