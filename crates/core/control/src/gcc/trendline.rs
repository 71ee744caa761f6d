//! The trend of one-way delay, and the overuse detector with its adaptive threshold.
//!
//! Source: libwebrtc `trendline_estimator` (m128); threshold: Carlucci et al., "Analysis and Design of the
//! Google Congestion Control for WebRTC", MMSys 2016, eq. 6; draft-ietf-rmcat-gcc-02 section 5.4.
//!
//! Model: the differences (arrived - sent) of groups are summed, smoothed, and a line is fitted through
//! the last 20; its slope, times the count of groups (at most 60) and 4, is compared with a threshold that
//! follows it slowly upwards and faster downwards. Above for more than 10 ms and not falling: overuse.
//!
//! | Constant | Value |
//! |---|---|
//! | window, smoothing, gain | 20 groups, 0.9, 4 |
//! | threshold: start, least, most | 12.5, 6, 600 ms |
//! | gain up, down | 0.0087, 0.039 per ms |
//! | no adaptation beyond | threshold + 15 ms |
//! | longest step of adaptation | 100 ms |
//! | overuse after | 10 ms and 2 groups |

use super::inter_arrival::GroupDelta;
use gameway_units::ReceiverInstant;
use std::collections::VecDeque;

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MAX_COUNTED_GROUPS: u32 = 60;
const START_THRESHOLD_MS: f64 = 12.5;
const MIN_THRESHOLD_MS: f64 = 6.0;
const MAX_THRESHOLD_MS: f64 = 600.0;
const THRESHOLD_GAIN_UP: f64 = 0.0087;
const THRESHOLD_GAIN_DOWN: f64 = 0.039;
const MAX_EXCESS_MS: f64 = 15.0;
const MAX_STEP_MS: f64 = 100.0;
const OVERUSE_TIME_MS: f64 = 10.0;

/// What the detector thinks of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Usage {
    #[default]
    Normal,
    Over,
    Under,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Trendline {
    groups: u32,
    first_arrival: Option<ReceiverInstant>,
    accumulated_ms: f64,
    smoothed_ms: f64,
    /// Time since the first arrival and smoothed delay, in ms.
    points: VecDeque<(f64, f64)>,
    slope: f64,
    previous_slope: f64,
    modified_trend_ms: f64,
    threshold_ms: f64,
    last_adaptation_ms: Option<f64>,
    /// How long the trend has been above the threshold.
    over_ms: Option<f64>,
    over_groups: u32,
    usage: Usage,
}

impl Trendline {
    pub(super) fn new() -> Self {
        Self {
            groups: 0,
            first_arrival: None,
            accumulated_ms: 0.0,
            smoothed_ms: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            slope: 0.0,
            previous_slope: 0.0,
            modified_trend_ms: 0.0,
            threshold_ms: START_THRESHOLD_MS,
            last_adaptation_ms: None,
            over_ms: None,
            over_groups: 0,
            usage: Usage::Normal,
        }
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }
    pub(super) fn modified_trend_ms(&self) -> f64 {
        self.modified_trend_ms
    }
    pub(super) fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    pub(super) fn on_group(&mut self, delta: &GroupDelta) {
        self.groups = self.groups.saturating_add(1);
        let first = *self.first_arrival.get_or_insert(delta.arrival);
        let time_ms = delta.arrival.saturating_since(first).as_millis_f64();
        self.accumulated_ms += delta.arrived.as_millis_f64() - delta.sent.as_millis_f64();
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.accumulated_ms;
        if self.points.len() == WINDOW {
            self.points.pop_front();
        }
        self.points.push_back((time_ms, self.smoothed_ms));
        if self.points.len() == WINDOW {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.detect(delta.sent.as_millis_f64(), time_ms);
    }

    fn detect(&mut self, sent_delta_ms: f64, time_ms: f64) {
        if self.groups < 2 {
            return;
        }
        let counted = f64::from(self.groups.min(MAX_COUNTED_GROUPS));
        self.modified_trend_ms = counted * self.slope * GAIN;
        if self.modified_trend_ms > self.threshold_ms {
            self.above(sent_delta_ms);
        } else {
            let under = self.modified_trend_ms < -self.threshold_ms;
            self.usage = if under { Usage::Under } else { Usage::Normal };
            self.over_ms = None;
            self.over_groups = 0;
        }
        self.previous_slope = self.slope;
        self.adapt_threshold(time_ms);
    }

    fn above(&mut self, sent_delta_ms: f64) {
        // The first time, half of the time since the group before is taken to have been over.
        let over = self.over_ms.map_or(sent_delta_ms / 2.0, |over| over + sent_delta_ms);
        self.over_ms = Some(over);
        self.over_groups = self.over_groups.saturating_add(1);
        let lasts = over > OVERUSE_TIME_MS && self.over_groups > 1;
        if lasts && self.slope >= self.previous_slope {
            self.over_ms = Some(0.0);
            self.over_groups = 0;
            self.usage = Usage::Over;
        }
    }

    fn adapt_threshold(&mut self, time_ms: f64) {
        let last = self.last_adaptation_ms.replace(time_ms).unwrap_or(time_ms);
        let trend = self.modified_trend_ms.abs();
        if trend > self.threshold_ms + MAX_EXCESS_MS {
            return; // a sudden loss of capacity must not raise it
        }
        let below = trend < self.threshold_ms;
        let gain = if below { THRESHOLD_GAIN_DOWN } else { THRESHOLD_GAIN_UP };
        let step_ms = (time_ms - last).clamp(0.0, MAX_STEP_MS);
        let moved = self.threshold_ms + gain * (trend - self.threshold_ms) * step_ms;
        self.threshold_ms = moved.clamp(MIN_THRESHOLD_MS, MAX_THRESHOLD_MS);
    }
}

/// Slope of the least-squares line; `None` if all times are equal.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut covariance, mut variance) = (0.0, 0.0);
    for (x, y) in points {
        covariance += (x - mean_x) * (y - mean_y);
        variance += (x - mean_x) * (x - mean_x);
    }
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::Duration;

