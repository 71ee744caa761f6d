//! HyStart++: slows slow start down where the delay rises, and ends it if that was no false alarm.
//!
//! Source: RFC 9406 sections 4.2 and 4.3.
//! Model: rounds as windows of data. Where the smallest RTT of a round is above that of the round before by an eighth,
//! slow start becomes conservative: the window grows by a quarter. If the RTT falls below what it was then, slow start
//! goes on as before; after five rounds it is over.
//!
//! ```text
//!            rise of the RTT                  5 rounds
//! SlowStart ────────────────► Conservative ───────────► Over
//!           ◄────────────────
//!              RTT falls
//! ```
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | MIN_RTT_THRESH, MAX_RTT_THRESH | 4 ms, 16 ms | RFC 9406 section 4.3 |
//! | MIN_RTT_DIVISOR | 8 | RFC 9406 section 4.3 |
//! | N_RTT_SAMPLE | 8 | RFC 9406 section 4.3 |
//! | CSS_GROWTH_DIVISOR | 4 | RFC 9406 section 4.3 |
//! | CSS_ROUNDS | 5 | RFC 9406 section 4.3 |

use gameway_units::Duration;

const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
const RTT_DIVISOR: i64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;

/// How slow start goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Pace {
    #[default]
    SlowStart,
    /// Conservative slow start: the number of rounds completed in it, and the smallest RTT when it began.
    Conservative {
        rounds: u32,
        baseline: Duration,
    },
    Over,
}

/// The detector of the first slow start of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStartPlusPlus {
    pace: Pace,
    /// Smallest RTT of the round before, and of this one.
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    /// The round is over when this is acknowledged.
    round_end: u64,
}

impl HyStartPlusPlus {
    /// An ACK in slow start, with what is acknowledged and the next new offset.
    pub(super) fn on_ack(&mut self, acknowledged: u64, next_sequence: u64, rtt: Duration) {
        if acknowledged > self.round_end {
            self.start_round(next_sequence);
        }
        self.this_round = Some(self.this_round.map_or(rtt, |smallest| smallest.min(rtt)));
        self.samples += 1;
        if self.samples >= SAMPLES {
            self.judge();
        }
    }

    fn judge(&mut self) {
        let Some(this_round) = self.this_round else { return };
        match self.pace {
            Pace::SlowStart => {
                let Some(last_round) = self.last_round else { return };
                let rise = (last_round / RTT_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if this_round >= last_round.saturating_add(rise) {
                    self.pace = Pace::Conservative { rounds: 0, baseline: this_round };
                }
            }
            Pace::Conservative { baseline, .. } if this_round < baseline => {
                self.pace = Pace::SlowStart;
            }
            Pace::Conservative { .. } | Pace::Over => {}
        }
    }

    fn start_round(&mut self, next_sequence: u64) {
        self.last_round = self.this_round.take();
        self.samples = 0;
        self.round_end = next_sequence;
        if let Pace::Conservative { rounds, .. } = &mut self.pace {
            // The round in which it began counts, too.
            *rounds += 1;
            if *rounds >= CONSERVATIVE_ROUNDS {
                self.pace = Pace::Over;
            }
        }
    }

    /// By what the growth of slow start is divided.
    pub(super) fn growth_divisor(&self) -> f64 {
        match self.pace {
            Pace::SlowStart | Pace::Over => 1.0,
            Pace::Conservative { .. } => GROWTH_DIVISOR,
        }
    }

    /// Whether congestion avoidance is to begin.
    pub(super) fn is_over(&self) -> bool {
        self.pace == Pace::Over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Rounds of ten ACKs each with these RTTs; the divisor and whether it is over after each round.
    fn rounds(rtts: &[i64]) -> Vec<(f64, bool)> {
        let mut hystart = HyStartPlusPlus::default();
        let mut run = |(round, rtt): (u64, &i64)| {
            (1..=10).for_each(|step| hystart.on_ack(round * 10 + step, round * 10 + 10, ms(*rtt)));
            (hystart.growth_divisor(), hystart.is_over())
        };
        (0..).zip(rtts).map(&mut run).collect()
    }

    /// Whether a rise from one RTT to another, after three rounds, makes it conservative.
    fn is_alarmed(from: i64, to: i64) -> bool {
        let found = rounds(&[from, from, from, from, to, to]);
        found.last().is_some_and(|(divisor, _)| *divisor > 1.0)
    }

    #[test]
    fn a_rise_by_an_eighth_within_bounds_alarms() {
        // An eighth of 80 ms is 10 ms; of 16 ms less than the least, of 200 ms more than the greatest.
        assert!(is_alarmed(80, 90) && !is_alarmed(80, 89));
        assert!(is_alarmed(16, 20) && !is_alarmed(16, 19));
        assert!(is_alarmed(200, 216) && !is_alarmed(200, 215));
    }

    #[test]
    fn a_round_of_fewer_than_eight_samples_says_nothing() {
        let last = |samples: u64| {
            let mut hystart = HyStartPlusPlus::default();
            (1..=8).for_each(|step| hystart.on_ack(step, 8, ms(40)));
            (0..samples).for_each(|_| hystart.on_ack(9, 9, ms(60)));
            hystart.growth_divisor()
        };
        // By hand: RFC 9406 section 4.2, with GROWTH_DIVISOR 4.
        assert!((last(7) - 1.0).abs() < 1e-9 && (last(8) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn five_conservative_rounds_end_it() {
        let found = rounds(&[40, 40, 40, 50, 50, 50, 50, 50, 50, 50, 50]);
        let alarmed = found.iter().position(|one| one.0 > 1.0).expect("the rise is found");
        let over = found.iter().position(|one| one.1).expect("it ends");
        assert_eq!((alarmed, over - alarmed), (3, 5), "{found:?}");
        assert!(found[over..].iter().all(|one| one.1 && (one.0 - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_fall_below_the_baseline_takes_it_back() {
        let found = rounds(&[40, 40, 40, 50, 50, 49, 49, 49, 49, 49, 49, 49]);
        assert!(
            found[4].0 > 1.0 && found[5..].iter().all(|one| one.0 < 2.0 && !one.1),
            "{found:?}"
        );
        // As high as the baseline is no fall.
        assert!(rounds(&[40, 40, 40, 50, 50, 50, 50, 50, 50]).iter().any(|one| one.1));
    }
}
