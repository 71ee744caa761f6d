//! The pseudo-code of the draft, step by step.
//!
//! Source: draft-ietf-ccwg-bbr-06, by section; its appendix A where a test is one of its cases.

use super::model::too_lossy;
use super::*;
use crate::congestion::tests::quiet_events;
use crate::delivery_rate::RateSample;
use proptest::prelude::*;

mod probing;

const SEGMENT: f64 = 1000.0;
const RTT: Duration = Duration::from_millis(20);
/// Bytes per second; the BDP is 100 segments.
const RATE: f64 = 5e6;
const BDP: f64 = 100_000.0;

/// A connection whose ACKs are made up.
pub(in crate::congestion) struct Feed {
    pub(in crate::congestion) bbr: Bbr3,
    now: Instant,
    rtt: Duration,
    delivered: u64,
    lost: u64,
}

impl Feed {
    pub(in crate::congestion) fn new(mut bbr: Bbr3, rtt: Duration) -> Self {
        bbr.on_established(Instant::ZERO, Some(rtt));
        Self { bbr, now: Instant::ZERO, rtt, delivered: 0, lost: 0 }
    }

    /// An ACK that starts a round and tells of one RTT at that rate.
    pub(in crate::congestion) fn event(&self, rate: f64) -> AckEvent {
        let delivered = Bytes::from_f64(rate * self.rtt.as_secs_f64());
        AckEvent {
            now: self.now,
            acknowledged: self.delivered + delivered.get(),
            next_sequence: self.delivered + 2 * delivered.get(),
            prior_in_flight: delivered,
            in_flight: delivered,
            total_delivered: Bytes::new(self.delivered + delivered.get()),
            total_lost: Bytes::new(self.lost),
            rtt: Some(self.rtt),
            smoothed_rtt: Some(self.rtt),
            rate: Some(RateSample {
                delivered,
                interval: self.rtt,
                prior_delivered: Bytes::new(self.delivered),
                app_limited: false,
                tx_in_flight: delivered,
                lost: Bytes::ZERO,
            }),
            ..quiet_events::ack(delivered)
        }
    }

    /// One RTT passes, then that ACK with changes.
    pub(in crate::congestion) fn round_with(
        &mut self,
        rate: f64,
        change: impl FnOnce(&mut AckEvent, &mut RateSample),
    ) {
        self.now += self.rtt;
        let mut event = self.event(rate);
        if let Some(mut sample) = event.rate {
            change(&mut event, &mut sample);
            event.rate = Some(sample);
        }
        self.delivered = event.total_delivered.get();
        self.bbr.on_ack(&event);
    }

    pub(in crate::congestion) fn round(&mut self, rate: f64) {
        self.round_with(rate, |_, _| {});
    }

    /// An ACK of one segment within the round.
    fn more(&mut self) {
        let mut event = self.event(SEGMENT / self.rtt.as_secs_f64());
        if let Some(sample) = &mut event.rate {
            sample.prior_delivered = Bytes::ZERO;
        }
        self.delivered = event.total_delivered.get();
        self.bbr.on_ack(&event);
    }

    /// Segments of that flight are judged lost, with a received one between them.
    fn lose(&mut self, ranges: u64, tx_in_flight: f64) {
        let mut since_sent = 0;
        for range in 0..ranges {
            since_sent += SEGMENT as u64;
            self.lost += SEGMENT as u64;
            self.bbr.on_segment_lost(&LostSegment {
                now: self.now,
                sequence: self.delivered + range * 2 * SEGMENT as u64,
                size: Bytes::from_f64(SEGMENT),
                tx_in_flight: Bytes::from_f64(tx_in_flight),
                lost: Bytes::new(since_sent),
                app_limited: false,
                total_delivered: Bytes::new(self.delivered),
            });
        }
    }

