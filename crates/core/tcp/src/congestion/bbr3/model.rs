//! The model of the path: bandwidth, what the last round delivered, and what losses say of both.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.5.1 to 5.5.6 and 5.5.10.
//! Model: the long-term bounds are the largest rate of the last two probing cycles and the largest
//! flight that probing found safe; the short-term bounds are cut to what the last round delivered, by
//! three tenths at most, at the end of each round with losses, and forgotten when probing begins.

use super::parameters::{BETA, LOSS_THRESHOLD};
use super::{AckEvent, AckPhase, Bbr3, LostSegment, State};
use crate::delivery_rate::RateSample;
use gameway_units::Instant;

/// A delivery-rate sample in bytes and bytes per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) rate: f64,
    pub(super) delivered: f64,
    pub(super) prior_delivered: u64,
    pub(super) tx_in_flight: f64,
    pub(super) lost: f64,
    pub(super) app_limited: bool,
}

impl From<RateSample> for Sample {
    fn from(sample: RateSample) -> Self {
        let delivered = sample.delivered.as_f64();
        Self {
            rate: delivered / sample.interval.as_secs_f64(),
            delivered,
            prior_delivered: sample.prior_delivered.get(),
            tx_in_flight: sample.tx_in_flight.as_f64(),
            lost: sample.lost.as_f64(),
            app_limited: sample.app_limited,
        }
    }
}

/// Rounds counted by delivered data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    pub(super) next_delivered: u64,
    pub(super) starts: bool,
    pub(super) since_probe: u64,
}

/// Largest delivery rate of this probing cycle and of the one before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaxBandwidth {
    previous: f64,
    current: f64,
}

impl MaxBandwidth {
    pub(super) fn get(&self) -> f64 {
        self.previous.max(self.current)
    }

    fn take(&mut self, rate: f64) {
        self.current = self.current.max(rate);
    }

    /// A cycle ends; one without samples is as if it had not been.
    pub(super) fn advance(&mut self) {
        if self.current > 0.0 {
            *self = Self { previous: self.current, current: 0.0 };
        }
    }
}

/// What the latest round delivered; rounds that begin anew with the first loss.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Latest {
    pub(super) rate: f64,
    pub(super) volume: f64,
    pub(super) round_delivered: u64,
    pub(super) round_starts: bool,
}

/// Bounds that losses set until the next probe; infinite if none did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ShortTerm {
    pub(super) rate: f64,
    pub(super) flight: f64,
}

impl ShortTerm {
    pub(super) const UNBOUNDED: Self = Self { rate: f64::INFINITY, flight: f64::INFINITY };
}

/// Losses of the round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    pub(super) in_round: bool,
    pub(super) in_cycle: bool,
    /// Ranges with something between them in this round, and where the last ended.
    pub(super) ranges: u32,
    end: u64,
    /// Whether losses were reported since the last ACK.
    pub(super) since_ack: bool,
}

/// Whether losses say that too much was in flight (section 5.5.10.2).
pub(super) fn too_lossy(lost: f64, tx_in_flight: f64) -> bool {
    lost > tx_in_flight * LOSS_THRESHOLD
}

impl Bbr3 {
    /// The rate that all bounds allow.
    pub(super) fn bandwidth(&self) -> f64 {
        self.max_bandwidth.get().min(self.short_term.rate).min(self.ecn.bandwidth_bound())
    }

