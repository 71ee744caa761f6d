use super::super::ScreamVersion;
use super::*;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn settings(ecn: EcnMode) -> Settings {
    Settings { ecn, loss_beta: 0.7, ecn_beta: 0.8, delay_target_secs: 0.06 }
}

/// 40 ms round trip, no queue, plenty in flight.
fn path() -> PathState {
    PathState {
        smoothed_rtt: Duration::from_millis(40),
        delay_secs: 0.0,
        average_delay_secs: 0.0,
        variation_headroom: 1.0,
        l4s_alpha: 0.0,
        drains_already: false,
        max_in_flight_before: Some(1e6),
        max_in_flight: 1e6,
        at_largest_bitrate: false,
    }
}

fn reacted(window: f64) -> Reacted {
    Reacted {
        now: at(0),
        window,
        lost: false,
        smoothed_rtt: path().smoothed_rtt,
        last_congestion: None,
    }
}

fn window(ecn: EcnMode) -> ReferenceWindow {
    ReferenceWindow::new(ScreamVersion::Draft.rules().window, settings(ecn), 100_000.0)
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-6, "{left} {right}");
}

#[test]
fn loss_keeps_seven_tenths_at_most_once_per_virtual_round_trip() {
    let mut window = window(EcnMode::L4s);
    window.note(at(0), true, true, &path());
    assert_eq!(window.react(at(0), &path()), Some(Reaction::Loss));
    close(window.bytes(), 70_000.0);
    window.note(at(24), true, false, &path());
    assert_eq!(window.react(at(24), &path()), None);
    // It is remembered until the interval is over: the shorter of 25 ms and the round trip.
    assert_eq!(window.react(at(25), &path()), Some(Reaction::Loss));
    close(window.bytes(), 49_000.0);
    window.note(at(34), true, false, &path());
    let short = PathState { smoothed_rtt: Duration::from_millis(10), ..path() };
    assert_eq!(window.react(at(34), &short), None);
    assert_eq!(window.react(at(35), &short), Some(Reaction::Loss));
    assert_eq!(window.react(at(1_000), &path()), None);
}

#[test]
fn what_waits_for_the_next_reaction_is_congestion_already() {
    for (lost, marked) in [(true, false), (false, true)] {
        let mut window = window(EcnMode::L4s);
        window.note(at(0), true, false, &path());
        window.react(at(0), &path());
        window.note(at(24), lost, marked, &path());
        assert_eq!(window.last_congestion, Some(at(24)));
    }
}

#[test]
fn a_classic_mark_keeps_eight_tenths_and_off_is_deaf() {
    let mut classic = window(EcnMode::Classic);
    classic.note(at(0), false, true, &path());
    assert_eq!(classic.react(at(0), &path()), Some(Reaction::Mark));
    close(classic.bytes(), 80_000.0);
    let mut off = window(EcnMode::Off);
    off.note(at(0), false, true, &path());
    assert_eq!(off.react(at(0), &path()), None);
    close(off.bytes(), 100_000.0);
}

#[test]
fn an_l4s_mark_takes_half_of_alpha_less_when_the_round_trip_is_long() {
    for (millis, kept) in [(20, 0.8), (25, 0.8), (50, 0.9), (100, 0.95)] {
        let mut window = window(EcnMode::L4s);
        window.note(at(0), false, true, &path());
        let smoothed_rtt = Duration::from_millis(millis);
        // A queue at a quarter of the target: nothing damps the cut.
        let path = PathState { smoothed_rtt, delay_secs: 0.015, l4s_alpha: 0.4, ..path() };
        assert_eq!(window.react(at(0), &path), Some(Reaction::Mark));
        close(window.bytes(), 100_000.0 * kept);
    }
}

#[test]
fn near_the_inflection_point_a_short_queue_damps_the_l4s_cut() {
    let mut window = window(EcnMode::L4s);
    let path = PathState {
        smoothed_rtt: Duration::from_millis(25),
        l4s_alpha: 0.4,
        variation_headroom: 0.5,
        ..path()
    };
    window.note(at(0), false, true, &path);
    window.react(at(0), &path);
    // The inflection point is the window itself: a quarter of the cut, and half of that.
    close(window.bytes(), 100_000.0 * (1.0 - 0.2 * 0.25 * 0.5));
    // No growth since: the inflection point stays, and is 2.5 % above: (8 x 0.025)^2 = 0.04, so 0.25.
    window.note(at(25), false, true, &path);
    window.react(at(25), &path);
    close(window.inflection(), 100_000.0);
    close(window.bytes(), 97_500.0 * (1.0 - 0.2 * 0.25 * 0.5));
}

