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

#[cfg(test)]
mod tests {
    use super::super::tests::Feed;
    use super::*;

    const fn ms(count: i64) -> Duration {
        Duration::from_millis(count)
    }

    /// Section 5.5.7 with ACKs at these milliseconds, of these RTTs; the minimum after each, and when the next ProbeRTT is
    /// due. 20 ms were seen at the start.
    fn filtered(acks: &[(i64, i64, bool)]) -> Vec<(Option<Duration>, i64)> {
        let mut filter = MinRtt::new(Instant::ZERO, Some(ms(20)));
        let event = Feed::new(Bbr3::new(1000, 1), ms(20)).event(1e6);
        let of = |&(at, rtt, ack_delayed): &(i64, i64, bool)| {
            let now = Instant::ZERO + ms(at);
            filter.update(&AckEvent { now, rtt: Some(ms(rtt)), ack_delayed, ..event });
            (filter.value, filter.probe_stamp.as_nanos() / 1_000_000 + 5000)
        };
        acks.iter().map(of).collect()
    }

    #[test]
    fn the_minimum_is_of_ten_seconds_and_what_asks_for_a_probe_of_five() {
        let is = |acks: &[(i64, i64, bool)], expected: &[(i64, i64)]| {
            let expected: Vec<_> =
                expected.iter().map(|&(rtt, due)| (Some(ms(rtt)), due)).collect();
            assert_eq!(filtered(acks), expected);
        };
        // A lower one at once, one as low not.
        is(&[(100, 20, false), (200, 19, false)], &[(20, 5000), (19, 5200)]);
        // A higher one is the five seconds' when they are over, and the ten seconds' when those are.
        is(
            &[(5000, 30, false), (5001, 30, false), (10_000, 30, false), (10_001, 30, false)],
            &[(20, 5000), (20, 10_001), (20, 10_001), (30, 10_001)],
        );
        // With a delayed ACK in it none is taken but a lower one.
        is(
            &[(5001, 30, true), (5002, 18, true), (5003, 18, true)],
            &[(20, 5000), (18, 10_002), (18, 10_002)],
        );
    }
}
