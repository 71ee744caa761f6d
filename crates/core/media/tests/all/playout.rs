//! Frames put together and shown, from packets in good and in bad order.

use gameway_control::FrameId;
use gameway_media::{
    Admission, FrameOutcome, FrameProgress, PacketPlace, Playout, PlayoutConfig, PlayoutEvent,
    Reassembly,
};
use gameway_units::{Duration, ReceiverInstant};
use proptest::prelude::*;

const MEDIA: u16 = 3;
const TRAIN: u16 = 4;

fn at(millis: i64) -> ReceiverInstant {
    ReceiverInstant::from_nanos(millis * 1_000_000)
}

/// A packet of a frame of three media packets and one repair packet.
fn place(frame: u64, index: u16) -> PacketPlace {
    PacketPlace {
        frame: FrameId(frame),
        index,
        media_packets: MEDIA,
        train_packets: TRAIN,
        key_frame: frame.is_multiple_of(10),
        refers_back: 1,
    }
}

/// Reassembly and playout as a receiver joins them.
struct Player {
    frames: Reassembly,
    playout: Playout,
    events: Vec<(i64, PlayoutEvent)>,
}

impl Player {
    fn new() -> Self {
        let playout = Playout::new(PlayoutConfig::default());
        Self { frames: Reassembly::new(), playout, events: Vec::new() }
    }

    fn advance(&mut self, millis: i64) {
        let events = &mut self.events;
        self.playout.advance(at(millis), &mut self.frames, |event| events.push((millis, event)));
    }

    fn packet(&mut self, millis: i64, frame: u64, index: u16) -> Admission {
        let admission = self.frames.on_packet(at(millis), &place(frame, index));
        self.playout.on_arrival();
        self.advance(millis);
        admission
    }

    fn whole(&mut self, millis: i64, frame: u64) {
        for index in 0..MEDIA {
            self.packet(millis, frame, index);
        }
    }

    fn deadline(&self) -> Option<i64> {
        self.playout.next_deadline(&self.frames).map(|due| due.as_nanos() / 1_000_000)
    }

    /// When each frame was decided, and how.
    fn outcomes(&self) -> Vec<(i64, u64, FrameOutcome)> {
        let decided = |&(when, event): &(i64, PlayoutEvent)| match event {
            PlayoutEvent::Decided { first, last, outcome } => {
                Some((first.0..=last.0).map(move |frame| (when, frame, outcome)))
            }
            PlayoutEvent::KeyFrameRequested | PlayoutEvent::Stall { .. } => None,
        };
        self.events.iter().filter_map(decided).flatten().collect()
    }

    fn requests(&self) -> Vec<i64> {
        let requests = self.events.iter().filter(|(_, e)| *e == PlayoutEvent::KeyFrameRequested);
        requests.map(|(when, _)| *when).collect()
    }
}

use FrameOutcome::{Lost, Shown, Undecodable};

/// Frames 0 and 1 are shown, and of frame 2 a packet is missing that is overdue at 40 ms.
fn doubtful() -> Player {
    let mut player = Player::new();
    player.whole(0, 0);
    player.whole(16, 1);
    player.packet(32, 2, 0);
    player.packet(40, 2, 3);
    player
}

#[test]
fn where_packets_are_sent_again_a_doubtful_frame_is_waited_for_as_long_as_that_takes() {
    for (patience, lost_at) in [(None, 50), (Some(90), 130), (Some(3), 50)] {
        let mut player = doubtful();
        let patience = patience.map(Duration::from_millis);
        patience.into_iter().for_each(|patience| player.playout.wait_for_repair(patience));
        assert_eq!(player.deadline(), Some(lost_at), "{patience:?}, and the grace at the least");
        player.advance(lost_at - 1);
        assert_eq!(player.outcomes().len(), 2);
        player.advance(lost_at);
        assert_eq!(player.outcomes().last(), Some(&(lost_at, 2, Lost)));
    }
}

#[test]
fn nothing_is_waited_for_that_refers_to_what_was_not_shown() {
    let mut player = doubtful();
    player.playout.wait_for_repair(Duration::from_millis(90));
    let wants = |player: &Player, frame| player.playout.wants(&player.frames, FrameId(frame));
    assert_eq!([1, 2, 3].map(|frame| wants(&player, frame)), [false, true, true], "1 is decided");
    player.advance(130);
    // Frame 3 refers to 2, which is lost; a key frame refers to none, and nothing is known of 4.
    player.packet(140, 3, 0);
    player.packet(140, 3, 3);
    player.packet(141, 10, 0);
    assert_eq!([3, 10, 11].map(|frame| wants(&player, frame)), [false, true, true]);
    assert_eq!(player.deadline(), Some(150), "the grace alone");
}

