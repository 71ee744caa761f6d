//! What a look measures, and each threshold from both sides.

use super::*;
use gameway_units::Instant;

/// A flow that has just enough of everything, by the slowest line.
fn barely_a_game() -> Features {
    Features {
        picture: Direction::Down,
        rate: Rate::from_mbps(2),
        busy_spans: 15,
        variation: 0.4,
        line: None,
        partial_per_sec: 15.0,
        partial_in_three_quarters: 2,
        partial_share: 0.5,
        answers_per_sec: 5.0,
        answer_share: 0.2,
        answer_size: 80.1,
    }
}

fn lacks(change: impl Fn(&mut Features), protocol: Protocol, demand: Demand) -> Vec<&'static str> {
    let mut features = barely_a_game();
    change(&mut features);
    features.missing(protocol, demand).names().collect()
}

#[test]
fn each_threshold_has_two_sides() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for demand in [Demand::Become, Demand::Remain] {
            let lacks = |change: fn(&mut Features)| lacks(change, protocol, demand);
            assert_eq!(lacks(|_| ()), [""; 0]);
            assert_eq!(lacks(|one| one.busy_spans = 14), ["continuity"]);
            assert_eq!(lacks(|one| one.partial_per_sec = 14.9), ["frames"]);
            assert_eq!(lacks(|one| one.partial_in_three_quarters = 1), ["frames"]);
            assert_eq!(lacks(|one| one.answers_per_sec = 4.9), ["answers"]);
            assert_eq!(lacks(|one| one.answer_share = 0.21), ["asymmetry"]);
        }
    }
    let slower: fn(&mut Features) = |one| one.rate = Rate::from_bps(1_999_999);
    assert_eq!(lacks(slower, Protocol::Udp, Demand::Become), ["rate"]);
    assert_eq!(lacks(slower, Protocol::Udp, Demand::Remain), [""; 0]);
    let half: fn(&mut Features) = |one| one.rate = Rate::from_mbps(1);
    assert_eq!(lacks(half, Protocol::Udp, Demand::Remain), [""; 0]);
    let less: fn(&mut Features) = |one| one.rate = Rate::from_bps(999_999);
    assert_eq!(lacks(less, Protocol::Udp, Demand::Remain), ["rate"]);
    // Bare acknowledgements are those of TCP.
    let bare: fn(&mut Features) = |one| one.answer_size = 80.0;
    assert_eq!(lacks(bare, Protocol::Tcp, Demand::Remain), ["inputs"]);
    assert_eq!(lacks(bare, Protocol::Udp, Demand::Remain), [""; 0]);
}

#[test]
fn even_is_what_varies_little_in_packets_that_are_not_full() {
    let is_even = |variation, partial_share| {
        Features { variation, partial_share, ..barely_a_game() }.is_even()
    };
    assert!(is_even(0.4, 0.5));
    assert!(!is_even(0.41, 0.5) && !is_even(0.4, 0.49));
}

#[test]
fn reasons_have_names_and_are_told_apart() {
    let all: Vec<_> = Missing(u8::MAX).names().collect();
    let expected =
        ["time", "rate", "continuity", "frames", "rhythm", "answers", "asymmetry", "inputs"];
    assert_eq!(all, expected);
    let mut missing = Missing::default();
    assert!(missing.is_empty());
    missing.note(Missing::FRAMES, false);
    assert!(missing.is_empty());
    missing.note(Missing::FRAMES, true);
    missing.note(Missing::FRAMES, true);
    assert!(missing.contains(Missing::FRAMES) && !missing.contains(Missing::TIME));
    assert!(!missing.is_empty());
}

#[test]
fn the_spans_of_a_window_have_their_variation() {
    assert_eq!(spans((0..512).map(|_| 0)), (0, 0.0));
    assert_eq!(spans((0..512).map(|_| 7)), (16, 0.0));
    // Half of them have 50 % more than the mean, half as much less: one deviation is 0.5 of the mean.
    let (busy, variation) = spans((0..512).map(|bin| if bin / 32 % 2 == 0 { 10 } else { 30 }));
    assert!(busy == 16 && (variation - 0.5).abs() < 1e-12, "{variation}");
    // All in one of 16: the deviation is the root of 15.
    let (busy, variation) = spans((0..512).map(|bin| u32::from(bin == 480)));
    assert!(busy == 1 && (variation - 15.0_f64.sqrt()).abs() < 1e-12, "{variation}");
}

/// Both ways of a window of 1.024 s; `large` go down.
fn features(large: &[u64], small: &[u64]) -> Features {
    let mut history = History::new(Instant::ZERO);
    large.iter().for_each(|size| history.add(Bytes::new(*size), Direction::Down));
    small.iter().for_each(|size| history.add(Bytes::new(*size), Direction::Up));
    assert!(history.advance(Instant::ZERO + WINDOW), "the window is whole");
    Features::of(&history)
}

