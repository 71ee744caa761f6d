//! The base delay measured anew: now and then the rate is halved until a standing queue must be empty.
//!
//! Source: Ericsson's `ScreamV2Tx::getTargetBitrate` (0208f59 of November 2025). The draft names it in its section on clock
//! drift and gives no rule.
//!
//! Model: while the average of the delay's minima is above an eighth of the delay target, the target bitrate is halved once
//! a minute for five round trips; then the base delay is forgotten. Flows that came later took the queue of the others for
//! the empty path; so they learn what they share.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | from | 1/8 of the delay target | C++ |
//! | once in | 60 s, from the start on | C++ (`kBaseDelayResetInterval_ntp`) |
//! | for | 5 round trips, 100 ms at least | C++ (`kNumRateLimitRtts`) |
//! | to | half the target bitrate | C++ |

use gameway_units::{Duration, Instant};

const FROM_SHARE_OF_TARGET: f64 = 1.0 / 8.0;
const ONCE_IN: Duration = Duration::from_secs(60);
const ROUND_TRIPS: f64 = 5.0;
const MIN_LENGTH: Duration = Duration::from_millis(100);
const SHARE: f64 = 0.5;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Drain {
    /// When the last one began, at first when the stream did.
    began: Option<Instant>,
    halves: bool,
}

impl Drain {
    /// The share of the target bitrate that may be used.
    pub(super) fn share(&self) -> f64 {
        if self.halves { SHARE } else { 1.0 }
    }

    /// A report came; gives whether the base delay is to be forgotten.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        minima_secs: f64,
        delay_target_secs: f64,
        smoothed_rtt: Duration,
    ) -> bool {
        let began = *self.began.get_or_insert(now);
        if minima_secs <= delay_target_secs * FROM_SHARE_OF_TARGET {
            self.halves = false;
            return false;
        }
        if now.saturating_since(began) > ONCE_IN {
            self.began = Some(now);
            self.halves = true;
            return false;
        }
        let length = smoothed_rtt.mul_f64(ROUND_TRIPS).max(MIN_LENGTH);
        let over = self.halves && now.saturating_since(began) >= length;
        self.halves &= !over;
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET_SECS: f64 = 0.06;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Reports each 10 ms with these minima: when the rate was halved, and when the base was forgotten, in ms.
    fn spans(minima_secs: f64, rtt_millis: i64) -> (Vec<i64>, Vec<i64>) {
        let mut drain = Drain::default();
        let (mut halved, mut forgotten) = (Vec::new(), Vec::new());
        for millis in (0..130_000).step_by(10) {
            let rtt = Duration::from_millis(rtt_millis);
            if drain.on_report(at(millis), minima_secs, TARGET_SECS, rtt) {
                forgotten.push(millis);
            }
            if drain.share() < 1.0 {
                halved.push(millis);
            }
        }
        (halved, forgotten)
    }

    #[test]
    fn once_a_minute_it_halves_for_five_round_trips() {
        let (halved, forgotten) = spans(0.008, 50);
        assert_eq!(halved.first().zip(halved.get(24)), Some((&60_010, &60_250)));
        assert_eq!(halved.len(), 50);
        assert_eq!(forgotten, [60_260, 120_270]);
        // A tenth of a second at least.
        assert_eq!(spans(0.008, 4).0.len(), 20);
    }

    #[test]
    fn a_short_queue_is_left_alone() {
        assert_eq!(spans(0.0075, 50), (Vec::new(), Vec::new()));
    }
}
