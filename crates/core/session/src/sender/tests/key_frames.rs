//! Which requests and which losses bring a key frame.

use super::*;

#[test]
fn a_key_frame_request_counts_once_the_receiver_has_seen_what_followed_the_last_one() {
    for (told_until, counts) in [(2, false), (3, false), (4, true)] {
        let (mut sender, _) = bursting();
        assert!(frame(&mut sender, 0), "packets 0 to 2");
        assert!(!frame(&mut sender, 1));
        let packets = "#".repeat(told_until);
        let request = FeedbackPacket { key_frame_request: true, ..report(0, &packets) };
        sender.on_feedback(at(20), &request);
        assert_eq!(key_frames_wanted(&mut sender), usize::from(counts), "{told_until}");
        assert_eq!(frame(&mut sender, 2), counts);
        assert!(!frame(&mut sender, 3), "one is enough");
    }
}

#[test]
fn a_key_frame_request_of_its_own_counts_by_what_was_told_before() {
    for (news, counts) in [(None, false), (Some(0), false), (Some(1), true)] {
        let (mut sender, _) = bursting();
        frame(&mut sender, 0);
        frame(&mut sender, 1);
        if let Some(received) = news {
            sender.on_frame_received(at(20), FrameId(received), None);
        }
        sender.on_key_frame_request(at(21), None);
        assert_eq!(key_frames_wanted(&mut sender), usize::from(counts), "{news:?}");
        assert_eq!(frame(&mut sender, 2), counts);
    }
}

#[test]
fn a_frame_of_one_packet_that_arrived_is_enough() {
    let (mut sender, _) = bursting();
    frame(&mut sender, 0);
    sender.on_deadline(at(16));
    sender.poll_encode().unwrap();
    let train = Train::of_packets(vec![700], 1, Overhead::default()).unwrap();
    sender.on_encoded(at(16), &train, false);
    transmit(&mut sender, at(16));
    sender.on_frame_received(at(30), FrameId(1), None);
    sender.on_key_frame_request(at(31), None);
    assert_eq!(key_frames_wanted(&mut sender), 1, "its packet followed those of the key frame");
}

/// What is lost of frame 1 or 2, after a key frame: a media packet or the repair packet behind it.
fn with_loss(key_frame_on_loss: bool, lost: &str) -> (usize, bool) {
    by_code(RepairCode::AnyForAny, key_frame_on_loss, lost)
}

fn by_code(code: RepairCode, key_frame_on_loss: bool, lost: &str) -> (usize, bool) {
    let (mut sender, _) = sender(target(Pacing::Burst), |config| {
        config.key_frame_on_loss = key_frame_on_loss;
        config.code = code;
    });
    let repaired = Train::of_packets(vec![900, 900, 900], 2, Overhead::default()).unwrap();
    for number in 0..4 {
        let now = at(16 * number);
        sender.on_deadline(now);
        let key_frame = sender.poll_encode().unwrap().key_frame;
        sender.on_encoded(now, &repaired, key_frame);
        transmit(&mut sender, now);
    }
    sender.on_feedback(at(60), &report(0, lost));
    (key_frames_wanted(&mut sender), frame(&mut sender, 4))
}

#[test]
fn a_lost_packet_of_a_frame_brings_a_key_frame_where_that_is_wanted() {
    let (media, repair) = ("####.#######", "#####.######");
    assert_eq!(with_loss(true, media), (1, true));
    assert_eq!(with_loss(true, repair), (0, false), "the frame is whole without it");
    assert_eq!(with_loss(true, "############"), (0, false));
    assert_eq!(with_loss(false, media), (0, false), "the receiver asks for it");
}

#[test]
fn what_parity_mends_brings_no_key_frame() {
    for (lost, brings) in [
        ("####.#######", false),
        ("#####.######", false),
        ("####.#.#####", false),
        ("###..#######", true),
        ("####..######", true),
    ] {
        let brought = by_code(RepairCode::Interleaved, true, lost);
        assert_eq!(brought, (usize::from(brings), brings), "{lost}");
    }
}

#[test]
fn a_loss_counts_for_the_key_frames_from_its_frame_on() {
    let (mut sender, told) = sender(target(Pacing::Burst), |config| {
        config.key_frame_on_loss = true;
    });
    (0..3).for_each(|number| _ = frame(&mut sender, number));
    // A key frame for another reason; then frame 1 turns out to be broken.
    told.with(|shared| {
        shared.target = Some(target(Pacing::Burst).asking(|ask| ask.key_frame = true))
    });
    assert!(frame(&mut sender, 3));
    told.with(|shared| shared.target = Some(target(Pacing::Burst)));
    sender.on_feedback(at(50), &report(0, "####.#######"));
    assert_eq!(key_frames_wanted(&mut sender), 0, "the key frame has mended it");
    assert!(!frame(&mut sender, 4));
    // The key frame itself was packets 9 to 11, frame 4 was 12 to 14.
    sender.on_feedback(at(66), &report(12, "###"));
    assert_eq!(key_frames_wanted(&mut sender), 0);
    assert!(!frame(&mut sender, 5));
    sender.on_feedback(at(82), &report(12, "#.####"));
    assert_eq!(key_frames_wanted(&mut sender), 0, "13 arrived, as was told before");
    assert!(!frame(&mut sender, 6));
    sender.on_feedback(at(98), &report(18, ".##"));
    assert!(!frame(&mut sender, 7));
    sender.on_feedback(at(114), &report(18, ".##.##"));
    assert_eq!(key_frames_wanted(&mut sender), 1, "frame 6 is broken, and so may be 7");
    assert!(frame(&mut sender, 8));
}

#[test]
fn a_key_frame_of_which_a_packet_is_lost_before_it_has_left_is_followed_by_another() {
    // Packets at 0, 4 and 8 ms.
    let (mut sender, _) = sender(target(Pacing::FrameMultiplier(2.0)), |config| {
        config.key_frame_on_loss = true;
    });
    encode(&mut sender, at(0));
    transmit(&mut sender, at(0));
    transmit(&mut sender, at(4));
    (0..3).for_each(|_| _ = sender.solicit(at(5)));
    sender.on_feedback(at(6), &report(0, "#.###"));
    assert_eq!(key_frames_wanted(&mut sender), 0, "the key frame is under way");
    transmit(&mut sender, at(8));
    assert_eq!(key_frames_wanted(&mut sender), 1);
    assert!(encode(&mut sender, at(16)).unwrap().key_frame);
}
