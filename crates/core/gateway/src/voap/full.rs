//! What the link carried lately while packets waited: what it has for those that come.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory | 10 s | ours: a link that was not full for so long may be another |
//! | a lower rate takes the place of a higher after | 2 s | ours: what the gateway may take to follow a link that halves |
//! | shortest span of a rate | 40 ms | ours: the packets of 1 Mb/s in it are three; shorter ones count bursts |

use gameway_units::{Bytes, Duration, Instant};

const MEMORY: Duration = Duration::from_secs(10);
const HIGHEST_FOR: Duration = Duration::from_secs(2);
const MIN_SPAN: Duration = Duration::from_millis(40);

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Full {
    bytes: Bytes,
    span: Duration,
    /// Bytes per second, and when it was so.
    highest: Option<(Instant, f64)>,
    last: Instant,
}

impl Full {
    /// A period of length `span` has ended in which `bytes` came, and packets waited or did not.
    pub(super) fn on_period(&mut self, now: Instant, bytes: Bytes, span: Duration, waited: bool) {
        if !waited {
            (self.bytes, self.span) = (Bytes::ZERO, Duration::ZERO);
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.span = self.span.saturating_add(span);
        if self.span < MIN_SPAN {
            return;
        }
        let rate = self.bytes.as_f64() / self.span.as_secs_f64();
        let holds = |(at, highest): (Instant, f64)| {
            highest > rate && now.saturating_since(at) < HIGHEST_FOR
        };
        if !self.highest.is_some_and(holds) {
            self.highest = Some((now, rate));
        }
        (self.bytes, self.span, self.last) = (Bytes::ZERO, Duration::ZERO, now);
    }

    /// What the link carries, in bytes per second, if it was full lately.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        let fresh = now.saturating_since(self.last) < MEMORY;
        self.highest.filter(|_| fresh).map(|(_, rate)| rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Periods of 20 ms from `from` to `to`, each with `bytes` bytes.
    fn play(full: &mut Full, from: i64, to: i64, bytes: u64, waited: bool) {
        for end in (from + 20..=to).step_by(20) {
            full.on_period(at(end), Bytes::new(bytes), Duration::from_millis(20), waited);
        }
    }

    #[test]
    fn the_rate_is_known_while_packets_wait_and_ten_seconds_longer() {
        let mut full = Full::default();
        play(&mut full, 0, 1_000, 2_000, false);
        assert_eq!(full.rate(at(1_000)), None, "nothing waited");
        play(&mut full, 1_000, 1_020, 2_000, true);
        assert_eq!(full.rate(at(1_020)), None, "a burst");
        play(&mut full, 1_020, 1_040, 3_000, true);
        assert_eq!(full.rate(at(11_039)), Some(125_000.0));
        assert_eq!(full.rate(at(11_040)), None);
    }

    #[test]
    fn a_burst_that_ends_says_nothing() {
        let mut full = Full::default();
        for from in (0..1_000).step_by(40) {
            play(&mut full, from, from + 20, 2_000, true);
            play(&mut full, from + 20, from + 40, 2_000, false);
        }
        assert_eq!(full.rate(at(1_000)), None);
    }

    #[test]
    fn a_higher_rate_counts_at_once_and_a_lower_one_after_two_seconds() {
        let mut full = Full::default();
        play(&mut full, 0, 1_000, 2_000, true);
        play(&mut full, 1_000, 1_040, 4_000, true);
        assert_eq!(full.rate(at(1_040)), Some(200_000.0));
        play(&mut full, 1_040, 3_000, 1_000, true);
        assert_eq!(full.rate(at(3_000)), Some(200_000.0));
        play(&mut full, 3_000, 3_080, 1_000, true);
        assert_eq!(full.rate(at(3_080)), Some(50_000.0));
    }

    #[test]
    fn the_two_seconds_begin_when_the_higher_rate_was_there_last() {
        let mut full = Full::default();
        play(&mut full, 0, 1_000, 2_000, true);
        play(&mut full, 1_000, 2_960, 1_000, true);
        assert_eq!(full.rate(at(2_960)), Some(100_000.0));
        play(&mut full, 2_960, 3_000, 1_000, true);
        assert_eq!(full.rate(at(3_000)), Some(50_000.0));
    }
}