#[test]
fn two_marks_per_round_trip_balance_growth_and_cut() {
    let mut window = window(EcnMode::L4s);
    window.inflection.on_reaction(&reacted(100_000.0));
    window.last_congestion = Some(at(0));
    // Two of 100 packets are marked; round trip and virtual round trip are the same.
    let smoothed_rtt = Duration::from_millis(25);
    let path = PathState { smoothed_rtt, l4s_alpha: 0.02, ..path() };
    window.grow(at(0), 98_000.0, &path);
    let growth = window.bytes() - 100_000.0;
    close(growth, 0.25 * 980.0);
    window.note(at(0), false, true, &path);
    window.react(at(0), &path);
    let cut = 100_000.0 + growth - window.bytes();
    assert!((0.95..1.05).contains(&(cut / growth)), "{growth} {cut}");
}

#[test]
fn long_without_reaction_an_l4s_mark_first_brings_the_window_down_to_what_was_in_flight() {
    let mut window = window(EcnMode::L4s);
    let path = PathState { delay_secs: 0.02, l4s_alpha: 0.2, ..path() };
    window.note(at(0), true, false, &path);
    window.react(at(0), &path);
    close(window.bytes(), 70_000.0);
    let limited = PathState { max_in_flight_before: Some(30_000.0), ..path };
    window.note(at(4_000), false, true, &path); // exactly 100 round trips of 40 ms
    window.react(at(4_000), &limited);
    let backoff = 0.1 / 1.6;
    close(window.bytes(), 70_000.0 * (1.0 - backoff));
    window.note(at(8_001), false, true, &path);
    window.react(at(8_001), &limited);
    close(window.bytes(), 30_000.0 * (1.0 - backoff));
}

#[test]
fn delay_acts_as_marks_between_half_the_target_and_the_target() {
    for (delay, alpha) in [(0.045, 0.5), (0.06, 1.0), (0.2, 1.0)] {
        let mut window = window(EcnMode::Off);
        let smoothed_rtt = Duration::from_millis(50);
        let path = PathState { average_delay_secs: delay, smoothed_rtt, ..path() };
        assert_eq!(window.react(at(0), &path), Some(Reaction::Delay));
        close(window.bytes(), 100_000.0 * (1.0 - alpha / 2.0 / 2.0));
    }
    let at_half = PathState { average_delay_secs: 0.03, ..path() };
    assert_eq!(window(EcnMode::Off).react(at(0), &at_half), None);
}

#[test]
fn it_is_never_below_3000_bytes() {
    let mut window =
        ReferenceWindow::new(ScreamVersion::Draft.rules().window, settings(EcnMode::L4s), 4_000.0);
    window.note(at(0), true, false, &path());
    window.react(at(0), &path());
    close(window.bytes(), 3_000.0);
}

#[test]
fn without_congestion_it_grows_by_a_segment_and_two_percent_per_round_trip() {
    let mut window = window(EcnMode::L4s);
    // A whole window is acknowledged: 1000 B times 1 + 0.02 x 100.
    window.grow(at(0), 100_000.0, &path());
    close(window.bytes(), 103_000.0);
    // A round trip below the virtual one counts as its part of it.
    let mut short = self::window(EcnMode::L4s);
    let path = PathState { smoothed_rtt: Duration::from_millis(5), ..path() };
    short.grow(at(0), 100_000.0, &path);
    close(short.bytes(), 100_600.0);
}

#[test]
fn after_congestion_it_grows_additively_and_slowly_near_the_inflection_point() {
    let mut window = window(EcnMode::L4s);
    window.note(at(0), true, false, &path());
    window.react(at(0), &path());
    // 70 % of the inflection point: (8 x 0.3)^2 > 1, so a whole segment, but none of the 2 % yet.
    window.grow(at(0), 70_000.0, &path());
    close(window.bytes(), 71_000.0);
    // Half of 100 round trips later half of the multiplicative part is back.
    window.grow(at(2_000), 71_000.0, &path());
    close(window.bytes(), 71_000.0 + 1_000.0 * (1.0 + 0.5 * 0.02 * 71.0));
    window.window = 95_000.0; // (8 x 0.05)^2 = 0.16: at least a quarter of a segment
    window.grow(at(2_000), 95_000.0, &path());
    close(window.bytes(), 95_000.0 + 250.0 * (1.0 + 0.5 * 0.02 * 95.0 * 0.16));
    window.window = 91_000.0; // (8 x 0.09)^2 = 0.5184
    let varying = PathState { variation_headroom: 0.0, ..path() };
    window.grow(at(0), 91_000.0, &varying);
    close(window.bytes(), 91_000.0 + 518.4 * 0.1);
}

