//! What a sender does for its driver and its controller beside carrying frames.

mod breaker;
mod handover;
mod key_frames;
mod leveled;
mod models;
mod references;
mod repeated;

use super::*;
use crate::feedback::ReceivedPacket;
use gameway_control::{FeedbackStyle, FrameSent, PacketKind};
use gameway_media::{Overhead, Train};
use gameway_units::Ecn;
use std::sync::{Arc, Mutex};

const INTERVAL: Duration = Duration::from_millis(16);
/// Three packets in each frame, of which the last has 100 B.
const PAYLOADS: [u16; 3] = [1_200, 1_200, 100];

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// What a controller wants, and what it was told.
#[derive(Default)]
struct Shared {
    target: Option<Target>,
    timer: Option<Instant>,
    in_parts: bool,
    timers: Vec<Instant>,
    sent: Vec<SentPacket>,
    reports: Vec<PacketReport>,
    notices: Vec<Notice>,
}

#[derive(Clone)]
struct Scripted(Arc<Mutex<Shared>>);

impl Scripted {
    fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }
}

impl RateController for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn sends_in_parts(&self) -> bool {
        self.with(|shared| shared.in_parts)
    }
    fn on_frame(&mut self, _now: Instant, _frame: &FrameSent) {}
    fn on_sent(&mut self, _now: Instant, packet: &SentPacket) {
        self.with(|shared| shared.sent.push(*packet));
    }
    fn on_feedback(&mut self, _now: Instant, batch: &FeedbackBatch<'_>) {
        self.with(|shared| shared.reports.extend(batch.reports));
    }
    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        self.with(|shared| shared.notices.push(*notice));
    }
    fn on_timer(&mut self, now: Instant) {
        self.with(|shared| {
            shared.timers.push(now);
            shared.timer = None;
        });
    }
    fn next_timer(&self) -> Option<Instant> {
        self.with(|shared| shared.timer)
    }
    fn target(&self) -> Target {
        self.with(|shared| shared.target.expect("it was set"))
    }
    fn observe(&self, _sink: &mut dyn FnMut(&str, f64)) {}
}

fn target(pacing: Pacing) -> Target {
    Target::new(Rate::from_mbps(10), pacing)
}

fn sender(target: Target, configure: impl FnOnce(&mut SenderConfig)) -> (Sender, Scripted) {
    let controller = Scripted(Arc::default());
    controller.with(|shared| shared.target = Some(target));
    let mut config = SenderConfig::new(Instant::ZERO, INTERVAL);
    configure(&mut config);
    (Sender::new(config, Box::new(controller.clone())), controller)
}

/// Frames leave at once.
fn bursting() -> (Sender, Scripted) {
    sender(target(Pacing::Burst), |_| {})
}

fn train() -> Train {
    Train::of_packets(PAYLOADS.to_vec(), 3, Overhead::default()).unwrap()
}

/// A frame is captured and encoded now, if one is due; gives what was asked for.
fn encode(sender: &mut Sender, now: Instant) -> Option<EncodeRequest> {
    sender.on_deadline(now);
    let request = sender.poll_encode()?;
    sender.on_encoded(now, &train(), request.key_frame);
    Some(request)
}

fn transmit(sender: &mut Sender, now: Instant) -> Vec<MediaPacket> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// Frame `number` is captured at its time and leaves as far as it can; whether it is a key frame.
fn frame(sender: &mut Sender, number: i64) -> bool {
    let now = Instant::ZERO + INTERVAL * number;
    let request = encode(sender, now).expect("it is due");
    assert_eq!(request.frame, FrameId(number as u64));
    transmit(sender, now);
    request.key_frame
}

/// A report that begins with packet `base`: `#` arrived, `.` did not.
fn report(base: u64, packets: &str) -> FeedbackPacket {
    let received = ReceivedPacket { arrival: ReceiverInstant::ZERO, ecn: Ecn::NotEct };
    let packets = packets.chars().map(|mark| (mark == '#').then_some(received)).collect();
    FeedbackPacket { base: SequenceNumber(base), packets, ..FeedbackPacket::default() }
}

