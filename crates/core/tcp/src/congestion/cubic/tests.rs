use super::*;
use crate::congestion::tests::quiet_events;

const SIZE: u32 = 1000;

fn ack(now: Instant, window: f64) -> AckEvent {
    AckEvent {
        now,
        smoothed_rtt: Some(Duration::from_millis(1)),
        ..quiet_events::ack(Bytes::from_f64(window * f64::from(SIZE)))
    }
}

fn reduced_at(window: f64) -> Cubic {
    let mut cubic = Cubic { window, threshold: window, ..Cubic::new(SIZE) };
    cubic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
    cubic
}

#[test]
fn closed_form_of_the_cubic_function() {
    // 1000 segments reduced to 700: K = cbrt(300 / 0.4) = 9.0856 s.
    let epoch = Epoch::new(Instant::ZERO, 700.0, 1000.0);
    assert!((epoch.time_to_plateau - 9.085_603).abs() < 1e-6);
    for (seconds, expected) in [(0, 700.0), (5, 972.721), (9, 999.9997), (15, 1082.754)] {
        let got = epoch.window_at(Duration::from_secs(seconds));
        assert!((got - expected).abs() < 0.01, "{seconds} s: {got} instead of {expected}");
    }
}

#[test]
fn the_window_follows_the_function() {
    let mut cubic = reduced_at(2000.0);
    // 100 ms rounds: the Reno window gains 0.53 per round and stays below.
    for step in 1..=200 {
        let now = Instant::from_nanos(step * 100_000_000);
        for _ in 0..20 {
            let share = cubic.window / 20.0;
            cubic.on_ack(&ack(now, share));
        }
    }
    let expected = Epoch::new(Instant::ZERO, 1400.0, 2000.0).window_at(Duration::from_secs(20));
    assert!((cubic.window / expected - 1.0).abs() < 0.02, "{} / {expected}", cubic.window);
}

#[test]
fn before_the_first_reduction_a_round_adds_a_twentieth() {
    let mut first = Cubic { window: 100.0, threshold: 100.0, ..Cubic::new(SIZE) };
    let mut later = reduced_at(100.0 / BETA);
    for step in 1..=10 {
        for cubic in [&mut first, &mut later] {
            for _ in 0..20 {
                let share = cubic.window / 20.0;
                cubic.on_ack(&ack(Instant::from_nanos(step * 10_000_000), share));
            }
        }
    }
    // Compounded within the round: (1 + 1 / 400)^200. The function itself is flat: 0.0004 in 0.1 s.
    assert!((first.window - 164.8).abs() < 2.0, "{}", first.window);
    assert!(later.window < 107.0, "{}", later.window);
    first.on_congestion_event(Instant::ZERO, Bytes::ZERO);
    let reduced = first.window;
    first.on_ack(&ack(Instant::from_nanos(200_000_000), reduced));
    assert!(first.window - reduced <= 1.0, "{} after {reduced}", first.window);
}

#[test]
fn small_windows_follow_reno() {
    let mut cubic = reduced_at(20.0);
    for step in 1..=100 {
        let acks = (cubic.window / 2.0).ceil();
        let share = cubic.window / acks;
        for _ in 0..acks as u32 {
            cubic.on_ack(&ack(Instant::from_nanos(step * 10_000_000), share));
        }
    }
    // A hundred rounds of alpha on top of 14, three or four segments behind: the cubic function lies below 19 there.
    let reno = 14.0 + 100.0 / SEGMENTS_PER_WINDOW_OF_RENO;
    assert!((reno - 4.0..=reno).contains(&cubic.window), "{} of {reno}", cubic.window);
}

/// By hand from `bictcp_update`: reduced at 4 to 2 the function is 1.9 below its plateau one RTT ahead, in whole
/// segments 1, so that the target is 3 at once. It is 4 only 0.35 s later; the Reno flow gets its third segment when
/// more than 5 are acknowledged, its fourth when more than 10 are.
#[test]
fn a_window_of_two_becomes_three_with_the_next_ack() {
    let mut cubic = reduced_at(4.0);
    let rtt = Duration::from_millis(20);
    let windows: Vec<f64> = (1..=6)
        .map(|round| {
            let now = Instant::ZERO + rtt * round;
            cubic.on_ack(&AckEvent { rtt: Some(rtt), ..ack(now, 2.0) });
            cubic.window
        })
        .collect();
    assert_eq!(windows, [3.0, 3.0, 3.0, 3.0, 3.0, 4.0]);
}

