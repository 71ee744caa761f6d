//! SQP: bandwidth from paced frames, over the least one-way delay of a moment ago.
//!
//! Source: Ray, Smith, Wei, Chu, Seshan, "SQP: Congestion Control for Low-Latency Interactive Video
//! Streaming", arXiv 2207.11857, section 4, from notes on it: verify against the text before quoting. We
//! know of no code by the authors.
//!
//! Model: each frame leaves in a train at twice the estimate B and is a sample S of the bandwidth: its size
//! over the time that it took beyond the least one-way delay of the last two round trips. B steps towards S
//! by the gradient of a logarithmic utility. The encoder gets 0.9 B, so that each frame is through before
//! the next comes. A queue that others build raises the short least delay, so that the flow keeps its share.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | pacing m | 2, option `pace_multiplier` | paper |
//! | step delta | 320 kb/s per frame, option `step` | paper |
//! | weight r of the linear term | 0.25, option `reward` | paper |
//! | target factor T | 0.9, option `target_factor` | paper |
//! | window of the least delay, undershoot | see `train` | paper |
//! | a sample at most | m B | ours: a train at m B cannot show more |
//!
//! | Left open by the paper | Reading |
//! |---|---|
//! | Where T applies | to the output: B estimates the bandwidth, the encoder gets T B |
//! | What m multiplies | B, not the target: packets leave at the rate m B, whatever the frame's size |
//! | Clock of the least delay's window | the sending times of packets, this frame's own included |
//! | Start | B = start rate / T; no phase of its own: while a train is not queued S = m B, and B gains 0.75 delta per frame |
//! | delta at frame rates other than 60 | per frame, not scaled |
//! | Frames received in part | the bytes that arrived, over the time to the last of them; one of several packets of which less than two arrived tells nothing |
//! | Loss | no rule of its own; the option `reduce_on_loss` bounds the bitrate where more than a tenth is lost (`loss_bound`) |
//!
//! | Deviation | Why |
//! |---|---|
//! | The window is at least two frame intervals | shorter, it would not hold the first packet of a frame |
//! | A sample is bounded as above, an undershoot is stretched ten times at most | a time near zero says nothing |
//! | B stays between the limits over T | it must be able to come back |
//!
//! Seen on our test network: alone B rests at `C + p / (T L)` for packets of p bits, since the least delay
//! holds one packet's transmission. Several flows whose frames take turns share fairly, but behind a
//! queue of some 80 ms: beside smooth traffic of n - 1 equals a train would see `m C / (m + (n - 1) T)`, more
//! than C / n. Flows whose frames leave at the same moment keep a small queue and unequal rates.

pub(crate) mod train;

use crate::loss_bound::LossBound;
use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, RateController,
    RateLimits, SentPacket, Target,
};
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use train::Sampler;

/// Constants that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SqpOptions {
    /// packets leave at this multiple m of the bandwidth estimate
    #[schemars(range(min = 1.1, max = 100.0))]
    pub pace_multiplier: f64,
    /// size delta of the estimate's step per frame
    pub step: Rate,
    /// weight r of the step's linear term, beside the logarithmic one
    #[schemars(range(min = 0.0, max = 10.0))]
    pub reward: f64,
    /// share T of the bandwidth estimate that the encoder gets
    #[schemars(range(min = 0.1, max = 1.0))]
    pub target_factor: f64,
    /// a bound as GCC's loss-based rate once more than a tenth is lost; not in the paper
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub reduce_on_loss: bool,
}

impl Default for SqpOptions {
    fn default() -> Self {
        let step = Rate::from_kbps(320);
        Self { pace_multiplier: 2.0, step, reward: 0.25, target_factor: 0.9, reduce_on_loss: false }
    }
}

/// The estimate after a sample: one step of size `delta`.
fn step(bandwidth: f64, sample: f64, delta: f64, reward: f64) -> f64 {
    bandwidth + delta * (reward * (sample / bandwidth - 1.0) - (bandwidth / sample - 1.0))
}

impl Configuration for SqpOptions {
    const NAME: &'static str = "sqp";
    const SUMMARY: &'static str =
        "bandwidth from paced frames over a short-lived least delay; fills nine tenths of it";
    const SOURCE: &'static str = "Ray et al., SQP, arXiv 2207.11857";
}

impl ControllerAlgorithm for SqpOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Sqp::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Sqp {
    options: SqpOptions,
    limits: RateLimits,
    sampler: Sampler,
    /// The estimate B in bit/s.
    bandwidth: f64,
    /// The newest sample S in bit/s.
    sample: f64,
    loss_bound: LossBound,
}

