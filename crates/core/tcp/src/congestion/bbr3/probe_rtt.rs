//! The smallest RTT, and ProbeRTT to see it.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.3.4 and 5.5.7.
//! Model: two filters: 5 s without a new minimum call for half a BDP in flight for 200 ms and a round,
//! in which queues drain; 10 s without one replace the estimate by what was seen since.

use super::parameters::{
    MIN_RTT_WINDOW, MIN_SEGMENTS, PROBE_RTT_GAIN, PROBE_RTT_INTERVAL, PROBE_RTT_TIME,
};
use super::{AckEvent, AckPhase, Bbr3, ShortTerm, State};
use gameway_units::{Bytes, Duration, Instant};

/// The filters, and the schedule of ProbeRTT.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MinRtt {
    /// Of 10 s.
    pub(super) value: Option<Duration>,
    stamp: Instant,
    /// Of 5 s.
    probe_value: Option<Duration>,
    probe_stamp: Instant,
    probe_expired: bool,
    /// When ProbeRTT may end, once its flight is small, and whether a round has passed since.
    done: Option<Instant>,
    round_done: bool,
}

impl MinRtt {
    pub(super) fn new(now: Instant, rtt: Option<Duration>) -> Self {
        Self { value: rtt, stamp: now, probe_value: rtt, probe_stamp: now, ..Self::default() }
    }

    /// UpdateMinRTT.
    fn update(&mut self, ack: &AckEvent) {
        self.probe_expired = ack.now > self.probe_stamp.saturating_add(PROBE_RTT_INTERVAL);
        if let Some(rtt) = ack.rtt {
            let lower = self.probe_value.is_none_or(|minimum| rtt < minimum);
            if lower || (self.probe_expired && !ack.ack_delayed) {
                self.probe_value = Some(rtt);
                self.probe_stamp = ack.now;
            }
        }
        let expired = ack.now > self.stamp.saturating_add(MIN_RTT_WINDOW);
        let Some(probed) = self.probe_value else { return };
        if expired || self.value.is_none_or(|minimum| probed < minimum) {
            self.value = Some(probed);
            self.stamp = self.probe_stamp;
        }
    }
}

impl Bbr3 {
    /// UpdateMinRTT and CheckProbeRTT.
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) {
        self.min_rtt.update(ack);
        if self.state != State::ProbeRtt && self.min_rtt.probe_expired && !self.idle_restart {
            self.enter_probe_rtt();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.newly_delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    fn enter_probe_rtt(&mut self) {
        self.save_cwnd();
        self.state = State::ProbeRtt;
        self.min_rtt.done = None;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
    }

    fn handle_probe_rtt(&mut self, ack: &AckEvent) {
        if self.min_rtt.done.is_none() {
            if ack.in_flight.as_f64() <= self.probe_rtt_cwnd() {
                self.min_rtt.done = Some(ack.now.saturating_add(PROBE_RTT_TIME));
                self.min_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.starts;
        if self.min_rtt.round_done {
            self.check_probe_rtt_done(ack.now);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = now;
        self.restore_cwnd();
        self.short_term = ShortTerm::UNBOUNDED;
        if self.full_pipe.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bandwidth(), PROBE_RTT_GAIN).max(MIN_SEGMENTS * self.segment_size)
    }
}
