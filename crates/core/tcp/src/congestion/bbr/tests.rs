//! The machine of Linux's `tcp_bbr.c`, step by step.

use super::*;
use crate::congestion::tests::quiet_events;
use crate::delivery_rate::RateSample;

const SEGMENT: f64 = 1000.0;
const RTT: Duration = Duration::from_millis(20);
/// Bytes per second; the BDP is 100 segments.
const RATE: f64 = 5e6;
const BDP: f64 = 100_000.0;

/// A connection whose ACKs are made up.
struct Feed {
    bbr: Bbr,
    now: Instant,
    delivered: u64,
    lost: u64,
}

impl Feed {
    fn new() -> Self {
        let mut bbr = Bbr::new(SEGMENT as u32, 7);
        bbr.on_established(Instant::ZERO, Some(RTT));
        Self { bbr, now: Instant::ZERO, delivered: 0, lost: 0 }
    }

    /// An ACK of `bytes` bytes, with a rate sample; a round starts if it is of what was sent since the last began.
    fn ack(&mut self, bytes: f64, rate: f64, change: impl FnOnce(&mut AckEvent, &mut RateSample)) {
        let delivered = Bytes::from_f64(bytes);
        let mut sample = RateSample {
            delivered: Bytes::from_f64(rate * RTT.as_secs_f64()),
            interval: RTT,
            prior_delivered: Bytes::new(self.delivered),
            ..RateSample::default()
        };
        let mut event = AckEvent {
            now: self.now,
            acknowledged: self.delivered + delivered.get(),
            next_sequence: self.delivered + 2 * delivered.get(),
            prior_in_flight: Bytes::from_f64(BDP),
            in_flight: Bytes::from_f64(BDP),
            total_delivered: Bytes::new(self.delivered + delivered.get()),
            total_lost: Bytes::new(self.lost),
            rtt: Some(RTT),
            smoothed_rtt: Some(RTT),
            ..quiet_events::ack(delivered)
        };
        change(&mut event, &mut sample);
        event.rate = Some(sample);
        self.lost += event.newly_lost.get();
        event.total_lost = Bytes::new(self.lost);
        self.delivered = event.total_delivered.get();
        self.bbr.on_ack(&event);
    }

    /// One RTT passes, and a window at that rate is acknowledged at once.
    fn round(&mut self, rate: f64, change: impl FnOnce(&mut AckEvent, &mut RateSample)) {
        self.now += RTT;
        self.ack(rate * RTT.as_secs_f64(), rate, change);
    }

    /// Rounds at `RATE` until the pipe counts as full, with twice the BDP in flight.
    fn draining() -> Self {
        let mut feed = Self::new();
        (0..4).for_each(|_| feed.round(RATE, in_flight(2.0 * BDP)));
        assert_eq!(feed.bbr.mode, Mode::Drain);
        feed
    }

    /// In this phase of the gain cycle, since now, with the window at its target.
    fn cycling(phase: usize) -> Self {
        let mut feed = Self::draining();
        feed.bbr.mode = Mode::ProbeBw { phase: 2, since: feed.now };
        feed.round(RATE, |_, _| {});
        feed.bbr.mode = Mode::ProbeBw { phase, since: feed.now };
        feed
    }

    fn phase(&self) -> Option<usize> {
        match self.bbr.mode {
            Mode::ProbeBw { phase, .. } => Some(phase),
            _ => None,
        }
    }
}

fn in_flight(bytes: f64) -> impl Fn(&mut AckEvent, &mut RateSample) {
    move |event, _| {
        (event.in_flight, event.prior_in_flight) = (Bytes::from_f64(bytes), Bytes::from_f64(bytes));
    }
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-6
}

