//! ProbeRTT, restart from idle, time-outs and losses that were none: what leaves a state and comes back (draft-ietf-ccwg-bbr-06, 5.3.4, 5.4.1, 5.6.4).

use super::*;

/// Section 5.3.4: 5 s without a lower RTT; half a BDP for 200 ms and a round; then Cruise.
#[test]
fn probe_rtt_comes_every_five_seconds_and_halves_the_flight() {
    let mut feed = Feed::cruising(version_3(), RTT);
    let higher = |event: &mut AckEvent, _: &mut RateSample| {
        event.rtt = Some(RTT + Duration::from_millis(1));
    };
    while feed.bbr.state != State::ProbeRtt {
        assert!(feed.now <= Instant::ZERO + Duration::from_secs(5));
        feed.round_with(RATE, higher);
    }
    assert!(feed.now > Instant::ZERO + Duration::from_secs(5));
    assert!(feed.bbr.samples_are_app_limited() && feed.bbr.regulates_recovery());
    assert!(close(feed.bbr.cwnd, 0.5 * BDP), "{}", feed.bbr.cwnd);
    let entered = feed.now;
    let small = |event: &mut AckEvent, _: &mut RateSample| event.in_flight = Bytes::from_f64(5e4);
    while feed.bbr.state == State::ProbeRtt {
        feed.round_with(RATE / 2.0, small);
    }
    let stayed = (feed.now - entered).as_millis_f64();
    assert!((200.0..=260.0).contains(&stayed), "{stayed} ms");
    assert_eq!(feed.bbr.state, State::Cruise);
    assert!(!feed.bbr.samples_are_app_limited());
    assert!(feed.bbr.cwnd >= 1.9 * BDP, "the window is restored: {}", feed.bbr.cwnd);
    // The next one is due 5 s later.
    let left = feed.now;
    while feed.bbr.state != State::ProbeRtt {
        feed.round_with(RATE, |event, _| event.rtt = Some(RTT));
    }
    assert!((5.0..5.05).contains(&(feed.now - left).as_secs_f64()));
}

/// Appendix A.20.
#[test]
fn probe_rtt_of_startup_leads_back_to_it() {
    let mut feed = Feed::new(version_3(), RTT);
    feed.now = Instant::ZERO + Duration::from_secs(6);
    feed.round(RATE);
    assert_eq!(feed.bbr.state, State::ProbeRtt);
    let small = |event: &mut AckEvent, sample: &mut RateSample| {
        (event.in_flight, sample.app_limited) = (Bytes::ZERO, true);
    };
    while feed.bbr.state == State::ProbeRtt {
        feed.round_with(RATE, small);
    }
    assert_eq!(feed.bbr.state, State::Startup);
}

/// Section 5.4.1, appendix A.11: idleness drains the queue as well, and pacing resumes at the bandwidth.
#[test]
fn restart_from_idle_needs_no_probe_rtt() {
    let mut feed = Feed::probing(version_3());
    feed.now += Duration::from_secs(6);
    feed.bbr.on_transmit_start(feed.now, Some(Duration::from_secs(6)));
    assert!(close(pacing(&feed.bbr), 0.99 * RATE), "{}", pacing(&feed.bbr));
    feed.round(RATE);
    assert_ne!(feed.bbr.state, State::ProbeRtt);
    assert!(!feed.bbr.idle_restart);
}

#[test]
fn a_probe_rtt_that_ended_while_idle_is_left_on_restart() {
    let mut feed = Feed::cruising(version_3(), RTT);
    feed.now += Duration::from_secs(6);
    feed.round_with(RATE, |event, _| {
        (event.rtt, event.in_flight) = (Some(RTT * 2), Bytes::ZERO);
    });
    assert_eq!(feed.bbr.state, State::ProbeRtt);
    feed.bbr.on_transmit_start(feed.now + Duration::from_millis(201), None);
    assert_eq!(feed.bbr.state, State::Cruise);
}

pub(super) fn timeout(feed: &mut Feed) {
    feed.bbr.on_timeout(&TimeoutEvent {
        now: feed.now,
        prior_in_flight: Bytes::from_f64(BDP),
        newly_lost: Bytes::from_f64(BDP),
        total_delivered: Bytes::new(feed.delivered),
        total_lost: Bytes::new(feed.lost),
        ..quiet_events::timeout(true)
    });
}

/// Section 5.6.4.4.
#[test]
fn a_time_out_leaves_one_segment_and_the_end_of_recovery_restores_the_window() {
    let mut feed = Feed::cruising(version_3(), RTT);
    let window = feed.bbr.cwnd;
    timeout(&mut feed);
    assert_eq!(feed.bbr.cwnd(), Bytes::from_f64(SEGMENT));
    assert!(close(feed.bbr.short_term.flight, window), "{:?}", feed.bbr.short_term);
    feed.round_with(RATE / 100.0, |event, _| event.phase = Phase::Loss);
    assert!((4.0 * SEGMENT..=6.0 * SEGMENT).contains(&feed.bbr.cwnd), "{}", feed.bbr.cwnd);
    feed.round(RATE / 100.0);
    assert!(feed.bbr.cwnd > 0.9 * window, "{}", feed.bbr.cwnd);
}

/// Section 5.5.11.2, appendix A.18.
#[test]
fn a_spurious_loss_is_taken_back_with_what_it_did() {
    let mut feed = Feed::cruising(version_3(), RTT);
    feed.lose(1, BDP);
    feed.round_with(0.8 * RATE, |event, _| event.phase = Phase::Recovery);
    feed.lose(1, BDP);
    feed.round_with(0.5 * RATE, |event, _| event.phase = Phase::Recovery);
    assert!(feed.bbr.short_term.rate < RATE);
    feed.bbr.on_spurious_loss(feed.now);
    assert_eq!(feed.bbr.short_term, ShortTerm::UNBOUNDED);

    let mut feed = Feed::probing(version_3());
    feed.lose(4, BDP);
    feed.bbr.on_congestion_event(feed.now, Bytes::from_f64(BDP));
    assert_eq!(feed.bbr.state, State::Down);
    feed.bbr.on_spurious_loss(feed.now);
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Refill, f64::INFINITY));

    // ProbeRTT goes on.
    let mut feed = Feed::probing(version_3());
    feed.lose(4, BDP);
    feed.bbr.state = State::ProbeRtt;
    feed.bbr.on_spurious_loss(feed.now);
    assert_eq!(feed.bbr.state, State::ProbeRtt);

    let mut feed = Feed::new(version_3(), RTT);
    feed.round(RATE);
    feed.lose(6, BDP);
    feed.round_with(RATE, |event, sample| {
        (event.phase, sample.lost) = (Phase::Recovery, Bytes::from_f64(BDP));
        event.in_flight = Bytes::MAX;
    });
    assert_eq!(feed.bbr.state, State::Drain);
    feed.bbr.on_spurious_loss(feed.now);
    assert_eq!((feed.bbr.state, feed.bbr.full_pipe.reached), (State::Startup, false));
}
