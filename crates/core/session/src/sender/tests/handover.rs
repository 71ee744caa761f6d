//! Another controller takes over.

use super::*;

/// What a report says of packets from `first` on: all came.
fn came(first: u64, packets: usize, generated: i64) -> FeedbackPacket {
    let arrival = ReceiverInstant::ZERO + Duration::from_millis(generated);
    FeedbackPacket {
        base: SequenceNumber(first),
        packets: vec![Some(ReceivedPacket { arrival, ecn: Ecn::NotEct }); packets],
        generated: arrival,
        ..FeedbackPacket::default()
    }
}

fn another(bitrate: u64) -> Scripted {
    let controller = Scripted(Arc::default());
    let target = Target::new(Rate::from_mbps(bitrate), Pacing::Burst);
    controller.with(|shared| shared.target = Some(target));
    controller
}

#[test]
fn a_controller_that_takes_over_is_told_of_what_leaves_from_then_on_and_of_nothing_else() {
    let (mut sender, first) = bursting();
    frame(&mut sender, 0);
    let second = another(3);
    assert_eq!(sender.bitrate(), Rate::from_mbps(10));
    sender.set_controller(at(10), Box::new(second.clone()));
    assert_eq!(sender.bitrate(), Rate::from_mbps(3));
    frame(&mut sender, 1);
    // One report on both frames, of three packets each.
    sender.on_feedback(at(40), &came(0, 6, 40));
    let told = |one: &Scripted| {
        one.with(|shared| {
            let sent = shared.sent.iter().map(|packet| packet.sequence.0).collect::<Vec<_>>();
            let heard = shared.reports.iter().map(|report| report.packet.sequence.0);
            (sent, heard.collect::<Vec<_>>())
        })
    };
    assert_eq!(told(&first), (vec![0, 1, 2], vec![]));
    assert_eq!(told(&second), (vec![3, 4, 5], vec![3, 4, 5]));
    assert_eq!(sender.in_flight(), Bytes::ZERO, "the sender itself heard all");
}

#[test]
fn the_frame_that_is_in_the_pacer_in_part_is_the_former_s() {
    let (mut sender, first) = sender(target(Pacing::Burst), |_| {});
    sender.on_deadline(at(0));
    let request = sender.poll_encode().expect("it is due");
    sender.on_encoded_part(at(1), &PAYLOADS[..1], request.key_frame);
    transmit(&mut sender, at(1));
    let second = another(3);
    sender.set_controller(at(2), Box::new(second.clone()));
    sender.on_encoded(at(3), &train(), request.key_frame);
    transmit(&mut sender, at(3));
    assert_eq!(second.with(|shared| shared.sent.len()), 0);
    assert_eq!(first.with(|shared| shared.sent.len()), 1, "it is asked no more");
    frame(&mut sender, 1);
    assert_eq!(second.with(|shared| shared.sent.len()), 3);
}

#[test]
fn a_loss_before_the_change_is_still_answered_by_a_key_frame() {
    let (mut sender, _) = sender(target(Pacing::Burst), |config| config.key_frame_on_loss = true);
    assert!(frame(&mut sender, 0));
    assert!(!frame(&mut sender, 1));
    let second = another(3);
    sender.set_controller(at(20), Box::new(second.clone()));
    let mut lost = came(3, 3, 30);
    lost.packets[1] = None;
    // Three later packets make a loss of it (RFC 9002 section 6.1.1), so one more frame comes first.
    assert!(!frame(&mut sender, 2));
    lost.packets.extend(came(6, 3, 40).packets);
    sender.on_feedback(at(40), &lost);
    assert!(frame(&mut sender, 3), "a key frame");
    assert_eq!(second.with(|shared| shared.reports.len()), 3, "of frame 2 alone");
}
