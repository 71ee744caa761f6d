use super::super::Situation;
use super::super::tests::{at, throughput};
use super::*;
use crate::{Settings, Throughput};

const SEGMENT: Duration = Duration::from_secs(4);

fn utility() -> Utility {
    Utility::new(&Ladder::xu_claypool(), Settings::default().buffer_target).expect("five levels")
}

fn situation<'a>(
    ladder: &'a Ladder,
    throughput: &'a Throughput,
    (now, buffer): (Instant, f64),
    current: usize,
) -> Situation<'a> {
    let buffer = Duration::from_secs_f64(buffer);
    let (empty, settled) = (false, true);
    Situation { now, ladder, segment: SEGMENT, buffer, empty, throughput, current, settled }
}

/// g and V solve two equations: the lowest level is worth nothing from 10 s of buffer on, the highest
/// from the full buffer on (here 20 s).
#[test]
fn parameters_by_the_closed_form() {
    let Utility { v, g, utilities, .. } = utility();
    let highest = libm::log(17_500.0 / 2_000.0);
    assert!((utilities[4] - 1.0 - highest).abs() < 1e-12);
    assert!((v * (utilities[0] - 1.0 + g) - 10.0).abs() < 1e-9);
    assert!((v * (utilities[4] - 1.0 + g) - 20.0).abs() < 1e-9);
}

/// The greatest score, computed here another way: exhaustively, from the definition.
#[test]
fn the_level_has_the_greatest_utility_per_bit() {
    let (utility, ladder) = (utility(), Ladder::xu_claypool());
    let g = libm::log(8.75) / (20.0 / 10.0 - 1.0);
    let score = |buffer: f64, level: usize| {
        let ratio = ladder.bitrate(level).as_bps_f64() / ladder.bitrate(0).as_bps_f64();
        (10.0 / g * (libm::log(ratio) + g) - buffer) / ladder.kbps(level)
    };
    let mut seen = Vec::new();
    for tenth in 0..300 {
        let buffer = f64::from(tenth) / 10.0;
        let chosen = utility.level_for(buffer);
        let best = (0..5).map(|level| score(buffer, level)).fold(f64::MIN, f64::max);
        assert!((score(buffer, chosen) - best).abs() < 1e-12, "{buffer} s: level {chosen}");
        seen.push(chosen);
    }
    assert!(seen.is_sorted(), "more buffer, no lower level");
    assert_eq!((seen[0], seen[100], seen[199], seen[299]), (0, 2, 4, 4));
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

/// From V below its least buffer on, and not before, a level beats all lower ones.
#[test]
fn the_least_buffer_is_v_above_where_a_level_begins_to_win() {
    let utility = utility();
    for level in 1..5 {
        let from = utility.min_buffer(level) - utility.v;
        assert!(utility.level_for(from + 1e-6) >= level, "level {level} at {from} s");
        assert!(utility.level_for(from - 1e-6) < level, "level {level} below {from} s");
    }
}

#[test]
fn one_level_is_no_choice() {
    let one = Ladder::new(Ladder::xu_claypool().levels()[..1].to_vec()).expect("a ladder");
    let mut bola = Bola::new(&one, Duration::from_secs(18));
    let fast = throughput(50_000);
    let decision = bola.decide(&situation(&one, &fast, (at(0), 15.0), 0));
    assert_eq!(decision, (None, Duration::ZERO));
}

fn steady(ladder: &Ladder, throughput: &Throughput, buffer: f64) -> Bola {
    let mut bola = Bola::new(ladder, Duration::from_secs(18));
    let _ = bola.decide(&situation(ladder, throughput, (at(0), 0.0), 0));
    bola.on_request_over(at(0), at(1_000));
    bola.on_segment(&situation(ladder, throughput, (at(1_000), buffer), 0), 0, bola.current);
    let _ = bola.decide(&situation(ladder, throughput, (at(1_000), buffer), 0));
    assert_eq!(bola.state, State::Steady);
    bola
}

#[test]
fn start_up_follows_throughput_and_the_placeholder_keeps_its_level() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(12_000));
    let mut bola = Bola::new(&ladder, Duration::from_secs(18));
    let first = bola.decide(&situation(&ladder, &fast, (at(0), 2.0), 0));
    assert_eq!(first.0, Some(SwitchRequest(3)), "10 Mb/s of 0.9 x 12");
    assert_eq!(bola.state, State::Startup, "no segment yet");
    let wanted = bola.utility.as_ref().map_or(0.0, |utility| utility.min_buffer(3));
    assert!((bola.placeholder + 2.0 - wanted).abs() < 1e-9);
    // Now in steady state: the same level with a real buffer of 6 s only.
    let mut bola = steady(&ladder, &fast, 6.0);
    let then = bola.decide(&situation(&ladder, &fast, (at(1_000), 6.0), 3));
    assert_eq!(then.0, Some(SwitchRequest(3)));
    // The twin whose buffer ran empty has lost its placeholder, and falls to the lowest level.
    let mut emptied = steady(&ladder, &fast, 6.0);
    emptied.on_empty();
    let then = emptied.decide(&situation(&ladder, &fast, (at(1_000), 6.0), 3));
    assert_eq!(then.0, Some(SwitchRequest(0)));
}

