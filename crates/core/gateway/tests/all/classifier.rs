//! The classifier on made-up traffic: each kind alone, changes of mind, floods.

use crate::traffic::{
    Packet, both, bulk, by_share, bytes, frames, game, header, instant, jittered, later, steady,
    windows, without,
};
use gameway_gateway::classifier::Direction::{Down, Up};
use gameway_gateway::classifier::{Classifier, Evidence, Missing};
use gameway_path::{Protocol, Traffic};
use proptest::prelude::*;

/// What a flow became, and when it did: each change with its time.
fn changes(packets: &[Packet], protocol: Protocol) -> (Vec<(f64, Option<Traffic>)>, Evidence) {
    let mut classifier = Classifier::new(1);
    let mut changes = Vec::new();
    for (at, size, direction) in packets {
        let header = header(7, protocol, *direction);
        let judged = classifier.on_packet(instant(*at), &header, bytes(*size), *direction);
        if judged.changed {
            changes.push((*at, judged.traffic));
        }
    }
    let why = classifier.why(&header(7, protocol, Down), Down).unwrap();
    assert_eq!(classifier.traffic(&header(7, protocol, Up), Up), why.traffic);
    (changes, why)
}

#[track_caller]
fn recognised(packets: &[Packet]) -> f64 {
    let (changes, why) = changes(packets, Protocol::Udp);
    assert_eq!(changes.len(), 1, "{changes:?} {why:?}");
    assert_eq!(changes[0].1, Some(Traffic::Game));
    assert!(why.missing.is_empty() && why.confidence > 0.8, "{why:?}");
    changes[0].0
}

#[track_caller]
fn other(packets: &[Packet], protocol: Protocol, missing: Missing) {
    let (changes, why) = changes(packets, protocol);
    assert_eq!(changes, [], "{why:?}");
    assert_eq!(why.traffic, Some(Traffic::Other));
    assert!(why.missing.contains(missing), "{:?}", why.missing.names().collect::<Vec<_>>());
}

#[test]
fn games_of_any_rate_and_frame_rate_are_found_within_two_seconds() {
    for hertz in [30.0, 50.0, 59.94, 60.0, 90.0, 120.0, 144.0] {
        for mbps in [3.0, 8.0, 30.0, 80.0] {
            for share in [0.05, 0.4, 0.7] {
                let at = recognised(&game(mbps, hertz, share, 6.0));
                assert!((1.5..2.0).contains(&at), "{mbps} Mb/s, {hertz} Hz: {at}");
            }
        }
    }
}

/// Frames of a sender whose window is always full leave by acknowledgements: no frame shows, and the rate is the link's share.
#[test]
fn a_game_that_its_window_paces_is_found_where_its_share_doubles_and_not_where_it_grows_fourfold() {
    for hertz in [30.0, 60.0, 120.0] {
        for mbps in [4.0, 8.0] {
            let paced = |times| {
                let sent = frames(mbps * (1.0 + times) / 2.0, hertz, 1.0, Down, 6.0);
                let picture = by_share(sent, mbps, times);
                both(picture, steady(90, 0.008, Up, 6.0))
            };
            let at = recognised(&paced(2.0));
            assert!((1.5..2.0).contains(&at), "{mbps} Mb/s, {hertz} Hz: {at}");
            other(&paced(4.0), Protocol::Udp, Missing::RHYTHM);
        }
    }
}

#[test]
fn sound_and_jitter_in_front_of_the_gateway_hide_no_game() {
    for hertz in [30.0, 60.0, 120.0] {
        for mbps in [5.0, 30.0] {
            let sound = both(steady(120, 0.02, Down, 6.0), steady(120, 0.02, Up, 6.0));
            // Up to 4 ms, in order.
            let at = recognised(&jittered(both(game(mbps, hertz, 0.4, 6.0), sound), 0.004));
            assert!((1.5..2.1).contains(&at), "{mbps} Mb/s, {hertz} Hz: {at}");
        }
    }
}

#[test]
fn a_game_that_goes_up_is_one_too() {
    recognised(&both(frames(10.0, 60.0, 0.4, Up, 5.0), steady(80, 0.02, Down, 5.0)));
}

#[test]
fn what_is_known_of_onlive_is_found() {
    for (size, interval) in [(947, 0.0012), (914, 0.0016)] {
        recognised(&both(steady(size, interval, Down, 5.0), steady(150, 0.012, Up, 5.0)));
    }
}