#[test]
fn the_cycle_never_begins_with_the_draining_phase() {
    let mut seen = [0u32; 8];
    for seed in 0..7000 {
        let mut bbr = Bbr::new(1448, seed);
        bbr.enter_probe_bw(Instant::ZERO);
        if let Mode::ProbeBw { phase, .. } = bbr.mode {
            seen[phase] += 1;
        }
    }
    // Linux: 7 - random(0..7), then one phase on: 0, 7, 6, 5, 4, 3, 2.
    assert_eq!(seen[1], 0);
    let fair = |count: u32| (850..1150).contains(&count);
    assert!(seen.iter().enumerate().all(|(phase, count)| phase == 1 || fair(*count)), "{seen:?}");
}

#[test]
fn starts_with_the_initial_window_per_rtt_times_the_high_gain() {
    let mut bbr = Bbr::new(1448, 1);
    bbr.on_established(Instant::ZERO, Some(Duration::from_millis(20)));
    let expected = 10.0 * 1448.0 * 8.0 / 0.020 * 2.885 * 0.99;
    let rate = bbr.pacing_rate().map_or(0.0, Rate::as_bps_f64);
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate} / {expected}");
}

/// Found by fuzzing: a receiver that acknowledges single bytes.
#[test]
fn recovery_never_leaves_less_than_a_segment() {
    let mut bbr = Bbr::new(1448, 1);
    bbr.on_established(Instant::ZERO, Some(Duration::from_millis(20)));
    let one = Bytes::new(1);
    bbr.on_ack(&AckEvent {
        now: Instant::ZERO + Duration::from_millis(20),
        phase: Phase::Recovery,
        acknowledged: 1,
        next_sequence: 1448,
        prior_in_flight: one,
        total_delivered: one,
        ..quiet_events::ack(one)
    });
    assert_eq!(bbr.cwnd(), Bytes::new(1448));
}

/// `bbr_check_full_bw_reached`: three rounds that gain less than a quarter.
#[test]
fn startup_ends_at_the_third_round_without_growth() {
    let mut feed = Feed::new();
    let mut rate = 1e6;
    for _ in 0..5 {
        feed.round(rate, in_flight(1e9));
        assert_eq!((feed.bbr.mode, feed.bbr.gains()), (Mode::Startup, (HIGH_GAIN, HIGH_GAIN)));
        rate *= 1.25;
    }
    let grown = rate / 1.25;
    for round in 1..=3 {
        assert_eq!(feed.bbr.mode, Mode::Startup, "round {round}");
        feed.round(grown * 1.24, in_flight(1e9));
    }
    assert_eq!((feed.bbr.mode, feed.bbr.gains()), (Mode::Drain, (DRAIN_GAIN, HIGH_GAIN)));
    // Where the application is the limit, the pipe may not be full.
    let mut limited = Feed::new();
    (0..20).for_each(|_| limited.round(RATE, |_, sample| sample.app_limited = true));
    assert_eq!(limited.bbr.mode, Mode::Startup);
    // Neither do ACKs within a round count.
    let mut within = Feed::new();
    within.round(RATE, |_, _| {});
    (0..20).for_each(|_| {
        within.ack(SEGMENT, RATE, |_, sample| sample.prior_delivered = Bytes::ZERO);
    });
    assert_eq!((within.bbr.mode, within.bbr.full_pipe.rounds), (Mode::Startup, 0));
}