#[test]
fn any_three_of_four_packets_make_the_frame_whole_once() {
    for missing in 0..TRAIN {
        let mut frames = Reassembly::new();
        let present: Vec<u16> = (0..TRAIN).filter(|&index| index != missing).collect();
        let mut admissions = present.iter().map(|&index| frames.on_packet(at(1), &place(0, index)));
        assert_eq!(admissions.next(), Some(Admission::Counted));
        assert_eq!(admissions.next(), Some(Admission::Counted));
        assert_eq!(admissions.next(), Some(Admission::Completed), "without packet {missing}");
        drop(admissions);
        assert_eq!(frames.on_packet(at(2), &place(0, missing)), Admission::Counted);
        assert_eq!(frames.on_packet(at(3), &place(0, missing)), Admission::Duplicate);
    }
}

#[test]
fn duplicates_do_not_stand_in_for_missing_packets() {
    let mut frames = Reassembly::new();
    assert_eq!(frames.on_packet(at(0), &place(0, 1)), Admission::Counted);
    for _ in 0..5 {
        assert_eq!(frames.on_packet(at(0), &place(0, 1)), Admission::Duplicate);
    }
    assert_eq!(frames.progress(FrameId(0)), FrameProgress::Incomplete { doubtful_since: None });
}

/// A packet that left before anybody knew how many the frame has.
fn early(frame: u64, index: u16) -> PacketPlace {
    PacketPlace { media_packets: 0, train_packets: 0, ..place(frame, index) }
}

#[test]
fn a_frame_is_whole_when_it_is_known_how_many_packets_make_it_so() {
    let mut frames = Reassembly::new();
    assert_eq!(frames.on_packet(at(0), &early(0, 0)), Admission::Counted);
    assert_eq!(frames.on_packet(at(1), &early(0, 2)), Admission::Counted);
    let undoubted = FrameProgress::Incomplete { doubtful_since: None };
    assert_eq!(frames.progress(FrameId(0)), undoubted, "repair may stand in for the second");
    assert_eq!(frames.on_packet(at(2), &early(0, 2)), Admission::Duplicate);
    assert_eq!(frames.on_packet(at(3), &place(0, 3)), Admission::Completed);
    // None tells: the next frame's first packet does.
    assert_eq!(frames.on_packet(at(16), &early(1, 0)), Admission::Counted);
    assert_eq!(frames.on_packet(at(32), &early(2, 0)), Admission::Counted);
    let doubtful = FrameProgress::Incomplete { doubtful_since: Some(at(32)) };
    assert_eq!(frames.progress(FrameId(1)), doubtful);
    // What contradicts what came before it is not of the frame.
    assert_eq!(frames.on_packet(at(33), &early(2, 7)), Admission::Counted);
    assert_eq!(frames.on_packet(at(34), &place(2, 1)), Admission::Implausible);
    assert_eq!(frames.on_packet(at(35), &place(3, 0)), Admission::Counted);
    assert_eq!(frames.on_packet(at(36), &early(3, 4)), Admission::Implausible);
}

#[test]
fn headers_that_contradict_are_refused() {
    let mut frames = Reassembly::new();
    let good = place(0, 0);
    for bad in [
        PacketPlace { media_packets: 0, index: 4096, ..good },
        PacketPlace { media_packets: 5, ..good },
        PacketPlace { index: 4, ..good },
        PacketPlace { train_packets: u16::MAX, ..good },
        PacketPlace { frame: FrameId(u64::MAX), ..good },
        PacketPlace { frame: FrameId(1 << 20), ..good },
    ] {
        assert_eq!(frames.on_packet(at(0), &bad), Admission::Implausible, "{bad:?}");
    }
    assert_eq!(frames.on_packet(at(0), &good), Admission::Counted);
    let other_size = PacketPlace { media_packets: 2, index: 1, ..good };
    assert_eq!(frames.on_packet(at(0), &other_size), Admission::Implausible);
}

#[test]
fn frames_in_order_are_shown_as_they_become_whole() {
    let mut player = Player::new();
    for frame in 0..5 {
        player.whole(frame * 16, frame as u64);
    }
    let expected: Vec<_> = (0..5).map(|frame| (frame * 16, frame as u64, Shown)).collect();
    assert_eq!(player.outcomes(), expected);
    assert_eq!(player.deadline(), None);
    assert_eq!(player.requests(), [0_i64; 0]);
}

