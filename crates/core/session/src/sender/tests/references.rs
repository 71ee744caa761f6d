//! Which requests bring a frame that refers to what the receiver has shown.

use super::*;
use gameway_units::Recovery;

const NACK: gameway_units::Repair = gameway_units::Repair::Nack;

fn referring(configure: impl FnOnce(&mut SenderConfig)) -> Sender {
    let configured = |config: &mut SenderConfig| {
        config.recovery = Recovery::Reference;
        configure(config);
    };
    sender(target(Pacing::Burst), configured).0
}

/// Frame `number`: to which frame it refers, counted back; zero if it is a key frame.
fn back(sender: &mut Sender, number: i64) -> u8 {
    let now = Instant::ZERO + INTERVAL * number;
    let request = encode(sender, now).expect("it is due");
    let left = transmit(sender, now);
    let train: Vec<_> = left.iter().filter(|packet| packet.is_train()).collect();
    assert!(train.iter().all(|packet| packet.refers_back == request.refers_back));
    if request.key_frame { 0 } else { request.refers_back }
}

fn request(told_until: usize, shown: u64) -> FeedbackPacket {
    let packets = "#".repeat(told_until);
    let newest_shown = Some(FrameId(shown));
    FeedbackPacket { key_frame_request: true, newest_shown, ..report(0, &packets) }
}

#[test]
fn a_request_of_who_says_what_it_has_shown_is_answered_by_a_frame_that_refers_to_it() {
    let backs = |recovery, shown| {
        let mut sender = referring(|config| config.recovery = recovery);
        (0..6).for_each(|number| assert_eq!(back(&mut sender, number), u8::from(number > 0)));
        sender.on_feedback(at(90), &request(18, shown));
        let answers = [6, 7].map(|number| back(&mut sender, number));
        // Made before the receiver can have seen the answer.
        sender.on_feedback(at(125), &request(21, shown));
        (answers, back(&mut sender, 8))
    };
    assert_eq!(backs(Recovery::Reference, 2), ([4, 1], 1));
    assert_eq!(backs(Recovery::KeyFrame, 2), ([0, 1], 1));
    assert_eq!(
        backs(Recovery::Reference, 5),
        ([0, 1], 1),
        "it lacks nothing that it says it lacks"
    );
    assert_eq!(backs(Recovery::Reference, 1 << 40), ([0, 1], 1), "it has what nobody sent");
}

#[test]
fn who_lost_the_answer_asks_again() {
    let mut sender = referring(|_| {});
    (0..6).for_each(|number| _ = back(&mut sender, number));
    sender.on_feedback(at(90), &request(18, 2));
    assert_eq!([6, 7, 8].map(|number| back(&mut sender, number)), [4, 1, 1]);
    sender.on_feedback(at(140), &request(27, 2));
    assert_eq!([9, 10].map(|number| back(&mut sender, number)), [7, 1]);
}

#[test]
fn what_the_encoder_has_forgotten_is_answered_by_a_key_frame() {
    for (frames, answer) in [(18, 16), (19, 0)] {
        let mut sender = referring(|_| {});
        (0..frames).for_each(|number| _ = back(&mut sender, number));
        sender.on_feedback(at(16 * frames - 2), &request(3 * frames as usize, 2));
        assert_eq!(back(&mut sender, frames), answer, "{frames} frames");
    }
}

/// A packet of frame 1 is asked for three times, once in `every` frames. Gives how many frames back each frame refers.
fn asked_three_times(every: i64) -> Vec<u8> {
    let mut sender = referring(|config| config.repair = NACK);
    let mut number = 0;
    let mut sent = SequenceNumber(4);
    let mut backs = Vec::new();
    for _ in 0..3 {
        for _ in 0..every {
            backs.push(back(&mut sender, number));
            number += 1;
        }
        let (asked, newest_shown) = (vec![sent], Some(FrameId(0)));
        sender.on_feedback(
            at(16 * number - 2),
            &FeedbackPacket { asked, newest_shown, ..FeedbackPacket::default() },
        );
        // Too soon after the last one it is not sent again.
        sent = transmit(&mut sender, at(16 * number - 2)).first().map_or(sent, |it| it.sequence);
    }
    (0..2).for_each(|more| backs.push(back(&mut sender, number + more)));
    backs
}

#[test]
fn the_last_repetition_that_can_be_in_time_has_a_frame_in_reserve() {
    // Before a round trip is known a repetition is thought to take 100 ms. 208 ms after frame 1 left there is no time for one
    // more, and frame 0 can still be referred to.
    let seldom = asked_three_times(7);
    assert_eq!(seldom.iter().filter(|back| **back > 1).collect::<Vec<_>>(), [&14]);
    assert_eq!(seldom[14], 14, "after the second request");
    let often = asked_three_times(3);
    assert!(often[1..].iter().all(|back| *back == 1), "there is time: {often:?}");
}

/// A receiver to which each loss means a new frame that it can show, and which says beside its reports what it shows.
fn with_loss_at(shown: Option<u64>, recovery: Recovery) -> [u8; 2] {
    let mut sender = referring(|config| {
        config.key_frame_on_loss = true;
        config.recovery = recovery;
    });
    (0..6).for_each(|number| _ = back(&mut sender, number));
    if let Some(shown) = shown {
        sender.on_shown(FrameId(shown));
        sender.on_shown(FrameId(shown - 1));
    }
    // The second packet of frame 3.
    sender.on_feedback(at(90), &report(0, "##########-#######"));
    [6, 7].map(|number| back(&mut sender, number))
}

#[test]
fn a_loss_is_answered_by_a_frame_that_refers_to_what_is_shown() {
    assert_eq!(with_loss_at(Some(2), Recovery::Reference), [4, 1]);
    assert_eq!(with_loss_at(Some(1), Recovery::Reference), [5, 1], "2 is not known to be there");
    assert_eq!(with_loss_at(None, Recovery::Reference), [0, 1], "nothing is known");
    assert_eq!(with_loss_at(Some(2), Recovery::KeyFrame), [0, 1]);
    assert_eq!(with_loss_at(Some(4), Recovery::Reference), [1, 1], "it has 3 after all");
}