fn key_frames_wanted(sender: &mut Sender) -> usize {
    let wanted = |event: &SenderEvent| matches!(event, SenderEvent::KeyFrameWanted { .. });
    std::iter::from_fn(|| sender.poll_event()).filter(wanted).count()
}

fn skipped(sender: &mut Sender) -> Vec<Instant> {
    let events = std::iter::from_fn(|| sender.poll_event());
    let skipped = events.filter_map(|event| match event {
        SenderEvent::FrameSkipped { captured } => Some(captured),
        _ => None,
    });
    skipped.collect()
}

#[test]
fn a_closed_window_blocks_all_but_a_solicitation() {
    let window = Some(Bytes::new(2_000));
    let (mut sender, told) = sender(target(Pacing::Burst).with_window(window), |_| {});
    assert!(!sender.is_blocked(), "nothing waits");
    encode(&mut sender, at(0));
    assert_eq!(transmit(&mut sender, at(0)).len(), 1, "two have no room in the window");
    assert!(sender.is_blocked());
    let packet = sender.solicit(at(1));
    assert_eq!((packet.kind, packet.sequence), (PacketKind::Padding, SequenceNumber(1)));
    // An RTP packet of 48 B of headers with one byte.
    assert_eq!((packet.payload, packet.wire_size().get()), (1, 49));
    assert_eq!(sender.in_flight(), Bytes::new(1_248 + 49));
    told.with(|shared| assert_eq!(shared.sent[1].size, Bytes::new(49)));
    // Its report opens the window.
    sender.on_feedback(at(2), &report(0, "##"));
    assert!(!sender.is_blocked());
    assert_eq!(transmit(&mut sender, at(2)).len(), 2);
    assert_eq!(sender.in_flight(), Bytes::new(1_248 + 148));
}

#[test]
fn a_late_driver_is_told_when_a_packet_was_due() {
    // Three packets over 8 ms: 0, 4 and 8 ms.
    let (mut sender, _) = sender(target(Pacing::FrameMultiplier(2.0)), |config| {
        config.start = at(3);
    });
    assert_eq!(sender.last_due(), at(3), "of none, when the stream began");
    encode(&mut sender, at(3));
    let due = |sender: &mut Sender, now| sender.poll_transmit(now).map(|_| sender.last_due());
    assert_eq!(due(&mut sender, at(3)), Some(at(3)));
    assert_eq!(due(&mut sender, at(6)), None);
    assert_eq!(due(&mut sender, at(9)), Some(at(7)));
    assert_eq!(due(&mut sender, at(15)), Some(at(11)));
}

#[test]
fn a_frame_that_arrived_is_told_ahead_of_its_packets() {
    let (mut sender, told) = sender(target(Pacing::FrameMultiplier(2.0)), |_| {});
    encode(&mut sender, at(0));
    (0..5).for_each(|millis| _ = transmit(&mut sender, at(millis)));
    let arrival = Some(ReceiverInstant::from_nanos(5));
    assert_eq!(sender.on_frame_received(at(5), FrameId(0), arrival), None, "it is not whole yet");
    transmit(&mut sender, at(8));
    let last = SequenceNumber(2);
    assert_eq!(sender.on_frame_received(at(9), FrameId(0), None), Some(last));
    told.with(|shared| assert_eq!(shared.notices, [Notice::Captured]));
    assert_eq!(sender.on_frame_received(at(9), FrameId(0), arrival), Some(last));
    told.with(|shared| {
        let [_, Notice::FrameReceived(received)] = shared.notices[..] else {
            panic!("{:?}", shared.notices);
        };
        assert_eq!((received.frame, received.first_sent), (FrameId(0), at(0)));
        assert_eq!((received.last, received.arrival.as_nanos()), (shared.sent[2], 5));
    });
    assert_eq!(sender.on_frame_received(at(9), FrameId(1), arrival), None);
}