    pub(super) fn start_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    pub(super) fn update_round(&mut self, ack: &AckEvent, sample: Option<&Sample>) {
        self.delivered = ack.total_delivered.get();
        self.rounds.starts =
            sample.is_some_and(|sample| sample.prior_delivered >= self.rounds.next_delivered);
        if self.rounds.starts {
            self.start_round();
            self.rounds.count += 1;
            self.rounds.since_probe += 1;
        }
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, sample: Option<&Sample>) {
        self.latest.round_starts = false;
        let Some(sample) = sample else { return };
        self.latest.rate = self.latest.rate.max(sample.rate);
        self.latest.volume = self.latest.volume.max(sample.delivered);
        if sample.prior_delivered >= self.latest.round_delivered {
            self.latest.round_delivered = self.delivered;
            self.latest.round_starts = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, sample: Option<&Sample>) {
        if let Some(sample) = sample.filter(|_| self.latest.round_starts) {
            self.latest.rate = sample.rate;
            self.latest.volume = sample.delivered;
            self.losses.ranges = 0;
        }
    }

    /// UpdateCongestionSignals.
    pub(super) fn update_congestion_signals(&mut self, sample: Option<&Sample>) {
        let Some(sample) = sample else { return };
        if !sample.app_limited || sample.rate >= self.max_bandwidth.get() {
            self.max_bandwidth.take(sample.rate);
        }
        if self.latest.round_starts {
            self.adapt_lower_bounds();
            self.losses.in_round = false;
            self.ecn.end_round();
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.losses.in_round = false;
        self.losses.in_cycle = false;
        self.latest.rate = 0.0;
        self.latest.volume = 0.0;
        self.ecn.start_cycle();
    }

    /// AdaptLowerBoundsFromCongestion, and the response to marks.
    fn adapt_lower_bounds(&mut self) {
        if self.is_probing_bandwidth() {
            return;
        }
        let marked = self.ecn.cut_of_round().map(|cut| {
            let bounds_rate = self.ecn.bounds_bandwidth();
            self.initialize_lower_bounds(bounds_rate);
            let rate = if bounds_rate { self.short_term.rate * cut } else { f64::INFINITY };
            ShortTerm { rate, flight: self.short_term.flight * cut }
        });
        if self.losses.in_round {
            self.initialize_lower_bounds(true);
            self.short_term.rate = self.latest.rate.max(BETA * self.short_term.rate);
            self.short_term.flight = self.latest.volume.max(BETA * self.short_term.flight);
        }
        if let Some(marked) = marked {
            self.short_term.rate = self.short_term.rate.min(marked.rate);
            self.short_term.flight = self.short_term.flight.min(marked.flight);
        }
    }

    fn initialize_lower_bounds(&mut self, rate: bool) {
        if rate && self.short_term.rate.is_infinite() {
            self.short_term.rate = self.max_bandwidth.get();
        }
        if self.short_term.flight.is_infinite() {
            self.short_term.flight = self.cwnd;
        }
    }

    /// NoteLoss.
    pub(super) fn note_loss(&mut self) {
        if !self.losses.in_round {
            self.latest.round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.losses.in_round = true;
        self.losses.in_cycle = true;
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment) {
        self.delivered = lost.total_delivered.get();
        self.losses.since_ack = true;
        self.note_loss();
        let sequence = lost.sequence;
        self.losses.ranges += u32::from(self.losses.ranges == 0 || sequence != self.losses.end);
        self.losses.end = sequence.saturating_add(lost.size.get());
        let (total, tx_in_flight) = (lost.lost.as_f64(), lost.tx_in_flight.as_f64());
        if self.probe.is_sample && self.is_too_lossy(total, tx_in_flight) {
            let flight = flight_at_loss(lost.size.as_f64(), total, tx_in_flight);
            self.handle_inflight_too_high(lost.now, flight, lost.app_limited);
        }
    }

    /// Whether a probe lost too much, and not in too few places of this round.
    fn is_too_lossy(&self, lost: f64, tx_in_flight: f64) -> bool {
        // What crosses the threshold is one at least.
        let ranges = self.losses.ranges.max(1);
        ranges >= self.parameters.probe_lost_ranges && too_lossy(lost, tx_in_flight)
    }

    /// HandleInflightTooHigh: once for each probe.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        now: Instant,
        tx_in_flight: f64,
        app_limited: bool,
    ) {
        self.probe.too_high = true;
        self.probe.is_sample = false;
        if !app_limited {
            self.inflight_longterm = tx_in_flight.max(self.target_inflight() * BETA);
            self.ecn.on_too_high(self.max_bandwidth.get());
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// Raises the long-term bound where a larger flight proved safe, and follows what the ACKs mean;
    /// whether that decided the next state (AdaptLongTermModel).
    pub(super) fn adapt_long_term_model(
        &mut self,
        ack: &AckEvent,
        sample: Option<&Sample>,
    ) -> bool {
        if self.probe.ack_phase == AckPhase::ProbeStarting && self.rounds.starts {
            self.probe.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.probe.ack_phase == AckPhase::ProbeStopping && self.rounds.starts {
            self.probe.is_sample = false;
            self.probe.ack_phase = AckPhase::Initial;
            if self.state.is_probe_bw() && sample.is_some_and(|sample| !sample.app_limited) {
                self.max_bandwidth.advance();
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill(0);
                return true;
            }
        }
        if let Some(sample) = sample {
            self.judge_flight(ack, sample);
        }
        false
    }

    fn judge_flight(&mut self, ack: &AckEvent, sample: &Sample) {
        let marked = self.ecn.is_too_high(sample.prior_delivered, sample.delivered);
        if self.is_too_lossy(sample.lost, sample.tx_in_flight) || marked {
            let judged = self.parameters.judges_acks || marked;
            if judged && self.probe.is_sample {
                self.handle_inflight_too_high(ack.now, sample.tx_in_flight, sample.app_limited);
            }
            return;
        }
        self.ecn.on_safe_sample(self.probe.is_sample, sample.rate);
        if self.inflight_longterm.is_infinite() {
            return;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_longterm_upward(ack);
        }
    }
}

/// The flight at which the losses crossed the threshold, within the segment whose loss crossed it
/// (InflightAtLoss; Linux keeps the part of the segment from being negative).
fn flight_at_loss(size: f64, lost: f64, tx_in_flight: f64) -> f64 {
    let (flight_before, lost_before) = ((tx_in_flight - size).max(0.0), (lost - size).max(0.0));
    let part = (LOSS_THRESHOLD * flight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
    flight_before + part.max(0.0)
}
