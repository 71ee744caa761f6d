//! HyStart++: leaves slow start before it overshoots.
//!
//! Source: RFC 9406 section 4.
//! Model: per round, the smallest RTT of the first samples is compared with that of the round
//! before. A rise means that a queue builds: conservative slow start follows, growing at a quarter
//! of the speed. If the RTT falls back the rise was spurious; after five rounds it is believed and
//! congestion avoidance begins.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | MIN_RTT_THRESH, MAX_RTT_THRESH | 4 ms, 16 ms | RFC 9406 section 4.3 |
//! | MIN_RTT_DIVISOR | 8 | RFC 9406 section 4.3 |
//! | N_RTT_SAMPLE | 8 | RFC 9406 section 4.3 |
//! | CSS_GROWTH_DIVISOR, CSS_ROUNDS | 4, 5 | RFC 9406 section 4.3 |
//! | L | 8 segments per ACK, no pacing | RFC 9406 section 4.3 |
//!
//! | Deviation | Why |
//! |---|---|
//! | Linux runs the older HyStart (ACK trains and delay) | this is the standard; starts overshoot slightly differently |

use gameway_units::Duration;

const LEAST_RISE: Duration = Duration::from_millis(4);
const LARGEST_RISE: Duration = Duration::from_millis(16);
const RTT_DIVISOR: i64 = 8;
const SAMPLES: u32 = 8;
const CONSERVATIVE_DIVISOR: u64 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
const SEGMENTS_PER_ACK: u64 = 8;

/// Where slow start stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Standard,
    Conservative { baseline: Duration, rounds: u32 },
}

/// The detector of one slow start.
#[derive(Debug, Clone)]
pub struct HyStart {
    segment_size: u64,
    stage: Stage,
    round_end: u64,
    last_round_min: Option<Duration>,
    this_round_min: Option<Duration>,
    samples: u32,
}

/// What slow start does on an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowStart {
    /// Adds this many bytes to the window.
    Grow(u64),
    /// Ends: the threshold becomes the present window.
    Leave,
}

impl HyStart {
    /// For segments of `segment_size`.
    #[must_use]
    pub fn new(segment_size: u64) -> Self {
        Self {
            segment_size,
            stage: Stage::Standard,
            round_end: 0,
            last_round_min: None,
            this_round_min: None,
            samples: 0,
        }
    }

    /// An ACK during slow start: everything below `acknowledged` arrived, `next_sequence` is the
    /// next new byte, `delivered` bytes are new.
    pub fn on_ack(
        &mut self,
        acknowledged: u64,
        next_sequence: u64,
        delivered: u64,
        rtt: Option<Duration>,
    ) -> SlowStart {
        if acknowledged >= self.round_end {
            self.start_round(next_sequence);
            if self.conservative_rounds_are_over() {
                return SlowStart::Leave;
            }
        }
        if let Some(rtt) = rtt {
            self.on_rtt(rtt);
        }
        let capped = delivered.min(SEGMENTS_PER_ACK * self.segment_size);
        SlowStart::Grow(match self.stage {
            Stage::Standard => capped,
            Stage::Conservative { .. } => capped / CONSERVATIVE_DIVISOR,
        })
    }

    fn start_round(&mut self, next_sequence: u64) {
        self.round_end = next_sequence;
        self.last_round_min = self.this_round_min.take();
        self.samples = 0;
    }

    fn conservative_rounds_are_over(&mut self) -> bool {
        match &mut self.stage {
            Stage::Standard => false,
            Stage::Conservative { rounds, .. } => {
                *rounds += 1;
                *rounds >= CONSERVATIVE_ROUNDS
            }
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        let minimum = self.this_round_min.map_or(rtt, |minimum| minimum.min(rtt));
        self.this_round_min = Some(minimum);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match (self.stage, self.last_round_min) {
            (Stage::Standard, Some(last)) => {
                let rise = (last / RTT_DIVISOR).clamp(LEAST_RISE, LARGEST_RISE);
                if minimum >= last.saturating_add(rise) {
                    self.stage = Stage::Conservative { baseline: minimum, rounds: 0 };
                }
            }
            (Stage::Conservative { baseline, .. }, _) if minimum < baseline => {
                self.stage = Stage::Standard;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    /// A round of ten ACKs of one segment each with the same RTT; returns what each did.
    fn round(hystart: &mut HyStart, start: u64, rtt: Duration) -> Vec<SlowStart> {
        (0..10).map(|index| hystart.on_ack(start + index, start + 10, 1000, Some(rtt))).collect()
    }

    #[test]
    fn rise_slows_down_and_five_rounds_end_it() {
        let mut hystart = HyStart::new(1000);
        assert_eq!(round(&mut hystart, 0, ms(20)), vec![SlowStart::Grow(1000); 10]);
        // 20/8 = 2.5 ms is below the least rise of 4 ms: 23 ms is still no queue.
        assert_eq!(round(&mut hystart, 10, ms(23)), vec![SlowStart::Grow(1000); 10]);
        let rising = round(&mut hystart, 20, ms(27));
        assert_eq!(
            rising[6..9],
            [SlowStart::Grow(1000), SlowStart::Grow(250), SlowStart::Grow(250)]
        );
        for start in [30, 40, 50, 60] {
            assert_eq!(round(&mut hystart, start, ms(30)), vec![SlowStart::Grow(250); 10]);
        }
        assert_eq!(hystart.on_ack(70, 80, 1000, Some(ms(30))), SlowStart::Leave);
    }

    #[test]
    fn spurious_rise_is_taken_back() {
        let mut hystart = HyStart::new(1000);
        round(&mut hystart, 0, ms(20));
        round(&mut hystart, 10, ms(30));
        let back = round(&mut hystart, 20, ms(21));
        assert_eq!(back[6..8], [SlowStart::Grow(250), SlowStart::Grow(1000)]);
    }
}