#[test]
fn the_way_with_more_bytes_is_the_picture() {
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
    let (picture, answer) = ([1_400, 1_400, 1_000, 200], [100, 100, 100, 100, 50]);
    let seen = features(&picture, &answer);
    assert_eq!((seen.picture, seen.busy_spans, seen.line), (Direction::Down, 1, None));
    // 4000 B and 450 B in 1.024 s.
    assert_eq!(seen.rate, Rate::from_bps(31_250));
    near(seen.partial_per_sec, 2.0 / 1.024);
    near(seen.partial_share, 0.5);
    near(seen.answers_per_sec, 5.0 / 1.024);
    near(seen.answer_share, 450.0 / 4_000.0);
    near(seen.answer_size, 90.0);
    let turned = features(&answer, &picture);
    assert_eq!(turned, Features { picture: Direction::Up, ..seen });
    assert_eq!(features(&[70], &[70]).picture, Direction::Down);
    let nothing = features(&[], &[]);
    assert_eq!((nothing.partial_share, nothing.answer_share, nothing.answer_size), (0.0, 0.0, 0.0));
}

/// `packets` packets of 1000 B in each bin, and an answer each 16 ms.
fn history(packets: impl Fn(u64) -> u32) -> History {
    let mut history = History::new(Instant::ZERO);
    for bin in 0..512_u64 {
        history.advance(Instant::ZERO + BIN * bin as i64);
        (0..packets(bin)).for_each(|_| history.add(Bytes::new(1_000), Direction::Down));
        if bin.is_multiple_of(8) {
            history.add(Bytes::new(90), Direction::Up);
        }
    }
    assert!(history.advance(Instant::ZERO + WINDOW));
    history
}

#[test]
fn the_rhythm_is_asked_of_what_has_all_else_and_is_to_become_a_game() {
    let mut spectrum = Spectrum::new();
    let mut look = |packets: fn(u64) -> u32, demand| {
        let (seen, missing) = look(&history(packets), Protocol::Udp, &mut spectrum, demand);
        (seen.line.map(f64::round), missing.names().collect::<Vec<_>>())
    };
    // A frame each 20 ms, in 6 ms of them.
    let frames = |bin| if bin % 10 < 3 { 4 } else { 0 };
    assert_eq!(look(frames, Demand::Become), (Some(50.0), vec![]));
    assert_eq!(look(frames, Demand::Remain), (None, vec![]));
    let even = |_| 1;
    assert_eq!(look(even, Demand::Become), (None, vec![]));
    let uneven = |bin| if bin < 256 { 1 } else { 3 };
    assert_eq!(look(uneven, Demand::Become), (None, vec!["rhythm"]));
    assert_eq!(look(uneven, Demand::Remain), (None, vec![]));
    // Frames of a call: nobody looks for their line.
    let few = |bin| u32::from(bin % 10 == 0);
    assert_eq!(look(few, Demand::Become), (None, vec!["rate"]));
}

/// What is asked of a flow by a look, with the figures of one that has just enough.
fn reasons(
    features: &Features,
    protocol: Protocol,
    demand: Demand,
) -> Vec<(&'static str, f64, Bound, f64, &'static str)> {
    let told = features.reasons(protocol, demand).into_iter();
    let name = |what: Missing| what.names().next().unwrap_or_default();
    told.map(|one| (name(one.what), one.value, one.bound, one.threshold, one.unit)).collect()
}

#[test]
fn reasons_are_figures_beside_the_thresholds_of_the_table() {
    use Bound::{Above, AtLeast, AtMost};
    let barely = barely_a_game();
    let asked = [
        ("rate", 2.0, AtLeast, 2.0, "Mb/s"),
        ("continuity", 15.0, AtLeast, 15.0, "of 16 spans"),
        ("frames", 15.0, AtLeast, 15.0, "/s"),
        ("frames", 2.0, AtLeast, 2.0, "in three quarters"),
        ("answers", 5.0, AtLeast, 5.0, "/s"),
        ("asymmetry", 0.2, AtMost, 0.2, "of the bytes of the picture"),
    ];
    let inputs = ("inputs", 80.1, Above, 80.0, "B");
    let even = [
        ("rhythm", 0.4, AtMost, 0.4, "variation of 64 ms"),
        ("rhythm", 0.5, AtLeast, 0.5, "of packets not full"),
    ];
    let of_tcp = [&asked[..], &[inputs]].concat();
    let all = [&of_tcp[..], &even].concat();
    assert_eq!(reasons(&barely, Protocol::Tcp, Demand::Become), all);
    // An answer of any size will do where it is not TCP's; a line takes the place of evenness.
    let line = Features { line: Some(60.0), ..barely };
    let with_line = [&asked[..], &[("rhythm", 60.0, AtLeast, 28.0, "Hz")]].concat();
    assert_eq!(reasons(&line, Protocol::Udp, Demand::Become), with_line);
    // The rhythm is not asked of a game, nor of what lacks anything else.
    let mut remaining = of_tcp.clone();
    remaining[0].3 = 1.0;
    assert_eq!(reasons(&barely, Protocol::Tcp, Demand::Remain), remaining);
    let mut lacking = of_tcp;
    lacking[4].1 = 4.9;
    let few = Features { answers_per_sec: 4.9, ..barely };
    assert_eq!(reasons(&few, Protocol::Tcp, Demand::Become), lacking);
}
