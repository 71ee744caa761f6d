//! Step "fill": what its numbers of the link, of two segments and of round trips do, each from both sides.

use super::*;

fn config() -> VoapConfig {
    VoapConfig { step: Step::Fill, ..VoapConfig::default() }
}

/// Bytes of a period at which two segments take 5 ms: windows grow below 10 ms, and shrink above 20 ms.
const LEFT: u64 = 115_840;
const RATE: f64 = LEFT as f64 / 0.2;

/// Both have 20 segments; packets wait 30 ms, which is 10 ms too long.
fn take() -> (Home, f64) {
    assert!((PAIR / RATE - 0.005).abs() < 1e-9);
    let home = Home::take([20, 20], config(), LEFT);
    let window = segments(20.0) - RATE * 0.01 / 2.0;
    home.expect([window; 2]);
    (home, window)
}

fn sum(home: &Home) -> f64 {
    home.windows().into_iter().flatten().sum()
}

#[test]
fn windows_grow_below_alpha_and_what_two_segments_take() {
    // At 9 ms 11 ms fit, at 10 ms and at 20 ms all stays.
    for (wait, fits) in [(9, 0.011), (10, 0.0), (20, 0.0)] {
        let (mut home, window) = take();
        home.period([26, 26], wait, LEFT);
        home.expect([window + RATE * fits / 2.0; 2]);
    }
}

#[test]
fn a_wait_of_beta_and_what_two_segments_take_is_not_above_them() {
    let (mut home, window) = take();
    // The cut has settled after two round trips of 150 ms and the queue's 30 ms.
    for wait in [20, 20, 20] {
        home.period([26, 26], wait, LEFT);
        home.expect([window; 2]);
    }
    // So what is above it now is cut at once.
    home.period([26, 26], 21, LEFT);
    home.expect([window - RATE * 0.001 / 2.0; 2]);
}

#[test]
fn windows_that_are_not_used_come_down_while_packets_wait_for_alpha_and_what_two_segments_take() {
    let (_, window) = take();
    // The first uses 10 segments of 18, of which it keeps two more; the second could use more.
    let kept = segments(12.0) + 1.0;
    for (wait, total) in [(9, 2.0 * window + RATE * 0.011), (10, segments(10.0) + window)] {
        let (mut home, _) = take();
        home.period([10, 26], wait, LEFT);
        home.expect([kept, total - kept]);
    }
}

#[test]
fn windows_grow_by_what_the_link_carried_and_not_by_what_comes() {
    let (mut home, window) = take();
    // A tenth of it comes while nothing waits for long.
    home.period([26, 26], 9, LEFT / 10);
    home.expect([window + RATE * 0.011 / 2.0; 2]);
}

#[test]
fn where_nothing_comes_nothing_is_cut_and_nothing_grows() {
    let mut home = Home::take([20, 20], config(), 0);
    let before = sum(&home);
    home.period([26, 26], 300, 0);
    assert!((sum(&home) - before).abs() < 1e-9, "{} and not {before}", sum(&home));
}

#[test]
fn a_cut_has_settled_in_a_period_that_begins_two_round_trips_later() {
    // Round trips of 150 ms and a wait of 50 ms: the period that begins 400 ms later.
    for (wait, period) in [(50, 3), (51, 4)] {
        let mut home = Home::take([40, 40], config(), LEFT);
        // What was cut first has settled.
        (0..4).for_each(|_| home.period([40, 40], 15, LEFT));
        home.period([40, 40], wait, LEFT);
        let before = sum(&home);
        let found = (1..=5).find(|_| {
            home.period([40, 40], wait, LEFT);
            sum(&home) < before - 1.0
        });
        assert_eq!(found, Some(period), "{wait} ms");
    }
}

#[test]
fn what_a_cut_shows_is_seen_in_the_period_in_which_it_has_settled() {
    let mut home = Home::take([40, 40], config(), LEFT);
    (0..4).for_each(|_| home.period([40, 40], 15, LEFT));
    home.period([40, 40], 50, LEFT);
    // The rate follows and the wait stays, so it is no queue.
    let refuted = [(); 4].map(|()| {
        home.period([40, 40], 50, LEFT * 2 / 5);
        home.0.gateway.take_refuted()
    });
    assert_eq!(refuted, [false, false, true, false]);
}

/// What stood for ten seconds is emptied; gives the number of the period, and the windows before and after it.
fn emptied(home: &mut Home, wait: i64) -> (usize, f64, f64) {
    for period in 1..=60 {
        let before = sum(home);
        home.period([20, 20], wait, LEFT);
        // What waits and 2 ms, and two segments.
        let cut = RATE * (wait as f64 * 1e-3 + 0.007);
        if (before - sum(home) - cut).abs() < 1e-2 {
            return (period, before, sum(home));
        }
    }
    panic!("it was not emptied");
}

#[test]
fn windows_are_as_before_once_a_queue_was_emptied_for_two_round_trips() {
    let (mut home, _) = take();
    let (_, before, emptied) = emptied(&mut home, 15);
    // Two of 150 ms and the queue's 15 ms: the period that begins 400 ms later is the third.
    for sums in [emptied, emptied, before] {
        home.period([20, 20], 15, LEFT);
        assert!((sum(&home) - sums).abs() < 1e-3, "{} and not {sums}", sum(&home));
    }
}

#[test]
fn windows_that_are_as_before_grow_after_two_round_trips_and_beta() {
    let (mut home, _) = take();
    let (_, before, _) = emptied(&mut home, 15);
    (0..2).for_each(|_| home.period([20, 20], 15, LEFT));
    // It ends with 40 ms: two of 150 ms, these and beta, which are with two segments 20 ms, are 420 ms.
    home.period([20, 20], 40, LEFT);
    assert!((sum(&home) - before).abs() < 1e-3, "{} and not {before}", sum(&home));
    let grows = (1..=6).find(|_| {
        home.period([26, 26], 2, LEFT);
        sum(&home) > before + segments(1.0)
    });
    assert_eq!(grows, Some(4), "the period that begins 600 ms later");
}

#[test]
fn a_queue_that_was_shorter_than_1_ms_does_not_stand() {
    // In the twentieth period; without it the queue would be emptied in the fiftieth since it began.
    for (wait, stands) in [(0, false), (1, true)] {
        let whole = emptied(&mut take().0, 15).0;
        let (mut home, _) = take();
        (0..19).for_each(|_| home.period([20, 20], 15, LEFT));
        home.period([20, 20], wait, LEFT);
        let (rest, ..) = emptied(&mut home, 15);
        assert_eq!(rest, if stands { whole - 20 } else { 50 }, "{wait} ms");
    }
}