#[test]
fn downloads_are_none_whatever_carries_them() {
    for mbps in [3.0, 10.0, 40.0] {
        other(&bulk(1_500, mbps, 2.0, 52, 6.0), Protocol::Tcp, Missing::FRAMES);
        // QUIC, and a virtual private network: no protocol tells.
        other(&bulk(1_278, mbps, 2.0, 70, 6.0), Protocol::Udp, Missing::FRAMES);
        other(&bulk(1_228, mbps, 10.0, 75, 6.0), Protocol::Udp, Missing::FRAMES);
    }
    for rtt in [0.008, 1.0 / 60.0, 0.030, 0.1] {
        other(&windows(20, rtt, 6.0), Protocol::Tcp, Missing::FRAMES);
        other(&windows(20, rtt, 6.0), Protocol::Udp, Missing::FRAMES);
    }
}

/// What was lost and packed for an earlier MTU is sent again in packets that are nearly full: 20 of them, within 60 ms of each second.
#[test]
fn a_download_that_sends_smaller_packets_again_is_none_though_its_windows_have_a_rhythm() {
    let again = |each: fn(u32) -> bool| {
        let mut number = 0;
        let smaller = |(at, size, direction): Packet| {
            number += u32::from(direction == Down);
            (at, if direction == Down && each(number) { 1_494 } else { size }, direction)
        };
        let packets: Vec<_> = windows(20, 1.0 / 60.0, 6.0).into_iter().map(smaller).collect();
        let answers = steady(90, 0.008, Up, 6.0);
        both(packets.into_iter().filter(|one| one.2 == Down).collect(), answers)
    };
    other(
        &again(|number| number % 1_200 < 80 && number.is_multiple_of(4)),
        Protocol::Udp,
        Missing::FRAMES,
    );
    // The twin: as many a second, one every third window, as frames leave them.
    recognised(&again(|number| number.is_multiple_of(60)));
}

#[test]
fn blocks_of_a_rate_limited_tcp_are_no_frames() {
    // iperf3 -b 40M: 38 blocks of 128 KiB a second, each with a short end.
    let blocks = frames(40.0, 38.0, 0.5, Down, 6.0);
    let packets = both(blocks, steady(52, 0.0006, Up, 6.0));
    other(&packets, Protocol::Tcp, Missing::INPUTS);
    recognised(&packets);
}

#[test]
fn uploads_are_none() {
    let up = bulk(1_500, 10.0, 2.0, 52, 6.0);
    let up: Vec<Packet> = up
        .into_iter()
        .map(|(at, size, way)| (at, size, if way == Down { Up } else { Down }))
        .collect();
    other(&up, Protocol::Tcp, Missing::FRAMES);
}

#[test]
fn a_video_in_segments_is_none() {
    let segment = |number: u32| later(bulk(1_500, 40.0, 2.0, 52, 0.5), f64::from(number) * 2.0);
    let packets: Vec<Packet> = (0..4).flat_map(segment).collect();
    other(&packets, Protocol::Tcp, Missing::FRAMES);
    other(&packets, Protocol::Udp, Missing::FRAMES);
}

/// Acknowledgements for what goes up are no frames of what comes down.
#[test]
fn transfers_both_ways_are_none() {
    let turned = |packets: Vec<Packet>| -> Vec<Packet> {
        let turn = |(at, size, way): Packet| (at, size, if way == Down { Up } else { Down });
        packets.into_iter().map(turn).collect()
    };
    for rtt in [0.008, 1.0 / 60.0, 0.030] {
        let (down, up) = (windows(20, rtt, 6.0), turned(windows(3, rtt, 6.0)));
        other(&both(down, up), Protocol::Udp, Missing::FRAMES);
    }
    for mbps in [3.0, 10.0, 40.0] {
        let (down, up) = (bulk(1_448, mbps, 2.0, 60, 6.0), bulk(1_448, mbps / 8.0, 2.0, 60, 6.0));
        other(&both(down, turned(up)), Protocol::Udp, Missing::FRAMES);
    }
}

#[test]
fn calls_are_none() {
    for (mbps, hertz) in [(1.5, 30.0), (3.0, 30.0), (6.0, 60.0)] {
        let picture = both(frames(mbps, hertz, 0.1, Down, 6.0), frames(mbps, hertz, 0.1, Up, 6.0));
        let sound = both(steady(120, 0.02, Down, 6.0), steady(120, 0.02, Up, 6.0));
        other(&both(picture, sound), Protocol::Udp, Missing::ASYMMETRY);
    }
    let sound = both(steady(120, 0.02, Down, 6.0), steady(120, 0.02, Up, 6.0));
    other(&sound, Protocol::Udp, Missing::RATE);
    // Somebody who shows nothing, and looks at one: no more than a call has.
    let watching = both(frames(1.5, 30.0, 0.1, Down, 6.0), sound);
    other(&watching, Protocol::Udp, Missing::RATE);
}