/// `bbr_inflight`, `bbr_quantization_budget`: the BDP in segments and three bursts, in pairs, two more while probing up.
#[test]
fn the_target_has_room_for_three_bursts() {
    let mut feed = Feed::cycling(2);
    // 1/1024 s of 5 MB/s: 4882 bytes, four segments.
    feed.bbr.pacing_rate = 5e6;
    assert!(close(feed.bbr.quantum(), 4.0));
    assert!(close(feed.bbr.target_flight(1.0), 112.0 * SEGMENT), "100 and 12");
    assert!(close(feed.bbr.target_flight(0.995), 112.0 * SEGMENT), "99.5 are 100");
    assert!(close(feed.bbr.target_flight(0.985), 112.0 * SEGMENT), "99 and 12 are made even");
    feed.bbr.mode = Mode::ProbeBw { phase: 0, since: feed.now };
    assert!(close(feed.bbr.target_flight(1.25), (125.0 + 13.0 + 2.0) * SEGMENT));
    // Two segments at least, one where they would take long (1.2 Mb/s), 64 kB or 127 segments at most.
    for (rate, quantum) in [(1e5, 1.0), (149_999.0, 1.0), (150_001.0, 2.0), (1e9, MAX_QUANTUM)] {
        feed.bbr.pacing_rate = rate;
        assert!(close(feed.bbr.quantum(), quantum), "{rate}: {}", feed.bbr.quantum());
    }
}

/// `bbr_drain_to_target_cwnd_gain`: until no more than the target is in flight when the next burst leaves.
#[test]
fn drain_ends_at_the_target() {
    let mut feed = Feed::draining();
    let target = feed.bbr.target_flight(1.0);
    feed.round(RATE, in_flight(target + SEGMENT));
    assert_eq!(feed.bbr.mode, Mode::Drain);
    // What leaves the link until the pacer lets the next burst go: 1 ms are five segments.
    feed.round(RATE, |event, sample| {
        in_flight(target + 6.0 * SEGMENT)(event, sample);
        event.until_departure = Duration::from_millis(1);
    });
    assert_eq!(feed.bbr.mode, Mode::Drain);
    feed.round(RATE, |event, sample| {
        in_flight(target + 5.0 * SEGMENT)(event, sample);
        event.until_departure = Duration::from_millis(1);
    });
    assert!(feed.phase().is_some());
}

/// `bbr_is_next_cycle_phase`: an RTT; probing up until the flight is there or something was lost, draining no longer
/// than until the queue is gone.
#[test]
fn the_gain_cycle_moves_on_by_time_flight_and_loss() {
    let after = |phase: usize, rtts: f64, flight: f64, lost: u64| {
        let mut feed = Feed::cycling(phase);
        feed.now += RTT.mul_f64(rtts);
        feed.ack(SEGMENT, RATE, |event, sample| {
            in_flight(flight)(event, sample);
            event.newly_lost = Bytes::new(lost);
        });
        feed.phase()
    };
    let (low, high) = (BDP, 1.5 * BDP);
    for phase in 2..8 {
        assert_eq!(after(phase, 1.0, high, 0), Some(phase), "an RTT, not more");
        assert_eq!(after(phase, 1.01, high, 0), Some((phase + 1) % 8));
    }
    assert_eq!([after(0, 1.01, low, 0), after(0, 1.0, high, 0)], [Some(0), Some(0)]);
    assert_eq!([after(0, 1.01, high, 0), after(0, 1.01, low, 1)], [Some(1), Some(1)]);
    // While probing up, the burst that leaves next counts as in flight.
    let mut feed = Feed::cycling(0);
    let enough = feed.bbr.target_flight(1.25) - feed.bbr.quantum() * SEGMENT;
    assert_eq!([after(0, 1.01, enough, 0), after(0, 1.01, enough - 1.0, 0)], [Some(1), Some(0)]);
    feed.bbr.min_rtt = None;
    assert!(close(feed.bbr.bdp(RATE, 2.0), 10.0 * SEGMENT), "the initial window without an RTT");
    assert_eq!([after(1, 0.5, high, 0), after(1, 1.01, high, 0)], [Some(1), Some(2)]);
    assert_eq!(after(1, 0.5, low, 0), Some(2), "the queue is gone");
    let gains: Vec<f64> = (0..8).map(|phase| Feed::cycling(phase).bbr.gains().0).collect();
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
}

