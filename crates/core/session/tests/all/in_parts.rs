//! Frames that leave while they are being encoded.

use crate::support::{INTERVAL, Scripted, Told, ms, on_receiver, plain_target};
use gameway_control::{FeedbackStyle, FrameId};
use gameway_media::{Overhead, Train};
use gameway_session::{
    MediaPacket, Receiver, ReceiverConfig, ReceiverEvent, Sender, SenderConfig, SenderEvent,
};
use gameway_units::{Bytes, Ecn, Instant};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

fn sender() -> (Sender, Arc<Mutex<Told>>) {
    let (mut controller, told) = Scripted::new(plain_target());
    controller.in_parts = true;
    (Sender::new(SenderConfig::new(Instant::ZERO, INTERVAL), Box::new(controller)), told)
}

/// All that leaves until then, each at its time.
fn transmit(sender: &mut Sender, until: Instant) -> Vec<(Instant, MediaPacket)> {
    let mut left = Vec::new();
    while let Some(due) = sender.next_deadline().filter(|due| *due <= until) {
        match sender.poll_transmit(due) {
            Some(packet) => left.push((due, packet)),
            None => break,
        }
    }
    left
}

fn events(sender: &mut Sender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| sender.poll_event()).collect()
}

#[test]
fn its_first_packets_leave_before_its_last_are_known() {
    let (mut sender, told) = sender();
    sender.on_deadline(Instant::ZERO);
    assert!(sender.poll_encode().unwrap().in_parts);
    let at = |millis| Instant::ZERO + ms(millis);
    sender.on_encoded_part(at(2), &[1200, 1200, 900], true);
    let mut left = transmit(&mut sender, at(6));
    assert_eq!((left.len(), left[0].0), (3, at(2)), "three of 21 in 13 ms");
    assert!(told.lock().unwrap().frames.is_empty() && events(&mut sender).is_empty());
    sender.on_encoded_part(at(6), &[1200; 4], true);
    let sizes = [vec![1200, 1200, 900], vec![1200; 12], vec![700]].concat();
    let train = Train::of_packets(sizes, 16, Overhead::default()).unwrap();
    sender.on_encoded(at(7), &train, true);
    left.extend(transmit(&mut sender, at(16)));

    assert!(left.iter().map(|(_, packet)| packet.index).eq(0..16));
    let counts =
        |(_, packet): &(Instant, MediaPacket)| (packet.media_packets, packet.train_packets);
    assert!(left[..3].iter().all(|one| counts(one) == (0, 0)));
    assert!(left[3..].iter().all(|one| counts(one) == (16, 16)), "those that waited were told");
    assert!(left.iter().all(|(_, packet)| packet.is_last_of_frame() == (packet.index == 15)));
    // From the first part on it takes what the pacer takes for any frame.
    let span = left[15].0 - left[0].0;
    assert!((INTERVAL.mul_f64(0.75)..INTERVAL.mul_f64(0.85)).contains(&span), "{span}");
    let frames = &told.lock().unwrap().frames;
    assert_eq!((frames.len(), frames[0].packets, frames[0].size), (1, 16, train.wire_size()));
    let frame = FrameId(0);
    let events = events(&mut sender);
    assert!(matches!(events[0], SenderEvent::FrameEncoded { packets: 16, key_frame: true, .. }));
    assert_eq!(events[1], SenderEvent::FrameFirstSent { frame, at: at(2) });
    assert_eq!(events[2], SenderEvent::FrameLastSent { frame, at: left[15].0 });
}

#[test]
fn one_that_breaks_off_leaves_as_far_as_it_is_there_and_is_never_whole() {
    // Before the part has left, amid it, and after.
    for until in [0, 2, 9] {
        let (mut sender, told) = sender();
        sender.on_deadline(Instant::ZERO);
        sender.poll_encode().unwrap();
        let at = |millis| Instant::ZERO + ms(millis);
        sender.on_encoded_part(at(2), &[1200; 4], true);
        let mut left = transmit(&mut sender, at(until));
        sender.on_encoder_failed(at(10));
        left.extend(transmit(&mut sender, at(16)));
        assert_eq!((left.len(), sender.waiting_frames()), (4, 0), "{until}");
        assert_eq!(told.lock().unwrap().frames[0].packets, 4);

        sender.on_deadline(Instant::ZERO + INTERVAL);
        let next = sender.poll_encode().unwrap();
        assert_eq!((next.frame, next.key_frame), (FrameId(1), true));
        let train = Train::new(Bytes::new(2_000), gameway_units::Ratio::ZERO, Overhead::default());
        sender.on_encoded(at(17), &train, true);
        left.extend(transmit(&mut sender, at(32)));

        let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
        for (at, packet) in &left {
            receiver.on_packet(on_receiver(*at), packet, Ecn::NotEct);
        }
        let whole = std::iter::from_fn(|| receiver.poll_event()).filter_map(|event| match event {
            ReceiverEvent::FrameComplete { frame, .. } => Some(frame),
            _ => None,
        });
        assert!(whole.eq([FrameId(1)]), "{until}");
    }
}

proptest! {
    /// However frames are cut into parts, and whenever these are made, each arrives whole, and its last packet says so.
    #[test]
    fn frames_in_parts_arrive_whole(
        frames in prop::collection::vec(
            prop::collection::vec((0_i64..9, 1_usize..9), 1..5), 1..12,
        ),
    ) {
        let (mut sender, told) = sender();
        let mut receiver = Receiver::new(ReceiverConfig::new(FeedbackStyle::PerFrame));
        let (mut now, mut sizes, mut left) = (Instant::ZERO, Vec::new(), Vec::new());
        for parts in &frames {
            let request = loop {
                sender.on_deadline(now);
                if let Some(request) = sender.poll_encode() {
                    break request;
                }
                now += ms(1);
                left.extend(transmit(&mut sender, now));
            };
            let mut payloads = Vec::new();
            for (index, (wait, packets)) in parts.iter().enumerate() {
                now += ms(*wait);
                left.extend(transmit(&mut sender, now));
                let part = vec![1_000 + index as u16; *packets];
                payloads.extend_from_slice(&part);
                if index + 1 < parts.len() {
                    sender.on_encoded_part(now, &part, request.key_frame);
                }
            }
            sizes.push(payloads.clone());
            let media = payloads.len();
            let train = Train::of_packets(payloads, media, Overhead::default()).unwrap();
            sender.on_encoded(now, &train, request.key_frame);
        }
        sender.stop(now);
        left.extend(transmit(&mut sender, now + ms(1_000)));
        let expected = sizes.iter().enumerate().flat_map(|(frame, sizes)| {
            sizes.iter().map(move |size| (frame as u64, *size))
        });
        prop_assert!(left.iter().map(|(_, one)| (one.frame.0, one.payload)).eq(expected));
        for (at, packet) in &left {
            let media = sizes[packet.frame.0 as usize].len();
            prop_assert_eq!(packet.is_last_of_frame(), usize::from(packet.index) + 1 == media);
            receiver.on_packet(on_receiver(*at), packet, Ecn::NotEct);
        }
        let events = std::iter::from_fn(|| receiver.poll_event());
        let whole = events.filter(|event| matches!(event, ReceiverEvent::FrameComplete { .. }));
        prop_assert_eq!(whole.count(), frames.len());
        prop_assert_eq!(told.lock().unwrap().frames.len(), frames.len());
        prop_assert_eq!(sender.waiting_frames(), 0);
    }
}
