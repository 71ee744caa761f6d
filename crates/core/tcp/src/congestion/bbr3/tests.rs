//! The pseudo-code of the draft, step by step.
//!
//! Source: draft-ietf-ccwg-bbr-06, by section; its appendix A where a test is one of its cases.

use super::model::too_lossy;
use super::*;
use crate::congestion::tests::quiet_events;
use crate::delivery_rate::RateSample;
use proptest::prelude::*;

mod probe_rtt;
mod probing;
mod properties;
mod windows;

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
