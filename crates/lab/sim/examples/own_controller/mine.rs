//! Additive increase, and a cut when the least delay of a report is above the least ever.

use gameway_control::{
    ControllerAlgorithm, FeedbackBatch, FeedbackStyle, FrameSent, Pacing, RateController,
    RateLimits, SentPacket, Target,
};
use gameway_units::declared::Configuration;
use gameway_units::{Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What can be set: each field is an option of the controller in an experiment file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MineOptions {
    /// what each report without queueing adds to the bitrate
    #[schemars(extend("x-min" = "1 kb/s", "x-max" = "10 Mb/s"))]
    gain: Rate,
    /// queueing delay from which on the bitrate is cut
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 s"))]
    late: Duration,
    /// share of the bitrate that a cut keeps
    #[schemars(range(min = 0.1, max = 1.0))]
    kept: f64,
}

impl Default for MineOptions {
    fn default() -> Self {
        Self { gain: Rate::from_kbps(50), late: Duration::from_millis(5), kept: 0.85 }
    }
}

impl Configuration for MineOptions {
    const NAME: &'static str = "mine";
    const SUMMARY: &'static str = "additive increase; a cut when packets wait";
    const SOURCE: &'static str = "docs/own-controller.md";
}

impl ControllerAlgorithm for MineOptions {
    fn build(self, limits: RateLimits) -> Box<dyn RateController> {
        let bitrate = limits.clamp(limits.start);
        Box::new(Mine { options: self, limits, bitrate, min_delay: None, queueing: Duration::ZERO })
    }
}

struct Mine {
    options: MineOptions,
    limits: RateLimits,
    bitrate: Rate,
    /// Clocks differ by an unknown offset: only differences of delays mean something.
    min_delay: Option<Duration>,
    queueing: Duration,
}

impl RateController for Mine {
    fn name(&self) -> &'static str {
        MineOptions::NAME
    }

    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::Interval(Duration::from_millis(50))
    }

    fn on_frame(&mut self, _now: Instant, _frame: &FrameSent) {}
    fn on_sent(&mut self, _now: Instant, _packet: &SentPacket) {}

    fn on_feedback(&mut self, _now: Instant, batch: &FeedbackBatch<'_>) {
        let arrived = batch
            .reports
            .iter()
            .filter_map(|report| Some(report.arrival?.one_way_delay_since(report.packet.sent)));
        let Some(delay) = arrived.min() else { return };
        let min = self.min_delay.map_or(delay, |min| min.min(delay));
        self.min_delay = Some(min);
        self.queueing = delay - min;
        self.bitrate = self.limits.clamp(if self.queueing > self.options.late {
            self.bitrate.mul_f64(self.options.kept)
        } else {
            self.bitrate + self.options.gain
        });
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn target(&self) -> Target {
        Target::new(self.bitrate, Pacing::FrameMultiplier(1.25))
    }

    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.bitrate.as_bps_f64());
        sink("queueing_ms", self.queueing.as_millis_f64());
    }
}
