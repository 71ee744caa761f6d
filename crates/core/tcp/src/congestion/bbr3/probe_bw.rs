//! ProbeBW: down, cruise, refill, up.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.3.
//! Model: drain what probing queued, cruise at the bandwidth found, with headroom below a flight that
//! was lossy, for two to three seconds or as long as a Reno flow would need to fill the same BDP; then
//! fill the pipe for a round, and send faster until the rate grows no more, or losses say stop.
//! After a lossy probe the next one only touches the flight that was lossy, and is repeated at once
//! if that went well.

use super::model::Sample;
use super::parameters::{
    HEADROOM, MAX_PROBE_ROUNDS, MAX_UP_ROUNDS, MIN_SEGMENTS, PROBE_WAIT, PROBE_WAIT_SPREAD_NANOS,
    UpEnd,
};
use super::{AckEvent, Bbr3, Phase, ShortTerm, State};
use gameway_units::{Duration, Instant};
use rand_core::Rng;

/// What the ACKs that now arrive say about probing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Initial,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the search for bandwidth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// Whether samples come from probing, and none of them was too lossy.
    pub(super) is_sample: bool,
    up_acked: f64,
    up_acked_per_segment: f64,
    up_rounds: u32,
    pub(super) wait: Duration,
    pub(super) since: Instant,
    /// Whether the last probe went too far.
    pub(super) too_high: bool,
    /// Whether the last probe ended where the one before it went too far.
    pub(super) precautionary: bool,
}

impl Bbr3 {
    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        if !self.full_pipe.reached || self.adapt_long_term_model(ack, sample) {
            return;
        }
        match self.state {
            State::Down => self.update_down(ack),
            State::Cruise => {
                self.probe_if_time(ack);
            }
            State::Refill if self.rounds.starts => {
                self.probe.is_sample = true;
                self.start_up(ack.now, sample);
            }
            State::Up => self.update_up(ack, sample),
            _ => {}
        }
    }

    fn update_down(&mut self, ack: &AckEvent) {
        if !self.probe_if_time(ack) && self.is_time_to_cruise(ack) {
            self.start_cruise();
        }
    }

    fn update_up(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        if self.is_time_to_go_down(ack, sample) {
            self.probe.too_high = false;
            self.start_down(ack.now);
        }
    }

    pub(super) fn start_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probe.up_acked_per_segment = f64::INFINITY;
        self.pick_probe_wait();
        self.probe.since = now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// Begins to probe; the flight will grow by `2^up_rounds` segments in the first round.
    pub(super) fn start_refill(&mut self, up_rounds: u32) {
        self.short_term = ShortTerm::UNBOUNDED;
        self.probe.up_rounds = up_rounds.min(MAX_UP_ROUNDS);
        self.probe.up_acked = 0.0;
        self.probe.precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.ecn.start_probe();
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, now: Instant, sample: Option<&Sample>) {
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.probe.since = now;
        self.start_round();
        self.full_pipe.restart(sample.map_or(0.0, |sample| sample.rate));
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    /// PickProbeWait: both bounds drawn at random, so that flows do not probe in step.
    fn pick_probe_wait(&mut self) {
        self.rounds.since_probe = self.random.next_u64() >> 63;
        let spread =
            (u128::from(self.random.next_u64()) * u128::from(PROBE_WAIT_SPREAD_NANOS)) >> 64;
        self.probe.wait = PROBE_WAIT + Duration::from_nanos(spread as i64);
    }

    fn has_elapsed(&self, now: Instant, span: Duration) -> bool {
        now > self.probe.since.saturating_add(span)
    }

    /// IsTimeToProbeBW, which also starts to.
    fn probe_if_time(&mut self, ack: &AckEvent) -> bool {
        let quiet = ack.phase == Phase::Open && !self.losses.in_cycle;
        let longterm = self.inflight_longterm / self.segment_size;
        if let Some(up_rounds) = self.ecn.reprobe_rounds(longterm).filter(|_| quiet) {
            self.start_refill(up_rounds);
            return true;
        }
        let reno = (self.target_inflight() / self.segment_size).min(MAX_PROBE_ROUNDS);
        let time =
            self.has_elapsed(ack.now, self.probe.wait) || self.rounds.since_probe as f64 >= reno;
        if time {
            self.start_refill(0);
        }
        time
    }

    fn is_time_to_cruise(&self, ack: &AckEvent) -> bool {
        let flight = ack.prior_in_flight.as_f64();
        flight <= self.inflight_with_headroom()
            && flight <= self.inflight(self.max_bandwidth.get(), 1.0)
    }

    /// IsTimeToGoDown. The flight counts the segment that would leave next: a window that holds no
    /// whole number of them is never filled.
    fn is_time_to_go_down(&mut self, ack: &AckEvent, sample: Option<&Sample>) -> bool {
        let flight = ack.prior_in_flight.as_f64() + self.segment_size;
        if self.probe.too_high && flight >= self.inflight_longterm {
            self.probe.precautionary = true;
            return true;
        }
        if let UpEnd::Flight(gain) = self.parameters.up_end {
            let round = self.min_rtt.value.unwrap_or_default();
            return self.has_elapsed(ack.now, round)
                && flight >= self.inflight(self.max_bandwidth.get(), gain);
        }
        if ack.cwnd_limited && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, keeps the rate from growing.
            self.full_pipe.restart(sample.map_or(0.0, |sample| sample.rate));
            return false;
        }
        self.full_pipe.now
    }

    /// A flight that leaves room to others where a larger one was lossy.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = (HEADROOM * longterm).max(self.segment_size);
        (longterm - headroom).max(MIN_SEGMENTS * self.segment_size)
    }

    /// RaiseInflightLongtermSlope.
    fn raise_longterm_slope(&mut self) {
        let growth = (1u64 << self.probe.up_rounds) as f64;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe.up_acked_per_segment = (self.cwnd / growth).max(self.segment_size);
    }

    /// ProbeInflightLongtermUpward: 1, 2, 4, ... segments in successive rounds.
    pub(super) fn probe_longterm_upward(&mut self, ack: &AckEvent) {
        if !ack.cwnd_limited || self.cwnd < self.inflight_longterm {
            if !self.parameters.keeps_unused_credit {
                self.probe.up_acked = 0.0;
            }
            return;
        }
        self.probe.up_acked += ack.newly_delivered.as_f64();
        let segments = (self.probe.up_acked / self.probe.up_acked_per_segment).floor();
        if segments >= 1.0 {
            self.probe.up_acked -= segments * self.probe.up_acked_per_segment;
            self.inflight_longterm += segments * self.segment_size;
        }
        if self.rounds.starts {
            self.raise_longterm_slope();
        }
    }
}