    /// Rounds at `RATE` until the pipe counts as full.
    pub(in crate::congestion) fn draining(bbr: Bbr3, rtt: Duration) -> Self {
        let mut feed = Self::new(bbr, rtt);
        (0..4).for_each(|_| feed.round_with(RATE, |event, _| event.in_flight = Bytes::MAX));
        assert_eq!(feed.bbr.state, State::Drain);
        feed
    }

    /// In Cruise at `RATE`, with the window at its target.
    pub(in crate::congestion) fn cruising(bbr: Bbr3, rtt: Duration) -> Self {
        let mut feed = Self::draining(bbr, rtt);
        (0..3).for_each(|_| feed.round(RATE));
        assert_eq!(feed.bbr.state, State::Cruise);
        feed
    }

    /// Cruises until it is time to probe.
    fn refilling(bbr: Bbr3) -> Self {
        let mut feed = Self::cruising(bbr, RTT);
        feed.cruise_on();
        feed
    }

    fn cruise_on(&mut self) {
        for _ in 0..63 {
            if self.bbr.state == State::Refill {
                return;
            }
            self.round(RATE);
        }
        assert_eq!(self.bbr.state, State::Refill);
    }

    pub(in crate::congestion) fn probing(bbr: Bbr3) -> Self {
        let mut feed = Self::refilling(bbr);
        feed.round(RATE);
        assert_eq!(feed.bbr.state, State::Up);
        feed
    }
}

fn version_3() -> Bbr3 {
    Bbr3::new(SEGMENT as u32, 7)
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-6
}

fn pacing(bbr: &Bbr3) -> f64 {
    bbr.pacing_rate().map_or(0.0, Rate::as_bps_f64) / 8.0
}

#[test]
fn startup_doubles_and_ends_at_the_third_round_without_growth() {
    let mut feed = Feed::new(version_3(), RTT);
    // Section 5.6.2: the initial window per RTT times 2.77.
    assert!((pacing(&feed.bbr) / (2.77 * 10.0 * SEGMENT / 0.020) - 1.0).abs() < 1e-6);
    // Without an RTT from the handshake the first sample tells it, and no later one.
    let mut bbr = version_3();
    bbr.on_established(Instant::ZERO, None);
    let mut unmeasured = Feed { bbr, ..Feed::new(version_3(), RTT) };
    for _ in 0..2 {
        unmeasured.round_with(1e3, |_, sample| sample.app_limited = true);
        assert!(close(unmeasured.bbr.pacing_rate, 2.77 * 10.0 * SEGMENT / 0.020));
        unmeasured.rtt = RTT * 2;
    }
    let mut rate = 1e6;
    for _ in 0..4 {
        feed.round_with(rate, |event, _| event.in_flight = Bytes::MAX);
        assert_eq!((feed.bbr.state, feed.bbr.gains()), (State::Startup, (2.77, 2.0)));
        assert!((pacing(&feed.bbr) / (2.77 * rate * 0.99) - 1.0).abs() < 1e-4);
        rate *= 1.26;
    }
    let grown = rate / 1.26;
    for round in 1..=3 {
        assert_eq!(feed.bbr.state, State::Startup, "round {round}");
        feed.round_with(1.24 * grown, |event, _| event.in_flight = Bytes::MAX);
    }
    assert_eq!((feed.bbr.state, feed.bbr.gains()), (State::Drain, (0.5, 2.0)));
}

/// Appendix A.7.
#[test]
fn application_limited_rounds_end_neither_startup_nor_a_probe() {
    let mut feed = Feed::new(version_3(), RTT);
    let limited = |_: &mut AckEvent, sample: &mut RateSample| sample.app_limited = true;
    (0..50).for_each(|_| feed.round_with(RATE, limited));
    assert_eq!(feed.bbr.state, State::Startup);
    let mut feed = Feed::probing(version_3());
    (0..50).for_each(|_| feed.round_with(RATE, limited));
    assert_eq!(feed.bbr.state, State::Up);
}

