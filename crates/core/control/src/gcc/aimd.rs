//! The delay-based rate: additive or multiplicative increase, decrease to a share of what arrives, and the
//! estimate of the link's capacity that chooses between the two increases.
//!
//! Source: libwebrtc `aimd_rate_control`, `link_capacity_estimator` (m128); draft-ietf-rmcat-gcc-02 5.5.
//!
//! Model: Overuse: rate = 0.85 acknowledged (less 5 kb/s), then hold until the detector is normal. Normal:
//! grow, by 8 % a second while the capacity is unknown, else by about half a packet per response time.
//! Underuse: hold, queues are emptying. Never grow beyond 1.5 times what arrives.
//!
//! | Constant | Value |
//! |---|---|
//! | decrease, less | 0.85, 5 kb/s |
//! | multiplicative increase | 8 %/s, at least 1 kb/s a step, over at most 1 s |
//! | additive increase | mean packet per 2 (RTT + 100 ms), at least 4 kb/s per s |
//! | largest rate while increasing | 1.5 acknowledged + 10 kb/s |
//! | between decreases | RTT, from 10 to 200 ms, unless acknowledged < half of the rate |
//! | capacity: gain, variance, bounds | 0.05, 0.4 to 2.5 of the mean in kb/s, 3 deviations |
//! | start RTT | 200 ms |

use super::trendline::Usage;
use gameway_units::{Duration, Instant, Rate};

const MAX_MULTIPLICATIVE_SPAN_SECS: f64 = 1.0;
const MULTIPLICATIVE_PER_SECOND: f64 = 1.08;
const MIN_MULTIPLICATIVE_STEP_BPS: f64 = 1_000.0;
const MIN_ADDITIVE_BPS_PER_SECOND: f64 = 4_000.0;
const ASSUMED_FRAMES_PER_SECOND: f64 = 30.0;
const ASSUMED_PACKET_BITS: f64 = 1_200.0 * 8.0;
const DETECTOR_RESPONSE_SECS: f64 = 0.1;
const DECREASE_MARGIN: Rate = Rate::from_kbps(5);
const INCREASE_LIMIT_FACTOR: f64 = 1.5;
const INCREASE_LIMIT_MARGIN_BPS: f64 = 10_000.0;
const START_RTT: Duration = Duration::from_millis(200);
const MIN_DECREASE_INTERVAL: Duration = Duration::from_millis(10);
const MAX_DECREASE_INTERVAL: Duration = Duration::from_millis(200);

/// Mean and deviation of what arrived when the path was overused.
#[derive(Debug, Clone)]
struct LinkCapacity {
    mean_kbps: Option<f64>,
    /// Variance over mean.
    normalised_variance: f64,
}

impl LinkCapacity {
    const GAIN: f64 = 0.05;
    const MIN_VARIANCE: f64 = 0.4;
    const MAX_VARIANCE: f64 = 2.5;
    const DEVIATIONS: f64 = 3.0;

    fn new() -> Self {
        Self { mean_kbps: None, normalised_variance: Self::MIN_VARIANCE }
    }

    fn on_overuse(&mut self, acknowledged: Rate) {
        let sample = acknowledged.as_bps_f64() / 1e3;
        let mean = self.mean_kbps.map_or(sample, |m| m + Self::GAIN * (sample - m));
        self.mean_kbps = Some(mean);
        let error = mean - sample;
        let variance = (1.0 - Self::GAIN) * self.normalised_variance
            + Self::GAIN * error * error / mean.max(1.0);
        self.normalised_variance = variance.clamp(Self::MIN_VARIANCE, Self::MAX_VARIANCE);
    }

