//! Vegas.
//!
//! Source: Linux `net/ipv4/tcp_vegas.c` (5.2, read); Brakmo and Peterson, "TCP Vegas: End to End
//! Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995 (from memory).
//! Model: the smallest RTT ever is the path's without a queue; what the window holds beyond it waits
//! in the queue. Once per round that backlog is taken from the round's smallest RTT: below alpha one
//! segment more, above beta one less, and slow start ends above gamma. Losses, and rounds with too
//! few samples, are Reno's.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | alpha, beta | 2, 4 segments in the queue | `alpha`, `beta`; the paper has 1 and 3, or 2 and 4 |
//! | gamma | 1 segment | `gamma`; the paper likewise |
//! | samples to judge a round | 3 | `tcp_vegas_cong_avoid` |
//! | least window | 2 segments | `tcp_vegas_cong_avoid` |
//! | threshold | at least 3/4 of the window | `tcp_current_ssthresh` |
//!
//! As Linux and unlike the paper: slow start doubles in each round, not in every other; the backlog is
//! `window (rtt - base) / base`, that is the real one times `rtt / base`, cut to whole segments, so
//! that a window rests while it is at least 2 and less than 5; loss detection is not touched; the
//! smallest RTT is never forgotten but for a pause of the application. From these follow: slow start
//! ends only at two to four BDPs if the queue holds them, and comes down by one segment per RTT; a flow
//! that joins a queue takes it for path and gets more than those before it; alone beside a loss-based
//! flow it gets little.
//!
//! | Deviation | Why |
//! |---|---|
//! | the window grows only while it is the limit | Linux lets Vegas grow unused windows without end; RFC 7661 |
//! | Reno is [`NewReno`] with its bytes and its limit per ACK | one Reno in the lab |
//! | judged also amid duplicate ACKs, until a loss is declared | the sender has no phase like Linux's Disorder |

use super::{AckEvent, CongestionControl, NewReno, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant};

const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
const MIN_SAMPLES: u32 = 3;
const MIN_WINDOW: u64 = 2;

/// A window of data: until `end` is acknowledged.
#[derive(Debug, Clone, Copy)]
struct Round {
    end: u64,
    samples: u32,
    min_rtt: Duration,
}

impl Round {
    const fn until(end: u64) -> Self {
        Self { end, samples: 0, min_rtt: Duration::MAX }
    }
}

/// State of Vegas, on top of Reno's window and threshold.
#[derive(Debug, Clone)]
pub struct Vegas {
    segment_size: u64,
    reno: NewReno,
    base_rtt: Duration,
    round: Round,
    /// Reno repairs a loss: what was sampled until it is done counts for nothing.
    suspended: bool,
}