#[test]
fn frames_of_two_seconds_are_remembered() {
    let (mut sender, _) = bursting();
    (0..257).for_each(|number| _ = frame(&mut sender, number));
    assert_eq!(sender.on_frame_received(at(9_000), FrameId(0), None), None);
    let known = |frame: u64| Some(SequenceNumber(3 * frame + 2));
    for frame in [1, 100, 256] {
        assert_eq!(sender.on_frame_received(at(9_000), FrameId(frame), None), known(frame));
    }
}

#[test]
fn a_target_that_follows_on_news_counts_at_once() {
    type News = fn(&mut Sender);
    let news: [News; 4] = [
        |sender| sender.on_round_trip(at(17), Duration::from_millis(40)),
        |sender| _ = sender.on_frame_received(at(17), FrameId(0), Some(ReceiverInstant::ZERO)),
        |sender| sender.on_feedback(at(17), &report(0, "#")),
        |sender| sender.on_deadline(at(17)),
    ];
    for (number, tell) in news.into_iter().enumerate() {
        let (mut sender, told) = bursting();
        frame(&mut sender, 0);
        told.with(|shared| {
            shared.target = Some(target(Pacing::Burst).with_window(Some(Bytes::new(1_300))));
            shared.timer = Some(at(17));
        });
        encode(&mut sender, at(16));
        assert!(sender.is_blocked());
        told.with(|shared| shared.target = Some(target(Pacing::Burst)));
        tell(&mut sender);
        assert!(!sender.is_blocked(), "{number}");
    }
}

#[test]
fn a_round_trip_is_passed_on() {
    let (mut sender, told) = bursting();
    sender.on_round_trip(at(1), Duration::from_millis(40));
    let expected = Notice::RoundTrip(Duration::from_millis(40));
    told.with(|shared| assert_eq!(shared.notices, [expected]));
}

#[test]
fn a_timer_is_called_when_it_is_due_while_the_stream_runs() {
    let (mut sender, told) = bursting();
    frame(&mut sender, 0);
    sender.on_feedback(at(1), &report(0, "###"));
    told.with(|shared| shared.timer = Some(at(7)));
    assert_eq!(sender.next_deadline(), Some(at(7)));
    sender.on_deadline(at(6));
    told.with(|shared| assert_eq!(shared.timers, []));
    sender.on_deadline(at(7));
    told.with(|shared| assert_eq!(shared.timers, [at(7)]));
    assert_eq!(sender.next_deadline(), Some(at(16)));
    told.with(|shared| shared.timer = Some(at(8)));
    sender.stop(at(7));
    assert_eq!(sender.next_deadline(), None, "a stopped stream wakes up for nothing");
}

#[test]
fn a_stream_that_was_stopped_goes_on_when_it_is_resumed() {
    let (mut sender, _) = bursting();
    frame(&mut sender, 0);
    sender.stop(at(1));
    assert_eq!(encode(&mut sender, at(100)), None);
    sender.resume(at(103));
    assert_eq!(encode(&mut sender, at(102)), None);
    let request = encode(&mut sender, at(103)).unwrap();
    assert_eq!((request.captured, request.frame), (at(103), FrameId(1)));
    transmit(&mut sender, at(103));
    assert_eq!(encode(&mut sender, at(119)).unwrap().captured, at(119));
    assert_eq!(skipped(&mut sender), []);
}

#[test]
fn the_rate_reserved_for_audio_is_taken_off_the_frames_budget() {
    let payload = |reserved_rate: Rate| {
        let (mut sender, _) = bursting();
        sender.set_reserved_rate(reserved_rate);
        encode(&mut sender, at(0)).unwrap()
    };
    // 10 Mb/s in 16 ms are 20000 B: 16 full packets, and what is left is less than the headers of one more.
    let alone = payload(Rate::ZERO);
    assert_eq!(alone.payload, Bytes::new(16 * 1_200));
    assert_eq!(alone.rate, alone.payload / INTERVAL);
    // 6 Mb/s are 12000 B: 10 packets with 48 B of headers each.
    assert_eq!(payload(Rate::from_mbps(4)).payload, Bytes::new(12_000 - 10 * 48));
}