#[test]
fn nobody_plays_what_nobody_answers() {
    other(&frames(8.0, 60.0, 0.4, Down, 6.0), Protocol::Udp, Missing::ANSWERS);
}

#[test]
fn a_stream_that_pauses_is_demoted_and_found_again() {
    let (changes, _) = changes(&without(game(10.0, 60.0, 0.4, 20.0), 6.0, 12.0), Protocol::Udp);
    let kinds: Vec<_> = changes.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, [Some(Traffic::Game), Some(Traffic::Other), Some(Traffic::Game)]);
    // The silence is only seen when it is over: its first packet judges it.
    assert!((12.0..12.1).contains(&changes[1].0), "{changes:?}");
    assert!((13.0..14.0).contains(&changes[2].0), "{changes:?}");
}

#[test]
fn a_stall_of_a_second_changes_nothing() {
    let (changes, why) = changes(&without(game(10.0, 60.0, 0.4, 12.0), 6.0, 7.0), Protocol::Udp);
    assert_eq!(changes.len(), 1, "{changes:?} {why:?}");
}

#[test]
fn a_game_that_turns_into_a_download_is_demoted_in_four_seconds() {
    let packets = both(game(10.0, 60.0, 0.4, 6.0), later(bulk(1_278, 20.0, 2.0, 70, 8.0), 6.0));
    let (changes, _) = changes(&packets, Protocol::Udp);
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!((8.0..10.0).contains(&changes[1].0), "{changes:?}");
}

#[test]
fn squeezed_to_a_megabit_and_a_half_it_stays_a_game_but_would_not_become_one() {
    let squeezed = later(game(1.5, 60.0, 1.0, 6.0), 4.0);
    let (stays, why) = changes(&both(game(10.0, 60.0, 0.4, 4.0), squeezed), Protocol::Udp);
    assert_eq!(stays.len(), 1, "{stays:?} {why:?}");
    other(&game(1.5, 60.0, 1.0, 6.0), Protocol::Udp, Missing::RATE);
}

#[test]
fn two_flows_are_two_and_a_flood_forgets_no_game() {
    let mut classifier = Classifier::with_flows(3, 64);
    let mut flood = 0_u32;
    for (at, size, direction) in both(game(10.0, 60.0, 0.4, 4.0), Vec::new()) {
        let packet = header(7, Protocol::Udp, direction);
        classifier.on_packet(instant(at), &packet, bytes(size), direction);
        if at > 2.0 {
            flood += 1;
            let other = header((flood % 60_000) as u16 + 8, Protocol::Udp, Down);
            classifier.on_packet(instant(at), &other, bytes(60), Down);
        }
    }
    assert!(flood > 1_000 && classifier.flows() <= 64);
    assert_eq!(classifier.traffic(&header(7, Protocol::Udp, Down), Down), Some(Traffic::Game));
    let last = header((flood % 60_000) as u16 + 8, Protocol::Udp, Down);
    assert_eq!(classifier.traffic(&last, Down), None);
    assert!(classifier.why(&header(5, Protocol::Udp, Down), Down).is_none());
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let packets = game(30.0, 60.0, 0.4, 4.0);
    let mut classifier = Classifier::new(1);
    let measured = allocation_counter::measure(|| {
        for (at, size, direction) in &packets {
            let header = header(7, Protocol::Udp, *direction);
            classifier.on_packet(instant(*at), &header, bytes(*size), *direction);
        }
    });
    assert_eq!(measured.count_total, 0);
}

proptest! {
    #[test]
    fn any_packets_are_judged(
        steps in prop::collection::vec((0_u64..400_000_000, 0_u64..100_000, any::<bool>(), 0_u16..20), 1..400),
    ) {
        let mut classifier = Classifier::with_flows(1, 8);
        let mut now = 0.0;
        for (nanos, size, down, flow) in steps {
            now += nanos as f64 * 1e-9;
            let direction = if down { Down } else { Up };
            let header = header(flow, Protocol::Udp, direction);
            let judged = classifier.on_packet(instant(now), &header, bytes(size), direction);
            let why = classifier.why(&header, direction).unwrap();
            prop_assert_eq!(judged.traffic, why.traffic);
            prop_assert!((0.0..=1.0).contains(&why.confidence));
            prop_assert!(classifier.flows() <= 8);
        }
    }
}
