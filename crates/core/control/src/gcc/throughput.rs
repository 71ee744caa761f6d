//! What arrives, by either of the two estimators that libwebrtc has had.
//!
//! libwebrtc's default was the Bayesian one together with the loss thresholds, and has been the robust one together with the
//! likelihood rule since 2023. They go together: the robust one remembers a second, so that after a fall of the
//! capacity the rate is lowered in steps until the queue may be full. Then delay grows no more and loss has to
//! lower it, which the thresholds do above 10 % only. On 4 Mb/s that fall to 2 Mb/s (50 ms, a queue of 200 ms, steady
//! frames, reports each 60 ms) the robust one with thresholds leaves the queue full, with 9 % lost, for as long as the capacity
//! is low.

use super::acknowledged::AcknowledgedBitrate;
use super::robust::RobustThroughput;
use gameway_units::{Bytes, Instant, Rate, ReceiverInstant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// A Bayesian mean over windows of 150 ms.
    Bayesian,
    /// The lesser of sending and receiving rate over a second.
    #[default]
    Robust,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) enum Throughput {
    Bayesian(AcknowledgedBitrate),
    Robust(RobustThroughput),
}

impl Throughput {
    pub(super) fn new(estimator: Estimator) -> Self {
        match estimator {
            Estimator::Bayesian => Self::Bayesian(AcknowledgedBitrate::new()),
            Estimator::Robust => Self::Robust(RobustThroughput::new()),
        }
    }

    /// A packet arrived; give those of a report in order of arrival.
    pub(super) fn on_packet(&mut self, sent: Instant, arrival: ReceiverInstant, size: Bytes) {
        match self {
            Self::Bayesian(one) => one.on_packet(arrival, size),
            Self::Robust(one) => one.on_packet(sent, arrival, size),
        }
    }

    pub(super) fn estimate(&self) -> Option<Rate> {
        match self {
            Self::Bayesian(one) => one.estimate(),
            Self::Robust(one) => one.estimate(),
        }
    }
}