/// Section 5.3.1.3: a round of recovery, over 2 %, in six ranges; each alone does not end Startup.
#[test]
fn startup_ends_with_losses_only_if_they_are_many_scattered_and_last_a_round() {
    let ends = |ranges: u64, lost: f64, phase: Phase| {
        let mut feed = Feed::new(version_3(), RTT);
        feed.round(RATE);
        feed.lose(ranges, BDP);
        feed.round_with(RATE, |event, sample| {
            event.phase = phase;
            event.in_flight = Bytes::MAX;
            sample.lost = Bytes::from_f64(lost);
        });
        (feed.bbr.state, feed.bbr.inflight_longterm)
    };
    let (state, longterm) = ends(6, 0.021 * BDP, Phase::Recovery);
    assert_eq!(state, State::Drain);
    assert!(close(longterm, BDP), "{longterm}");
    for (ranges, lost, phase) in [
        (5, 0.021 * BDP, Phase::Recovery),
        (6, 0.020 * BDP, Phase::Recovery),
        (6, 0.021 * BDP, Phase::Open),
    ] {
        assert_eq!(ends(ranges, lost, phase), (State::Startup, f64::INFINITY));
    }
}

#[test]
fn adjacent_losses_are_one_range() {
    let mut feed = Feed::new(version_3(), RTT);
    for sequence in [0u64, 1000, 2000, 5000, 9000] {
        feed.bbr.on_segment_lost(&LostSegment {
            now: feed.now,
            sequence,
            size: Bytes::from_f64(SEGMENT),
            tx_in_flight: Bytes::from_f64(BDP),
            lost: Bytes::from_f64(SEGMENT),
            app_limited: false,
            total_delivered: Bytes::ZERO,
        });
    }
    assert_eq!(feed.bbr.losses.ranges, 3);
}

/// Section 5.3.2, appendix A.3 and A.4.
#[test]
fn drain_ends_at_a_bdp_in_flight_or_after_three_rounds() {
    let flight = |bytes: f64| {
        move |event: &mut AckEvent, _: &mut RateSample| {
            (event.in_flight, event.prior_in_flight) = (Bytes::from_f64(bytes), Bytes::MAX);
        }
    };
    let mut feed = Feed::draining(version_3(), RTT);
    feed.round_with(RATE, flight(BDP + 1.0));
    assert_eq!(feed.bbr.state, State::Drain);
    feed.round_with(RATE, flight(BDP));
    assert_eq!((feed.bbr.state, feed.bbr.gains()), (State::Down, (0.9, 2.0)));
    let mut feed = Feed::draining(version_3(), RTT);
    for _ in 0..3 {
        feed.round_with(RATE, flight(2.0 * BDP));
        assert_eq!(feed.bbr.state, State::Drain);
    }
    feed.round_with(RATE, flight(2.0 * BDP));
    assert_eq!(feed.bbr.state, State::Down);
}

/// Section 5.3.3.1, appendix A.8: below the BDP and below the lossy flight less its headroom.
#[test]
fn down_ends_below_bdp_and_headroom() {
    let down = |longterm: f64| {
        let mut feed = Feed::draining(version_3(), RTT);
        feed.round_with(RATE, |event, _| {
            (event.in_flight, event.prior_in_flight) = (Bytes::ZERO, Bytes::MAX);
        });
        assert_eq!(feed.bbr.state, State::Down);
        feed.bbr.inflight_longterm = longterm;
        feed
    };
    let after = |longterm: f64, flight: f64| {
        let mut feed = down(longterm);
        feed.round_with(RATE, |event, sample| {
            event.prior_in_flight = Bytes::from_f64(flight);
            sample.tx_in_flight = Bytes::ZERO;
        });
        feed.bbr.state
    };
    assert_eq!(after(f64::INFINITY, BDP), State::Cruise);
    assert_eq!(after(f64::INFINITY, BDP + 1.0), State::Down);
    assert_eq!(after(80_000.0, 68_000.0), State::Cruise);
    assert_eq!(after(80_000.0, 68_001.0), State::Down);
}