/// The windows behind ACKs of so many segments, after a time-out at 8, which makes the threshold 5.
fn windows_after_a_timeout(acknowledged: [f64; 3]) -> Vec<f64> {
    let mut cubic = Cubic { window: 8.0, threshold: 8.0, ..Cubic::new(SIZE) };
    cubic.on_timeout(&quiet_events::timeout(true));
    let windows = acknowledged.map(|segments| {
        cubic.on_ack(&ack(Instant::from_nanos(20_000_000), segments));
        cubic.window
    });
    windows.into()
}

/// By hand from `tcp_slow_start`: of the first five acknowledged four make the window from 1 to the threshold, 5; the
/// other one and six more are less than congestion avoidance asks for.
#[test]
fn slow_start_goes_to_the_threshold_and_no_further() {
    assert_eq!(windows_after_a_timeout([2.0, 3.0, 6.0]), [3.0, 5.0, 5.0]);
}

/// What is acknowledged beyond the threshold counts once: of ten, six are left for congestion avoidance, which asks for
/// twenty where no plateau is known.
#[test]
fn what_slow_start_leaves_counts_for_congestion_avoidance() {
    assert_eq!(windows_after_a_timeout([10.0, 13.0, 1.0]), [5.0, 5.0, 6.0]);
}

#[test]
fn fast_convergence_gives_room() {
    let mut cubic = reduced_at(100.0);
    assert!((cubic.plateau - 100.0).abs() < 1e-9 && (cubic.window - 70.0).abs() < 1e-9);
    cubic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
    assert!((cubic.plateau - 59.0).abs() < 1e-9 && (cubic.window - 49.0).abs() < 1e-9);
    cubic.on_spurious_loss(Instant::ZERO);
    assert!((cubic.plateau - 100.0).abs() < 1e-9 && (cubic.window - 70.0).abs() < 1e-9);
}

/// RFC 9438 section 4.7: only a flow that lost below its last plateau gives up some of it; one that came back has it.
#[test]
fn a_flow_that_is_at_its_plateau_again_keeps_it() {
    for (window, plateau) in [(99.0, 84.0), (100.0, 100.0), (101.0, 101.0)] {
        let mut cubic = Cubic { window, ..reduced_at(100.0) };
        cubic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert!((cubic.plateau - plateau).abs() < 1e-9, "{window}: {}", cubic.plateau);
    }
}

/// By hand from `bictcp_update`: at a window of 8 the Reno flow has a segment more for each 15 that are acknowledged, once
/// there are more than that.
#[test]
fn the_reno_flow_grows_when_more_than_its_share_is_acknowledged() {
    for (acknowledged, grown) in [(15.0, 0.0), (15.5, 1.0), (30.0, 1.0), (30.5, 2.0)] {
        let mut epoch = Epoch::new(Instant::ZERO, 8.0, 10.0);
        epoch.reno_acknowledged = acknowledged;
        epoch.follow_reno(8.0);
        assert!((epoch.reno_window - 8.0 - grown).abs() < 1e-9, "{acknowledged}");
        assert!((epoch.reno_acknowledged - (acknowledged - 15.0 * grown)).abs() < 1e-9);
    }
}

#[test]
fn time_without_use_of_the_window_does_not_count() {
    let (mut used, mut unused) = (reduced_at(500.0), reduced_at(500.0));
    let second = |s: i64| Instant::from_nanos(s * 1_000_000_000);
    for cubic in [&mut used, &mut unused] {
        cubic.on_ack(&ack(second(1), 1.0));
    }
    for s in 2..8 {
        unused.on_ack(&AckEvent { cwnd_limited: false, ..ack(second(s), 1.0) });
    }
    used.on_ack(&ack(second(2), 1.0));
    unused.on_ack(&ack(second(8), 1.0));
    assert!((used.window - unused.window).abs() < 1e-6);
}

fn time_out(cubic: &mut Cubic, first: bool) {
    cubic.on_timeout(&quiet_events::timeout(first));
}

fn windows(cubic: &Cubic) -> (u64, u64) {
    let segments = |bytes: Bytes| bytes.get() / u64::from(SIZE);
    (segments(cubic.cwnd()), segments(cubic.ssthresh()))
}

