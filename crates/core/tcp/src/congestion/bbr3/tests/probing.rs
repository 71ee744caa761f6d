//! What ends a probe, what it leaves behind, and how the long-term flight grows in it.

use super::*;

const SHORT: Duration = Duration::from_millis(5);

fn version_2() -> Bbr3 {
    Bbr3::version_2(SEGMENT as u32, 7)
}

/// An ACK of `bytes` bytes within the round.
fn within(feed: &mut Feed, bytes: f64, change: impl FnOnce(&mut AckEvent, &mut RateSample)) {
    let mut event = feed.event(bytes / feed.rtt.as_secs_f64());
    if let Some(mut sample) = event.rate {
        (sample.prior_delivered, sample.tx_in_flight) = (Bytes::ZERO, Bytes::ZERO);
        change(&mut event, &mut sample);
        event.rate = Some(sample);
    }
    feed.delivered = event.total_delivered.get();
    feed.bbr.on_ack(&event);
}

/// Probing, with a flight of a BDP that was lossy.
fn bounded(bbr: Bbr3) -> Feed {
    let mut feed = Feed::cruising(bbr, RTT);
    feed.bbr.inflight_longterm = BDP;
    feed.cruise_on();
    feed.round_with(RATE, |_, sample| sample.tx_in_flight = Bytes::ZERO);
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Up, BDP));
    feed
}

/// ProbeInflightLongtermUpward: a window that is acknowledged while it is used up makes a segment, and what is left counts on.
/// While it is not used up nothing counts; version 2 forgets what there was (Linux `bbr2_probe_inflight_hi_upward`).
#[test]
fn the_long_term_flight_grows_by_what_is_acknowledged_of_a_full_window() {
    let half = 0.5 * BDP;
    let grown = |feed: &Feed| ((feed.bbr.inflight_longterm - BDP) / SEGMENT).round() as u32;
    for (bbr, after_a_pause) in [(version_3(), 2), (version_2(), 1)] {
        let mut feed = bounded(bbr);
        assert!(close(feed.bbr.cwnd, BDP), "the window is the flight: {}", feed.bbr.cwnd);
        within(&mut feed, half, |_, _| {});
        assert_eq!(grown(&feed), 0);
        within(&mut feed, 2.0 * half, |_, _| {});
        assert_eq!(grown(&feed), 1, "one and a half");
        within(&mut feed, 4.0 * half, |event, _| event.cwnd_limited = false);
        assert_eq!(grown(&feed), 1);
        within(&mut feed, half, |_, _| {});
        assert_eq!(grown(&feed), after_a_pause);
    }
    let mut small = bounded(version_3());
    small.bbr.inflight_longterm = 3.0 * BDP;
    let before = small.bbr.inflight_longterm;
    (0..4).for_each(|_| within(&mut small, half, |_, _| {}));
    assert!(close(small.bbr.inflight_longterm, before), "the window is less");
}

/// Linux `bbr2_adapt_upper_bounds` judges what an ACK tells, and version 3 a lost segment alone; both only what probes.
#[test]
fn lossy_samples_end_a_probe_of_version_2() {
    let after = |mut feed: Feed, share: f64| {
        let lossy = |event: &mut AckEvent, sample: &mut RateSample| {
            event.prior_in_flight = Bytes::MAX;
            sample.tx_in_flight = Bytes::from_f64(1.2 * BDP);
            sample.lost = Bytes::from_f64(share * 1.2 * BDP);
        };
        within(&mut feed, SEGMENT, lossy);
        (feed.bbr.state, feed.bbr.inflight_longterm)
    };
    let unbounded = f64::INFINITY;
    assert_eq!(after(Feed::probing(version_2()), 0.021), (State::Down, 1.2 * BDP));
    assert_eq!(after(Feed::probing(version_2()), 0.020), (State::Up, unbounded));
    assert_eq!(after(Feed::cruising(version_2(), RTT), 0.021), (State::Cruise, unbounded));
    assert_eq!(after(Feed::probing(version_3()), 0.021), (State::Up, unbounded));
}

/// Chromium and s2n-quic forgive a probe what it lost in one place of a round; the count begins anew with each round of losses.
#[test]
fn a_probe_may_be_judged_by_losses_in_two_places_only() {
    let after = |probe_lost_ranges: u32, losses: &[u64]| {
        let parameters = Parameters { probe_lost_ranges, ..crate::congestion::bbr2::VERSION_2 };
        let mut feed = Feed::probing(Bbr3::with_parameters(parameters, SEGMENT as u32, 7));
        for (round, ranges) in losses.iter().enumerate() {
            for _ in 0..2 * round.min(1) {
                feed.round_with(RATE, |event, _| event.prior_in_flight = Bytes::from_f64(BDP));
            }
            // A flight of 30 segments, of which each lost one is 3.3 %.
            feed.lose(*ranges, 30.0 * SEGMENT);
        }
        feed.bbr.state
    };
    assert_eq!(after(1, &[1]), State::Down);
    assert_eq!(after(2, &[1]), State::Up);
    assert_eq!(after(2, &[1, 1]), State::Up);
    assert_eq!(after(2, &[2]), State::Down);
    assert_eq!(after(3, &[2]), State::Up);
}

