//! Which segments behind a gap are acknowledged at once, and which together.
//!
//! Source: Linux 6.18 `__tcp_ack_snd_check`, `tcp_rcv_rtt_update`.
//! Model: after each advance of the cumulative acknowledgment the first three segments behind a gap are
//! answered at once, so that fast retransmit is not late. Those after them wait for one ACK: until a
//! twentieth of the RTT has passed since the first of them, or until there are too many.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | answered at once | 3 | Linux `TCP_FASTRETRANS_THRESH` |
//! | longest wait | 1 ms | Linux `tcp_comp_sack_delay_ns` |
//! | share of the RTT | 1/20 | Linux `__tcp_ack_snd_check` |
//! | slack of the timer | 100 µs | Linux `tcp_comp_sack_slack_ns`: due at its end, if nothing else wakes the processor before |
//! | most segments together | 44 | Linux `tcp_comp_sack_nr` |
//! | weight of an RTT sample | 1/8 | Linux `tcp_rcv_rtt_update` |

use gameway_units::{Duration, Instant};

const AT_ONCE: u32 = 3;
const MAX_WAIT: Duration = Duration::from_millis(1);
const SHARE_OF_RTT: i64 = 20;
const SLACK: Duration = Duration::from_micros(100);
const MAX_TOGETHER: u32 = 44;
const RTT_WEIGHT: i64 = 8;

/// State between two advances of the cumulative acknowledgment.
#[derive(Debug, Clone, Default)]
pub(crate) struct SackCompression {
    rtt: Duration,
    /// The timestamp whose echo gave the last sample: one sample for each ACK.
    measured: Instant,
    cumulative: u64,
    answered: u32,
    waiting: u32,
    due: Option<Instant>,
}

impl SackCompression {
    /// A full segment has arrived that echoes this timestamp of the receiver.
    pub(crate) fn on_echo(&mut self, now: Instant, echo: Instant) {
        if echo <= self.measured {
            return;
        }
        self.measured = echo;
        let sample = now.saturating_since(echo);
        self.rtt = if self.rtt == Duration::ZERO {
            sample
        } else {
            self.rtt + (sample - self.rtt) / RTT_WEIGHT
        };
    }

    /// A segment behind a gap has arrived, the next expected byte is `cumulative`: whether to answer at once.
    pub(crate) fn answers_at_once(&mut self, now: Instant, cumulative: u64) -> bool {
        if self.waiting >= MAX_TOGETHER {
            return true;
        }
        if self.cumulative != cumulative {
            self.cumulative = cumulative;
            self.answered = 0;
        }
        if self.answered < AT_ONCE {
            self.answered += 1;
            return true;
        }
        self.waiting += 1;
        let wait = MAX_WAIT.min(self.rtt / SHARE_OF_RTT) + SLACK;
        self.due.get_or_insert(now.saturating_add(wait));
        false
    }

    /// When the segments that wait are to be answered.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// An ACK has left, for whatever reason.
    pub(crate) const fn on_ack_sent(&mut self) {
        self.waiting = 0;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux `tcp_rcv_rtt_update`: the first sample as it is, then an eighth of each, one for each echo.
    #[test]
    fn the_wait_is_a_twentieth_of_a_smoothed_round_trip() {
        let at = |millis: i64| Instant::from_nanos(millis * 1_000_000);
        let mut compression = SackCompression::default();
        for (echo, arrival, micros) in [(100, 108, 400), (200, 216, 450), (200, 299, 450)] {
            compression.on_echo(at(arrival), at(echo));
            (0..4).for_each(|_| _ = compression.answers_at_once(at(300), arrival as u64));
            // The timer's slack is 100 us.
            let expected = at(300) + Duration::from_micros(micros + 100);
            assert_eq!(compression.due(), Some(expected), "{arrival}");
            compression.on_ack_sent();
        }
    }
}