/// Section 4.8: a window of one segment, a threshold of 0.7 of the one before once for the same data, and then a
/// plateau of its own: Linux's least growth.
#[test]
fn a_time_out_forgets_the_plateau() {
    let mut cubic = reduced_at(100.0);
    time_out(&mut cubic, true);
    assert_eq!(windows(&cubic), (1, 49));
    time_out(&mut cubic, false);
    assert_eq!(windows(&cubic), (1, 49));
    cubic.on_ack(&ack(Instant::ZERO, 48.0));
    assert_eq!(windows(&cubic), (49, 49));
    // A twentieth in a window.
    for _ in 0..49 {
        cubic.on_ack(&ack(Instant::from_nanos(1_000_000), 1.0));
    }
    assert_eq!(windows(&cubic), (51, 49));
}

#[test]
fn the_least_threshold_is_two_segments_and_an_idle_time_leaves_the_first_window() {
    assert_eq!(windows(&reduced_at(2.0)), (2, 2));
    for (idle, expected) in [(Some(Duration::from_secs(1)), 10), (None, 70)] {
        let mut cubic = reduced_at(100.0);
        cubic.on_transmit_start(Instant::ZERO, idle);
        assert_eq!(windows(&cubic).0, expected);
    }
}

#[test]
fn what_proves_no_room_lets_the_window_be() {
    let second = Instant::from_nanos(1_000_000_000);
    for still in [
        AckEvent { phase: Phase::Recovery, ..ack(second, 8.0) },
        AckEvent { cwnd_limited: false, ..ack(second, 8.0) },
        AckEvent { newly_acknowledged: Bytes::ZERO, ..ack(second, 8.0) },
    ] {
        let mut cubic = Cubic::new(SIZE);
        cubic.on_ack(&still);
        assert_eq!(windows(&cubic).0, 10);
    }
    let mut cubic = Cubic::new(SIZE);
    cubic.on_ack(&ack(second, 8.0));
    assert_eq!(windows(&cubic).0, 18);
}

/// `bictcp_update`: how fast the window grows is judged anew when it has changed, or after 1/32 s.
#[test]
fn growth_is_judged_anew_with_another_window_or_after_a_32nd_of_a_second() {
    let at = |nanos| Instant::from_nanos(10_000_000_000 + nanos);
    let (before, after) = (JUDGED_ANEW.as_nanos(), JUDGED_ANEW.as_nanos() + 1);
    for (nanos, window, anew) in [(before, 70.0, false), (after, 70.0, true), (1, 71.0, true)] {
        let mut cubic = reduced_at(100.0);
        cubic.on_ack(&ack(at(0), 0.25));
        assert_eq!((cubic.growth.judged, cubic.growth.window), (at(0), 70.0));
        cubic.window = window;
        cubic.on_ack(&ack(at(nanos), 0.25));
        assert_eq!(cubic.growth.judged == at(nanos), anew, "{nanos} {window}");
    }
    // Above the function's value and the Reno flow: a segment in a hundred windows.
    let mut cubic = reduced_at(100.0);
    cubic.on_ack(&ack(at(0), 0.25));
    cubic.window = 150.0;
    cubic.on_ack(&ack(at(1), 0.25));
    assert!((cubic.growth.per_segment - 15_000.0).abs() < 1e-9);
    let built = CubicConfig { hystart: SlowStartExit::Off }.build(SIZE, 1);
    assert_eq!((built.name(), built.cwnd()), ("cubic", Bytes::new(10_000)));
}

/// HyStart says when, and the option whether slow start then ends.
#[test]
fn hystart_ends_slow_start_where_it_is_on() {
    let start = Instant::from_nanos(5_000_000_000);
    let threshold = |hystart| {
        let config = CubicConfig { hystart };
        let mut cubic = Cubic { config, window: 20.0, ..Cubic::new(SIZE) };
        cubic.on_established(start, None);
        // A train of ACKs a millisecond apart, all of the first round.
        for millis in 1..=15 {
            let now = start + Duration::from_millis(millis);
            let rtt = Some(Duration::from_millis(20));
            cubic.on_ack(&AckEvent { rtt, smoothed_rtt: rtt, ..ack(now, 1.0) });
        }
        windows(&cubic)
    };
    let (window, end) = threshold(SlowStartExit::On);
    // Half of 20 ms and of the 1 ms that bursts are allowed: the eleventh finds a window of 30, and in congestion
    // avoidance five make a segment at most.
    assert_eq!(end, 30);
    assert!((30..=31).contains(&window), "{window}");
    assert_eq!(threshold(SlowStartExit::Off).0, 35);
    assert_eq!(threshold(SlowStartExit::Rfc9406).0, 35, "one round tells nothing of a rise");
    // 20 000 segments in 20 ms are 8 Gb/s: in slow start, at twice that, four bursts of 64 kB take 0.13 ms.
    let ends = |micros| {
        let mut cubic = Cubic { window: 20_000.0, ..Cubic::new(SIZE) };
        cubic.on_established(start, None);
        for micros in (1..=10).map(|millis| millis * 1000).chain([micros]) {
            let rtt = Some(Duration::from_millis(20));
            let now = start + Duration::from_micros(micros);
            cubic.on_ack(&AckEvent { rtt, smoothed_rtt: rtt, ..ack(now, 1.0) });
        }
        cubic.threshold.is_finite()
    };
    assert!(!ends(10_060) && ends(10_071));
}

