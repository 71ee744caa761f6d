//! What a cut shows: whether what is measured is a queue that these windows fill.
//!
//! Source: Little's law. Of windows that fill a queue a cut takes wait and leaves the rate, which is the link's; of a longer
//! path, of jitter, and of a queue that others fill it takes rate and leaves the wait.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | refuted | less than half of what should drain has drained, and more than half of the cut is missing in the rate | ours: the middle between the two |
//! | and packets in front of the gateway wait longer than before by at most | an eighth and 1 ms | ours: of a longer path the wait stays as it is. Where it has grown, the link may have slowed down meanwhile, which takes rate, too: the next cut tells |
//! | smallest cut that shows anything | a tenth of the windows | ours: rates of a round differ by as much |

use gameway_units::Duration;

const MIN_CUT: f64 = 0.1;
const HALF: f64 = 0.5;
const MAX_GROWTH: f64 = 0.125;
const MAX_MORE: Duration = Duration::from_millis(1);

/// A cut, before it settles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    wait: Duration,
    /// Of that, in front of the gateway.
    in_front: Duration,
    /// Bytes per second.
    rate: f64,
    /// What was cut: bytes, and of all windows.
    cut: f64,
    part: f64,
}

impl Trial {
    /// Windows were cut from `before` to `after` bytes, when packets waited for `wait`, of that `in_front` in front of the gateway, and
    /// bytes came at `rate` per second.
    pub(super) fn new(
        (wait, in_front): (Duration, Duration),
        rate: f64,
        before: f64,
        after: f64,
    ) -> Self {
        let cut = before - after;
        Self { wait, in_front, rate, cut, part: cut / before.max(1.0) }
    }

    /// The windows have settled, packets wait for so long now, and bytes come at `rate` per second.
    pub(super) fn refutes(&self, (wait, in_front): (Duration, Duration), rate: f64) -> bool {
        let drained = (self.wait - wait).as_secs_f64() * self.rate;
        let max = self.in_front + self.in_front.mul_f64(MAX_GROWTH) + MAX_MORE;
        in_front <= max
            && self.part >= MIN_CUT
            && drained < HALF * self.cut
            && rate < self.rate * (1.0 - HALF * self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of it in front of the gateway.
    fn both(wait: i64) -> (Duration, Duration) {
        (Duration::from_millis(wait), Duration::from_millis(wait))
    }

    #[test]
    fn a_queue_gives_up_wait_and_a_longer_path_gives_up_rate() {
        // 20 of 50 kB were cut; at 1 MB/s they are 20 ms.
        let trial = Trial::new(both(30), 1e6, 5e4, 3e4);
        for (wait, rate, refuted) in [
            (10, 1e6, false),
            (30, 6e5, true),
            (30, 1e6, false),
            (10, 6e5, false),
            (21, 7.9e5, true),
            (19, 7.9e5, false),
            (21, 8.1e5, false),
            // Just half of what should drain has drained; just half of the cut is missing in the rate.
            (20, 7.9e5, false),
            (21, 8e5, false),
            // An eighth and 1 ms more are within what is measured; 45 ms are of a link that has slowed down to half.
            (34, 5e5, true),
            (35, 5e5, false),
            (45, 5e5, false),
        ] {
            assert_eq!(trial.refutes(both(wait), rate), refuted, "{wait}, {rate}");
        }
    }

    #[test]
    fn a_cut_of_less_than_a_tenth_shows_nothing() {
        for (after, shows) in [(4.5e4, true), (4.51e4, false)] {
            let trial = Trial::new(both(30), 1e6, 5e4, after);
            assert_eq!(trial.refutes(both(30), 5e5), shows, "{after}");
        }
    }
}