/// `bbr_update_min_rtt`: ten seconds without a lower RTT; four segments for 200 ms and a round; then the window is back.
#[test]
fn probe_rtt_comes_after_ten_seconds_and_takes_four_segments() {
    let mut feed = Feed::cycling(2);
    let higher = |event: &mut AckEvent, _: &mut RateSample| event.rtt = Some(RTT * 2);
    let begun = feed.bbr.min_rtt_at;
    while feed.phase().is_some() {
        assert!(feed.now - begun <= Duration::from_secs(10));
        feed.round(RATE, higher);
    }
    assert!(feed.now - begun > Duration::from_secs(10) && feed.bbr.samples_are_app_limited());
    assert_eq!((feed.bbr.cwnd(), feed.bbr.gains()), (Bytes::from_f64(4.0 * SEGMENT), (1.0, 1.0)));
    assert_eq!(feed.bbr.min_rtt, Some(RTT * 2), "an old minimum is forgotten");
    // The time counts from when no more is in flight.
    (0..20).for_each(|_| feed.round(RATE, in_flight(5.0 * SEGMENT)));
    assert!(feed.phase().is_none());
    let entered = feed.now + RTT;
    while feed.phase().is_none() {
        feed.round(RATE, in_flight(4.0 * SEGMENT));
    }
    let stayed = (feed.now - entered).as_millis_f64();
    assert!((200.0..=240.0).contains(&stayed), "{stayed} ms");
    assert!(feed.bbr.cwnd > 2.0 * BDP, "{}", feed.bbr.cwnd);
    assert!(!feed.bbr.samples_are_app_limited());
}

#[test]
fn a_minimum_that_is_old_takes_no_rtt_with_a_delay_of_the_ack_in_it() {
    for (delayed, expected) in [(true, RTT), (false, RTT * 3)] {
        let mut feed = Feed::cycling(2);
        feed.now += Duration::from_secs(11);
        feed.ack(SEGMENT, RATE, |event, _| {
            (event.rtt, event.ack_delayed) = (Some(RTT * 3), delayed);
        });
        assert_eq!(feed.bbr.min_rtt, Some(expected));
    }
}

/// After idleness the queue is empty anyway, and pacing resumes at the bandwidth.
#[test]
fn restart_from_idle_needs_no_probe_rtt() {
    let mut feed = Feed::cycling(0);
    feed.now += Duration::from_secs(11);
    feed.bbr.on_transmit_start(feed.now, Some(Duration::from_secs(11)));
    assert!(close(feed.bbr.pacing_rate, 0.99 * RATE));
    feed.ack(SEGMENT, RATE, |_, _| {});
    assert!(feed.phase().is_some() && !feed.bbr.idle_restart);
}

/// `bbr_set_cwnd_to_recover_or_restore`: packets are conserved for a round, and then the window is as before.
#[test]
fn a_recovery_conserves_packets_for_a_round_and_leaves_the_window_as_it_was() {
    let mut feed = Feed::cycling(2);
    let window = feed.bbr.cwnd;
    feed.bbr.on_congestion_event(feed.now, Bytes::from_f64(BDP));
    let recovery = |flight: f64, prior_delivered: Option<u64>| {
        move |event: &mut AckEvent, sample: &mut RateSample| {
            in_flight(flight)(event, sample);
            (event.phase, event.newly_lost) = (Phase::Recovery, Bytes::from_f64(2.0 * SEGMENT));
            if let Some(prior) = prior_delivered {
                sample.prior_delivered = Bytes::new(prior);
            }
        }
    };
    feed.now += RTT / 2;
    feed.ack(3.0 * SEGMENT, RATE, recovery(50.0 * SEGMENT, Some(0)));
    assert!(close(feed.bbr.cwnd, 53.0 * SEGMENT), "what is in flight and what has left it");
    feed.ack(SEGMENT, RATE, recovery(52.0 * SEGMENT, Some(0)));
    assert!(close(feed.bbr.cwnd, 53.0 * SEGMENT), "two lost, and no fewer than stay");
    // A round later it grows again by what is delivered.
    feed.round(RATE, recovery(52.0 * SEGMENT, None));
    assert!(close(feed.bbr.cwnd, 151.0 * SEGMENT), "{}", feed.bbr.cwnd);
    feed.bbr.cwnd = 60.0 * SEGMENT;
    feed.ack(SEGMENT, RATE, |_, sample| sample.prior_delivered = Bytes::ZERO);
    assert!(close(feed.bbr.cwnd, window), "{} of {window}", feed.bbr.cwnd);
}

