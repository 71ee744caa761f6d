//! Headers that contradict, doubt that is renewed, and windows that move.

use super::*;
use gameway_units::Duration;

fn at(millis: i64) -> ReceiverInstant {
    ReceiverInstant::ZERO + Duration::from_millis(millis)
}

/// A packet of a train that has as many media packets; zero if that is not known.
fn packet(frame: u64, index: u16, packets: u16) -> PacketPlace {
    PacketPlace {
        frame: FrameId(frame),
        index,
        media_packets: packets,
        train_packets: packets,
        key_frame: false,
        refers_back: 1,
    }
}

fn doubt(frames: &Reassembly, frame: u64) -> Option<ReceiverInstant> {
    match frames.progress(FrameId(frame)) {
        FrameProgress::Incomplete { doubtful_since } => doubtful_since,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_large_frame_is_whole_with_its_last_packet_whatever_the_order() {
    for step in [1, 7, 199] {
        let mut frames = Reassembly::new();
        for turn in 0..200 {
            let index = turn * step % 200;
            let expected = if turn < 199 { Admission::Counted } else { Admission::Completed };
            assert_eq!(frames.on_packet(at(0), &packet(0, index, 200)), expected, "{index}");
            assert_eq!(frames.on_packet(at(0), &packet(0, index, 200)), Admission::Duplicate);
        }
        assert_eq!(frames.slots[0].arrived.len(), 4, "a bit for each packet");
    }
}

#[test]
fn packets_that_left_before_the_frame_was_whole_must_fit_what_it_became() {
    let admit = |known: [PacketPlace; 2], next| {
        let mut frames = Reassembly::new();
        known.iter().for_each(|one| _ = frames.on_packet(at(0), one));
        frames.on_packet(at(0), &next)
    };
    // Four packets, as the last one tells: there is place for indices up to 3.
    let told = [packet(0, 0, 0), packet(0, 3, 4)];
    assert_eq!(admit(told, packet(0, 2, 0)), Admission::Counted);
    assert_eq!(admit(told, packet(0, 4, 0)), Admission::Implausible);
    // Index 4 has come: four packets cannot be all.
    let untold = [packet(0, 0, 0), packet(0, 4, 0)];
    assert_eq!(admit(untold, packet(0, 3, 4)), Admission::Implausible);
    assert_eq!(admit(untold, packet(0, 3, 5)), Admission::Counted);
    // The first that tells defines it.
    assert_eq!(admit(told, packet(0, 2, 5)), Admission::Implausible);
    let key_frame = PacketPlace { key_frame: true, ..packet(0, 2, 4) };
    assert_eq!(admit(told, key_frame), Admission::Implausible);
}

#[test]
fn doubt_is_cast_by_a_gap_renewed_by_what_comes_late_and_ended_when_enough_can_come() {
    let mut frames = Reassembly::new();
    frames.on_packet(at(0), &packet(0, 0, 5));
    assert_eq!(doubt(&frames, 0), None, "four are still to come");
    frames.on_packet(at(1), &packet(0, 3, 5));
    assert_eq!(doubt(&frames, 0), Some(at(1)));
    frames.on_packet(at(2), &packet(0, 4, 5));
    assert_eq!(doubt(&frames, 0), Some(at(1)), "what comes in order says nothing new");
    frames.on_packet(at(3), &packet(0, 1, 5));
    assert_eq!(doubt(&frames, 0), Some(at(3)), "reordering: the other may be late as well");

    // With a packet of repair one may lack.
    let repaired = |index| PacketPlace { media_packets: 4, ..packet(0, index, 5) };
    let mut frames = Reassembly::new();
    frames.on_packet(at(0), &repaired(1));
    assert_eq!(doubt(&frames, 0), None);
    frames.on_packet(at(1), &repaired(3));
    assert_eq!(doubt(&frames, 0), Some(at(1)));
    frames.on_packet(at(2), &repaired(2));
    assert_eq!(doubt(&frames, 0), None, "the one to come is enough");
    // A later frame overtakes it: what it lacks is overdue, whether or not there are places left.
    frames.on_packet(at(3), &packet(1, 0, 2));
    assert_eq!(doubt(&frames, 0), Some(at(3)));
    frames.on_packet(at(4), &repaired(4));
    let whole = FrameProgress::Complete { at: at(4), refers_back: Some(1) };
    assert_eq!(frames.progress(FrameId(0)), whole);
}

#[test]
fn what_was_sent_again_does_not_renew_the_patience_with_what_is_still_missing() {
    let doubt_after = |again: bool| {
        let mut frames = Reassembly::new();
        frames.on_packet(at(0), &packet(0, 0, 5));
        frames.on_packet(at(1), &packet(0, 4, 5));
        let late = packet(0, 2, 5);
        let admitted = match again {
            true => frames.on_repeated(at(2), &late),
            false => frames.on_packet(at(2), &late),
        };
        assert_eq!(admitted, Admission::Counted);
        doubt(&frames, 0)
    };
    assert_eq!((doubt_after(true), doubt_after(false)), (Some(at(1)), Some(at(2))));
    // It casts doubt where there was none, and makes a frame whole as the packet itself does.
    let mut frames = Reassembly::new();
    frames.on_repeated(at(0), &packet(0, 2, 3));
    assert_eq!(doubt(&frames, 0), Some(at(0)));
    frames.on_packet(at(1), &packet(0, 0, 3));
    assert_eq!(frames.on_repeated(at(2), &packet(0, 1, 3)), Admission::Completed);
}

#[test]
fn a_frame_lacks_packets_where_no_repair_to_come_can_stand_in_for_them() {
    let lacks = |places: &[PacketPlace]| {
        let mut frames = Reassembly::new();
        places.iter().for_each(|place| _ = frames.on_packet(at(0), place));
        frames.lacks_packets(FrameId(0))
    };
    // Of four packets one may be missing.
    let repaired = |index| PacketPlace { media_packets: 3, ..packet(0, index, 4) };
    assert!(!lacks(&[]) && !lacks(&[repaired(0)]) && !lacks(&[repaired(0), repaired(2)]));
    assert!(lacks(&[repaired(0), repaired(3)]));
    assert!(!lacks(&[repaired(0), repaired(3), repaired(2)]), "it is whole");
    // Where nobody knows how many packets there will be, a hole is a loss.
    let early = |index| packet(0, index, 0);
    assert!(!lacks(&[early(0)]) && !lacks(&[early(0), early(1)]));
    assert!(lacks(&[early(1)]) && lacks(&[early(0), early(2)]));
    assert!(!lacks(&[early(0), early(2), early(1)]));
    // Of a frame of which nothing came and that was overtaken nothing is known but that.
    assert!(lacks(&[packet(1, 0, 2)]));
}

#[test]
fn a_probe_behind_a_frame_casts_doubt_on_it_if_it_can_be_believed() {
    let mut frames = Reassembly::new();
    frames.on_packet(at(0), &packet(0, 0, 2));
    frames.on_packet_after(at(1), FrameId(MAX_FRAME_JUMP + 2));
    assert_eq!((frames.end(), doubt(&frames, 0)), (FrameId(1), None));
    frames.on_packet_after(at(2), FrameId(0));
    assert_eq!((frames.end(), doubt(&frames, 0)), (FrameId(1), Some(at(2))));
    frames.forget_before(FrameId(1));
    frames.on_packet_after(at(3), FrameId(0));
    assert_eq!((frames.base(), frames.end()), (FrameId(1), FrameId(1)));
    // As far ahead as is believed, the window follows.
    frames.on_packet_after(at(4), FrameId(1 + MAX_FRAME_JUMP));
    assert_eq!(frames.end(), FrameId(2 + MAX_FRAME_JUMP));
    assert_eq!(frames.base(), FrameId(2 + MAX_FRAME_JUMP - WINDOW as u64));
}

#[test]
fn to_forget_a_frame_keeps_those_behind_it() {
    let mut frames = Reassembly::new();
    (0..4).for_each(|frame| _ = frames.on_packet(at(frame as i64), &packet(frame, 0, 1)));
    frames.forget_before(FrameId(2));
    let whole = |frame| FrameProgress::Complete { at: at(frame), refers_back: Some(1) };
    let known = [0, 1, 2, 3, 4].map(|frame| frames.progress(FrameId(frame)));
    let unseen = FrameProgress::Unseen;
    assert_eq!(known, [unseen, unseen, whole(2), whole(3), unseen]);
    assert_eq!(frames.on_packet(at(9), &packet(1, 0, 1)), Admission::TooOld);
    // What is used again remembers nothing of the frame before.
    assert_eq!(frames.on_packet(at(9), &packet(4, 0, 2)), Admission::Counted);
    assert_eq!(frames.on_packet(at(9), &packet(4, 1, 2)), Admission::Completed);
}

#[test]
fn no_frame_has_more_than_4096_packets_and_as_many_of_repair() {
    let consistent = |index, media_packets, train_packets| {
        PacketPlace { media_packets, train_packets, ..packet(0, index, 0) }.is_consistent()
    };
    assert!(consistent(8_191, 4_096, 8_192));
    assert!(!consistent(8_191, 4_097, 8_192) && !consistent(0, 4_096, 8_193));
    assert!(!consistent(8_192, 4_096, 8_192), "it is behind the last");
    assert!(consistent(0, 1, 1) && !consistent(0, 2, 1));
    // Repair is not sent before the frame is whole.
    assert!(consistent(4_095, 0, 0) && !consistent(4_096, 0, 0));
}
