//! Whatever the peer or the path does: no panic, bounded memory, every packet accounted for once.

use crate::support::{INTERVAL, Loop, Scripted, ms, plain_target};
use gameway_control::{FeedbackStyle, FrameId, PacketKind, SequenceNumber};
use gameway_media::{EncoderModel, PlayoutConfig};
use gameway_session::{
    FeedbackPacket, MediaPacket, ReceivedPacket, Receiver, ReceiverConfig, Sender, SenderConfig,
};
use gameway_units::{Duration, Ecn, Instant, Ratio, ReceiverInstant, Recovery, Repair, RepairGoal};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A small number most of the time, any number now and then.
fn number(usual: u64) -> impl Strategy<Value = u64> {
    prop_oneof![12 => 0..usual, 1 => any::<u64>(), 1 => (0u64..5).prop_map(|n| u64::MAX - n)]
}

fn any_instant() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0i64..2_000_000_000, 1 => any::<i64>()]
}

fn any_packet() -> impl Strategy<Value = MediaPacket> {
    let kind = prop_oneof![
        Just(PacketKind::Media),
        Just(PacketKind::Repair),
        Just(PacketKind::Probe),
        Just(PacketKind::Padding),
        Just(PacketKind::Retransmission),
    ];
    let counts = (0u16..8, 0u16..8, prop_oneof![9 => 0u16..8, 1 => any::<u16>()]);
    let again = prop::option::of(number(400).prop_map(SequenceNumber));
    let back = prop_oneof![3 => Just(1u8), 2 => 0u8..20];
    let flags = (any::<(bool, bool)>(), back, again);
    (number(400), number(40), counts, any::<u16>(), kind, flags).prop_map(
        |(
            sequence,
            frame,
            (index, media, train),
            payload,
            kind,
            ((key_frame, last_probe), refers_back, original),
        )| {
            MediaPacket {
                sequence: SequenceNumber(sequence),
                frame: FrameId(frame),
                index,
                media_packets: media,
                train_packets: train,
                payload,
                header: 48,
                kind,
                key_frame,
                refers_back,
                last_probe,
                original,
            }
        },
    )
}

fn any_report() -> impl Strategy<Value = FeedbackPacket> {
    let received = prop::option::of(any_instant().prop_map(|nanos| ReceivedPacket {
        arrival: ReceiverInstant::from_nanos(nanos),
        ecn: Ecn::Ce,
    }));
    let asked = prop::collection::vec(number(300).prop_map(SequenceNumber), 0..20);
    let shown = prop::option::of(number(40).prop_map(FrameId));
    let request = (any::<bool>(), shown, asked);
    (number(300), prop::collection::vec(received, 0..60), any_instant(), request).prop_map(
        |(base, packets, generated, (key_frame_request, newest_shown, asked))| FeedbackPacket {
            base: SequenceNumber(base),
            packets,
            generated: ReceiverInstant::from_nanos(generated),
            key_frame_request,
            newest_shown,
            asked,
        },
    )
}

fn any_repair() -> impl Strategy<Value = Repair> {
    let goal = RepairGoal::default();
    prop::sample::select(vec![
        Repair::None,
        Repair::Nack,
        Repair::Libwebrtc,
        Repair::Fec(goal.share),
        Repair::Adaptive(goal),
    ])
}