#[test]
fn a_frame_that_lacks_packets_is_lost_after_the_grace_and_a_key_frame_mends_it() {
    let mut player = Player::new();
    player.whole(0, 0);
    // Two of four are lost; the train's end shows it.
    player.packet(16, 1, 0);
    player.packet(17, 1, 3);
    assert_eq!(player.deadline(), Some(27));
    player.advance(26);
    assert_eq!(player.outcomes().len(), 1);
    player.advance(27);
    assert_eq!(player.outcomes()[1..], [(27, 1, Lost)]);
    assert_eq!(player.requests(), [27], "asked for at once");
    player.whole(33, 2);
    player.whole(50, 3);
    assert_eq!(player.outcomes()[2..], [(33, 2, Undecodable), (50, 3, Undecodable)]);
    assert_eq!(player.deadline(), Some(77));
    player.advance(77);
    assert_eq!(player.requests(), [27, 77], "and again after 50 ms");
    let key = PacketPlace { key_frame: true, ..place(4, 0) };
    for index in 0..MEDIA {
        let _ = player.frames.on_packet(at(80), &PacketPlace { index, ..key });
    }
    player.advance(80);
    player.whole(96, 5);
    assert_eq!(player.outcomes()[4..], [(80, 4, Shown), (96, 5, Shown)]);
    assert_eq!((player.deadline(), player.requests().len()), (None, 2), "no more requests");
}

#[test]
fn a_frame_of_which_nothing_came_is_missed_when_the_next_one_comes() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.whole(33, 2);
    assert_eq!(player.deadline(), Some(43));
    player.advance(43);
    assert_eq!(player.outcomes()[1..], [(43, 1, Lost), (43, 2, Undecodable)]);
}

#[test]
fn reordering_within_the_grace_does_no_harm() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.packet(16, 1, 0);
    player.whole(18, 2);
    player.packet(20, 1, 2);
    player.packet(27, 1, 1);
    assert_eq!(player.outcomes()[1..], [(27, 1, Shown), (27, 2, Shown)]);
    assert_eq!(player.requests(), [0_i64; 0]);
}

#[test]
fn a_late_packet_renews_the_patience() {
    let mut player = Player::new();
    player.packet(0, 0, 2);
    player.packet(1, 0, 3);
    assert_eq!(player.deadline(), Some(10), "too few to come after the first one seen");
    player.packet(9, 0, 0);
    assert_eq!(player.outcomes(), [(9, 0, Shown)]);
    player.whole(20, 2);
    assert_eq!(player.deadline(), Some(30), "frame 1 was overtaken");
    player.packet(29, 1, 0);
    player.packet(38, 1, 1);
    player.packet(47, 1, 2);
    assert_eq!(player.outcomes()[1..], [(47, 1, Shown), (47, 2, Shown)]);
}

#[test]
fn while_no_packets_come_nothing_is_asked_for() {
    let mut player = Player::new();
    player.whole(0, 1);
    player.advance(10);
    assert_eq!(player.requests(), [10]);
    assert_eq!(player.deadline(), None);
    player.advance(1_000);
    assert_eq!(player.requests(), [10]);
    player.packet(1_001, 2, 0);
    assert_eq!(player.requests(), [10, 1_001]);
}

#[test]
fn a_probe_tells_that_the_frame_before_it_should_have_come() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.packet(16, 1, 0);
    player.frames.on_packet_after(at(20), FrameId(1));
    assert_eq!(player.deadline(), Some(30));
}

#[test]
fn a_whole_key_frame_overtakes_what_is_incomplete() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.packet(16, 1, 0);
    player.whole(17, 2);
    let key = PacketPlace { key_frame: true, ..place(3, 0) };
    for index in 0..MEDIA {
        let _ = player.frames.on_packet(at(20), &PacketPlace { index, ..key });
    }
    player.advance(20);
    assert_eq!(player.outcomes()[1..], [(20, 1, Lost), (20, 2, Undecodable), (20, 3, Shown)]);
    assert_eq!(player.requests(), [0_i64; 0], "the picture is whole: nothing to ask for");
}

#[test]
fn a_stall_is_told_with_its_length() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.whole(100, 1);
    player.whole(201, 2);
    let stalls: Vec<_> =
        player.events.iter().filter(|(_, e)| matches!(e, PlayoutEvent::Stall { .. })).collect();
    let pause = Duration::from_millis(101);
    assert_eq!(stalls, [&(201, PlayoutEvent::Stall { pause })], "100 ms exactly is none");
}

#[test]
fn after_a_blackout_longer_than_the_window_every_frame_is_accounted_for() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.packet(16, 1, 0);
    player.whole(100_000, 5_990);
    player.advance(100_010);
    let outcomes = player.outcomes();
    let frames: Vec<u64> = outcomes.iter().map(|&(_, frame, _)| frame).collect();
    assert_eq!(frames, (0..=5_990).collect::<Vec<u64>>());
    assert_eq!(outcomes[5_990].2, Shown, "it is a key frame");
    // Shown, all before the window lost, request, the window's frames lost, stall, shown.
    assert_eq!(player.events.len(), 1 + 1 + 1 + 255 + 1 + 1, "the blackout is told as a range");
}

