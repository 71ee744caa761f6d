//! The queueing delay of the path, its cautious average, and how much it varies.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Detecting Increased Queue Delay" (read in the editors'
//! copy at 00d8f51); RFC 6817 section 2.4.2 for the base delay.
//!
//! Model: queueing delay = one-way delay of the newest packet received less the least one-way delay of
//! the last ten minutes. Every min(25 ms, smoothed RTT) the average takes the present value at once if it
//! is lower, else a quarter of the difference. The variation is a slow average of the delay beyond
//! 6.25 ms in units of 25 ms; `headroom` says how far it is below its threshold: 1 calm, 0 not. The reference takes the
//! average of the delay's minima over 100 round trips each for the empty queue, and other units ([`super::version`]).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | base delay window | 10 min | RFC 6817 section 2.5, `BASE_HISTORY` (C++: 50 values of 10 s) |
//! | average: gain up | 1/4 | draft and C++ |
//! | variation: gain | 1/64 | draft, C++ |
//! | variation: threshold | 0.05 to 0.1 | draft, C++ |
//! | variation: cap of a sample | 1.5 thresholds | draft |
//! | minima: of, gain up | 100 round trips, 1/8 | C++ (`kQueueDelayMinAvgUpdateRtts`, `kQueueDelayMinAvgAlpha`) |
//!
//! | Deviation | Why |
//! |---|---|
//! | The delay target is constant: no compensation for competing flows | the draft lets it be turned off, the C++ has it off |
//! | No compensation for clock drift | off by default in the C++; 50 ppm are 3 ms a minute |
//! | A base delay by which a packet would have been under way for longer than since it was sent is forgotten | a clock that jumps ahead would make the empty path look full for ten minutes |
//! | A media queue is not thrown away for two round trips after eight minutes above 1 ms | in the C++ only; what it is for, [`super::drain`] does each minute |

use super::version::DelayRules;
use crate::filter::BaseDelay;
use gameway_units::{Duration, Instant, ReceiverInstant};

const BASE_WINDOW: Duration = Duration::from_secs(600);
const AVERAGE_GAIN: f64 = 0.25;
const VARIATION_GAIN: f64 = 1.0 / 64.0;
const MINIMA_ROUND_TRIPS: f64 = 100.0;
const MINIMA_GAIN: f64 = 1.0 / 8.0;

/// See the module. Times are in seconds.
#[derive(Debug, Clone)]
pub(super) struct QueueDelay {
    rules: DelayRules,
    base: BaseDelay,
    current: f64,
    average: f64,
    variation: f64,
    threshold: f64,
    last_update: Option<Instant>,
    /// The average of the minima, the least since it was updated, and when that was.
    minima: f64,
    min: f64,
    minima_updated: Option<Instant>,
}

impl QueueDelay {
    pub(super) fn new(rules: DelayRules) -> Self {
        Self {
            rules,
            base: BaseDelay::new(BASE_WINDOW),
            current: 0.0,
            average: 0.0,
            variation: rules.first_variation,
            threshold: 0.1,
            last_update: None,
            minima: 0.0,
            min: f64::INFINITY,
            minima_updated: None,
        }
    }

    pub(super) fn current_secs(&self) -> f64 {
        self.current
    }

    pub(super) fn average_secs(&self) -> f64 {
        self.average
    }

    /// The average of the minima.
    pub(super) fn minima_secs(&self) -> f64 {
        self.minima
    }

    /// From 1, no variation, to 0, at the threshold or above.
    pub(super) fn headroom(&self) -> f64 {
        ((self.threshold - self.variation) / self.threshold).max(0.0)
    }

    /// A packet was received.
    pub(super) fn on_packet(&mut self, now: Instant, sent: Instant, arrival: ReceiverInstant) {
        self.base.insert(now, sent, arrival);
    }

    /// The base delay is to be measured anew.
    pub(super) fn forget_base(&mut self) {
        self.base = BaseDelay::new(BASE_WINDOW);
        (self.current, self.minima) = (0.0, 0.0);
    }

