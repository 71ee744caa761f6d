//! BBR, version 3; and, with other [parameters], [version 2](super::bbr2).
//!
//! Source: draft-ietf-ccwg-bbr-06 (July 2026), by section in each file; where it is silent, Linux
//! google/bbr v3 `net/ipv4/tcp_bbr.c`. The names of the draft's functions are in the comments.
//! Model: as version 1 the path is a bandwidth and a smallest RTT; in addition there are bounds that
//! congestion sets. Probing that loses more than 2 % bounds the flight for the long term; a loss at
//! any other time bounds rate and flight for the short term, until the next probe. Between probes it
//! cruises at the bandwidth, with an empty queue, below the lossy flight by a headroom.
//!
//! ```text
//!   Startup ---> Drain ---> ProbeBW: Down -> Cruise -> Refill -> Up -> Down ...     (probe: 2 to 3 s)
//!      ^                               \________________^
//!      +--- pipe not yet full --- ProbeRtt <-- from any, every 5 s; then Cruise
//! ```
//!
//! | Constant of version 3 | Value | Origin |
//! |---|---|---|
//! | Startup: gains of pacing and window | 2.77, 2 | section 5.3.1.1 |
//! | Startup: ends with losses | over 2 %, in 6 ranges, in a round of recovery | section 5.3.1.3 |
//! | Drain: gains, longest | 0.5, 2; 3 rounds | section 5.3.2 |
//! | Down: pacing gain | 0.9 | section 5.3.3.1 |
//! | Up: gains of pacing and window | 1.25, 2.25 | section 5.3.3.5 |
//! | ProbeRTT: gain of window | 0.5 | section 5.3.4.3 |
//! | marks | see [version 2](super::bbr2); here they do not bound the rate | Linux v3 |
//!
//! The constants that both share are in [parameters].
//!
//! | Deviation | Why |
//! |---|---|
//! | floats and bytes | no overflow bounds to keep |
//! | Down and Up judge the flight before the ACK, Up with one segment more | Linux v3 (`prior_in_flight`, and the burst to leave next); after an ACK the flight is below any bound of the window |
//! | Drain begins with fresh congestion signals | Linux v3; else losses of Startup are answered twice |
//! | acknowledged surplus: two halves of 5 rounds (Startup: 1), at most 100 ms of bandwidth | Linux v3, and version 1 here; the draft wants a sliding window of 10 (1) rounds without the cap |
//! | a time-out starts the short-term flight from the window before it | Linux v3 (`bbr_set_state`); else from one segment |
//! | the state to undo is kept for a whole recovery | section 5.5.11.1 says so; its pseudo-code saves again within one |
//! | a delayed ACK does not raise the minimum RTT | Linux v3 |
//! | an echo of RFC 3168 counts as a loss in the round, on paths of over 5 ms | section 3.7: any mark is congestion; on shorter ones the count of marks is used, as in Linux v3 |
//! | a loss that only a tail probe repaired is ignored | Linux v3 answers it; the sender does not report it to who regulates recovery |
//! | segments leave one by one; PLB is not there | no TSO; no paths to choose from |

mod control;
mod ecn;
mod model;
mod parameters;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
pub(super) mod tests;

pub(super) use ecn::{EcnParameters, EcnResponse};
pub(super) use parameters::{Parameters, UpEnd};

use super::ack_aggregation::AckAggregation;
use super::{
    AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, LostSegment, Phase, TimeoutEvent,
};
use control::Undo;
use gameway_units::{Bytes, Duration, Instant, Rate};
use model::{Latest, Losses, MaxBandwidth, Rounds, Sample, ShortTerm};
use probe_bw::{AckPhase, Probe};
use probe_rtt::MinRtt;
use rand_core::SeedableRng;
use rand_xoshiro::SplitMix64;
use startup::FullPipe;

/// The state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// BBR of version 3, or of version 2 by its parameters; amounts in bytes, rates in bytes per second.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    parameters: Parameters,
    segment_size: f64,
    cwnd: f64,
    /// Window to return to after recovery or ProbeRTT.
    prior_cwnd: f64,
    ssthresh: f64,
    pacing_rate: f64,
    seen_rtt: bool,
    state: State,
    /// Delivered since the connection began.
    delivered: u64,
    phase: Phase,
    rounds: Rounds,
    full_pipe: FullPipe,
    drain_start: u64,
    max_bandwidth: MaxBandwidth,
    latest: Latest,
    short_term: ShortTerm,
    inflight_longterm: f64,
    losses: Losses,
    probe: Probe,
    min_rtt: MinRtt,
    aggregation: AckAggregation,
    ecn: EcnResponse,
    undo: Undo,
    idle_restart: bool,
    random: SplitMix64,
}

impl Bbr3 {
    /// Version 3 with the initial window of RFC 6928; `seed` draws when it probes.
    #[must_use]
    pub fn new(segment_size: u32, seed: u64) -> Self {
        Self::with_parameters(parameters::VERSION_3, segment_size, seed)
    }

