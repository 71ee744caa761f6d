//! What bounds the window: headroom, quanta, aggregation, the lossy flight (draft-ietf-ccwg-bbr-06, 5.5.9 and 5.6.4).

use super::*;

/// Section 5.6.4.7.
#[test]
fn the_window_keeps_headroom_while_cruising_only() {
    let mut feed = Feed::cruising(version_3(), RTT);
    feed.bbr.inflight_longterm = 120_000.0;
    feed.round(RATE);
    assert!(close(feed.bbr.cwnd, 0.85 * 120_000.0), "{}", feed.bbr.cwnd);
    feed.cruise_on();
    feed.round(RATE);
    assert!(close(feed.bbr.cwnd, 120_000.0), "{}", feed.bbr.cwnd);
}

/// Sections 5.6.3 and 5.5.8.1: a window holds three quanta of a millisecond, each of two segments to 64 kB; two segments
/// more while probing.
#[test]
fn a_flight_has_room_for_three_quanta() {
    let mut bbr = Feed::cruising(version_3(), RTT).bbr;
    let mut flight = |pacing: f64, bytes: f64| {
        bbr.pacing_rate = pacing;
        bbr.inflight(bytes / RTT.as_secs_f64(), 1.0)
    };
    assert!(close(flight(5e6, 1e3), 15_000.0) && close(flight(5e6, 20_000.0), 20_000.0));
    assert!(close(flight(5e4, 1e3), 6.0 * SEGMENT));
    assert!(close(flight(1e9, 1e3), 3.0 * 65_536.0));
    let mut probing = Feed::probing(version_3()).bbr;
    probing.pacing_rate = 5e6;
    assert!(close(probing.inflight(1e6, 1.0), 20_000.0 + 2.0 * SEGMENT));
}

/// Section 5.6.4.6: until the pipe was full the window grows by what is delivered, while it is below its target or less
/// than the initial window was delivered; then it is the target at most.
#[test]
fn the_window_of_startup_grows_until_it_is_past_its_target() {
    let windows = |rate: f64, limited: bool| -> Vec<f64> {
        let mut feed = Feed::new(version_3(), RTT);
        let rounds = (0..6).map(|_| {
            feed.round_with(rate, |event, sample| {
                (event.in_flight, sample.app_limited) = (Bytes::MAX, limited);
            });
            feed.bbr.cwnd / SEGMENT
        });
        rounds.collect()
    };
    let is = |found: Vec<f64>, expected: [f64; 6]| {
        assert!(found.iter().zip(expected).all(|(one, other)| close(*one, other)), "{found:?}");
    };
    // Two BDPs, and one that comes in one ACK (section 5.5.9).
    is(windows(RATE, true), [110.0, 210.0, 310.0, 310.0, 310.0, 310.0]);
    is(windows(RATE, false), [110.0, 210.0, 310.0, 300.0, 300.0, 300.0]);
    // Two segments a round: the target is six, and the initial window is ten.
    is(windows(RATE / 50.0, true), [12.0, 14.0, 16.0, 18.0, 18.0, 18.0]);
}

/// Section 5.5.9: what comes ahead of the bandwidth is added to the window's target.
#[test]
fn acks_that_come_together_widen_the_window() {
    for together in [0, 1, 20] {
        let mut feed = Feed::cruising(version_3(), RTT);
        (0..together).for_each(|_| feed.more());
        feed.round(RATE);
        assert!(close(feed.bbr.cwnd, 3.0 * BDP + together as f64 * SEGMENT), "{}", feed.bbr.cwnd);
    }
}

/// Section 5.6.4.4: the window to return to is the one before recovery and ProbeRTT cut it.
#[test]
fn a_window_that_is_cut_already_is_not_the_one_to_return_to() {
    for state in [State::Cruise, State::ProbeRtt] {
        let mut bbr = Feed::cruising(version_3(), RTT).bbr;
        bbr.cwnd = 100.0 * SEGMENT;
        bbr.save_cwnd();
        bbr.cwnd = 150.0 * SEGMENT;
        bbr.save_cwnd();
        assert!(close(bbr.prior_cwnd, 150.0 * SEGMENT));
        bbr.cwnd = 80.0 * SEGMENT;
        bbr.save_cwnd();
        assert!(close(bbr.prior_cwnd, 80.0 * SEGMENT), "undisturbed it is what it is");
        (bbr.state, bbr.cwnd) = (state, 40.0 * SEGMENT);
        if state != State::ProbeRtt {
            bbr.phase = Phase::Recovery;
        }
        bbr.save_cwnd();
        assert!(close(bbr.prior_cwnd, 80.0 * SEGMENT));
        bbr.restore_cwnd();
        assert!(close(bbr.cwnd, 80.0 * SEGMENT));
    }
}

/// Section 5.5.10: 15 % of the flight, a segment at least, are left to others, and four segments are kept.
#[test]
fn headroom_is_a_share_of_the_flight_and_a_segment_at_least() {
    let mut bbr = version_3();
    let flights = [(120.0, 102.0), (5.0, 4.0), (6.0, 5.0), (3.0, 4.0)];
    for (longterm, expected) in flights {
        bbr.inflight_longterm = longterm * SEGMENT;
        assert!(close(bbr.inflight_with_headroom(), expected * SEGMENT), "{longterm}");
    }
    bbr.inflight_longterm = f64::INFINITY;
    assert!(bbr.inflight_with_headroom().is_infinite());
}

/// Section 5.3.3.4: ACKs within the round do not end it.
#[test]
fn refill_lasts_until_the_next_round_starts() {
    let mut feed = Feed::refilling(version_3());
    (0..10).for_each(|_| feed.more());
    assert_eq!(feed.bbr.state, State::Refill);
    feed.round(RATE);
    assert_eq!(feed.bbr.state, State::Up);
}

#[test]
fn two_percent_are_not_more_than_two_percent() {
    assert!(!too_lossy(2000.0, 100_000.0));
    assert!(too_lossy(2001.0, 100_000.0));
    assert!(!too_lossy(0.0, 0.0));
}