impl Sqp {
    /// A controller for a stream with these limits.
    #[must_use]
    pub fn new(options: SqpOptions, limits: RateLimits) -> Self {
        let start = limits.clamp(limits.start).as_bps_f64().max(1.0);
        Self {
            options,
            limits,
            sampler: Sampler::new(limits.frame_interval),
            bandwidth: start / options.target_factor,
            sample: 0.0,
            loss_bound: LossBound::new(options.reduce_on_loss),
        }
    }

    /// T B.
    fn bitrate(&self) -> Rate {
        let share = self.bandwidth * self.options.target_factor;
        self.limits.clamp(Rate::from_bps_f64(share))
    }

    fn on_sample(&mut self, sample: f64) {
        self.sample = sample.clamp(1.0, self.options.pace_multiplier * self.bandwidth);
        let (delta, reward) = (self.options.step.as_bps_f64(), self.options.reward);
        let stepped = step(self.bandwidth, self.sample, delta, reward);
        let bound = |rate: Rate| rate.as_bps_f64().max(1.0) / self.options.target_factor;
        let min = bound(self.limits.min);
        self.bandwidth = stepped.min(bound(self.limits.max)).max(min);
    }
}

impl RateController for Sqp {
    fn name(&self) -> &'static str {
        "sqp"
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.sampler.set_frame_interval(*interval);
        }
    }

    fn on_frame(&mut self, _now: Instant, frame: &FrameSent) {
        self.sampler.on_frame(frame);
    }

    fn on_sent(&mut self, _now: Instant, _packet: &SentPacket) {}

    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>) {
        if let Some(rtt) = batch.round_trip_time(now) {
            self.sampler.on_round_trip(rtt);
        }
        for report in batch.reports {
            if let Some((_, sample)) = self.sampler.on_report(report) {
                self.on_sample(sample);
            }
        }
        self.loss_bound.on_feedback(now, batch, self.bitrate());
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn target(&self) -> Target {
        let bandwidth = Rate::from_bps_f64(self.bandwidth);
        Target::new(
            self.limits.clamp(self.loss_bound.limit(self.bitrate())),
            Pacing::Rate(bandwidth.mul_f64(self.options.pace_multiplier)),
        )
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.target().bitrate.as_bps_f64());
        sink("bandwidth_bps", self.bandwidth);
        sink("sample_bps", self.sample);
        let min_delay = self.sampler.min_delay();
        let rtt = min_delay.smoothed_rtt().unwrap_or_default();
        sink("smoothed_rtt_ms", rtt.as_millis_f64());
        sink("min_delay_window_ms", min_delay.window().as_millis_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: f64 = 320e3;

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-3
    }

    #[test]
    fn steps_by_hand() {
        assert!(near(step(20e6, 20e6, DELTA, 0.25), 20e6));
        // S = 2 B: 320 (0.25 + 0.5) = 240 kb/s up.
        assert!(near(step(20e6, 40e6, DELTA, 0.25), 20.24e6));
        // S = B / 2: 320 (-0.125 - 1) = 360 kb/s down.
        assert!(near(step(20e6, 10e6, DELTA, 0.25), 19.64e6));
        // S = B / 4: 320 (-0.1875 - 3) = 1020 kb/s down.
        assert!(near(step(20e6, 5e6, DELTA, 0.25), 18.98e6));
    }

    #[test]
    fn the_step_is_zero_at_the_sample_alone_and_leads_there() {
        // With y = S/B: r (y - 1) = 1/y - 1 is (y - 1)(r + 1/y) = 0, and r + 1/y > 0: only y = 1.
        for start in [2e6, 19e6, 21e6, 45e6] {
            let mut bandwidth = start;
            for _ in 0..2_000 {
                let next = step(bandwidth, 20e6, DELTA, 0.25);
                assert!((next - 20e6).abs() <= (bandwidth - 20e6).abs(), "{bandwidth} {next}");
                bandwidth = next;
            }
            assert!((bandwidth - 20e6).abs() < 1.0, "{bandwidth}");
        }
    }

    #[test]
    fn a_sample_is_bounded_by_the_pace_and_the_estimate_by_the_limits() {
        let limits = RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(18),
            start: Rate::from_mbps(9),
            frame_interval: gameway_units::Duration::from_millis(16),
        };
        let mut sqp = Sqp::new(SqpOptions::default(), limits);
        // No train shows more than it was sent at: S = 2 B.
        sqp.on_sample(1e9);
        assert!(near(sqp.sample, 20e6) && near(sqp.bandwidth, 10.24e6));
        assert_eq!(sqp.target().bitrate, Rate::from_kbps(9_216));
        assert_eq!(sqp.target().pacing, Pacing::Rate(Rate::from_kbps(20_480)));
        (0..100).for_each(|_| sqp.on_sample(1e9));
        assert!(near(sqp.bandwidth, 20e6));
        (0..100).for_each(|_| sqp.on_sample(1.0));
        assert!(near(sqp.bandwidth, 1e6 / 0.9));
    }
}