#[test]
fn the_inflection_point_moves_at_the_first_reaction_after_growth() {
    let mut window = window(EcnMode::L4s);
    for (time, inflection) in [(0, 100_000.0), (25, 100_000.0)] {
        window.note(at(time), true, false, &path());
        window.react(at(time), &path());
        close(window.inflection(), inflection);
    }
    window.grow(at(25), 49_000.0, &path()); // at the reaction: nothing multiplicative
    window.note(at(50), true, false, &path());
    window.react(at(50), &path());
    close(window.inflection(), 50_000.0);
}

#[test]
fn what_the_source_does_not_use_does_not_grow() {
    let mut window = window(EcnMode::L4s);
    let idle = PathState { max_in_flight: 60_000.0, ..path() }; // 1000 + 90000 < 100000
    window.grow(at(0), 100_000.0, &idle);
    close(window.bytes(), 100_000.0);
    window.grow(at(0), 100_000.0, &PathState { at_largest_bitrate: true, ..path() });
    close(window.bytes(), 100_000.0);
    let enough = PathState { max_in_flight: 68_000.0, ..path() }; // exactly 103000
    window.grow(at(0), 100_000.0, &enough);
    close(window.bytes(), 103_000.0);
}

fn reference(window: f64) -> ReferenceWindow {
    let rules = ScreamVersion::Reference.rules().window;
    let mut made = ReferenceWindow::new(rules, settings(EcnMode::L4s), window);
    made.on_segment(1_240.0, false);
    made
}

#[test]
fn in_the_reference_what_comes_too_soon_is_not_answered_later() {
    let mut window = reference(100_000.0);
    let marked = PathState { l4s_alpha: 0.4, delay_secs: 0.015, ..path() };
    window.note(at(0), false, true, &marked);
    assert_eq!(window.react(at(0), &marked), Some(Reaction::Mark));
    close(window.bytes(), 100_000.0 * (1.0 - 0.2 / (40.0 / 30.0)));
    window.note(at(29), true, true, &marked);
    assert_eq!(window.react(at(29), &marked), None);
    window.note(at(30), false, false, &marked);
    assert_eq!(window.react(at(30), &marked), None);
    // A loss within a round trip of the last reaction is none; a mark beside it is one.
    window.note(at(31), true, true, &marked);
    assert_eq!(window.react(at(31), &marked), Some(Reaction::Mark));
    window.note(at(71), true, true, &marked);
    assert_eq!(window.react(at(71), &marked), Some(Reaction::Loss));
}

#[test]
fn in_the_reference_marks_on_all_are_not_answered_while_the_queue_drains() {
    let mut window = reference(100_000.0);
    let drains = PathState { l4s_alpha: 1.0, drains_already: true, ..path() };
    window.note(at(0), false, true, &drains);
    assert_eq!(window.react(at(0), &drains), None);
    close(window.bytes(), 100_000.0);
}

#[test]
fn in_the_reference_it_grows_by_the_largest_packet_and_is_two_of_them_at_least() {
    let mut window = reference(124_000.0);
    window.note(at(0), true, false, &path());
    window.react(at(0), &path());
    close(window.bytes(), 86_800.0);
    window.grow(at(0), 86_800.0, &path());
    close(window.bytes(), 86_800.0 + 1_240.0);
    window.bound(10.0);
    close(window.bytes(), 2_480.0);
    close(ReferenceWindow::new(window.rules, window.settings, 10.0).bytes(), 2_000.0);
    // Once a second, as the segment is measured anew, it is three.
    window.on_segment(1_240.0, true);
    close(window.bytes(), 3_720.0);
    window.on_segment(1_240.0, false);
    window.bound(10.0);
    close(window.bytes(), 2_480.0);
    let mut draft = self::window(EcnMode::L4s);
    draft.bound(10.0);
    draft.on_segment(1_240.0, true);
    close(draft.bytes(), 3_000.0);
}

#[test]
fn in_the_reference_a_delay_reaction_is_divided_twice() {
    let mut window = reference(100_000.0);
    let late =
        PathState { smoothed_rtt: Duration::from_millis(60), average_delay_secs: 0.06, ..path() };
    window.note(at(0), false, false, &late);
    assert_eq!(window.react(at(0), &late), Some(Reaction::Delay));
    close(window.bytes(), 100_000.0 * (1.0 - 0.5 / 4.0));
}

#[test]
fn in_the_reference_losses_within_half_a_second_are_one_inflection_point() {
    let mut window = reference(100_000.0);
    for time in [0, 400, 800, 1_200] {
        close(window.inflection(), if time == 0 { 1.0 } else { 100_000.0 });
        window.note(at(time), true, false, &path());
        assert_eq!(window.react(at(time), &path()), Some(Reaction::Loss));
    }
}