/// Section 5.3.3.8: two to three seconds, drawn anew; 62 or 63 rounds where they are shorter; as many
/// rounds as the BDP has segments where those are fewer.
#[test]
fn probes_come_after_seconds_or_rounds_at_random() {
    let (mut shortest, mut longest, mut odd) = (f64::INFINITY, 0.0f64, 0);
    for seed in 0..400 {
        let mut bbr = Bbr3::new(SEGMENT as u32, seed);
        bbr.start_down(Instant::ZERO);
        let wait = bbr.probe.wait.as_secs_f64();
        (shortest, longest) = (shortest.min(wait), longest.max(wait));
        odd += bbr.rounds.since_probe;
    }
    assert!((2.0..2.03).contains(&shortest) && (2.97..3.0).contains(&longest));
    assert!((150..250).contains(&odd), "{odd} of 400 begin at one round");
    let rounds = |rate: f64| {
        let mut feed = Feed::cruising(version_3(), RTT);
        feed.bbr.max_bandwidth = MaxBandwidth::default();
        feed.round(rate);
        let (drawn, start) = (feed.bbr.rounds.since_probe, feed.bbr.rounds.count);
        while feed.bbr.state == State::Cruise {
            feed.round(rate);
        }
        drawn + feed.bbr.rounds.count - start
    };
    assert_eq!((rounds(RATE), rounds(RATE / 4.0)), (63, 25));
}

#[test]
fn cruise_waits_for_the_clock_if_rounds_are_long() {
    let mut feed = Feed::cruising(version_3(), RTT);
    let (since, wait) = (feed.bbr.probe.since, feed.bbr.probe.wait);
    feed.bbr.rounds.since_probe = 0;
    feed.now = since + wait - RTT;
    feed.round(RATE);
    assert_eq!(feed.bbr.state, State::Cruise, "at the time, not after it");
    feed.now += Duration::from_nanos(1) - RTT;
    feed.round(RATE);
    assert_eq!(feed.bbr.state, State::Refill);
}

/// Sections 5.3.3.3 and 5.3.3.5, appendix A.5.
#[test]
fn refill_lasts_a_round_and_up_three_without_growth() {
    let mut feed = Feed::refilling(version_3());
    assert_eq!(feed.bbr.gains(), (1.0, 2.0));
    assert!(!feed.bbr.probe.is_sample);
    feed.round(RATE);
    assert_eq!((feed.bbr.state, feed.bbr.gains()), (State::Up, (1.25, 2.25)));
    assert!(feed.bbr.probe.is_sample);
    for _ in 0..2 {
        feed.round(RATE);
        assert_eq!(feed.bbr.state, State::Up);
    }
    feed.round(RATE);
    assert_eq!(feed.bbr.state, State::Down);
    assert!(feed.bbr.inflight_longterm.is_infinite());
}

/// Section 5.3.3.7, condition 1: a bound of the window, not the path, keeps the rate.
#[test]
fn up_stays_while_the_lossy_flight_limits_it() {
    let mut feed = Feed::cruising(version_3(), RTT);
    feed.bbr.inflight_longterm = BDP;
    feed.cruise_on();
    for _ in 0..6 {
        feed.round(RATE);
        feed.more();
    }
    assert_eq!(feed.bbr.state, State::Up);
    assert!(feed.bbr.inflight_longterm > BDP);
    let unused = |event: &mut AckEvent, _: &mut RateSample| event.cwnd_limited = false;
    // The first one sets the rate to compare with.
    (0..3).for_each(|_| feed.round_with(RATE, unused));
    assert_eq!(feed.bbr.state, State::Up);
    feed.round_with(RATE, unused);
    assert_eq!(feed.bbr.state, State::Down);
}