/// Of either version do marks, if half of the flight has them and the path is short.
#[test]
fn half_of_a_flight_marked_ends_a_probe() {
    for (rtt, share, expected) in
        [(SHORT, 0.5, State::Down), (SHORT, 0.49, State::Up), (RTT, 0.5, State::Up)]
    {
        let mut feed = Feed::cruising(version_3(), rtt);
        let mut marks = 0.001;
        while feed.bbr.state != State::Up {
            // So few that no other probe follows for them.
            feed.round_with(RATE, |event, _| {
                event.newly_marked = Bytes::from_f64(marks * event.newly_delivered.as_f64());
            });
            marks = 0.0;
        }
        feed.round_with(RATE, |event, _| {
            event.newly_marked = Bytes::from_f64(share * event.newly_delivered.as_f64());
        });
        assert_eq!(feed.bbr.state, expected, "{rtt}, {share}");
    }
}

/// Section 5.5.10.2: what a probe lost has been answered; only what is lost later bounds the short term.
#[test]
fn the_losses_that_ended_a_probe_bound_no_rate() {
    let mut feed = Feed::probing(version_3());
    feed.lose(3, 120_000.0);
    assert_eq!((feed.bbr.state, feed.bbr.losses.in_cycle), (State::Down, false));
    feed.round(0.5 * RATE);
    feed.round(0.5 * RATE);
    assert_eq!(feed.bbr.short_term, ShortTerm::UNBOUNDED);
    feed.lose(1, BDP);
    feed.round(0.5 * RATE);
    assert!(close(feed.bbr.short_term.rate, 0.7 * RATE), "{:?}", feed.bbr.short_term);
}

/// Linux `bbr_check_time_to_probe_bw` of version 3: marks without loss ask for a probe at once, of which the flight grows by
/// half of it: of 25 segments the largest power of two is 8.
#[test]
fn a_few_marks_and_no_loss_ask_for_a_probe_at_once() {
    let bound = 25.0 * SEGMENT;
    let after = |lost: u64, phase: Phase| {
        let mut feed = Feed::cruising(version_3(), SHORT);
        feed.bbr.inflight_longterm = bound;
        feed.lose(lost, BDP);
        feed.round_with(RATE, |event, sample| {
            event.newly_marked = Bytes::new(SEGMENT as u64);
            (event.phase, sample.tx_in_flight) = (phase, Bytes::ZERO);
        });
        feed
    };
    assert_eq!(after(1, Phase::Open).bbr.state, State::Cruise);
    assert_eq!(after(0, Phase::Recovery).bbr.state, State::Cruise);
    let mut feed = after(0, Phase::Open);
    assert_eq!(feed.bbr.state, State::Refill);
    feed.round_with(RATE, |_, sample| sample.tx_in_flight = Bytes::ZERO);
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Up, bound));
    let window = feed.bbr.cwnd;
    within(&mut feed, window, |_, _| {});
    let grown = (feed.bbr.inflight_longterm - bound) / SEGMENT;
    assert!(close(grown, 8.0), "{grown}");
}

/// Section 5.5.6: a cycle that the application limited is none: what was measured before is still remembered for two.
#[test]
fn a_cycle_that_the_application_limited_forgets_no_rate() {
    let limited = |event: &mut AckEvent, sample: &mut RateSample| {
        (event.prior_in_flight, sample.app_limited) = (Bytes::MAX, true);
    };
    let mut feed = Feed::probing(version_3());
    feed.lose(3, 120_000.0);
    assert_eq!(feed.bbr.state, State::Down);
    (0..3).for_each(|_| feed.round_with(0.5 * RATE, limited));
    let mut remembered = Vec::new();
    for _ in 0..2 {
        while feed.bbr.state != State::Up {
            feed.round(0.5 * RATE);
        }
        while feed.bbr.state != State::Down {
            feed.round(0.5 * RATE);
        }
        feed.round(0.5 * RATE);
        remembered.push(feed.bbr.max_bandwidth.get() / RATE);
    }
    assert!(close(remembered[0], 1.0) && close(remembered[1], 0.5), "{remembered:?}");
}