/// `bbr_set_cwnd`, `bbr_set_state`.
#[test]
fn a_time_out_leaves_one_segment_until_the_loss_is_over() {
    let mut feed = Feed::cycling(2);
    let window = feed.bbr.cwnd;
    feed.bbr.on_timeout(&TimeoutEvent {
        now: feed.now,
        prior_in_flight: Bytes::from_f64(BDP),
        newly_lost: Bytes::from_f64(BDP),
        total_delivered: Bytes::new(feed.delivered),
        total_lost: Bytes::from_f64(BDP),
        ..quiet_events::timeout(true)
    });
    assert_eq!(feed.bbr.cwnd(), Bytes::from_f64(SEGMENT));
    feed.ack(SEGMENT, RATE, |event, _| event.phase = Phase::Loss);
    assert!(close(feed.bbr.cwnd, 4.0 * SEGMENT), "four at least: {}", feed.bbr.cwnd);
    feed.ack(SEGMENT, RATE, |_, _| {});
    assert!(close(feed.bbr.cwnd, window), "{} of {window}", feed.bbr.cwnd);
}

/// `bbr_set_cwnd`: towards twice the BDP; in Startup as far as the target of its gain, and in any case until the initial
/// window was delivered.
#[test]
fn the_window_grows_by_what_is_delivered_towards_its_target() {
    let windows = |rate: f64, limited: bool| -> Vec<f64> {
        let mut feed = Feed::new();
        let rounds = (0..6).map(|_| {
            feed.round(rate, |event, sample| {
                in_flight(1e9)(event, sample);
                sample.app_limited = limited;
            });
            feed.bbr.cwnd / SEGMENT
        });
        rounds.collect()
    };
    let is = |found: Vec<f64>, expected: [f64; 6]| {
        assert!(found.iter().zip(expected).all(|(one, other)| close(*one, other)), "{found:?}");
    };
    // 288.5 segments and three bursts of 13.
    is(windows(RATE, true), [110.0, 210.0, 310.0, 410.0, 410.0, 410.0]);
    // The pipe is full with the fourth; from there on what comes in one ACK is added, 100 segments.
    is(windows(RATE, false), [110.0, 210.0, 310.0, 396.0, 396.0, 396.0]);
    is(windows(RATE / 50.0, true), [12.0, 14.0, 16.0, 18.0, 18.0, 18.0]);
    let window = Feed::cycling(2).bbr.cwnd;
    assert!(close(window, (200.0 + 100.0 + 12.0) * SEGMENT), "{window}");
}

/// `bbr_update_bw`: the largest sample of ten rounds; one of an application that was the limit counts if it is as large.
#[test]
fn the_bandwidth_is_the_largest_of_ten_rounds() {
    let mut feed = Feed::cycling(2);
    (0..9).for_each(|_| feed.round(0.8 * RATE, |_, _| {}));
    assert!(close(feed.bbr.estimate(), RATE));
    (0..2).for_each(|_| feed.round(0.8 * RATE, |_, _| {}));
    assert!(close(feed.bbr.estimate(), 0.8 * RATE), "{}", feed.bbr.estimate());
    (0..20).for_each(|_| feed.round(0.5 * RATE, |_, sample| sample.app_limited = true));
    assert!(close(feed.bbr.estimate(), 0.8 * RATE), "{}", feed.bbr.estimate());
    feed.round(0.9 * RATE, |_, sample| sample.app_limited = true);
    assert!(close(feed.bbr.estimate(), 0.9 * RATE), "{}", feed.bbr.estimate());
}

