//! Whether the stream sends much less than it might: then what arrives says little of the path.
//!
//! Source: libwebrtc `alr_detector` (application-limited region), `interval_budget` in `modules/pacing`, cases in
//! `alr_detector_unittest` (main branch of 2025, commit 0b51f0288ec1 of the mirror that `likelihood` names).
//!
//! Model: a budget grows at a share of the estimate and is used up by what is sent. It is between plus and minus what it grows in
//! 500 ms. A region begins when it is nearly full, and ends when half of it has been used.
//!
//! | Constant | Value |
//! |---|---|
//! | growth | 0.65 of the estimate |
//! | bounds | 500 ms of growth, either way |
//! | begins above, ends below | 0.8, 0.5 of the bound |

use gameway_units::{Bytes, Duration, Instant, Rate};

const USAGE: f64 = 0.65;
const WINDOW: Duration = Duration::from_millis(500);
const BEGINS_ABOVE: f64 = 0.8;
const ENDS_BELOW: f64 = 0.5;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct ApplicationLimit {
    growth: Rate,
    /// In bytes; below zero after more was sent than it grew.
    budget: f64,
    last_sent: Option<Instant>,
    since: Option<Instant>,
}

impl ApplicationLimit {
    pub(super) fn new(start: Rate) -> Self {
        Self { growth: start.mul_f64(USAGE), budget: 0.0, last_sent: None, since: None }
    }

    /// Since when the stream has been limited by its application.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    pub(super) fn set_estimate(&mut self, estimate: Rate) {
        self.growth = estimate.mul_f64(USAGE);
        let bound = self.bound();
        self.budget = self.budget.clamp(-bound, bound);
    }

    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes) {
        let Some(last) = self.last_sent.replace(now) else { return };
        let (bound, elapsed) = (self.bound(), now.saturating_since(last).max(Duration::ZERO));
        let used = (self.budget - size.as_f64()).max(-bound);
        self.budget = (used + self.growth.as_bps_f64() / 8.0 * elapsed.as_secs_f64()).min(bound);
        let level = if bound > 0.0 { self.budget / bound } else { 0.0 };
        if level > BEGINS_ABOVE {
            self.since.get_or_insert(now);
        } else if level < ENDS_BELOW {
            self.since = None;
        }
    }

    fn bound(&self) -> f64 {
        (self.growth * WINDOW).as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESTIMATE: Rate = Rate::from_kbps(300);

    /// Sends for `millis` milliseconds, every 10 ms, at `percent` percent of the estimate.
    fn send(limit: &mut ApplicationLimit, now: &mut i64, millis: i64, percent: u64) -> bool {
        for _ in 0..millis / 10 {
            *now += 10;
            let size = Bytes::new(ESTIMATE.as_bps() / 8 / 100 * percent / 100);
            limit.on_sent(Instant::ZERO + Duration::from_millis(*now), size);
        }
        limit.since().is_some()
    }

    #[test]
    fn a_region_begins_at_little_use_and_ends_at_much() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 1_000);
        assert!(!send(&mut limit, &mut now, 1_000, 90));
        assert!(send(&mut limit, &mut now, 1_500, 20));
        assert!(!send(&mut limit, &mut now, 4_000, 100));
    }

    #[test]
    fn a_short_spike_does_not_end_it() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 1_000);
        assert!(send(&mut limit, &mut now, 1_000, 20));
        assert!(send(&mut limit, &mut now, 100, 150));
        assert!(!send(&mut limit, &mut now, 3_000, 100));
    }

    /// So that a probe may still answer the drop.
    #[test]
    fn a_drop_of_the_estimate_ends_it_a_little_later() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 1_000);
        assert!(send(&mut limit, &mut now, 1_000, 20));
        limit.set_estimate(Rate::from_kbps(60));
        assert!(limit.since().is_some());
        assert!(!send(&mut limit, &mut now, 1_000, 50));
    }

    /// From empty, at 20 % of use, it grows by 0.45 of the estimate: 0.8 of 0.5 s x 0.65 takes 578 ms.
    #[test]
    fn it_begins_when_the_budget_is_four_fifths_full() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 0);
        assert!(!send(&mut limit, &mut now, 580, 20));
        assert!(send(&mut limit, &mut now, 20, 20));
    }

    #[test]
    fn use_above_its_share_never_begins_one() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 0);
        assert!(!send(&mut limit, &mut now, 60_000, 66));
        assert!(send(&mut limit, &mut now, 60_000, 64));
    }

    /// What was sent too much is made up for first: from minus the bound to 0.8 of it at 0.45 of the estimate takes 1.3 s.
    #[test]
    fn a_debt_outlives_a_new_estimate() {
        let (mut limit, mut now) = (ApplicationLimit::new(ESTIMATE), 0);
        assert!(!send(&mut limit, &mut now, 3_000, 150));
        limit.set_estimate(ESTIMATE);
        assert!(!send(&mut limit, &mut now, 1_280, 20));
        assert!(send(&mut limit, &mut now, 20, 20));
    }
}
