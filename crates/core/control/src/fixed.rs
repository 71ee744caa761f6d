//! Constant bitrate: the baseline that ignores the network.
//!
//! The target is one number for ever; frames are spread over the frame interval divided by a constant
//! multiplier. No constants from elsewhere, no deviations.

use crate::catalogue::{OptionError, OptionSpec, OptionValues};
use crate::{
    FeedbackBatch, FeedbackStyle, FrameSent, Pacing, RateController, RateLimits, SentPacket, Target,
};
use gameway_units::{Instant, Rate};

/// Options of [`Fixed`].
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "bitrate",
        default: "start_bitrate",
        summary: "the constant target, kept within the limits of the stream",
    },
    OptionSpec {
        name: "pace_multiplier",
        default: "1.25",
        summary: "each frame is spread over the frame interval divided by this; at least 1",
    },
];

/// See the module.
#[derive(Debug, Clone)]
pub struct Fixed {
    bitrate: Rate,
    pace_multiplier: f64,
}

impl Fixed {
    /// A constant `bitrate` within `limits`.
    #[must_use]
    pub fn new(bitrate: Rate, pace_multiplier: f64, limits: RateLimits) -> Self {
        let bitrate = limits.clamp(bitrate);
        Self { bitrate, pace_multiplier: pace_multiplier.max(1.0) }
    }

    /// From options given as text.
    ///
    /// # Errors
    /// If a name or a value is not allowed.
    pub fn from_options(
        options: &[(String, String)],
        limits: RateLimits,
    ) -> Result<Self, OptionError> {
        let values = OptionValues::new("fixed", OPTIONS, options)?;
        let bitrate = values.rate_or("bitrate", "start_bitrate", limits.start)?;
        Ok(Self::new(bitrate, values.number("pace_multiplier", 1.0, 1_000.0)?, limits))
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
    fn observe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("target_bps", self.bitrate.as_bps_f64());
    }
}
