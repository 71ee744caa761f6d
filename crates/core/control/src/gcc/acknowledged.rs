//! The acknowledged bitrate: what arrives, as a Bayesian mean over short windows.
//!
//! Source: libwebrtc `bitrate_estimator` (m128).
//!
//! | Constant | Value |
//! |---|---|
//! | window; first window | 150 ms; 500 ms |
//! | uncertainty of a sample | 10 times its relative distance from the estimate |
//! | variance: start, growth per sample | 50, 5 |

use gameway_units::{Bytes, Duration, Rate, ReceiverInstant};

const WINDOW: Duration = Duration::from_millis(150);
const FIRST_WINDOW: Duration = Duration::from_millis(500);
const UNCERTAINTY: f64 = 10.0;
const START_VARIANCE: f64 = 50.0;
const VARIANCE_GROWTH: f64 = 5.0;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct AcknowledgedBitrate {
    sum: Bytes,
    in_window: Duration,
    newest: Option<ReceiverInstant>,
    estimate_kbps: Option<f64>,
    variance: f64,
}

impl AcknowledgedBitrate {
    pub(super) fn new() -> Self {
        Self {
            sum: Bytes::ZERO,
            in_window: Duration::ZERO,
            newest: None,
            estimate_kbps: None,
            variance: START_VARIANCE,
        }
    }

    pub(super) fn estimate(&self) -> Option<Rate> {
        self.estimate_kbps.map(|kbps| Rate::from_bps_f64(kbps * 1e3))
    }

    /// A packet arrived; give them in order of arrival.
    pub(super) fn on_packet(&mut self, arrival: ReceiverInstant, size: Bytes) {
        let window = if self.estimate_kbps.is_some() { WINDOW } else { FIRST_WINDOW };
        let Some(sample_kbps) = self.sample(arrival, size, window) else { return };
        let Some(estimate) = self.estimate_kbps else {
            self.estimate_kbps = Some(sample_kbps);
            return;
        };
        let uncertainty = UNCERTAINTY * (estimate - sample_kbps).abs() / estimate.max(1.0);
        let sample_variance = uncertainty * uncertainty;
        let predicted = self.variance + VARIANCE_GROWTH;
        let total = sample_variance + predicted;
        self.estimate_kbps = Some((sample_variance * estimate + predicted * sample_kbps) / total);
        self.variance = sample_variance * predicted / total;
    }

    /// The rate of the window that this packet ends, if it does.
    fn sample(&mut self, arrival: ReceiverInstant, size: Bytes, window: Duration) -> Option<f64> {
        let gap = self.newest.map_or(Duration::ZERO, |newest| arrival.saturating_since(newest));
        self.newest = Some(arrival);
        if gap.is_negative() {
            self.sum = Bytes::ZERO;
            self.in_window = Duration::ZERO;
        } else {
            self.in_window = self.in_window.saturating_add(gap);
        }
        if gap > window {
            // Nothing came for a whole window: what was before tells nothing of the rate now.
            self.sum = Bytes::ZERO;
            let rest = self.in_window.as_nanos().rem_euclid(window.as_nanos());
            self.in_window = Duration::from_nanos(rest);
        }
        let mut sample = None;
        if self.in_window >= window {
            sample = Some(self.sum.as_f64() * 8.0 / window.as_millis_f64());
            self.in_window = self.in_window.saturating_sub(window);
            self.sum = Bytes::ZERO;
        }
        self.sum = self.sum.saturating_add(size);
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(acknowledged: &mut AcknowledgedBitrate, bytes: u64, millis: std::ops::Range<i64>) {
        for milli in millis {
            let time = ReceiverInstant::ZERO + Duration::from_millis(milli);
            acknowledged.on_packet(time, Bytes::new(bytes));
        }
    }

    fn kbps(acknowledged: &AcknowledgedBitrate) -> f64 {
        acknowledged.estimate().map_or(0.0, Rate::as_bps_f64) / 1e3
    }

    #[test]
    fn a_steady_stream_is_measured_exactly_and_a_change_is_followed() {
        let mut acknowledged = AcknowledgedBitrate::new();
        feed(&mut acknowledged, 1_250, 0..500);
        assert_eq!(acknowledged.estimate(), None);
        feed(&mut acknowledged, 1_250, 500..1_500);
        assert_eq!(acknowledged.estimate(), Some(Rate::from_mbps(10)));
        feed(&mut acknowledged, 625, 1_500..4_500);
        let halved = kbps(&acknowledged);
        assert!((4_990.0..5_200.0).contains(&halved), "{halved}");
    }

    /// Each sample is weighed by its variance against that of the estimate, as in a Kalman filter of one state.
    #[test]
    fn two_samples_of_half_the_rate_by_hand() {
        let mut acknowledged = AcknowledgedBitrate::new();
        feed(&mut acknowledged, 1_250, 0..500);
        // Variances 10 x 0.5 squared and 50 + 5: (25 x 10000 + 55 x 5000) / 80, which leaves one of 25 x 55 / 80.
        feed(&mut acknowledged, 625, 500..651);
        assert!((kbps(&acknowledged) - 6_562.5).abs() < 1e-3, "{}", kbps(&acknowledged));
        // (10 x 1562.5 / 6562.5) squared is 5.669, and 17.1875 + 5.
        feed(&mut acknowledged, 625, 651..801);
        assert!((kbps(&acknowledged) - 5_317.977).abs() < 1e-3, "{}", kbps(&acknowledged));
    }

    #[test]
    fn what_was_before_a_pause_of_more_than_a_window_does_not_count() {
        for (pause, lower) in [(150, true), (300, false)] {
            let mut acknowledged = AcknowledgedBitrate::new();
            feed(&mut acknowledged, 1_250, 0..501);
            feed(&mut acknowledged, 1_250, 500 + pause..651 + pause);
            let found = kbps(&acknowledged);
            assert_eq!(found < 9_999.0, lower, "{found}");
        }
    }
}