    /// Groups sent 10 ms apart that arrive `extra_ms` later each time.
    fn ramp(trendline: &mut Trendline, groups: u32, extra_ms: f64, arrival_ms: &mut f64) {
        for _ in 0..groups {
            *arrival_ms += 10.0 + extra_ms;
            trendline.on_group(&GroupDelta {
                sent: Duration::from_millis(10),
                arrived: Duration::from_secs_f64((10.0 + extra_ms) / 1e3),
                arrival: ReceiverInstant::from_nanos((*arrival_ms * 1e6) as i64),
            });
        }
    }

    #[test]
    fn slope_of_a_long_ramp_is_the_delay_per_time() {
        // The smoothing filter lags a ramp by a constant, so its slope is exact once settled.
        let (mut trendline, mut time) = (Trendline::new(), 0.0);
        ramp(&mut trendline, 300, 0.5, &mut time);
        assert!((trendline.slope() - 0.5 / 10.5).abs() < 1e-6, "{}", trendline.slope());
        assert_eq!(trendline.usage(), Usage::Over); // 60 * 4 * 0.0476 = 11.4 against at most 12.5
        assert!((trendline.modified_trend_ms() - 60.0 * 4.0 * 0.5 / 10.5).abs() < 1e-4);
    }

    #[test]
    fn slope_of_an_early_ramp_is_that_of_the_filtered_closed_form() {
        // After k groups the sum is a k and the filter holds a (k - 9 (1 - 0.9^k)).
        let (mut trendline, mut time) = (Trendline::new(), 0.0);
        ramp(&mut trendline, 20, 1.0, &mut time);
        let points: VecDeque<(f64, f64)> = (1..=20)
            .map(|k| {
                let decay = (0..k).fold(1.0, |product: f64, _| product * 0.9);
                (f64::from(k - 1) * 11.0, f64::from(k) - 9.0 * (1.0 - decay))
            })
            .collect();
        let expected = slope(&points).unwrap_or(0.0);
        assert!((trendline.slope() - expected).abs() < 1e-9, "{} {expected}", trendline.slope());
    }

    #[test]
    fn a_falling_delay_is_underuse_and_a_flat_one_normal() {
        let (mut trendline, mut time) = (Trendline::new(), 0.0);
        ramp(&mut trendline, 40, 0.0, &mut time);
        assert_eq!(trendline.usage(), Usage::Normal);
        ramp(&mut trendline, 40, -2.0, &mut time);
        assert_eq!(trendline.usage(), Usage::Under);
        ramp(&mut trendline, 100, 0.0, &mut time);
        assert_eq!(trendline.usage(), Usage::Normal);
    }

    #[test]
    fn threshold_follows_the_trend_at_its_two_gains() {
        let (mut trendline, mut time) = (Trendline::new(), 0.0);
        ramp(&mut trendline, 2, 0.0, &mut time);
        // A trend of 0 below the start threshold: one step of 10 ms at the gain downwards.
        let before = trendline.threshold_ms();
        ramp(&mut trendline, 1, 0.0, &mut time);
        let expected = before - 0.039 * before * 10.0;
        assert!((trendline.threshold_ms() - expected).abs() < 1e-9);
        ramp(&mut trendline, 100, 0.0, &mut time);
        assert!((trendline.threshold_ms() - MIN_THRESHOLD_MS).abs() < 1e-9);
        // Above by less than 15 ms: upwards, by 0.0087 of the excess per ms.
        trendline.modified_trend_ms = 16.0;
        let last = trendline.last_adaptation_ms.unwrap_or(0.0);
        trendline.adapt_threshold(last + 10.0);
        assert!((trendline.threshold_ms() - (6.0 + 0.0087 * 10.0 * 10.0)).abs() < 1e-9);
        // Above by more: not at all.
        let held = trendline.threshold_ms();
        trendline.modified_trend_ms = held + 15.1;
        trendline.adapt_threshold(last + 20.0);
        assert!((trendline.threshold_ms() - held).abs() < 1e-12);
    }

    #[test]
    fn the_slope_is_that_of_least_squares() {
        // Means 1.5 and 4.5: 5.25 + 0.75 + 0.25 + 6.75 over 2.25 + 0.25 + 0.25 + 2.25.
        let line = VecDeque::from([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 9.0)]);
        assert!((slope(&line).unwrap_or(0.0) - 13.0 / 5.0).abs() < 1e-12);
        assert_eq!(slope(&VecDeque::from([(2.0, 1.0), (2.0, 3.0)])), None);
    }

    /// Of the first group half counts.
    #[test]
    fn overuse_needs_more_than_ten_milliseconds_two_groups_and_a_trend_that_does_not_fall() {
        let after = |spans: &[f64], slopes: (f64, f64)| {
            let mut trendline = Trendline::new();
            (trendline.previous_slope, trendline.slope) = slopes;
            spans.iter().for_each(|span| trendline.above(*span));
            trendline.usage()
        };
        for (spans, usage) in [
            (&[30.0][..], Usage::Normal),
            (&[30.0, 1.0], Usage::Over),
            (&[5.0, 7.5], Usage::Normal),
            (&[5.0, 7.6], Usage::Over),
        ] {
            assert_eq!(after(spans, (0.1, 0.1)), usage, "{spans:?}");
            assert_eq!(after(spans, (0.2, 0.1)), Usage::Normal, "{spans:?}");
        }
    }
}