    /// The mean, unless `rate` is too far from it on the given side (+1 above, -1 below) to be of the
    /// same link: then it is forgotten.
    fn forget_if_outside(&mut self, rate: Rate, side: f64) {
        let Some(mean) = self.mean_kbps else { return };
        let bound = mean + side * Self::DEVIATIONS * (self.normalised_variance * mean).sqrt();
        if side * (rate.as_bps_f64() / 1e3 - bound) > 0.0 {
            self.mean_kbps = None;
        }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct AimdRate {
    backoff: f64,
    min: Rate,
    rate: Rate,
    acknowledged: Rate,
    capacity: LinkCapacity,
    hold: bool,
    last_change: Option<Instant>,
    rtt: Duration,
}

impl AimdRate {
    pub(super) fn new(start: Rate, min: Rate, backoff: f64) -> Self {
        Self {
            backoff,
            min,
            rate: start.max(min),
            acknowledged: start,
            capacity: LinkCapacity::new(),
            hold: true,
            last_change: None,
            rtt: START_RTT,
        }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    pub(super) fn capacity_bps(&self) -> f64 {
        self.capacity.mean_kbps.unwrap_or(0.0) * 1e3
    }

    pub(super) fn rtt(&self) -> Duration {
        self.rtt
    }

    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Sets what a probe found.
    pub(super) fn set_estimate(&mut self, now: Instant, rate: Rate) {
        self.rate = rate.max(self.min);
        self.last_change = Some(now);
    }

    /// Whether another decrease is due.
    pub(super) fn may_decrease(&self, now: Instant, acknowledged: Option<Rate>) -> bool {
        let interval = self.rtt.min(MAX_DECREASE_INTERVAL).max(MIN_DECREASE_INTERVAL);
        let waited = self.last_change.is_none_or(|last| now.saturating_since(last) >= interval);
        waited || acknowledged.is_none_or(|rate| rate < self.rate.mul_f64(0.5))
    }

    /// Halves the rate: overuse before anything is known of what arrives.
    pub(super) fn halve(&mut self, now: Instant) {
        self.set_estimate(now, self.rate.mul_f64(0.5));
    }

    pub(super) fn update(&mut self, now: Instant, usage: Usage, acknowledged: Option<Rate>) {
        self.acknowledged = acknowledged.unwrap_or(self.acknowledged);
        match usage {
            Usage::Over => self.decrease(now),
            Usage::Under => self.hold = true,
            Usage::Normal => {
                if std::mem::take(&mut self.hold) {
                    self.last_change = Some(now);
                }
                self.increase(now);
            }
        }
    }

    /// Loss limits the rate: a capacity far above what arrives is that of another time.
    pub(super) fn on_limited_by_loss(&mut self) {
        self.capacity.forget_if_outside(self.acknowledged, -1.0);
    }

    fn increase(&mut self, now: Instant) {
        self.capacity.forget_if_outside(self.acknowledged, 1.0);
        let limit =
            self.acknowledged.as_bps_f64() * INCREASE_LIMIT_FACTOR + INCREASE_LIMIT_MARGIN_BPS;
        let span = self.last_change.map_or(0.0, |last| now.saturating_since(last).as_secs_f64());
        let span = span.max(0.0);
        let rate = self.rate.as_bps_f64();
        if rate < limit {
            let step = if self.capacity.mean_kbps.is_some() {
                self.additive_bps_per_second() * span
            } else {
                let span = span.min(MAX_MULTIPLICATIVE_SPAN_SECS);
                let growth = libm::pow(MULTIPLICATIVE_PER_SECOND, span) - 1.0;
                (rate * growth).max(MIN_MULTIPLICATIVE_STEP_BPS)
            };
            self.rate = Rate::from_bps_f64((rate + step).min(limit)).max(self.min);
        }
        self.last_change = Some(now);
    }

    fn decrease(&mut self, now: Instant) {
        let share = |rate: Rate, factor: f64| {
            let lowered = rate.mul_f64(factor);
            if lowered > DECREASE_MARGIN {
                lowered.saturating_sub(DECREASE_MARGIN)
            } else {
                lowered
            }
        };
        let mut rate = share(self.acknowledged, self.backoff);
        if rate > self.rate
            && let Some(kbps) = self.capacity.mean_kbps
        {
            rate = Rate::from_bps_f64(kbps * 1e3).mul_f64(self.backoff);
        }
        self.rate = rate.min(self.rate).max(self.min);
        self.capacity.forget_if_outside(self.acknowledged, -1.0);
        self.capacity.on_overuse(self.acknowledged);
        self.hold = true; // until the pipes are clear
        self.last_change = Some(now);
    }

    fn additive_bps_per_second(&self) -> f64 {
        let frame_bits = self.rate.as_bps_f64() / ASSUMED_FRAMES_PER_SECOND;
        let packets = (frame_bits / ASSUMED_PACKET_BITS).ceil().max(1.0);
        let response = 2.0 * (self.rtt.max(Duration::ZERO).as_secs_f64() + DETECTOR_RESPONSE_SECS);
        (frame_bits / packets / response).max(MIN_ADDITIVE_BPS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn aimd() -> AimdRate {
        AimdRate::new(Rate::from_mbps(20), Rate::from_kbps(100), 0.85)
    }

    #[test]
    fn overuse_lowers_to_a_share_of_what_arrives_and_then_holds() {
        let mut rate = aimd();
        rate.update(at(0), Usage::Over, Some(Rate::from_mbps(10)));
        assert_eq!(rate.rate(), Rate::from_bps(8_495_000));
        rate.update(at(500), Usage::Under, Some(Rate::from_mbps(10)));
        assert_eq!(rate.rate(), Rate::from_bps(8_495_000));
        rate.update(at(600), Usage::Normal, Some(Rate::from_mbps(10)));
        assert_eq!(rate.rate(), Rate::from_bps(8_495_000)); // the clock starts anew
        rate.set_rtt(Duration::from_millis(100));
        rate.update(at(1_600), Usage::Normal, Some(Rate::from_mbps(10)));
        // 283 kb frames in 30 packets of 9439 bits, one per 400 ms.
        assert_eq!(rate.rate(), Rate::from_bps(8_495_000 + 23_597));
    }

    #[test]
    fn overuse_never_raises() {
        let mut rate = aimd();
        rate.update(at(0), Usage::Over, Some(Rate::from_mbps(100)));
        assert_eq!(rate.rate(), Rate::from_mbps(20));
    }

    #[test]
    fn without_a_capacity_it_grows_by_eight_percent_a_second() {
        let mut rate = aimd();
        rate.update(at(0), Usage::Normal, Some(Rate::from_mbps(20)));
        for step in 1..=40 {
            rate.update(at(step * 25), Usage::Normal, Some(Rate::from_mbps(20)));
        }
        let grown = rate.rate().as_mbps_f64();
        // 40 steps of 1.08^(1/40), and 1 kb/s for the first, which has no span yet.
        assert!((grown - 21.6).abs() < 0.01, "{grown}");
    }

    #[test]
    fn growth_stops_at_one_and_a_half_of_what_arrives() {
        let mut rate = aimd();
        for step in 0..400 {
            rate.update(at(step * 100), Usage::Normal, Some(Rate::from_mbps(16)));
        }
        assert_eq!(rate.rate(), Rate::from_bps(24_010_000));
    }

    #[test]
    fn a_far_higher_rate_forgets_the_capacity() {
        let mut rate = aimd();
        rate.update(at(0), Usage::Over, Some(Rate::from_mbps(10)));
        assert!((rate.capacity_bps() - 10e6).abs() < 1e-3);
        // Three deviations are 3 sqrt(0.4 * 10000) = 190 kb/s.
        rate.update(at(100), Usage::Normal, Some(Rate::from_kbps(10_180)));
        assert!(rate.capacity_bps() > 0.0);
        rate.update(at(200), Usage::Normal, Some(Rate::from_kbps(10_200)));
        assert!(rate.capacity_bps() <= 0.0);
    }

    #[test]
    fn decreases_keep_a_distance() {
        let mut rate = aimd();
        rate.set_rtt(Duration::from_millis(50));
        rate.update(at(0), Usage::Over, Some(Rate::from_mbps(18)));
        assert!(!rate.may_decrease(at(49), Some(Rate::from_mbps(18))));
        assert!(rate.may_decrease(at(50), Some(Rate::from_mbps(18))));
        assert!(rate.may_decrease(at(1), Some(Rate::from_mbps(7))));
        // Less than half of the rate arrives.
        rate.set_estimate(at(100), Rate::from_mbps(20));
        assert!(!rate.may_decrease(at(101), Some(Rate::from_mbps(10))));
        assert!(rate.may_decrease(at(101), Some(Rate::from_bps(9_999_999))));
    }

    /// Samples move the mean by 0.05, and the variance, as a part of the mean, by as much towards the square of the error.
    #[test]
    fn the_capacity_is_a_mean_with_a_variance() {
        let mut capacity = LinkCapacity::new();
        capacity.on_overuse(Rate::from_kbps(10_000));
        capacity.on_overuse(Rate::from_kbps(9_800));
        assert!((capacity.mean_kbps.unwrap_or(0.0) - 9_990.0).abs() < 1e-9);
        let variance = 0.95 * 0.4 + 0.05 * 190.0 * 190.0 / 9_990.0;
        assert!((capacity.normalised_variance - variance).abs() < 1e-12);
        // The error of 2.8 Mb/s would make it 39.
        capacity.on_overuse(Rate::from_kbps(7_000));
        assert!((capacity.normalised_variance - LinkCapacity::MAX_VARIANCE).abs() < 1e-12);
    }

    #[test]
    fn overuse_at_a_far_lower_rate_begins_a_new_capacity() {
        // 190 kb/s below the mean is of the same link, and moves it by a twentieth.
        for (kbps, capacity) in [(9_815, 9_990_750.0), (9_805, 9_805_000.0)] {
            let mut rate = aimd();
            rate.update(at(0), Usage::Over, Some(Rate::from_mbps(10)));
            rate.update(at(1_000), Usage::Over, Some(Rate::from_kbps(kbps)));
            assert!((rate.capacity_bps() - capacity).abs() < 1e-3, "{}", rate.capacity_bps());
        }
    }

    /// Where more arrives than the rate, as of a probe, 0.85 of that would be no decrease.
    #[test]
    fn where_more_arrives_than_the_rate_the_capacity_says_what_to_keep() {
        let mut rate = aimd();
        rate.update(at(0), Usage::Over, Some(Rate::from_mbps(4)));
        rate.set_estimate(at(1_000), Rate::from_mbps(4));
        rate.update(at(2_000), Usage::Over, Some(Rate::from_mbps(6)));
        assert_eq!(rate.rate(), Rate::from_kbps(3_400));
        // What keeps the rate as it is asks for no such help.
        let mut kept = AimdRate::new(Rate::from_mbps(1), Rate::ZERO, 0.5);
        kept.update(at(0), Usage::Over, Some(Rate::from_kbps(30)));
        kept.set_estimate(at(1_000), Rate::from_kbps(20));
        kept.update(at(2_000), Usage::Over, Some(Rate::from_kbps(50)));
        assert_eq!(kept.rate(), Rate::from_kbps(50 / 2 - 5));
    }

    /// Overuse before anything has arrived: half of the rate, and not again before the interval is over.
    #[test]
    fn halving_counts_as_a_decrease() {
        let mut rate = aimd();
        rate.set_rtt(Duration::from_millis(50));
        rate.halve(at(100));
        assert_eq!(rate.rate(), Rate::from_mbps(10));
        assert!(!rate.may_decrease(at(149), Some(Rate::from_mbps(5))));
        assert!(rate.may_decrease(at(150), Some(Rate::from_mbps(5))));
    }

    /// Three deviations are 190 kb/s, on the lower side, too.
    #[test]
    fn loss_forgets_a_capacity_that_is_far_above_what_arrives() {
        for (kbps, known) in [(10_200, true), (9_815, true), (9_805, false)] {
            let mut rate = aimd();
            rate.update(at(0), Usage::Over, Some(Rate::from_mbps(10)));
            rate.update(at(100), Usage::Under, Some(Rate::from_kbps(kbps)));
            rate.on_limited_by_loss();
            assert_eq!(rate.capacity_bps() > 0.0, known, "{kbps}");
        }
    }

    /// A packet of at most 1200 bytes for two response times, 4 kb/s in a second at least.
    #[test]
    fn near_the_capacity_it_grows_by_half_a_packet_in_a_response_time() {
        // 30 frames a second: of 240 kb/s a frame has 8000 bits, of 600 kb/s 20 000 in three packets.
        for (kbps, rtt, step) in
            [(240, 100, 8_000.0 / 0.4), (600, 100, 20_000.0 / 3.0 / 0.4), (240, 1_900, 4_000.0)]
        {
            let mut rate = AimdRate::new(Rate::from_kbps(kbps), Rate::from_kbps(1), 0.85);
            rate.set_rtt(Duration::from_millis(rtt));
            rate.capacity.on_overuse(Rate::from_kbps(kbps));
            for now in [at(1_000), at(2_000)] {
                rate.update(now, Usage::Normal, Some(Rate::from_kbps(kbps)));
            }
            let grown = rate.rate().as_bps_f64() - kbps as f64 * 1e3;
            assert!((grown - step).abs() <= 1.0, "{kbps} kb/s, {rtt} ms: {grown}");
        }
    }

    /// Less than the margin of 5 kb/s is not taken from.
    #[test]
    fn a_decrease_keeps_its_margin_where_there_is_one() {
        for (arrives, kept) in [(10_000, 5_000), (10_002, 1), (30_000, 10_000), (4_000, 2_000)] {
            let mut rate = AimdRate::new(Rate::from_mbps(1), Rate::ZERO, 0.5);
            rate.update(at(0), Usage::Over, Some(Rate::from_bps(arrives)));
            assert_eq!(rate.rate(), Rate::from_bps(kept));
        }
    }
}
