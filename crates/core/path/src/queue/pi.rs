//! What PIE and DualPI2 share: a proportional-integral controller of the queueing delay, run every so often.
//!
//! Model: at each update the probability changes by `alpha (delay - target) + beta (delay - previous
//! delay)`, delays in seconds (RFC 8033 section 4.2; RFC 9332 appendix A.1). A queue only changes when a packet
//! comes or goes, so the updates due since then are caught up at the next packet, each with the delay that the
//! head packet had at its time: the same as if a timer had run them.

use super::Dequeued;
use gameway_units::{Duration, Instant};

/// The most updates caught up at once. After about 1000 (15 s) with nothing coming or going, the
/// probability has arrived at 0 (empty) or 1 (standing); what lies between them and the last two is left out.
const MAX_AT_ONCE: i64 = 1024;

/// The gains of the controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gains {
    pub target: Duration,
    pub alpha: f64,
    pub beta: f64,
}

impl Gains {
    /// What an update adds to the probability.
    pub fn change(&self, delay: Duration, previous: Duration) -> f64 {
        self.alpha * (delay - self.target).as_secs_f64()
            + self.beta * (delay - previous).as_secs_f64()
    }
}

/// When updates are due: at multiples of the interval since the clock's zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Updates {
    interval: Duration,
    next: Instant,
}

impl Updates {
    pub fn every(interval: Duration) -> Self {
        let interval = interval.max(Duration::from_micros(1));
        Self { interval, next: Instant::ZERO + interval }
    }

    /// The updates due by `now` that have not been given yet, in order, [`MAX_AT_ONCE`] at most.
    pub fn due(&mut self, now: Instant) -> impl Iterator<Item = Instant> + use<> {
        let behind = now.saturating_since(self.next).as_nanos();
        let interval = self.interval;
        let count = if behind < 0 { 0 } else { behind / interval.as_nanos() + 1 };
        let first = self.next;
        let caught_up = interval.as_nanos().saturating_mul(count);
        self.next = first.saturating_add(Duration::from_nanos(caught_up));
        let left_out = (count - MAX_AT_ONCE).max(0);
        (0..count - left_out).map(move |index| {
            // The last two are kept: the second is compared with the first.
            let skipped = if index + 2 < MAX_AT_ONCE { 0 } else { left_out };
            first + interval * (index + skipped)
        })
    }
}

/// How long the head of a queue has waited at `at`; an empty queue has no delay.
pub(super) fn head_delay<P>(head: Option<&Dequeued<P>>, at: Instant) -> Duration {
    head.map_or(Duration::ZERO, |head| at.saturating_since(head.enqueued).max(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(count: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(count)
    }

    #[test]
    fn updates_come_at_multiples_once() {
        let mut updates = Updates::every(Duration::from_millis(15));
        assert_eq!(updates.due(millis(14)).count(), 0);
        assert_eq!(updates.due(millis(45)).collect::<Vec<_>>(), [15, 30, 45].map(millis));
        assert_eq!(updates.due(millis(45)).count(), 0);
        assert_eq!(updates.due(millis(44)).count(), 0, "late calls may come out of order");
        assert_eq!(updates.due(millis(60)).collect::<Vec<_>>(), [millis(60)]);
    }

    #[test]
    fn after_a_day_only_the_ends_are_run() {
        let mut updates = Updates::every(Duration::from_millis(15));
        let day = millis(86_400_000);
        let due: Vec<Instant> = updates.due(day).collect();
        assert_eq!(due.len(), 1024);
        assert_eq!(due[1021], millis(15 * 1022));
        assert_eq!(due[1022..], [millis(86_400_000 - 15), day]);
        assert_eq!(updates.due(millis(86_400_015)).count(), 1);
        // Exactly the most, and one more.
        for count in [1024i64, 1025] {
            let mut updates = Updates::every(Duration::from_millis(15));
            let due: Vec<Instant> = updates.due(millis(15 * count)).collect();
            assert_eq!(due.len(), 1024);
            assert_eq!(due[1023], millis(15 * count));
        }
    }

    #[test]
    fn the_gains_are_in_hertz() {
        let gains = Gains { target: Duration::from_millis(15), alpha: 0.125, beta: 1.25 };
        let change = gains.change(Duration::from_millis(35), Duration::from_millis(25));
        // 0.125 * 0.020 + 1.25 * 0.010
        assert!((change - 0.015).abs() < 1e-12, "{change}");
    }
}
