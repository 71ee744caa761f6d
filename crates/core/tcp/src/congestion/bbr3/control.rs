//! From the model to pacing rate and window; what losses save and their absence restores.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.6 and 5.5.11.
//! Model: pace at the bandwidth times the gain of the state, one percent less; let the window grow by
//! what is acknowledged towards the BDP times its gain, and keep it within the bounds of the model.

use super::parameters::{MIN_SEGMENTS, PACING_MARGIN, UP_PACING_GAIN, WINDOW_GAIN};
use super::{AckEvent, Bbr3, INITIAL_WINDOW_SEGMENTS, Phase, ShortTerm, State};
use gameway_units::Duration;

const QUANTUM_SECS: f64 = 1e-3;
const MAX_QUANTUM: f64 = 65_536.0;
const MIN_QUANTUM_SEGMENTS: f64 = 2.0;
const QUANTA_IN_FLIGHT: f64 = 3.0;

/// What was true before losses that may prove to be none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undo {
    /// The state that the losses ended.
    pub(super) state: Option<State>,
    /// Whether this recovery's beginning is what is kept.
    kept: bool,
    short_term: ShortTerm,
    inflight_longterm: f64,
}

impl Default for Undo {
    fn default() -> Self {
        let nothing = ShortTerm { rate: 0.0, flight: 0.0 };
        Self { state: None, kept: false, short_term: nothing, inflight_longterm: 0.0 }
    }
}

impl Bbr3 {
    /// Gains of pacing and window (section 5.6.1).
    pub(super) fn gains(&self) -> (f64, f64) {
        let version = &self.parameters;
        match self.state {
            State::Startup => (version.startup_pacing_gain, version.startup_window_gain),
            State::Drain => (version.drain_pacing_gain, version.startup_window_gain),
            State::Down => (version.down_pacing_gain, WINDOW_GAIN),
            State::Cruise | State::Refill => (1.0, WINDOW_GAIN),
            State::Up => (UP_PACING_GAIN, version.up_window_gain),
            State::ProbeRtt => (1.0, version.probe_rtt_window_gain),
        }
    }

    pub(super) fn initial_window(&self) -> f64 {
        INITIAL_WINDOW_SEGMENTS as f64 * self.segment_size
    }

    /// BDPMultiple.
    pub(super) fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt.value {
            None => self.initial_window(),
            Some(rtt) => gain * bandwidth * rtt.as_secs_f64(),
        }
    }

    /// QuantizationBudget.
    fn with_budget(&self, flight: f64) -> f64 {
        let smallest = MIN_QUANTUM_SEGMENTS * self.segment_size;
        let quantum = (self.pacing_rate * QUANTUM_SECS).min(MAX_QUANTUM).max(smallest);
        let min = (QUANTA_IN_FLIGHT * quantum).max(MIN_SEGMENTS * self.segment_size);
        let more = if self.state == State::Up { 2.0 * self.segment_size } else { 0.0 };
        flight.max(min) + more
    }

    pub(super) fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_budget(self.bdp(bandwidth, gain))
    }

    /// The BDP, unless congestion cut the window below it.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(self.bandwidth(), 1.0).min(self.cwnd)
    }

    /// InitPacingRate: the initial window per RTT, times the gain of Startup.
    pub(super) fn start_pacing(&mut self, rtt: Duration) {
        let nominal = self.initial_window() / rtt.as_secs_f64().max(1e-9);
        self.pacing_rate = self.parameters.startup_pacing_gain * nominal;
    }

    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * PACING_MARGIN;
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, ack: &AckEvent, gain: f64) {
        let bandwidth = self.bandwidth();
        let aggregated = self.aggregation.bonus(bandwidth);
        let target = self.with_budget(self.bdp(bandwidth, gain) + aggregated);
        let acked = ack.newly_delivered.as_f64();
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || ack.total_delivered.as_f64() < self.initial_window() {
            self.cwnd += acked;
        }
        let min = MIN_SEGMENTS * self.segment_size;
        self.cwnd = self.cwnd.max(min);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.model_bound().max(min));
    }

    /// The cap of BoundCwndForModel.
    fn model_bound(&self) -> f64 {
        let long_term = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        long_term.min(self.short_term.flight)
    }

    /// Remembers the window unless recovery or ProbeRTT has already cut it.
    pub(super) fn save_cwnd(&mut self) {
        let undisturbed = self.phase == Phase::Open && self.state != State::ProbeRtt;
        self.prior_cwnd = if undisturbed { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SaveStateUponLoss, once for each recovery.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        if self.phase == Phase::Open && !self.undo.kept {
            self.undo = Undo {
                state: None,
                kept: true,
                short_term: self.short_term,
                inflight_longterm: self.inflight_longterm,
            };
        }
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo_losses(&mut self) {
        self.restore_cwnd();
        self.losses.in_round = false;
        self.full_pipe.restart(0.0);
        let undo = std::mem::take(&mut self.undo);
        self.short_term.rate = self.short_term.rate.max(undo.short_term.rate);
        self.short_term.flight = self.short_term.flight.max(undo.short_term.flight);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        if !self.parameters.returns_to_state {
            return;
        }
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if self.state != State::Up && self.state != State::ProbeRtt => {
                self.start_refill(0);
            }
            _ => {}
        }
    }

    /// The recovery is over: back to the window before it, as far as the model allows.
    pub(super) fn follow_phase(&mut self, phase: Phase) {
        let before = std::mem::replace(&mut self.phase, phase);
        self.undo.kept &= phase != Phase::Open;
        if before != Phase::Open && phase == Phase::Open {
            self.restore_cwnd();
        }
    }

    /// One segment; the short-term bound is to start from the window before, not from that one.
    pub(super) fn cut_for_timeout(&mut self) {
        self.save_state_upon_loss();
        self.phase = Phase::Loss;
        self.full_pipe.restart(0.0);
        if !self.is_probing_bandwidth() && self.short_term.flight.is_infinite() {
            self.short_term.flight = self.prior_cwnd;
        }
        self.cwnd = self.segment_size;
    }
}