proptest! {
    #[test]
    fn a_receiver_survives_any_packets(
        packets in prop::collection::vec((any_packet(), any_instant()), 0..200),
        per_frame in any::<bool>(),
        asks in any::<bool>(),
        resolution in 0i64..2_000_000,
    ) {
        let interval = FeedbackStyle::Interval(ms(50));
        let style = if per_frame { FeedbackStyle::PerFrame } else { interval };
        let mut receiver = Receiver::new(ReceiverConfig {
            feedback: style,
            arrival_resolution: Duration::from_nanos(resolution),
            playout: PlayoutConfig::default(),
            repair: if asks { Repair::Nack } else { Repair::None },
            recovery: if per_frame { Recovery::Reference } else { Recovery::KeyFrame },
        });
        let mut report = FeedbackPacket::default();
        for (packet, nanos) in packets {
            // The clock goes backwards too: it is the driver's, but nothing may break.
            let now = ReceiverInstant::from_nanos(nanos);
            receiver.on_packet(now, &packet, Ecn::NotEct);
            let mut reports = 0;
            while receiver.poll_feedback(now, &mut report) {
                prop_assert!(report.packets.len() <= FeedbackPacket::MAX_PACKETS);
                reports += 1;
                prop_assert!(reports <= 1, "one report tells all");
            }
            let mut events = 0;
            while receiver.poll_event().is_some() {
                events += 1;
            }
            prop_assert!(events <= 300, "{events} events by one packet");
            let _ = receiver.next_deadline();
        }
    }

    #[test]
    fn a_sender_survives_any_reports(
        reports in prop::collection::vec((any_report(), 0i64..40_000_000), 0..80),
        probes in 0u32..6,
        repair in any_repair(),
    ) {
        let mut target = plain_target();
        target.requests.probes_per_frame = probes;
        let (controller, told) = Scripted::new(target);
        let mut config = SenderConfig::new(Instant::ZERO, INTERVAL);
        config.repair = repair;
        config.recovery = if probes > 3 { Recovery::KeyFrame } else { Recovery::Reference };
        config.key_frame_on_loss = probes > 2;
        let mut sender = Sender::new(config, Box::new(controller));
        let mut encoder = EncoderModel::steady(INTERVAL);
        let mut now = Instant::ZERO;
        for (report, pause) in reports {
            now += Duration::from_nanos(pause);
            sender.on_deadline(now);
            sender.encode_with(now, &mut encoder);
            while sender.poll_transmit(now).is_some() {}
            sender.on_feedback(now, &report);
            while sender.poll_event().is_some() {}
            let _ = sender.next_deadline();
        }
        let told = told.lock().unwrap();
        assert_each_packet_resolved_once(&told)?;
        let sent = told.sent.iter().map(|packet| packet.size).sum();
        prop_assert!(sender.in_flight() <= sent);
    }

    #[test]
    fn on_any_path_frames_and_packets_are_conserved(
        fates in prop::collection::vec(
            prop_oneof![
                6 => Just(vec![0i64]),
                2 => Just(vec![]),
                1 => Just(vec![0, 7]),
                2 => (0i64..30).prop_map(|late| vec![late]),
            ],
            7..60,
        ),
        feedback_fates in prop::collection::vec(
            prop_oneof![3 => Just(vec![0i64]), 1 => Just(vec![]), 1 => Just(vec![25, 3])],
            5..30,
        ),
        share in 0u64..30,
        repair in any_repair(),
    ) {
        let mut stream = Loop::new(plain_target(), FeedbackStyle::PerFrame, |config| {
            config.repair_share = Ratio::from_ppm(share * 10_000);
            config.repair = repair;
        });
        let mut turn = 0;
        stream.path.down = Box::new(move |_, _| {
            turn += 1;
            fates[turn % fates.len()].iter().map(|&late| ms(late)).collect()
        });
        let mut turn = 0;
        stream.path.up = Box::new(move |_, _| {
            turn += 1;
            feedback_fates[turn % feedback_fates.len()].iter().map(|&late| ms(late)).collect()
        });
        stream.run(ms(700));
        stream.assert_frames_conserved();
        let told = stream.told.lock().unwrap();
        assert_each_packet_resolved_once(&told)?;
        prop_assert_eq!(told.sent.len(), stream.packets.len());
        let resolved: std::collections::BTreeSet<_> =
            told.reports().map(|report| report.packet.sequence).collect();
        prop_assert_eq!(resolved.len(), told.sent.len(), "in five seconds all are resolved");
        prop_assert_eq!(stream.sender.in_flight().get(), 0);
    }
}

/// Received at most once, lost at most once, and never lost after received.
fn assert_each_packet_resolved_once(told: &crate::support::Told) -> Result<(), TestCaseError> {
    let mut received: BTreeMap<SequenceNumber, bool> = BTreeMap::new();
    for report in told.reports() {
        let arrived = report.arrival.is_some();
        match received.insert(report.packet.sequence, arrived) {
            None => {}
            Some(before) => prop_assert!(!before && arrived, "{:?} told again", report.packet),
        }
    }
    Ok(())
}

#[test]
fn a_sender_that_hears_nothing_keeps_a_bounded_history() {
    // A thousand times the rate of a stream, into the void.
    let mut target = plain_target();
    target.bitrate = gameway_units::Rate::from_mbps(2_000);
    let mut stream = Loop::new(target, FeedbackStyle::PerFrame, |_| {});
    stream.path.down = Box::new(|_, _| gameway_testbed::lost());
    stream.run_until(Instant::ZERO + ms(400));
    // 32768 packets of at most 1248 B.
    assert!(stream.packets.len() > 60_000, "{}", stream.packets.len());
    assert!(stream.sender.in_flight().get() <= 32_768 * 1_248);
}

#[test]
fn a_late_driver_skips_frames_instead_of_bunching_them() {
    let (controller, told) = Scripted::new(plain_target());
    let config = SenderConfig::new(Instant::ZERO, INTERVAL);
    let mut sender = Sender::new(config, Box::new(controller));
    sender.on_deadline(Instant::ZERO + ms(170));
    sender.encode_with(Instant::ZERO + ms(170), &mut EncoderModel::steady(INTERVAL));
    assert_eq!(told.lock().unwrap().frames.len(), 1);
    let skipped = std::iter::from_fn(|| sender.poll_event())
        .filter(|event| matches!(event, gameway_session::SenderEvent::FrameSkipped { .. }));
    assert_eq!(skipped.count(), 10, "those of 17, 33, ..., 167 ms");
}