/// Section 5.3.3.5: 1, 2, 4, ... segments in successive rounds.
#[test]
fn the_long_term_flight_grows_twice_as_fast_each_round() {
    let mut feed = Feed::cruising(version_3(), RTT);
    feed.bbr.inflight_longterm = BDP;
    feed.cruise_on();
    feed.round(RATE);
    let mut growth = Vec::new();
    for _ in 0..4 {
        let before = feed.bbr.inflight_longterm;
        // A window's worth is acknowledged, without a flight that would prove more.
        let window = feed.bbr.cwnd;
        feed.round_with(window / RTT.as_secs_f64(), |_, sample| {
            sample.tx_in_flight = Bytes::ZERO;
        });
        feed.bbr.full_pipe.restart(RATE);
        growth.push(((feed.bbr.inflight_longterm - before) / SEGMENT).round() as u32);
    }
    assert_eq!(growth, [1, 2, 4, 8]);
}

/// Section 5.5.10.2: the flight at which the losses crossed 2 %.
#[test]
fn losses_of_a_probe_end_it_and_bound_the_flight() {
    let mut feed = Feed::probing(version_3());
    let flight = 130_000.0;
    feed.lose(2, flight);
    assert_eq!(feed.bbr.state, State::Up, "2 of 130 are not too many");
    feed.lose(1, flight);
    assert_eq!(feed.bbr.state, State::Up);
    // The third within the same flight.
    let lost = LostSegment {
        now: feed.now,
        sequence: 1 << 40,
        size: Bytes::from_f64(SEGMENT),
        tx_in_flight: Bytes::from_f64(flight),
        lost: Bytes::from_f64(3.0 * SEGMENT),
        app_limited: false,
        total_delivered: Bytes::new(feed.delivered),
    };
    feed.bbr.on_segment_lost(&lost);
    assert_eq!(feed.bbr.state, State::Down);
    let expected = (flight - SEGMENT) + (0.02 * (flight - SEGMENT) - 2.0 * SEGMENT) / 0.98;
    assert!(close(feed.bbr.inflight_longterm, expected), "{}", feed.bbr.inflight_longterm);
    assert!(feed.bbr.probe.too_high);
    // Once for each probe.
    feed.bbr.on_segment_lost(&LostSegment { tx_in_flight: Bytes::from_f64(SEGMENT), ..lost });
    assert!(close(feed.bbr.inflight_longterm, expected));
}

#[test]
fn the_long_term_flight_falls_by_three_tenths_at_most() {
    let mut feed = Feed::probing(version_3());
    feed.lose(1, 10.0 * SEGMENT);
    assert!(close(feed.bbr.inflight_longterm, 0.7 * BDP), "{}", feed.bbr.inflight_longterm);
}

/// Appendix A.6: what the application limited ends the probe, but says nothing of the flight.
#[test]
fn application_limited_losses_end_a_probe_without_a_bound() {
    let mut feed = Feed::probing(version_3());
    feed.bbr.on_segment_lost(&LostSegment {
        now: feed.now,
        sequence: 0,
        size: Bytes::from_f64(SEGMENT),
        tx_in_flight: Bytes::from_f64(10.0 * SEGMENT),
        lost: Bytes::from_f64(SEGMENT),
        app_limited: true,
        total_delivered: Bytes::new(feed.delivered),
    });
    assert_eq!((feed.bbr.state, feed.bbr.inflight_longterm), (State::Down, f64::INFINITY));
}

/// Section 5.3.3.6: after a lossy probe the next only touches its flight, and a quiet one repeats.
#[test]
fn a_probe_after_a_lossy_one_is_precautionary() {
    let mut feed = Feed::probing(version_3());
    feed.lose(4, 120_000.0);
    assert_eq!(feed.bbr.state, State::Down);
    let bound = feed.bbr.inflight_longterm;
    let quiet = |_: &mut AckEvent, sample: &mut RateSample| sample.tx_in_flight = Bytes::ZERO;
    while feed.bbr.state != State::Up {
        feed.round_with(0.8 * RATE, quiet);
    }
    let below = Bytes::from_f64(bound - SEGMENT - 1.0);
    feed.round_with(RATE, |event, sample| {
        (event.prior_in_flight, sample.tx_in_flight) = (below, Bytes::ZERO);
        event.cwnd_limited = false;
    });
    assert_eq!(feed.bbr.state, State::Up);
    feed.round_with(RATE, |event, sample| {
        // With the segment that would leave next it is the flight that was lossy.
        let reached = Bytes::from_f64((bound - SEGMENT).ceil());
        (event.prior_in_flight, sample.tx_in_flight) = (reached, Bytes::ZERO);
        event.cwnd_limited = false;
    });
    assert_eq!(feed.bbr.state, State::Down);
    assert!(feed.bbr.probe.precautionary && !feed.bbr.probe.too_high);
    // A round without loss: probe at once, and in earnest.
    feed.round_with(RATE, quiet);
    assert_eq!(feed.bbr.state, State::Refill);
    assert!(!feed.bbr.probe.precautionary);
}

