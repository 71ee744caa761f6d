//! Looks: how many make a game, and when a flow is one.

use super::*;
use gameway_units::Duration;

/// A game's packets from one time to another, in ms: a frame of 12 packets each 16 ms, two in a millisecond, and an
/// answer each 8 ms. Gives whether a packet changed the judgement, and when.
fn play(classifier: &mut Classifier, millis: std::ops::Range<i64>) -> Vec<(i64, Option<Traffic>)> {
    let mut changes = Vec::new();
    for now in millis {
        let mut pass = |size, direction| {
            let judged = on_packet(classifier, now, size, direction);
            changes.extend(judged.changed.then_some((now, judged.traffic)));
        };
        if now % 16 < 6 {
            (0..2).for_each(|_| pass(1_000, Direction::Down));
        }
        if now % 8 == 0 {
            pass(90, Direction::Up);
        }
    }
    changes
}

fn header(direction: Direction) -> Header {
    let down = Header { protocol: Protocol::Udp, ..Header::numbered(7) };
    if direction == Direction::Down { down } else { down.reversed() }
}

fn on_packet(classifier: &mut Classifier, now: i64, size: u64, direction: Direction) -> Judgement {
    let now = Instant::ZERO + Duration::from_millis(now);
    classifier.on_packet(now, &header(direction), Bytes::new(size), direction)
}

fn why(classifier: &Classifier) -> Evidence {
    classifier.why(&header(Direction::Down), Direction::Down).expect("it is known")
}

#[test]
fn three_looks_in_a_row_make_a_game_and_the_last_eight_the_confidence() {
    let mut classifier = Classifier::new(1);
    assert_eq!(play(&mut classifier, 0..1_024), []);
    let before = why(&classifier);
    assert_eq!((before.traffic, before.features, before.missing), (None, None, Missing::TIME));
    // Looks are at 1024, 1280 and 1536 ms.
    assert_eq!(play(&mut classifier, 1_024..1_536), []);
    assert_eq!(
        (why(&classifier).traffic, why(&classifier).confidence),
        (Some(Traffic::Other), 0.25)
    );
    assert_eq!(play(&mut classifier, 1_536..1_537), [(1_536, Some(Traffic::Game))]);
    assert_eq!(
        (why(&classifier).traffic, why(&classifier).confidence),
        (Some(Traffic::Game), 0.375)
    );
    assert_eq!(play(&mut classifier, 1_537..4_000), []);
    assert_eq!((why(&classifier).traffic, why(&classifier).confidence), (Some(Traffic::Game), 1.0));
}

#[test]
fn a_packet_that_makes_a_game_and_none_again_changes_nothing() {
    let mut classifier = Classifier::new(1);
    assert_eq!(play(&mut classifier, 0..1_535), []);
    // The look at 1536 ms is the third with a game. Eight without follow until 3584 ms.
    let judged = on_packet(&mut classifier, 4_000, 90, Direction::Up);
    assert_eq!(judged, Judgement { traffic: Some(Traffic::Other), changed: false });
    // Had it come sooner, it would have been taken for a game.
    let mut classifier = Classifier::new(1);
    play(&mut classifier, 0..1_535);
    let judged = on_packet(&mut classifier, 3_583, 90, Direction::Up);
    assert_eq!(judged, Judgement { traffic: Some(Traffic::Game), changed: true });
    let judged = on_packet(&mut classifier, 3_584, 90, Direction::Up);
    assert_eq!(judged, Judgement { traffic: Some(Traffic::Other), changed: true });
}

#[test]
fn a_flow_is_its_ends_and_protocol_whatever_its_packets_ask_of_queues() {
    let mut classifier = Classifier::with_flows(1, 8);
    assert_eq!(classifier.flows(), 0);
    let of = |number, dscp| Header { dscp, ..Header::numbered(number) };
    for (count, (number, dscp)) in
        [(1, 0), (1, 46), (2, 0), (3, 46), (3, 8)].into_iter().enumerate()
    {
        let packet = of(number, Dscp(dscp));
        classifier.on_packet(Instant::ZERO, &packet, Bytes::new(90), Direction::Down);
        assert_eq!(classifier.flows(), [1, 1, 2, 3, 3][count]);
    }
    assert!(classifier.why(&of(3, Dscp(11)), Direction::Down).is_some());
    assert!(classifier.why(&of(3, Dscp(0)).reversed(), Direction::Up).is_some());
    assert!(classifier.why(&of(4, Dscp(0)), Direction::Down).is_none());
}

#[test]
fn a_flow_that_is_forgotten_begins_anew_and_the_others_stay() {
    let mut classifier = Classifier::with_flows(1, 8);
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    for number in 1..=3_u16 {
        let header = Header::numbered(number);
        classifier.on_packet(at(number.into()), &header, Bytes::new(90), Direction::Down);
    }
    // By a packet of the other way.
    classifier.forget(&Header::numbered(2).reversed(), Direction::Up);
    assert_eq!(classifier.flows(), 2);
    let mut all: Vec<_> = classifier.all().map(|(header, seen, _)| (seen, header.source)).collect();
    all.sort_unstable();
    assert_eq!(all, [1, 3].map(|number| (at(number.into()), Header::numbered(number).source)));
    assert!(classifier.why(&Header::numbered(2), Direction::Down).is_none());
}

#[test]
fn what_a_flow_is_taken_for_is_told_by_a_packet_of_either_way() {
    let mut classifier = Classifier::new(1);
    play(&mut classifier, 0..2_000);
    for direction in [Direction::Down, Direction::Up] {
        assert_eq!(classifier.traffic(&header(direction), direction), Some(Traffic::Game));
    }
    assert_eq!(classifier.traffic(&Header::numbered(8), Direction::Down), None);
}