    /// After the packets of a report, with the delay of the newest; `window_ratio` is that of a segment
    /// to the reference window.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        newest: Duration,
        smoothed_rtt: Duration,
        window_ratio: f64,
    ) {
        let base = self.base.get().unwrap_or(newest);
        self.current = newest.saturating_sub(base).as_secs_f64().max(0.0);
        self.min = self.min.min(self.current);
        let interval = self.rules.interval.min(smoothed_rtt);
        if self.last_update.is_some_and(|last| now.saturating_since(last) < interval) {
            return;
        }
        self.last_update = Some(now);
        if self.rules.less_minima {
            self.update_minima(now, smoothed_rtt);
        }
        let delay = self.current - self.minima;
        self.average = if delay < self.average {
            delay
        } else {
            self.average + AVERAGE_GAIN * (delay - self.average)
        };
        self.threshold = (0.1 * (1.0 - window_ratio / 0.1)).max(0.05);
        self.update_variation(delay);
    }

    fn update_minima(&mut self, now: Instant, smoothed_rtt: Duration) {
        let began = *self.minima_updated.get_or_insert(now);
        if now.saturating_since(began) <= smoothed_rtt.mul_f64(MINIMA_ROUND_TRIPS) {
            return;
        }
        self.minima = self.min.min(self.minima + MINIMA_GAIN * (self.min - self.minima));
        (self.min, self.minima_updated) = (f64::INFINITY, Some(now));
    }

    fn update_variation(&mut self, delay: f64) {
        let beyond = ((delay - self.rules.margin_secs) / self.rules.unit_secs).max(0.0);
        let sample = match self.rules.max_variation {
            Some(_) => beyond,
            None => beyond.min(self.threshold * 1.5),
        };
        self.variation += VARIATION_GAIN * (sample - self.variation);
        self.variation = self.variation.min(self.rules.max_variation.unwrap_or(f64::INFINITY));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ScreamVersion;
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn feed(delay: &mut QueueDelay, time: i64, one_way_millis: i64) {
        feed_with_window(delay, time, one_way_millis, 0.01);
    }

    fn feed_with_window(delay: &mut QueueDelay, time: i64, one_way_millis: i64, ratio: f64) {
        let one_way = Duration::from_millis(one_way_millis);
        let sent = at(time) - Duration::from_secs(2);
        let arrival = ReceiverInstant::from_nanos((sent + one_way).as_nanos());
        delay.on_packet(at(time), sent, arrival);
        delay.on_report(at(time), one_way, RTT, ratio);
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} {right}");
    }

    #[test]
    fn the_average_rises_by_a_quarter_and_falls_at_once() {
        let mut delay = QueueDelay::new(ScreamVersion::Draft.rules().delay);
        feed(&mut delay, 0, 1_010); // the clock offset is in the base too
        close(delay.current_secs(), 0.0);
        feed(&mut delay, 25, 1_050);
        close(delay.average_secs(), 0.010);
        feed(&mut delay, 50, 1_050);
        close(delay.average_secs(), 0.0175);
        feed(&mut delay, 75, 1_013);
        close(delay.average_secs(), 0.003);
    }

    #[test]
    fn between_updates_only_the_present_value_moves() {
        let mut delay = QueueDelay::new(ScreamVersion::Draft.rules().delay);
        feed(&mut delay, 0, 10);
        feed(&mut delay, 24, 90);
        close(delay.current_secs(), 0.080);
        close(delay.average_secs(), 0.0);
        feed(&mut delay, 25, 18);
        close(delay.average_secs(), 0.002);
    }

    #[test]
    fn variation_is_slow_and_capped() {
        let mut delay = QueueDelay::new(ScreamVersion::Draft.rules().delay);
        feed(&mut delay, 0, 10);
        close(delay.headroom(), 1.0);
        feed(&mut delay, 25, 16); // within the margin of 6.25 ms
        close(delay.headroom(), 1.0);
        feed(&mut delay, 50, 1_000);
        // Threshold 0.1 (1 - 0.01 / 0.1) = 0.09; the sample is capped at 0.135, a 64th of it counts.
        close(delay.headroom(), 1.0 - 1.5 / 64.0);
        for step in 3..200 {
            feed(&mut delay, 25 * step, 1_000);
        }
        close(delay.headroom(), 0.0);
    }

    /// 0.1 less the part of a segment in the window, 0.05 at least.
    #[test]
    fn a_small_window_stands_less_variation() {
        for (ratio, threshold) in [(0.01, 0.09), (0.04, 0.06), (0.08, 0.05)] {
            let mut delay = QueueDelay::new(ScreamVersion::Draft.rules().delay);
            feed_with_window(&mut delay, 0, 10, ratio);
            // 0.75 ms beyond the margin, in units of 25 ms.
            feed_with_window(&mut delay, 25, 17, ratio);
            close(delay.headroom(), 1.0 - 0.03 / 64.0 / threshold);
            feed_with_window(&mut delay, 50, 17, ratio);
            close(delay.headroom(), 1.0 - 0.03 / 64.0 * (2.0 - 1.0 / 64.0) / threshold);
        }
    }

    #[test]
    fn the_reference_takes_the_minima_for_the_empty_queue() {
        let mut delay = QueueDelay::new(ScreamVersion::Reference.rules().delay);
        feed(&mut delay, 0, 10);
        // A standing queue of 16 ms for 100 round trips of 40 ms, and a little more.
        for step in 1..=134 {
            feed(&mut delay, 30 * step, 26);
        }
        close(delay.minima_secs(), 0.0); // the least of these was the first
        for step in 135..=268 {
            feed(&mut delay, 30 * step, 26);
        }
        close(delay.minima_secs(), 0.016 / 8.0);
        let mut later = delay.clone();
        feed(&mut delay, 30 * 269, 26);
        close(delay.average_secs(), 0.014);
        for step in 269..=402 {
            feed(&mut later, 30 * step, 26);
        }
        close(later.minima_secs(), 0.002 + 0.014 / 8.0);
        delay.forget_base();
        close(delay.minima_secs(), 0.0);
        feed(&mut delay, 30 * 270, 26);
        close(delay.current_secs(), 0.0);
    }
}