/// Section 5.5.10.3: at most three tenths for each round with losses, not below what was delivered.
#[test]
fn losses_while_cruising_bound_rate_and_flight_until_the_next_probe() {
    let mut feed = Feed::cruising(version_3(), RTT);
    let window = feed.bbr.cwnd;
    feed.lose(1, BDP);
    feed.round(0.9 * RATE);
    assert!(close(feed.bbr.short_term.rate, RATE), "the round before delivered it");
    feed.lose(1, BDP);
    feed.round(0.9 * RATE);
    assert!(close(feed.bbr.short_term.rate, 0.9 * RATE), "{:?}", feed.bbr.short_term);
    feed.lose(1, BDP);
    feed.round(0.1 * RATE);
    feed.lose(1, BDP);
    feed.round(0.1 * RATE);
    assert!(close(feed.bbr.short_term.rate, 0.63 * RATE), "{:?}", feed.bbr.short_term);
    let volumes = [1.0, 0.9, 0.9, 0.1].map(|share| share * BDP);
    let flight = volumes.into_iter().fold(window, |flight, volume| volume.max(0.7 * flight));
    assert!(close(feed.bbr.short_term.flight, flight), "{:?} of {window}", feed.bbr.short_term);
    assert!(feed.bbr.cwnd <= feed.bbr.short_term.flight);
    feed.cruise_on();
    assert_eq!(feed.bbr.short_term, ShortTerm::UNBOUNDED);
    // Nor do losses bound what probes.
    feed.lose(1, BDP);
    feed.round(RATE);
    feed.round(RATE);
    assert_eq!(feed.bbr.short_term, ShortTerm::UNBOUNDED);
}

/// Section 5.5.6: a rate is remembered for this probing cycle and the next.
#[test]
fn a_lower_capacity_is_believed_after_two_cycles() {
    let mut feed = Feed::cruising(version_3(), RTT);
    let mut cycles = 0;
    while feed.bbr.max_bandwidth.get() > 0.9 * RATE {
        let before = feed.bbr.state;
        feed.round(RATE / 2.0);
        cycles += u32::from(before == State::Up && feed.bbr.state == State::Down);
        assert!(cycles < 3);
    }
    assert!((1..=2).contains(&cycles), "{cycles}");
}

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