#[test]
fn under_a_rate_frames_wait_for_what_passes_them() {
    // 1248 B take 1.248 ms at 8 Mb/s.
    let first_after = |passed: u64| {
        let (mut sender, _) = sender(target(Pacing::Rate(Rate::from_mbps(8))), |_| {});
        encode(&mut sender, at(0));
        sender.pass(at(0), Bytes::new(passed));
        assert_eq!(sender.in_flight(), Bytes::ZERO, "no report tells of it");
        sender.next_deadline().unwrap() - at(0)
    };
    assert_eq!(first_after(0), Duration::ZERO);
    assert_eq!(first_after(500), Duration::from_micros(500));
}

#[test]
fn frames_are_skipped_while_six_wait() {
    let (mut sender, told) = sender(target(Pacing::Burst), |_| {});
    frame(&mut sender, 0);
    let closed = target(Pacing::Burst).with_window(Some(Bytes::new(1)));
    told.with(|shared| shared.target = Some(closed));
    for number in 1..=7 {
        let encoded = encode(&mut sender, at(16 * number)).is_some();
        assert_eq!(encoded, number <= 6, "{number}");
    }
    assert_eq!((sender.waiting_frames(), skipped(&mut sender)), (6, vec![at(112)]));
}

#[test]
fn a_driver_that_comes_when_the_next_frame_is_due_has_missed_one() {
    for (late, missed) in [(15, 0), (16, 1), (31, 1), (32, 2)] {
        let (mut sender, _) = bursting();
        let request = encode(&mut sender, at(late)).unwrap();
        assert_eq!(request.captured, at(0));
        assert_eq!(skipped(&mut sender).len(), missed, "{late} ms");
        assert_eq!(sender.slots.next(), Some(at(16 * (missed as i64 + 1))));
    }
}

#[test]
fn a_drawing_is_captured_before_the_frame_is_due_once_the_encoder_is_free() {
    let (mut sender, _) = bursting();
    frame(&mut sender, 0);
    sender.on_drawn(at(5));
    let captured = at(5) + Duration::from_micros(500);
    assert_eq!(sender.next_deadline(), Some(captured));
    sender.on_deadline(captured);
    assert_eq!(sender.poll_encode().unwrap().captured, captured);
    sender.on_drawn(at(15));
    assert_eq!(sender.next_deadline(), Some(at(32)), "the encoder is busy");
    sender.on_encoded(at(17), &train(), false);
    transmit(&mut sender, at(17));
    // No more than a frame early: the one due at 32 ms.
    assert_eq!(sender.next_deadline(), Some(at(16)));
    assert_eq!(encode(&mut sender, at(17)).unwrap().captured, at(16));
    assert_eq!(skipped(&mut sender), []);
}

#[test]
fn a_frame_that_was_due_amid_encoding_is_captured_up_to_half_an_interval_late() {
    let captured = |encoded: i64, stopped: bool| {
        let (mut sender, _) = bursting();
        sender.on_deadline(at(0));
        sender.poll_encode().unwrap();
        sender.on_deadline(at(16));
        assert_eq!(sender.poll_encode(), None, "the encoder is busy");
        if stopped {
            sender.stop(at(17));
        }
        sender.on_encoded(at(encoded), &train(), true);
        let captured = sender.poll_encode().map(|request| request.captured);
        (captured, skipped(&mut sender))
    };
    assert_eq!(captured(24, false), (Some(at(24)), vec![]));
    assert_eq!(captured(25, false), (None, vec![at(16)]));
    assert_eq!(captured(24, true), (None, vec![at(16)]), "a stopped stream captures nothing");
}

