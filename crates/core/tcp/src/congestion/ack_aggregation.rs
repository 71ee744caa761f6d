//! How much more than expected is acknowledged at once.
//!
//! Source: Linux `net/ipv4/tcp_bbr.c`, `bbr_update_ack_aggregation` and `bbr_ack_aggregation_cwnd`;
//! draft-ietf-ccwg-bbr-06 section 5.5.9.
//! Model: within an epoch the acknowledged data is compared with the bandwidth estimate times the
//! time; the largest surplus of the last five to ten rounds is added to the window, so that a path
//! that acknowledges in clumps is not starved.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | window | two halves of 5 rounds; of 1 in the Startup of versions 2 and 3 | `bbr_extra_acked_win_rtts`, `bbr_extra_acked_in_startup` |
//! | largest bonus | 100 ms of bandwidth | `bbr_extra_acked_max_us` |
//! | longest epoch | 2^20 segments | `bbr_ack_epoch_acked_reset_thresh` |

use gameway_units::Instant;

/// Rounds in each half of the window, once the pipe is full.
pub(super) const ROUNDS: u32 = 5;
const MAX_BONUS_SECS: f64 = 0.1;
const MAX_EPOCH_SEGMENTS: f64 = 1_048_576.0;

/// Surplus of acknowledged bytes.
#[derive(Debug, Clone)]
pub(super) struct AckAggregation {
    half: u32,
    epoch_start: Instant,
    epoch_acked: f64,
    surplus: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Default for AckAggregation {
    fn default() -> Self {
        Self {
            half: ROUNDS,
            epoch_start: Instant::ZERO,
            epoch_acked: 0.0,
            surplus: [0.0; 2],
            current: 0,
            rounds: 0,
        }
    }
}

impl AckAggregation {
    /// Remembers for one to two times that many rounds.
    pub(super) fn set_half_window(&mut self, rounds: u32) {
        self.half = rounds;
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        round_starts: bool,
        acked: f64,
        rate: f64,
        cwnd: f64,
        segment_size: f64,
    ) {
        if round_starts {
            self.on_round();
        }
        let mut expected = rate * (now - self.epoch_start).as_secs_f64();
        let longest = MAX_EPOCH_SEGMENTS * segment_size;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= longest {
            self.restart(now);
            expected = 0.0;
        }
        self.epoch_acked += acked;
        let surplus = (self.epoch_acked - expected).min(cwnd);
        let largest = &mut self.surplus[self.current];
        *largest = largest.max(surplus);
    }

    fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= self.half {
            self.rounds = 0;
            self.current = 1 - self.current;
            self.surplus[self.current] = 0.0;
        }
    }

    /// Bytes to add to the window at that bandwidth.
    pub(super) fn bonus(&self, rate: f64) -> f64 {
        self.surplus[0].max(self.surplus[1]).min(rate * MAX_BONUS_SECS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clumped_acks_earn_their_clump_and_lose_it_after_ten_rounds() {
        let mut aggregation = AckAggregation::default();
        let at = |millis: i64| Instant::from_nanos(millis * 1_000_000);
        // 1 MB/s in clumps of 10 kB every 10 ms.
        for step in 0..10 {
            aggregation.on_ack(at(10 * step), false, 10_000.0, 1e6, 1e9, 1000.0);
        }
        assert!((aggregation.bonus(1e6) - 10_000.0).abs() < 1.0);
        assert!((aggregation.bonus(1e4) - 1000.0).abs() < 1.0);
        // Smooth from here on: a segment per millisecond.
        for step in 0..20 {
            aggregation.on_ack(at(100 + step), step % 2 == 0, 1000.0, 1e6, 1e9, 1000.0);
        }
        assert!(aggregation.bonus(1e6) < 2001.0);
    }

    const SEGMENT: f64 = 1000.0;
    const FAST: f64 = 1e12;

    #[test]
    fn a_surplus_is_remembered_for_one_to_two_halves_of_the_window() {
        for half in [ROUNDS, 1] {
            let mut aggregation = AckAggregation::default();
            if half != ROUNDS {
                aggregation.set_half_window(half);
            }
            let at = |tenths: u32| Instant::from_nanos(i64::from(tenths) * 100_000_000);
            aggregation.on_ack(at(1), false, 10.0 * SEGMENT, 1e6, 1e9, SEGMENT);
            for round in 1..=2 * half {
                aggregation.on_ack(at(1 + round), true, SEGMENT, 1e6, 1e9, SEGMENT);
                let expected = if round < 2 * half { 10.0 } else { 1.0 };
                let found = aggregation.bonus(FAST) / SEGMENT;
                assert!((found - expected).abs() < 1e-9, "round {round} of {half}: {found}");
            }
        }
    }

    /// `bbr_ack_epoch_acked_reset_thresh`: an epoch ends before it has 2^20 segments. And a surplus is no more than a window.
    #[test]
    fn an_epoch_ends_before_2_to_the_20_segments_and_a_surplus_at_a_window() {
        let segments = |count: f64, cwnd: f64| {
            let mut aggregation = AckAggregation::default();
            aggregation.restart(Instant::ZERO);
            for acked in [524_288.0, count] {
                let acked = acked * SEGMENT;
                aggregation.on_ack(Instant::ZERO, false, acked, 1e6, cwnd * SEGMENT, SEGMENT);
            }
            (aggregation.bonus(FAST) / SEGMENT) as u64
        };
        assert_eq!(segments(524_287.0, 1e9), 1_048_575);
        assert_eq!(segments(524_288.0, 1e9), 524_288);
        assert_eq!(segments(524_287.0, 700_000.0), 700_000);
    }
}