fn timeout(feed: &mut Feed) {
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

/// Section 3.7: an echo of RFC 3168 is congestion; version 2 knows no such marks.
#[test]
fn an_uncounted_mark_counts_as_a_loss_in_version_3_only() {
    let bounded = |bbr: Bbr3| {
        let mut feed = Feed::cruising(bbr, RTT);
        feed.bbr.on_congestion_event(feed.now, Bytes::from_f64(BDP));
        feed.round(RATE);
        feed.bbr.short_term != ShortTerm::UNBOUNDED
    };
    assert!(bounded(version_3()));
    assert!(!bounded(Bbr3::version_2(SEGMENT as u32, 7)));
}

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

/// What may happen to a congestion control.
#[derive(Debug, Clone)]
enum Step {
    Ack { wait: i64, bytes: u64, rtt: i64, prior: u64, marked: bool, phase: u8, limited: bool },
    Lose { size: u32, flight: u64, lost: u64, limited: bool },
    Congestion,
    Timeout,
    Spurious,
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    let amount = prop_oneof![Just(0u64), 1u64..100, 1000u64..200_000, Just(1u64 << 40)];
    let ack = (0i64..3_000_000, amount.clone(), 0i64..400_000, amount.clone());
    let ack = (ack, any::<bool>(), 0u8..3, any::<bool>());
    prop_oneof![
        8 => ack.prop_map(|((wait, bytes, rtt, prior), marked, phase, limited)| {
            Step::Ack { wait, bytes, rtt, prior, marked, phase, limited }
        }),
        3 => (0u32..3000, amount.clone(), amount, any::<bool>()).prop_map(
            |(size, flight, lost, limited)| Step::Lose { size, flight, lost, limited }
        ),
        1 => Just(Step::Congestion),
        1 => Just(Step::Timeout),
        1 => Just(Step::Spurious),
        1 => Just(Step::Idle),
    ]
}

fn apply(feed: &mut Feed, step: &Step) {
    match *step {
        Step::Ack { wait, bytes, rtt, prior, marked, phase, limited } => {
            feed.now += Duration::from_micros(wait);
            feed.delivered = feed.delivered.saturating_add(bytes);
            let phase = [Phase::Open, Phase::Recovery, Phase::Loss][usize::from(phase)];
            let delivered = Bytes::new(bytes);
            let rtt = Duration::from_micros(rtt);
            let rate = (rtt > Duration::ZERO).then(|| RateSample {
                delivered,
                interval: rtt,
                prior_delivered: Bytes::new(feed.delivered.saturating_sub(prior)),
                app_limited: limited,
                tx_in_flight: Bytes::new(prior),
                lost: Bytes::new(if marked { bytes } else { 0 }),
            });
            feed.bbr.on_ack(&AckEvent {
                phase,
                newly_delivered: delivered,
                newly_marked: if marked { delivered } else { Bytes::ZERO },
                prior_in_flight: Bytes::new(prior),
                in_flight: Bytes::new(prior.saturating_sub(bytes)),
                total_delivered: Bytes::new(feed.delivered),
                rtt: Some(rtt),
                cwnd_limited: !limited,
                rate,
                ..feed.event(0.0)
            });
        }
        Step::Lose { size, flight, lost, limited } => feed.bbr.on_segment_lost(&LostSegment {
            now: feed.now,
            sequence: flight,
            size: Bytes::new(u64::from(size)),
            tx_in_flight: Bytes::new(flight),
            lost: Bytes::new(lost),
            app_limited: limited,
            total_delivered: Bytes::new(feed.delivered),
        }),
        Step::Congestion => feed.bbr.on_congestion_event(feed.now, Bytes::from_f64(BDP)),
        Step::Timeout => timeout(feed),
        Step::Spurious => feed.bbr.on_spurious_loss(feed.now),
        Step::Idle => feed.bbr.on_transmit_start(feed.now, None),
    }
}

proptest! {
    /// Four segments after any ACK, one after a time-out; finite and positive rates.
    #[test]
    fn nothing_that_happens_starves_or_breaks_it(
        steps in prop::collection::vec(step(), 1..120), seed: u64, version_2: bool, short: bool,
    ) {
        let new = if version_2 { Bbr3::version_2 } else { Bbr3::new };
        let rtt = if short { Duration::from_millis(2) } else { RTT };
        let mut feed = Feed::new(new(SEGMENT as u32, seed), rtt);
        for step in &steps {
            apply(&mut feed, step);
            let least = if matches!(step, Step::Ack { .. }) { 4.0 } else { 1.0 };
            prop_assert!(feed.bbr.cwnd >= least * SEGMENT, "{step:?}: {}", feed.bbr.cwnd);
            prop_assert!(feed.bbr.cwnd.is_finite() && feed.bbr.pacing_rate.is_finite());
            prop_assert!(feed.bbr.pacing_rate >= 0.0);
            prop_assert!(feed.bbr.ssthresh() == Bytes::MAX || feed.bbr.ssthresh() <= feed.bbr.cwnd());
        }
    }
}