#[test]
fn a_lower_rtt_is_the_minimum_at_once_and_a_higher_one_only_when_that_is_old() {
    let mut feed = Feed::cycling(2);
    for (rtt, expected) in [(21, 20), (19, 19), (20, 19)] {
        feed.round(RATE, |event, _| event.rtt = Some(Duration::from_millis(rtt)));
        assert_eq!(feed.bbr.min_rtt, Some(Duration::from_millis(expected)));
    }
    assert_eq!(feed.now - feed.bbr.min_rtt_at, RTT);
}

/// `bbr_set_pacing_rate`: the bandwidth times the gain, one percent less; not lower until the pipe was full.
#[test]
fn the_pace_is_the_bandwidth_times_the_gain() {
    for (phase, gain) in [(0, 1.25), (1, 0.75), (2, 1.0)] {
        let mut feed = Feed::cycling(phase);
        feed.ack(SEGMENT, RATE, in_flight(1.2 * BDP));
        assert_eq!(feed.phase(), Some(phase));
        assert!(close(feed.bbr.pacing_rate, 0.99 * gain * RATE), "{}", feed.bbr.pacing_rate);
    }
    let mut feed = Feed::new();
    let first = feed.bbr.pacing_rate;
    feed.round(1e5, in_flight(1e9));
    assert!(close(feed.bbr.pacing_rate, first), "less than the first window per RTT");
    feed.round(RATE, in_flight(1e9));
    assert!(close(feed.bbr.pacing_rate, 0.99 * HIGH_GAIN * RATE));
    assert!(feed.bbr.regulates_recovery() && feed.bbr.ssthresh() == Bytes::MAX);
}

/// `bbr_save_cwnd`: the window to return to is the one before recovery and ProbeRTT cut it.
#[test]
fn a_window_that_is_cut_already_is_not_the_one_to_return_to() {
    let probing = Mode::ProbeRtt { done: None, round_passed: false };
    let cycle = Mode::ProbeBw { phase: 2, since: Instant::ZERO };
    for (mode, phase) in [(cycle, Phase::Recovery), (cycle, Phase::Loss), (probing, Phase::Open)] {
        let mut bbr = Feed::cycling(2).bbr;
        for window in [150.0, 80.0] {
            bbr.cwnd = window * SEGMENT;
            bbr.save_cwnd();
            assert!(close(bbr.prior_cwnd, window * SEGMENT), "undisturbed it is what it is");
        }
        (bbr.mode, bbr.previous_phase, bbr.cwnd) = (mode, phase, 40.0 * SEGMENT);
        bbr.save_cwnd();
        assert!(close(bbr.prior_cwnd, 80.0 * SEGMENT));
        bbr.cwnd = 90.0 * SEGMENT;
        bbr.save_cwnd();
        assert!(close(bbr.prior_cwnd, 90.0 * SEGMENT));
    }
}

/// `bbr_lt_bw_sampling`: what a policer lets through is the bandwidth, and is not probed beyond.
#[test]
fn a_policers_rate_is_used_without_probing() {
    let mut feed = Feed::cycling(0);
    for round in 0..12 {
        feed.round(RATE / 2.0, |event, _| {
            event.newly_lost = Bytes::from_f64(if round % 4 == 3 { 0.5 * BDP } else { 0.0 });
        });
    }
    for phase in [0, 1, 2] {
        feed.bbr.mode = Mode::ProbeBw { phase, since: feed.now };
        assert_eq!(feed.bbr.gains(), (1.0, WINDOW_GAIN));
    }
    assert!(close(feed.bbr.estimate(), RATE / 2.0));
    feed.bbr.on_spurious_loss(feed.now);
    assert_eq!(feed.bbr.long_term.rate_in_use(), None, "the losses were none");
}
