//! Which frames are not whole when their packets are given up.

use super::*;

#[test]
fn a_frame_is_broken_when_a_lost_media_packet_of_it_is_given_up() {
    let broken = |kind, is_asked: bool, told: &[bool]| {
        let mut stream = Stream::with_round_trip(10);
        stream.send(0, &MediaPacket { frame: FrameId(5), ..packet(kind) });
        for arrived in told {
            let _ = stream.report(11, Some((0, *arrived)), None);
        }
        if is_asked {
            // Nothing more may be sent again, so that the request has no answer.
            assert_eq!(stream.resend.ask(at(12), SequenceNumber(0), Rate::ZERO), None);
        }
        assert_eq!(stream.resend.expire(at(140)), None, "it may be sent again");
        stream.resend.expire(at(141))
    };
    assert_eq!(broken(PacketKind::Media, true, &[false]), Some(FrameId(5)));
    assert_eq!(broken(PacketKind::Media, false, &[false]), None, "who lacks it asks for it");
    assert_eq!(broken(PacketKind::Media, true, &[false, true]), None, "it came after all");
    assert_eq!(broken(PacketKind::Media, true, &[]), None, "nothing is told of it");
    for kind in [PacketKind::Repair, PacketKind::Probe, PacketKind::Padding] {
        assert_eq!(broken(kind, true, &[false]), None, "{kind:?}");
    }
}

#[test]
fn a_frame_is_not_broken_while_its_last_repetition_or_a_request_for_one_more_may_be_under_way() {
    let broken = |arrived: bool, asks_again: bool| {
        let mut stream = Stream::with_round_trip(10);
        let lost = stream.send(0, &MediaPacket { frame: FrameId(5), ..packet(PacketKind::Media) });
        stream.is_lost(10, lost);
        let repetition = stream.again(135, lost).expect("it is in time");
        let overdue = 135 + stream.resend.round_trip().repeated_request().as_nanos() / 1_000_000;
        assert_eq!(stream.resend.expire(at(141)), None, "it was repeated 6 ms ago");
        let _ = stream.report(overdue - 1, Some((repetition, arrived)), None);
        assert_eq!(stream.resend.expire(at(overdue - 1)), None);
        if asks_again {
            assert_eq!(stream.ask(overdue - 1, lost), None, "it is too old");
        }
        stream.resend.expire(at(overdue))
    };
    assert_eq!(broken(true, false), None);
    assert_eq!(broken(false, false), None, "nobody asks for it again");
    assert_eq!(broken(false, true), Some(FrameId(5)));
}

#[test]
fn the_newest_broken_frame_is_told_and_what_is_forgotten_is_not_sent_again() {
    let mut stream = Stream::with_round_trip(10);
    for frame in 0..4 {
        let left = MediaPacket { frame: FrameId(frame), ..packet(PacketKind::Media) };
        stream.send(frame as i64, &left);
        stream.is_lost(9, frame);
    }
    for frame in 0..3 {
        assert_eq!(stream.resend.ask(at(14), SequenceNumber(frame), Rate::ZERO), None);
    }
    assert_eq!(stream.resend.expire(at(143)), Some(FrameId(2)));
    assert_eq!((stream.ask(20, 2), number(stream.ask(20, 3))), (None, Some(3)));
    // Numbers go on without gaps.
    assert_eq!(stream.media(144), 4);
    assert_eq!(stream.resend.expire(at(144)), Some(FrameId(3)));
    assert_eq!(number(stream.ask(154, 4)), Some(4));
}
