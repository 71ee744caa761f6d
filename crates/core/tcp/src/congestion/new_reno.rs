//! NewReno.
//!
//! Source: RFC 5681 section 3.1, RFC 6582 section 3.2, RFC 3465 (byte counting).
//! Model: slow start adds what was acknowledged; congestion avoidance adds one segment per window
//! acknowledged; a congestion event halves, a time-out halves the threshold and restarts from one
//! segment. Recovery itself is the sender's (RFC 6675 and PRR replace RFC 6582's window inflation).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | initial window | 10 segments | RFC 6928 |
//! | decrease | 1/2 | RFC 5681 equation (4) |
//! | least threshold | 2 segments | RFC 5681 equation (4) |
//! | L | 2 segments per ACK in slow start | RFC 3465 section 2.2 |
//!
//! | Deviation | Why |
//! |---|---|
//! | the threshold is half the window, not half the flight | as Linux; equal while the window is the limit |
//! | L stays 2 after a time-out | RFC 3465 section 2.3 asks for 1; PRR and SACK already hold bursts down |

use super::{AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant};

const SLOW_START_SEGMENTS_PER_ACK: u64 = 2;

/// State of NewReno, in bytes.
#[derive(Debug, Clone)]
pub struct NewReno {
    segment_size: u64,
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// Acknowledged in congestion avoidance and not yet turned into a segment of window.
    credit: u64,
    before_event: (u64, u64),
}

impl NewReno {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        let segment_size = u64::from(segment_size.max(1));
        let cwnd = INITIAL_WINDOW_SEGMENTS * segment_size;
        Self { segment_size, cwnd, ssthresh: u64::MAX, credit: 0, before_event: (cwnd, u64::MAX) }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn decrease(&mut self) {
        self.before_event = (self.cwnd, self.ssthresh);
        self.ssthresh = (self.cwnd / 2).max(2 * self.segment_size);
        self.credit = 0;
    }

    fn slow_start(&mut self, delivered: u64) {
        self.cwnd += delivered.min(SLOW_START_SEGMENTS_PER_ACK * self.segment_size);
    }

    fn congestion_avoidance(&mut self, delivered: u64) {
        self.credit += delivered;
        if self.credit >= self.cwnd {
            self.credit -= self.cwnd;
            self.cwnd += self.segment_size;
        }
    }
}

without_options! {
    NewRenoConfig, "newreno",
    "NewReno with SACK: one segment more per RTT, half on loss",
    "RFC 5681; RFC 6582; RFC 6675",
    needs_accurate_ecn: false,
    |segment_size, _seed| Box::new(NewReno::new(segment_size))
}

impl CongestionControl for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let duplicate = ack.newly_acknowledged == Bytes::ZERO;
        if ack.phase == Phase::Recovery || !ack.cwnd_limited || duplicate {
            return;
        }
        if self.in_slow_start() {
            self.slow_start(ack.newly_delivered.get());
        } else {
            self.congestion_avoidance(ack.newly_delivered.get());
        }
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.decrease();
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.decrease();
        }
        self.cwnd = self.segment_size;
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.cwnd = self.cwnd.max(self.before_event.0);
        self.ssthresh = self.ssthresh.max(self.before_event.1);
    }

    fn on_transmit_start(&mut self, _now: Instant, idle: Option<Duration>) {
        if idle.is_some() {
            self.cwnd = self.cwnd.min(INITIAL_WINDOW_SEGMENTS * self.segment_size);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::quiet_events;

    const SIZE: u64 = 1000;

    fn ack(segments: u64) -> AckEvent {
        let bytes = Bytes::new(segments * SIZE);
        quiet_events::ack(bytes)
    }

    /// After a loss at this window, segments.
    fn reduced_at(segments: u64) -> NewReno {
        let mut reno = NewReno { cwnd: segments * SIZE, ..NewReno::new(SIZE as u32) };
        reno.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        reno
    }

    fn time_out(reno: &mut NewReno, first: bool) {
        reno.on_timeout(&quiet_events::timeout(first));
    }

    fn windows(reno: &NewReno) -> (u64, u64) {
        (reno.cwnd().get() / SIZE, reno.ssthresh().get() / SIZE)
    }

    /// RFC 6928 section 2, RFC 3465 section 2.2.
    #[test]
    fn slow_start_adds_what_is_acknowledged_up_to_two_segments() {
        let mut reno = NewReno::new(SIZE as u32);
        let mut after = |segments| {
            reno.on_ack(&ack(segments));
            reno.cwnd().get() / SIZE
        };
        assert_eq!([1, 2, 3, 9].map(&mut after), [11, 13, 15, 17]);
    }

    /// RFC 5681 section 3.1: a segment for each window that is acknowledged.
    #[test]
    fn congestion_avoidance_adds_a_segment_a_window() {
        let mut reno = reduced_at(8);
        let grown: Vec<u64> = (0..16)
            .map(|_| {
                reno.on_ack(&ack(1));
                reno.cwnd().get() / SIZE
            })
            .collect();
        // Four for the fifth, five for the sixth, six for the seventh.
        assert_eq!(grown, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7]);
        // What is left of a window counts for the next.
        let mut reno = reduced_at(8);
        let mut after = |segments| {
            reno.on_ack(&ack(segments));
            reno.cwnd().get() / SIZE
        };
        assert_eq!([3, 3, 3].map(&mut after), [4, 5, 6]);
    }

    #[test]
    fn a_loss_halves_and_a_time_out_begins_anew_from_one_segment() {
        assert_eq!(windows(&reduced_at(20)), (10, 10));
        assert_eq!(windows(&reduced_at(3)), (2, 2), "equation (4)");
        let mut reno = reduced_at(20);
        time_out(&mut reno, true);
        assert_eq!(windows(&reno), (1, 5));
        assert!(reno.in_slow_start());
        time_out(&mut reno, false);
        assert_eq!(windows(&reno), (1, 5), "the threshold falls once for the same data");
        (0..4).for_each(|_| reno.on_ack(&ack(1)));
        assert_eq!(windows(&reno), (5, 5));
        assert!(!reno.in_slow_start());
    }

    #[test]
    fn what_proves_no_room_lets_the_window_be() {
        for still in [
            AckEvent { phase: Phase::Recovery, ..ack(2) },
            AckEvent { cwnd_limited: false, ..ack(2) },
            AckEvent { newly_acknowledged: Bytes::ZERO, ..ack(2) },
        ] {
            let mut reno = NewReno::new(SIZE as u32);
            reno.on_ack(&still);
            assert_eq!(windows(&reno).0, 10);
        }
    }

    #[test]
    fn a_loss_that_was_none_gives_back_what_it_took() {
        let mut reno = reduced_at(40);
        reno.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!(windows(&reno), (10, 10));
        reno.on_spurious_loss(Instant::ZERO);
        assert_eq!(windows(&reno), (20, 20));
    }

    /// RFC 5681 section 4.1.
    #[test]
    fn after_an_idle_time_the_window_is_the_first_at_most() {
        for (segments, idle, expected) in [(40, true, 10), (12, true, 6), (40, false, 20)] {
            let mut reno = reduced_at(segments);
            reno.on_transmit_start(Instant::ZERO, idle.then_some(Duration::from_secs(1)));
            assert_eq!(windows(&reno).0, expected);
        }
    }
}
