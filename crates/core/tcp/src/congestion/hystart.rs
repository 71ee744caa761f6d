//! HyStart: leaves slow start before it overshoots.
//!
//! Source: Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 2011; Linux
//! `net/ipv4/tcp_cubic.c`, `hystart_update`.
//! Model: slow start ends as soon as one of two signs says that the pipe is full. A train of ACKs, each at most
//! 2 ms behind the one before, has lasted half of the smallest RTT: as much is in flight as fits. Or the smallest
//! RTT of a round's first samples is above the smallest of all by an eighth: a queue builds.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | least window | 16 segments | `hystart_low_window` |
//! | gap within a train | 2 ms at most | `hystart_ack_delta_us` |
//! | allowance for bursts | four largest bursts at the rate of slow start, 1 ms at most | `hystart_ack_delay` |
//! | samples of a round | 8, then judged | `HYSTART_MIN_SAMPLES` |
//! | rise of the RTT | an eighth, 4 to 16 ms | `HYSTART_DELAY_THRESH` |
//!
//! HyStart++ ([`super::hystart_plus_plus`]) slows down where this one stops at once; Linux has not taken it over.

use gameway_units::{Bytes, Duration, Instant, Rate};

const MIN_WINDOW: f64 = 16.0;
const TRAIN_GAP: Duration = Duration::from_millis(2);
const MAX_ALLOWANCE: Duration = Duration::from_millis(1);
const FOUR_BURSTS: Bytes = Bytes::new(4 * 65_536);
const SAMPLES: u32 = 8;
const RTT_DIVISOR: i64 = 8;
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);

/// What an ACK in slow start tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowStartAck {
    pub(super) now: Instant,
    /// Stream offset below which everything has arrived, and the next new one.
    pub(super) acknowledged: u64,
    pub(super) next_sequence: u64,
    /// RTT of the newest segment that it covers.
    pub(super) rtt: Duration,
    /// Window, segments.
    pub(super) window: f64,
    /// Two windows per smoothed RTT.
    pub(super) rate: Rate,
}

/// The detector of one slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    found: bool,
    smallest: Option<Duration>,
    round_start: Instant,
    round_end: u64,
    round_smallest: Option<Duration>,
    samples: u32,
    /// Latest ACK of the train that began with the round.
    last_of_train: Instant,
}

impl HyStart {
    /// A slow start begins: of a connection, or after a time-out.
    pub(super) fn start(now: Instant, next_sequence: u64) -> Self {
        let mut hystart = Self::default();
        hystart.start_round(now, next_sequence);
        hystart
    }

    fn start_round(&mut self, now: Instant, next_sequence: u64) {
        self.round_start = now;
        self.last_of_train = now;
        self.round_end = next_sequence;
        self.round_smallest = None;
        self.samples = 0;
    }

    /// Whether slow start has to end now; says so once.
    pub(super) fn is_full(&mut self, ack: &SlowStartAck) -> bool {
        let smallest = self.smallest.map_or(ack.rtt, |smallest| smallest.min(ack.rtt));
        self.smallest = Some(smallest);
        if self.found {
            return false;
        }
        if ack.acknowledged > self.round_end {
            self.start_round(ack.now, ack.next_sequence);
        }
        if ack.window >= MIN_WINDOW {
            let train = self.is_train_long(ack, smallest);
            let rise = self.has_rtt_risen(ack.rtt, smallest);
            self.found = train || rise;
        }
        self.found
    }

    fn is_train_long(&mut self, ack: &SlowStartAck, smallest: Duration) -> bool {
        if ack.now.saturating_since(self.last_of_train) > TRAIN_GAP {
            return false;
        }
        self.last_of_train = ack.now;
        let allowance = if ack.rate > Rate::ZERO {
            ack.rate.time_for(FOUR_BURSTS).min(MAX_ALLOWANCE)
        } else {
            Duration::ZERO
        };
        ack.now.saturating_since(self.round_start) > (smallest + allowance) / 2
    }