impl Vegas {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        Self {
            segment_size: u64::from(segment_size.max(1)),
            reno: NewReno::new(segment_size),
            base_rtt: Duration::MAX,
            round: Round::until(0),
            suspended: false,
        }
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1));
        self.base_rtt = self.base_rtt.min(rtt);
        self.round.min_rtt = self.round.min_rtt.min(rtt);
        self.round.samples += 1;
    }

    /// `window * numerator / denominator`, in whole segments.
    fn scaled_window(&self, numerator: Duration, denominator: Duration) -> u64 {
        let nanos = |span: Duration| span.as_nanos().max(0).unsigned_abs();
        let window = u128::from(self.reno.cwnd / self.segment_size);
        let scaled = window * u128::from(nanos(numerator)) / u128::from(nanos(denominator).max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// A round is over, and sampled well enough.
    fn judge(&mut self, ack: &AckEvent) {
        let (base, rtt) = (self.base_rtt, self.round.min_rtt);
        let backlog = self.scaled_window(rtt - base, base);
        if !self.reno.in_slow_start() {
            self.adjust(backlog, ack.cwnd_limited);
        } else if backlog > GAMMA {
            // The window that just fills the path, and one for what was rounded off.
            let fitting = (self.scaled_window(base, rtt) + 1) * self.segment_size;
            self.lower(self.reno.cwnd.min(fitting));
        } else {
            self.reno.on_ack(ack);
        }
        self.reno.cwnd = self.reno.cwnd.max(MIN_WINDOW * self.segment_size);
        self.reno.ssthresh = self.reno.ssthresh.max(self.reno.cwnd / 4 * 3);
    }

    fn adjust(&mut self, backlog: u64, cwnd_limited: bool) {
        if backlog > BETA {
            self.lower(self.reno.cwnd.saturating_sub(self.segment_size));
        } else if backlog < ALPHA && cwnd_limited {
            self.reno.cwnd += self.segment_size;
        }
    }

    /// The threshold follows, so that slow start does not come back.
    fn lower(&mut self, cwnd: u64) {
        self.reno.cwnd = cwnd;
        self.reno.ssthresh = self.reno.ssthresh.min(cwnd);
    }
}

without_options! {
    VegasConfig, "vegas",
    "Vegas: keeps two to four segments in the queue, judged by the RTT",
    "Brakmo and Peterson 1995; Linux tcp_vegas.c",
    needs_accurate_ecn: false,
    |segment_size, _seed| Box::new(Vegas::new(segment_size))
}

impl CongestionControl for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if ack.phase != Phase::Open {
            return self.reno.on_ack(ack);
        }
        if std::mem::take(&mut self.suspended) {
            self.round = Round::until(ack.next_sequence);
        }
        if ack.acknowledged > self.round.end {
            if self.round.samples >= MIN_SAMPLES {
                self.judge(ack);
            } else {
                self.reno.on_ack(ack);
            }
            self.round = Round::until(ack.next_sequence);
        } else if self.reno.in_slow_start() {
            self.reno.on_ack(ack);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, in_flight: Bytes) {
        self.suspended = true;
        self.reno.on_congestion_event(now, in_flight);
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.suspended = true;
        self.reno.on_timeout(timeout);
    }

    fn on_spurious_loss(&mut self, now: Instant) {
        self.reno.on_spurious_loss(now);
    }

    /// The path may have changed meanwhile: the next ACK begins a round, and the smallest RTT anew.
    fn on_transmit_start(&mut self, now: Instant, idle: Option<Duration>) {
        self.base_rtt = Duration::MAX;
        self.round = Round::until(0);
        self.reno.on_transmit_start(now, idle);
    }

    fn cwnd(&self) -> Bytes {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.reno.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::quiet_events;

    const SIZE: u64 = 1000;

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    fn ack(acknowledged: u64, next_sequence: u64, rtt: Duration) -> AckEvent {
        AckEvent {
            acknowledged: acknowledged * SIZE,
            next_sequence: next_sequence * SIZE,
            rtt: Some(rtt),
            smoothed_rtt: Some(rtt),
            ..quiet_events::ack(Bytes::new(SIZE))
        }
    }

    /// In congestion avoidance with a smallest RTT of 100 ms.
    fn avoiding(segments: u64) -> Vegas {
        let mut vegas = Vegas::new(SIZE as u32);
        (vegas.reno.cwnd, vegas.reno.ssthresh) = (segments * SIZE, segments * SIZE);
        vegas.base_rtt = ms(100);
        vegas
    }

    /// A whole round of ACKs with this RTT; returns the window in segments.
    fn round(vegas: &mut Vegas, samples: u64, rtt: Duration) -> u64 {
        let start = vegas.round.end / SIZE;
        vegas.round = Round::until((start + samples - 1) * SIZE);
        for sequence in 1..=samples {
            vegas.on_ack(&ack(start + sequence, start + 2 * samples, rtt));
        }
        vegas.reno.cwnd / SIZE
    }

    #[test]
    fn one_segment_per_round_between_alpha_and_beta_by_hand() {
        // 40 segments: 5 ms of queue are 40 * 5 / 100 = 2 segments.
        for (rtt, expected) in [
            (ms(100), 41),                        // nothing waits
            (Duration::from_micros(104_990), 41), // 1.996: still below alpha
            (ms(105), 40),                        // 2
            (ms(110), 40),                        // 4
            (Duration::from_micros(112_490), 40), // 4.996 is cut to 4
            (Duration::from_micros(112_500), 39), // 5
            (ms(300), 39),                        // one at a time, however much
        ] {
            assert_eq!(round(&mut avoiding(40), 10, rtt), expected, "{rtt}");
        }
    }

    #[test]
    fn slow_start_ends_when_more_than_gamma_waits_at_the_window_that_fits() {
        // 40 segments at 105 ms: 2 wait; 40 * 100 / 105 = 38.1, one more: 39.
        // 1.996 is cut to 1, which is not more than gamma: it goes on, by what was acknowledged.
        for (rtt, expected) in [
            (ms(105), (39 * SIZE, 39 * SIZE)),
            (Duration::from_micros(104_990), (41 * SIZE, u64::MAX)),
        ] {
            let mut vegas = avoiding(40);
            vegas.reno.ssthresh = u64::MAX;
            vegas.sample(rtt);
            vegas.sample(rtt);
            vegas.on_ack(&ack(1, 41, rtt));
            assert_eq!((vegas.reno.cwnd, vegas.reno.ssthresh), expected, "{rtt}");
        }
    }

    #[test]
    fn slow_start_doubles_in_every_round() {
        let mut vegas = avoiding(20);
        vegas.reno.ssthresh = u64::MAX;
        for expected in [40, 80, 160] {
            let window = vegas.reno.cwnd / SIZE;
            assert_eq!(round(&mut vegas, window, ms(100)), expected);
        }
    }

    #[test]
    fn two_samples_are_too_few_and_leave_the_round_to_reno() {
        // At 300 ms Vegas would take one; Reno counts acknowledged data towards its next segment.
        let mut vegas = avoiding(40);
        assert_eq!(round(&mut vegas, 2, ms(300)), 40);
        assert_eq!(round(&mut vegas, 3, ms(300)), 39);
        let mut small = avoiding(2);
        assert_eq!(round(&mut small, 2, ms(300)), 2);
        assert_eq!(
            round(&mut small, 2, ms(300)),
            3,
            "two windows acknowledged in the eyes of Reno"
        );
    }

    #[test]
    fn the_smallest_sample_of_the_round_counts_and_two_segments_remain() {
        let mut vegas = avoiding(40);
        vegas.sample(ms(100));
        assert_eq!(round(&mut vegas, 3, ms(300)), 39, "a new round has samples of its own");
        let mut mixed = avoiding(40);
        mixed.round = Round::until(2 * SIZE);
        for (sequence, rtt) in [(1, ms(300)), (2, ms(107)), (3, ms(300))] {
            mixed.on_ack(&ack(sequence, 40, rtt));
        }
        assert_eq!(mixed.reno.cwnd, 40 * SIZE);
        let mut smallest = avoiding(2);
        assert_eq!(round(&mut smallest, 3, ms(900)), 2);
    }

    #[test]
    fn a_loss_halves_and_the_round_in_which_it_is_repaired_is_not_judged() {
        let mut vegas = avoiding(40);
        vegas.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!((vegas.reno.cwnd, vegas.reno.ssthresh), (20 * SIZE, 20 * SIZE));
        for sequence in 1..20 {
            let repair = ack(sequence, 40, ms(300));
            vegas.on_ack(&AckEvent { phase: Phase::Recovery, ..repair });
        }
        vegas.on_ack(&ack(40, 60, ms(300)));
        assert_eq!((vegas.round.samples, vegas.round.end), (0, 60 * SIZE));
        assert_eq!(vegas.reno.cwnd, 20 * SIZE);
        vegas.on_spurious_loss(Instant::ZERO);
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (Bytes::new(40_000), Bytes::new(40_000)));
    }

    #[test]
    fn a_time_out_is_renos_and_the_threshold_follows_at_three_quarters() {
        let mut vegas = avoiding(40);
        vegas.on_timeout(&quiet_events::timeout(true));
        assert_eq!((vegas.reno.cwnd, vegas.reno.ssthresh), (SIZE, 20 * SIZE));
        vegas.on_ack(&AckEvent { phase: Phase::Loss, ..ack(1, 2, ms(300)) });
        assert_eq!(vegas.reno.cwnd, 2 * SIZE, "slow start, whatever the RTT");
        vegas.on_ack(&ack(2, 6, ms(100)));
        assert_eq!((vegas.round.end, vegas.reno.cwnd), (6 * SIZE, 3 * SIZE));
        vegas.reno.cwnd = 40 * SIZE;
        round(&mut vegas, 3, ms(105));
        assert_eq!((vegas.reno.cwnd, vegas.reno.ssthresh), (40 * SIZE, 30 * SIZE));
    }

    #[test]
    fn a_pause_of_the_application_forgets_the_smallest_rtt() {
        let mut vegas = avoiding(40);
        vegas.on_transmit_start(Instant::ZERO, None);
        vegas.on_ack(&ack(1, 40, ms(150)));
        assert_eq!((vegas.base_rtt, vegas.round.end), (ms(150), 40 * SIZE));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut vegas = avoiding(40);
        vegas.round = Round::until(3 * SIZE);
        for sequence in 1..=4 {
            vegas.on_ack(&AckEvent { cwnd_limited: false, ..ack(sequence, 40, ms(100)) });
        }
        assert_eq!(vegas.reno.cwnd, 40 * SIZE);
    }
}
