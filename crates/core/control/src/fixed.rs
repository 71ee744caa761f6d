//! Constant bitrate: the baseline that ignores the network.
//!
//! The target is one number for ever; frames are spread over the frame interval divided by a constant
//! multiplier. No constants from elsewhere, no deviations.

use crate::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Pacing, RateController,
    RateLimits, SentPacket, Target,
};
use gameway_units::declared::Configuration;
use gameway_units::{Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FixedOptions {
    /// the constant target, kept within the limits of the stream
    #[schemars(extend("x-none" = "start_bitrate"))]
    pub bitrate: Option<Rate>,
    /// each frame is spread over the frame interval divided by this
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub pace_multiplier: f64,
}

impl Default for FixedOptions {
    fn default() -> Self {
        Self { bitrate: None, pace_multiplier: 1.25 }
    }
}

impl Configuration for FixedOptions {
    const NAME: &'static str = "fixed";
    const SUMMARY: &'static str = "constant bitrate, deaf to the network";
    const SOURCE: &'static str = "baseline";
}

impl ControllerAlgorithm for FixedOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        Box::new(Fixed::new(self, limits))
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Fixed {
    bitrate: Rate,
    pace_multiplier: f64,
}

impl Fixed {
    /// A constant bitrate within `limits`.
    #[must_use]
    pub fn new(options: FixedOptions, limits: RateLimits) -> Self {
        let bitrate = limits.clamp(options.bitrate.unwrap_or(limits.start));
        Self { bitrate, pace_multiplier: options.pace_multiplier.max(1.0) }
    }
}

impl RateController for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn sends_in_parts(&self) -> bool {
        true
    }

    fn on_frame(&mut self, _now: Instant, _frame: &FrameSent) {}
    fn on_sent(&mut self, _now: Instant, _packet: &SentPacket) {}
    fn on_feedback(&mut self, _now: Instant, _batch: &FeedbackBatch<'_>) {}
    fn on_timer(&mut self, _now: Instant) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn target(&self) -> Target {
        Target::new(self.bitrate, Pacing::FrameMultiplier(self.pace_multiplier))
    }
    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.bitrate.as_bps_f64());
    }
}