    fn has_rtt_risen(&mut self, rtt: Duration, smallest: Duration) -> bool {
        let round = self.round_smallest.map_or(rtt, |round| round.min(rtt));
        self.round_smallest = Some(round);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round > smallest + (smallest / RTT_DIVISOR).clamp(MIN_RISE, MAX_RISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(micros: i64) -> Duration {
        Duration::from_micros(micros)
    }

    /// A round of ACKs every `gap`, the first at `start`, each with the same RTT and window; the number of the ACK
    /// that ends slow start.
    fn round(
        hystart: &mut HyStart,
        start: Duration,
        gap: Duration,
        rtt: Duration,
        window: f64,
    ) -> Option<i64> {
        let begin = hystart.round_end + 1;
        (0..20).find(|index| {
            hystart.is_full(&SlowStartAck {
                now: Instant::ZERO + start + gap * *index,
                acknowledged: begin + *index as u64,
                next_sequence: begin + 20,
                rtt,
                window,
                rate: Rate::from_mbps(30),
            })
        })
    }

    #[test]
    fn a_train_of_half_the_rtt_ends_it() {
        let mut hystart = HyStart::start(Instant::ZERO, 0);
        // Half of 20 ms and of the largest allowance: 10.5 ms, passed by the twelfth ACK after the first.
        assert_eq!(round(&mut hystart, us(20_000), us(900), us(20_000), 20.0), Some(12));
        // Once only.
        assert_eq!(round(&mut hystart, us(50_000), us(900), us(20_000), 20.0), None);
        let mut sparse = HyStart::start(Instant::ZERO, 0);
        assert_eq!(round(&mut sparse, us(20_000), us(2_100), us(20_000), 20.0), None);
        let mut small = HyStart::start(Instant::ZERO, 0);
        assert_eq!(round(&mut small, us(20_000), us(900), us(20_000), 15.9), None);
    }

    #[test]
    fn a_train_begins_with_its_round_and_without_a_rate_has_no_allowance() {
        let ack = |now: Duration, rate| SlowStartAck {
            now: Instant::ZERO + now,
            acknowledged: 0,
            next_sequence: 20,
            rtt: us(20_000),
            window: 20.0,
            rate,
        };
        // A slow start at 5 s: its first train has lasted 2 ms, not 5 s.
        let mut later = HyStart::start(Instant::ZERO + us(5_000_000), 0);
        assert!(!later.is_full(&ack(us(5_002_000), Rate::ZERO)));
        // Half of the RTT, to the microsecond; the bursts of a fast flow make it longer: four of them last 0.4 ms.
        for (rate, half) in [(Rate::ZERO, 10_000), (Rate::from_bps(5_242_880_000), 10_200)] {
            let ends = |last| {
                let mut hystart = HyStart::start(Instant::ZERO, 0);
                let times = (1..=5).map(|step| step * 1_990).chain([last]);
                times.map(us).any(|now| hystart.is_full(&ack(now, rate)))
            };
            assert!(!ends(half) && ends(half + 1), "{rate}");
        }
    }

    #[test]
    fn a_risen_rtt_ends_it_after_eight_samples() {
        let mut hystart = HyStart::start(Instant::ZERO, 0);
        // Gaps of 3 ms: no train. An eighth of 40 ms is 5 ms.
        assert_eq!(round(&mut hystart, us(40_000), us(3_000), us(40_000), 20.0), None);
        assert_eq!(round(&mut hystart, us(100_000), us(3_000), us(45_000), 20.0), None);
        assert_eq!(round(&mut hystart, us(160_000), us(3_000), us(45_001), 20.0), Some(8));
        // The least rise is 4 ms: an eighth of 16 ms is less.
        let mut short = HyStart::start(Instant::ZERO, 0);
        assert_eq!(round(&mut short, us(40_000), us(3_000), us(16_000), 20.0), None);
        assert_eq!(round(&mut short, us(100_000), us(3_000), us(20_000), 20.0), None);
        assert_eq!(round(&mut short, us(160_000), us(3_000), us(20_001), 20.0), Some(8));
    }
}