/// As above: a train of ACKs that lasts longer than half of the round trip.
#[test]
fn what_is_built_leaves_slow_start_as_its_option_says() {
    let start = Instant::from_nanos(5_000_000_000);
    for (hystart, ends) in
        [(SlowStartExit::On, true), (SlowStartExit::Off, false), (SlowStartExit::Rfc9406, false)]
    {
        let mut built = CubicConfig { hystart }.build(SIZE, 1);
        built.on_established(start, None);
        for millis in 1..=15 {
            let now = start + Duration::from_millis(millis);
            let rtt = Some(Duration::from_millis(20));
            // The first makes the window 16, from which on HyStart looks.
            let segments = if millis == 1 { 6.0 } else { 1.0 };
            built.on_ack(&AckEvent { rtt, smoothed_rtt: rtt, ..ack(now, segments) });
        }
        assert_eq!(built.ssthresh() < Bytes::MAX, ends, "{hystart:?}");
    }
}

/// A cubic that has been through rounds of ten ACKs, each of a segment, with these RTTs in milliseconds.
fn after_rounds(hystart: SlowStartExit, rtts: &[i64]) -> Cubic {
    let mut cubic = Cubic { config: CubicConfig { hystart }, ..Cubic::new(SIZE) };
    for (round, millis) in (0..).zip(rtts) {
        let rtt = Some(Duration::from_millis(*millis));
        for step in 1..=10 {
            let (acknowledged, next_sequence) = (round * 10 + step, round * 10 + 10);
            let event = ack(Instant::ZERO, 1.0);
            cubic.on_ack(&AckEvent { acknowledged, next_sequence, rtt, ..event });
        }
    }
    cubic
}

/// RFC 9406 section 4.2: from the eighth sample of a round whose RTT has risen, a quarter of a segment for each that is
/// acknowledged; slow start ends with the fifth round that ends so.
#[test]
fn hystart_plus_plus_divides_growth_by_four_for_five_rounds() {
    let rfc = SlowStartExit::Rfc9406;
    let grown = 10.0 + 20.0 + 7.0 + 3.0 / 4.0;
    for (rounds, window, ends) in
        [(2, 30.0, false), (3, grown, false), (7, grown + 40.0 / 4.0, false), (8, 47.75, true)]
    {
        let rtts = [40, 40, 50, 50, 50, 50, 50, 50];
        let cubic = after_rounds(rfc, &rtts[..rounds]);
        assert!((cubic.window - window).abs() < 1e-9, "{rounds}: {}", cubic.window);
        assert_eq!(cubic.threshold.is_finite(), ends, "{rounds}");
        // Before it ends there is no congestion avoidance whose time would count.
        assert_eq!(cubic.epoch.is_some(), ends, "{rounds}");
    }
    let off = after_rounds(SlowStartExit::Off, &[40, 40, 50, 50, 50, 50, 50, 50]);
    assert!((off.window - 90.0).abs() < 1e-9, "{}", off.window);
}

/// RFC 9406 section 4.3: a slow start that goes to a known threshold is left alone.
#[test]
fn hystart_plus_plus_is_for_the_first_slow_start() {
    let mut cubic = after_rounds(SlowStartExit::Rfc9406, &[40, 40, 50, 50]);
    time_out(&mut cubic, true);
    let threshold = cubic.threshold;
    cubic.on_ack(&ack(Instant::ZERO, 1.0));
    assert!((cubic.window - 2.0).abs() < 1e-9, "{}", cubic.window);
    let rtt = Some(Duration::from_millis(50));
    for round in 5..10 {
        for step in 1..=10 {
            let (acknowledged, next_sequence) = (round * 10 + step, round * 10 + 10);
            let event = ack(Instant::ZERO, 0.1);
            cubic.on_ack(&AckEvent { acknowledged, next_sequence, rtt, ..event });
        }
    }
    assert!((cubic.window - 7.0).abs() < 1e-9 && (cubic.threshold - threshold).abs() < 1e-9);
}
