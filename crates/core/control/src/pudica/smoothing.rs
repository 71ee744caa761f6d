//! The smoothed bandwidth utilization ratio (Pudica 4.2 eq. 6, weights of Appendix B).

use gameway_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

/// Frames of a window of 200 ms at 60 frames/s are 12; this bounds memory at any rate and window.
const MAX_SAMPLES: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Sample {
    time: Instant,
    ratio: f64,
    bitrate_mbps: f64,
}

/// A weighted mean of the ratios of recent frames, each scaled to the present bitrate.
#[derive(Debug, Clone)]
pub(super) struct SmoothedRatio {
    window: Duration,
    scale: bool,
    /// Oldest first.
    samples: VecDeque<Sample>,
}

impl SmoothedRatio {
    pub(super) fn new(window: Duration, scale: bool) -> Self {
        Self { window, scale, samples: VecDeque::with_capacity(MAX_SAMPLES) }
    }

    pub(super) fn insert(&mut self, now: Instant, ratio: f64, bitrate: Rate) {
        let old = |sample: &Sample| now.saturating_since(sample.time) > self.window;
        while self.samples.front().is_some_and(old) || self.samples.len() >= MAX_SAMPLES {
            self.samples.pop_front();
        }
        let bitrate_mbps = bitrate.as_mbps_f64().max(0.001);
        self.samples.push_back(Sample { time: now, ratio, bitrate_mbps });
    }

    /// The smoothed ratio if frames were encoded at `bitrate`; `None` without samples.
    pub(super) fn value(&self, bitrate: Rate) -> Option<f64> {
        let bitrate_mbps = bitrate.as_mbps_f64();
        let (mut weighted, mut weights) = (0.0, 0.0);
        for (index, sample) in self.samples.iter().enumerate() {
            let weight = weight(sample.ratio, sample.bitrate_mbps, index + 1);
            let scale = if self.scale { bitrate_mbps / sample.bitrate_mbps } else { 1.0 };
            weighted += weight * sample.ratio * scale;
            weights += weight;
        }
        (weights > 0.0).then(|| weighted / weights)
    }
}

/// Appendix B before normalisation: late frames, large frames and recent frames (`k` counts from 1, the
/// oldest) weigh more.
fn weight(ratio: f64, bitrate_mbps: f64, k: usize) -> f64 {
    (ratio + 1.0).min(2.0) * (bitrate_mbps + 10.0).min(50.0) * (k as f64 + 20.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn weights_are_those_of_appendix_b() {
        assert!(near(weight(0.5, 20.0, 1), 1.5 * 30.0 * 21.0));
        assert!(near(weight(3.0, 60.0, 12), 2.0 * 50.0 * 32.0));
    }

    #[test]
    fn a_mean_by_hand() {
        let mut smoothed = SmoothedRatio::new(Duration::from_millis(200), true);
        assert_eq!(smoothed.value(Rate::from_mbps(20)), None);
        smoothed.insert(Instant::ZERO, 0.5, Rate::from_mbps(10));
        smoothed.insert(Instant::ZERO + Duration::from_millis(17), 0.8, Rate::from_mbps(20));
        let (first, second) = (1.5 * 20.0 * 21.0, 1.8 * 30.0 * 22.0);
        let expected = (first * 0.5 * 2.0 + second * 0.8) / (first + second);
        assert!(near(smoothed.value(Rate::from_mbps(20)).unwrap_or(0.0), expected));
    }

    #[test]
    fn old_samples_are_forgotten_and_memory_is_bounded() {
        let mut smoothed = SmoothedRatio::new(Duration::from_millis(200), false);
        smoothed.insert(Instant::ZERO, 5.0, Rate::from_mbps(10));
        smoothed.insert(Instant::ZERO + Duration::from_millis(201), 0.5, Rate::from_mbps(10));
        assert!(near(smoothed.value(Rate::from_mbps(20)).unwrap_or(0.0), 0.5));
        for _ in 0..1_000 {
            smoothed.insert(Instant::ZERO, 0.5, Rate::from_mbps(10));
        }
        assert!(smoothed.samples.len() <= MAX_SAMPLES);
    }
}