    pub(super) fn with_parameters(parameters: Parameters, segment_size: u32, seed: u64) -> Self {
        let segment_size = f64::from(segment_size.max(1));
        let mut bbr = Self {
            parameters,
            segment_size,
            cwnd: INITIAL_WINDOW_SEGMENTS as f64 * segment_size,
            prior_cwnd: 0.0,
            ssthresh: f64::INFINITY,
            pacing_rate: 0.0,
            seen_rtt: false,
            state: State::Startup,
            delivered: 0,
            phase: Phase::Open,
            rounds: Rounds::default(),
            full_pipe: FullPipe::default(),
            drain_start: 0,
            max_bandwidth: MaxBandwidth::default(),
            latest: Latest::default(),
            short_term: ShortTerm::UNBOUNDED,
            inflight_longterm: f64::INFINITY,
            losses: Losses::default(),
            probe: Probe::default(),
            min_rtt: MinRtt::default(),
            aggregation: AckAggregation::default(),
            ecn: EcnResponse::new(parameters.ecn),
            undo: Undo::default(),
            idle_restart: false,
            random: SplitMix64::seed_from_u64(seed),
        };
        bbr.enter_startup();
        bbr.start_pacing(parameters::RTT_BEFORE_ANY_SAMPLE);
        bbr
    }

    fn is_probing_bandwidth(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// UpdateModelAndState.
    fn update_model(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        self.update_round(ack, sample);
        self.update_marks(ack);
        self.update_latest(sample);
        self.update_congestion_signals(sample);
        self.update_aggregation(ack, sample);
        self.check_full_pipe(sample);
        self.check_startup_done(ack, sample);
        self.check_drain_done(ack);
        self.update_cycle(ack, sample);
        self.update_min_rtt(ack);
        self.advance_latest(sample);
        self.losses.since_ack = false;
    }

    fn update_marks(&mut self, ack: &AckEvent) {
        self.ecn.on_ack(ack.newly_marked.get(), self.delivered);
        if self.rounds.starts {
            let high = self.ecn.on_round(self.delivered, self.min_rtt.value);
            if high && !self.full_pipe.reached {
                self.end_startup_by_congestion();
            }
        }
    }

    fn update_aggregation(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        if sample.is_some() && ack.newly_delivered > Bytes::ZERO {
            let (rate, cwnd) = (self.bandwidth(), self.cwnd);
            let (starts, delivered) = (self.rounds.starts, ack.newly_delivered.as_f64());
            self.aggregation.on_ack(ack.now, starts, delivered, rate, cwnd, self.segment_size);
        }
    }

    fn update_control(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.smoothed_rtt.filter(|_| !self.seen_rtt) {
            self.seen_rtt = true;
            self.start_pacing(rtt);
        }
        let (pacing_gain, window_gain) = self.gains();
        self.set_pacing_rate(pacing_gain);
        self.follow_phase(ack.phase);
        self.set_cwnd(ack, window_gain);
    }
}

without_options! {
    Bbr3Config, "bbr3",
    "BBR version 3 (IETF draft): probes seldom, cruises with an empty queue, heeds losses",
    "draft-ietf-ccwg-bbr-06; Linux google/bbr v3 tcp_bbr.c",
    needs_accurate_ecn: false,
    |segment_size, seed| Box::new(Bbr3::new(segment_size, seed))
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        self.parameters.name
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.min_rtt = MinRtt::new(now, rtt);
        self.aggregation.restart(now);
        if let Some(rtt) = rtt {
            self.seen_rtt = true;
            self.start_pacing(rtt);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let sample = ack.rate.map(Sample::from);
        self.update_model(ack, sample.as_ref());
        self.update_control(ack);
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.handle_lost_segment(lost);
    }

    /// Losses were reported one by one; what remains are marks.
    fn on_congestion_event(&mut self, now: Instant, in_flight: Bytes) {
        self.save_cwnd();
        if self.losses.since_ack || !self.parameters.classic_marks || self.ecn.is_used() {
            return;
        }
        self.note_loss();
        if self.probe.is_sample {
            self.handle_inflight_too_high(now, in_flight.as_f64(), false);
        }
    }

    fn on_timeout(&mut self, _timeout: &TimeoutEvent) {
        self.cut_for_timeout();
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.undo_losses();
    }

    /// HandleRestartFromIdle.
    fn on_transmit_start(&mut self, now: Instant, _idle: Option<Duration>) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.cwnd)
    }

    /// Infinite until the pipe was full once; then never above the window, because no later growth
    /// doubles it, so that the window is in use only when it is reached.
    fn ssthresh(&self) -> Bytes {
        if self.ssthresh.is_infinite() {
            Bytes::MAX
        } else {
            Bytes::from_f64(self.ssthresh.min(self.cwnd))
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64(self.pacing_rate * 8.0))
    }

    fn regulates_recovery(&self) -> bool {
        true
    }

    fn samples_are_app_limited(&self) -> bool {
        self.state == State::ProbeRtt
    }
}