/// Any packet, with frames near each other often enough to interact.
fn any_place() -> impl Strategy<Value = PacketPlace> {
    let frame = prop_oneof![8 => 0u64..600, 1 => any::<u64>()];
    let back = prop_oneof![4 => Just(1u8), 2 => 1u8..20, 1 => any::<u8>()];
    (frame, 0u16..6, 0u16..6, 0u16..6, any::<bool>(), back).prop_map(
        |(frame, index, media_packets, train_packets, key_frame, refers_back)| PacketPlace {
            frame: FrameId(frame),
            index,
            media_packets,
            train_packets,
            key_frame,
            refers_back,
        },
    )
}

proptest! {
    #[test]
    fn any_packets_are_survived_and_each_frame_is_decided_once_in_order(
        packets in prop::collection::vec((any_place(), 0i64..30, any::<bool>()), 0..300),
    ) {
        let mut player = Player::new();
        let mut now = 0;
        for (place, pause, probe) in packets {
            now += pause;
            if probe {
                player.frames.on_packet_after(at(now), place.frame);
            } else {
                let _ = player.frames.on_packet(at(now), &place);
            }
            player.advance(now);
            prop_assert!(player.frames.end().0 - player.frames.base().0 <= 256);
        }
        let mut next = 0;
        for (_, event) in &player.events {
            if let PlayoutEvent::Decided { first, last, .. } = event {
                prop_assert_eq!(first.0, next);
                prop_assert!(first <= last);
                next = last.0 + 1;
            }
        }
        prop_assert_eq!(next, player.playout.next().0);
    }
}

/// The packets of a frame that refers so many back.
fn put_referring(player: &mut Player, millis: i64, frame: u64, back: u8, packets: u16) {
    for index in 0..packets {
        let place = PacketPlace { refers_back: back, key_frame: false, ..place(frame, index) };
        let _ = player.frames.on_packet(at(millis), &place);
        player.playout.on_arrival();
        player.advance(millis);
    }
}

#[test]
fn a_frame_that_refers_to_one_that_was_shown_overtakes_those_between() {
    let lost_after_one = || {
        let mut player = Player::new();
        player.whole(0, 0);
        player.whole(16, 1);
        player.packet(32, 2, 0);
        player.whole(48, 3);
        player
    };
    let mut player = lost_after_one();
    put_referring(&mut player, 50, 4, 3, MEDIA);
    player.whole(66, 5);
    let expected =
        [(0, 0, Shown), (16, 1, Shown), (50, 2, Lost), (50, 3, Undecodable), (50, 4, Shown)];
    assert_eq!(player.outcomes(), [&expected[..], &[(66, 5, Shown)]].concat());
    assert_eq!(player.requests(), [] as [i64; 0], "it is whole again before anything is asked for");
    assert_eq!(player.playout.newest_shown(), Some(FrameId(5)));
    // The twin refers to the frame that is lost: nothing is gained by it.
    let mut player = lost_after_one();
    put_referring(&mut player, 50, 4, 2, MEDIA);
    player.whole(66, 5);
    let decided: Vec<_> = player.outcomes().into_iter().skip(2).collect();
    let nothing = [(66, 2, Lost), (66, 3, Undecodable), (66, 4, Undecodable), (66, 5, Undecodable)];
    assert_eq!(decided, nothing);
    assert_eq!((player.requests(), player.playout.newest_shown()), (vec![66], Some(FrameId(1))));
}

#[test]
fn after_a_loss_packets_are_of_use_from_a_frame_on_that_can_be_shown() {
    let wanted = |back: u8| {
        let mut player = Player::new();
        player.whole(0, 0);
        player.whole(16, 1);
        player.packet(32, 2, 0);
        player.packet(48, 3, 0);
        player.advance(60);
        assert_eq!(player.outcomes().last(), Some(&(60, 2, Lost)));
        put_referring(&mut player, 64, 4, back, 1);
        player.packet(80, 5, 0);
        [3, 4, 5].map(|frame| player.playout.wants(&player.frames, FrameId(frame)))
    };
    assert_eq!(wanted(3), [false, true, true]);
    assert_eq!(wanted(2), [false; 3], "frame 2 was not shown");
}

#[test]
fn nobody_refers_to_what_a_window_left_behind_or_a_decoder_refused() {
    let mut player = Player::new();
    player.whole(0, 0);
    player.playout.on_undecodable(at(1));
    assert_eq!(player.playout.newest_shown(), None);
    player.whole(160, 10);
    assert_eq!(player.playout.newest_shown(), Some(FrameId(10)));
    player.packet(9_000, 510, 0);
    assert_eq!(player.playout.newest_shown(), None);
}