#[test]
fn a_rise_ends_where_throughput_does_and_a_fall_does_not() {
    let (ladder, slow) = (Ladder::xu_claypool(), throughput(6_000));
    let mut bola = steady(&ladder, &slow, 6.0);
    let high = bola.decide(&situation(&ladder, &slow, (at(1_000), 30.0), 2));
    assert_eq!(high.0, Some(SwitchRequest(2)), "30 s would be for the highest level");
    // Being there already it may stay, though throughput carries less.
    bola.on_quality_change(4);
    let stays = bola.decide(&situation(&ladder, &slow, (at(1_000), 30.0), 4));
    assert_eq!(stays.0, Some(SwitchRequest(4)));
}

/// With more than V (u + g) of buffer it waits; first the placeholder melts.
#[test]
fn too_much_buffer_waits_except_at_the_highest_level() {
    let (ladder, slow) = (Ladder::xu_claypool(), throughput(2_500));
    let mut bola = steady(&ladder, &slow, 6.0);
    bola.on_empty();
    bola.last_call = None;
    let max = bola.utility.as_ref().map_or(0.0, |utility| utility.max_buffer(0));
    let (level, wait) = bola.decide(&situation(&ladder, &slow, (at(1_000), max + 1.5), 0));
    assert_eq!(level, Some(SwitchRequest(0)));
    assert!((wait.as_secs_f64() - 1.5).abs() < 1e-6, "{wait}");
    bola.placeholder = 1.0;
    bola.last_call = None;
    let (_, wait) = bola.decide(&situation(&ladder, &slow, (at(1_000), max - 0.3), 0));
    assert_eq!(wait, Duration::ZERO);
    assert!((bola.placeholder - 0.3).abs() < 1e-6);
    let fast = throughput(50_000);
    let mut top = steady(&ladder, &fast, 6.0);
    let (level, wait) = top.decide(&situation(&ladder, &fast, (at(1_000), 80.0), 4));
    assert_eq!((level, wait), (Some(SwitchRequest(4)), Duration::ZERO));
}

#[test]
fn replacements_and_waiting_grow_the_placeholder_and_an_abandonment_cuts_it() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(12_000));
    let mut bola = steady(&ladder, &fast, 8.0);
    bola.placeholder = 0.0;
    let loaded = |bola: &mut Bola, index| {
        bola.on_request_over(at(2_000), at(3_000));
        bola.on_segment(&situation(&ladder, &fast, (at(3_000), 8.0), 3), index, 3);
    };
    bola.placeholder = 2.0;
    loaded(&mut bola, 1);
    assert!((bola.placeholder - 1.98).abs() < 1e-9, "a new segment melts a hundredth");
    bola.placeholder = 0.0;
    loaded(&mut bola, 1);
    assert!((bola.placeholder - 4.0).abs() < 1e-9, "one that replaced adds its length");
    let _ = bola.decide(&situation(&ladder, &fast, (at(5_000), 8.0), 3));
    assert!((bola.placeholder - 6.0).abs() < 1e-9, "2 s without a download");
    bola.on_quality_change(0);
    bola.on_abandoned(Duration::from_secs(9));
    assert!((bola.placeholder - 1.0).abs() < 1e-9, "10 s are for the lowest level");
}

/// A segment may be fetched again at once up to V (u + g) of buffer, as it was when that segment was asked for.
#[test]
fn the_placeholder_is_no_more_than_what_the_level_may_hold() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(12_000));
    let mut bola = steady(&ladder, &fast, 8.0);
    bola.placeholder = 100.0;
    bola.on_request_over(at(2_000), at(3_000));
    bola.on_segment(&situation(&ladder, &fast, (at(3_000), 8.0), 3), 1, 3);
    let max = bola.utility.as_ref().map_or(0.0, |utility| utility.max_buffer(3));
    assert!((bola.placeholder - (max - 9.0)).abs() < 1e-9, "8 s now were 9 s a second ago");
}

#[test]
fn what_happens_before_it_is_asked_is_not_noted() {
    let (ladder, fast) = (Ladder::xu_claypool(), throughput(12_000));
    let mut bola = Bola::new(&ladder, Duration::from_secs(18));
    bola.on_request_over(at(0), at(1_000));
    bola.on_segment(&situation(&ladder, &fast, (at(1_000), 8.0), 3), 0, 3);
    let _ = bola.decide(&situation(&ladder, &fast, (at(1_000), 12.0), 3));
    assert_eq!(bola.state, State::Startup, "it has seen no segment");
}
