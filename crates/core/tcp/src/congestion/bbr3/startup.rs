//! Startup and Drain.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.3.1 and 5.3.2.
//! Model: pace at a gain that doubles the rate each round until it grows no more, or until too much
//! is lost in many places within a round of recovery; then pace slowly until a BDP is in flight.

use super::model::{Sample, too_lossy};
use super::parameters::{FULL_PIPE_GROWTH, FULL_PIPE_ROUNDS};
use super::{AckEvent, Bbr3, Phase, State};
use crate::congestion::ack_aggregation;

/// Whether faster sending still brings faster delivery.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullPipe {
    pub(super) rate: f64,
    rounds: u32,
    /// Not any more, since the search began.
    pub(super) now: bool,
    /// Not any more, once in this connection.
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW: begins a search at `rate`.
    pub(super) fn restart(&mut self, rate: f64) {
        *self = Self { rate, reached: self.reached, ..Self::default() };
    }
}

impl Bbr3 {
    /// CheckFullBWReached.
    pub(super) fn check_full_pipe(&mut self, sample: Option<&Sample>) {
        let Some(sample) = sample.filter(|sample| !sample.app_limited) else { return };
        if self.full_pipe.now || !self.rounds.starts {
            return;
        }
        let filtered = self.parameters.plateau_of_filter;
        let rate = if filtered { self.max_bandwidth.get() } else { sample.rate };
        if rate >= self.full_pipe.rate * FULL_PIPE_GROWTH {
            self.full_pipe.restart(rate);
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= FULL_PIPE_ROUNDS;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        self.check_startup_high_loss(ack, sample);
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// A round of recovery ends in which the loss was high and not in few bursts (section 5.3.1.3).
    fn check_startup_high_loss(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        let Some(sample) = sample.filter(|_| self.latest.round_starts) else { return };
        if !self.full_pipe.reached
            && ack.phase == Phase::Recovery
            && self.losses.ranges >= self.parameters.startup_lost_ranges
            && too_lossy(sample.lost, sample.tx_in_flight)
        {
            self.undo.state = Some(State::Startup);
            self.end_startup_by_congestion();
        }
    }

    /// The path showed its limit by losses or marks.
    pub(super) fn end_startup_by_congestion(&mut self) {
        self.full_pipe.reached = true;
        let flight = self.inflight(self.max_bandwidth.get(), 1.0);
        self.inflight_longterm = if self.parameters.keeps_latest_after_startup {
            flight.max(self.latest.volume)
        } else {
            flight
        };
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.aggregation.set_half_window(1);
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start = self.rounds.count;
        self.ssthresh = self.inflight(self.max_bandwidth.get(), 1.0);
        self.aggregation.set_half_window(ack_aggregation::ROUNDS);
        self.reset_congestion_signals();
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, ack: &AckEvent) {
        if self.state != State::Drain {
            return;
        }
        let rounds = self.rounds.count - self.drain_start;
        let long = self.parameters.drain_rounds.is_some_and(|max| rounds > max);
        if long || ack.in_flight.as_f64() <= self.inflight(self.bandwidth(), 1.0) {
            self.start_down(ack.now);
        }
    }
}