#[test]
fn a_request_says_what_the_controller_asks_for() {
    let request = |asking: fn(&mut gameway_control::Requests), in_parts, pacing| {
        let (mut sender, told) = sender(target(pacing).asking(asking), |_| {});
        told.with(|shared| shared.in_parts = in_parts);
        frame(&mut sender, 0);
        encode(&mut sender, at(16)).unwrap()
    };
    let smooth = Pacing::FrameMultiplier(1.0);
    let plain = request(|_| {}, false, smooth);
    assert!(!plain.bounded && !plain.key_frame && !plain.in_parts);
    assert!(request(|ask| ask.bounds_frame = true, false, smooth).bounded);
    assert!(request(|ask| ask.key_frame = true, false, smooth).key_frame);
    assert!(request(|_| {}, true, smooth).in_parts);
    assert!(!request(|_| {}, true, Pacing::Burst).in_parts, "a burst is one train");
}

#[test]
fn padding_is_as_large_as_configured_and_no_larger_than_a_packet() {
    let padding = |configured: u64| {
        let cluster = gameway_control::ProbeCluster {
            id: 1,
            rate: Rate::from_mbps(10),
            min_bytes: Bytes::new(30_000),
            min_packets: 5,
        };
        let asking = target(Pacing::Burst).asking(|ask| ask.probe_cluster = Some(cluster));
        let (mut sender, told) = sender(asking, |config| config.padding = Bytes::new(configured));
        encode(&mut sender, at(0));
        let packets = transmit(&mut sender, at(1_000));
        told.with(|shared| assert!(shared.sent.iter().all(|one| one.probe_cluster == Some(1))));
        let last = *packets.last().unwrap();
        assert_eq!((last.kind, last.frame), (PacketKind::Padding, FrameId(0)));
        assert_eq!((last.media_packets, last.train_packets, last.key_frame), (0, 0, false));
        last.payload
    };
    assert_eq!(padding(300), 300);
    assert_eq!(padding(1_200), 1_200);
    assert_eq!(padding(5_000), 1_200);
}

#[test]
fn an_empty_part_begins_no_frame() {
    let (mut sender, told) = sender(target(Pacing::FrameMultiplier(1.0)), |_| {});
    told.with(|shared| shared.in_parts = true);
    sender.on_deadline(at(0));
    sender.poll_encode().unwrap();
    sender.on_encoded_part(at(0), &[], true);
    assert_eq!(sender.waiting_frames(), 0);
    sender.on_encoder_failed(at(1));
    assert_eq!(skipped(&mut sender), [at(0)]);
    // Nothing is being encoded any more.
    sender.on_encoded_part(at(2), &[900], true);
    sender.on_encoder_failed(at(2));
    sender.on_encoded(at(2), &train(), true);
    assert_eq!((sender.waiting_frames(), skipped(&mut sender)), (0, vec![]));
}

#[test]
fn the_last_packet_that_waits_of_a_frame_that_breaks_off_ends_it() {
    let (mut sender, told) = sender(target(Pacing::FrameMultiplier(2.0)), |_| {});
    told.with(|shared| shared.in_parts = true);
    sender.on_deadline(at(0));
    sender.poll_encode().unwrap();
    sender.on_encoded_part(at(0), &[900; 3], true);
    assert_eq!(transmit(&mut sender, at(0)).len(), 1);
    sender.on_encoder_failed(at(1));
    assert_eq!(sender.waiting_frames(), 1);
    let rest = transmit(&mut sender, at(15));
    let ends = rest.iter().map(|packet| (packet.index, packet.is_last_of_frame()));
    assert!(ends.eq([(1, false), (2, true)]));
    assert_eq!(sender.waiting_frames(), 0);
    let last_sent = SenderEvent::FrameLastSent { frame: FrameId(0), at: at(15) };
    assert_eq!(std::iter::from_fn(|| sender.poll_event()).last(), Some(last_sent));
}
