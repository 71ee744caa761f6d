//! The modes of a home's gateway ([`crate::Home`]) as files name them, with what can be set.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | period | 20 ms | ours: a sender in slow start doubles its window in an RTT, which may be as short |
//! | options of VoAP | step "fill", memory 2 s, equal rates, newcomers "admitted" | many downloads, those that come and go, and those of BBR need them: see [`crate::Voap`] |

use crate::{Fairness, Newcomers, Step, VoapConfig};
use gameway_units::Duration;
use gameway_units::declared::{Configuration, OptionError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PERIOD: Duration = Duration::from_millis(20);
const ESTIMATE_MEMORY: Duration = Duration::from_secs(2);
const SOURCE: &str =
    "Bujari, Massaro, Palazzi: Vegas over Access Point, section IV; RFC 7323 section 3";

/// What can be set in mode `windows`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WindowsConfig {
    /// windows grow while packets wait less than this time
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub alpha: Duration,
    /// windows shrink while they wait longer than this time, which is not below alpha
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub beta: Duration,
    /// how often windows change
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
    /// "time": alpha and beta; "frames": a Wi-Fi frame for each station, or two, where that is longer and the wait is its own
    pub target: Target,
}

/// How long packets may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Alpha and beta.
    Time,
    /// As long as frames of an access point with a queue for each station need to be full: module `frames`.
    Frames,
}

impl Default for WindowsConfig {
    fn default() -> Self {
        let VoapConfig { alpha, beta, .. } = VoapConfig::default();
        Self { alpha, beta, period: PERIOD, target: Target::Time }
    }
}

impl Configuration for WindowsConfig {
    const NAME: &'static str = "windows";
    const SUMMARY: &'static str = "VoAP on two queues: the gateway's own, and the provider's, which it reads off the downloads";
    const SOURCE: &'static str = SOURCE;

    fn check(&self) -> Result<(), OptionError> {
        self.voap().check()
    }
}

impl WindowsConfig {
    pub(crate) fn voap(self) -> VoapConfig {
        VoapConfig {
            alpha: self.alpha,
            beta: self.beta,
            period: self.period,
            memory: ESTIMATE_MEMORY,
            step: Step::Fill,
            fairness: Fairness::Rates,
            newcomers: Newcomers::Admitted,
            ..VoapConfig::default()
        }
    }
}

/// What can be set in mode `shape`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeConfig {
    /// how often the rate changes
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
}

impl Default for ShapeConfig {
    fn default() -> Self {
        Self { period: PERIOD }
    }
}

impl Configuration for ShapeConfig {
    const NAME: &'static str = "shape";
    const SUMMARY: &'static str =
        "sets the rate of its own queue, a shaper, by what packets wait in the provider's";
    const SOURCE: &'static str = "ours; RFC 7323 section 3";
}

/// What can be set in mode `both`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BothConfig {
    /// windows grow while packets wait less than this time in both queues together
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub alpha: Duration,
    /// windows shrink while they wait longer than this time, which is not below alpha
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub beta: Duration,
    /// how often windows and the rate change
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
}

impl Default for BothConfig {
    fn default() -> Self {
        let WindowsConfig { alpha, beta, period, .. } = WindowsConfig::default();
        Self { alpha, beta, period }
    }
}

impl Configuration for BothConfig {
    const NAME: &'static str = "both";
    const SUMMARY: &'static str = "lowers windows and sets the rate of its own queue";
    const SOURCE: &'static str = SOURCE;

    fn check(&self) -> Result<(), OptionError> {
        self.windows().check()
    }
}

impl BothConfig {
    pub(crate) fn windows(self) -> WindowsConfig {
        let Self { alpha, beta, period } = self;
        WindowsConfig { alpha, beta, period, target: Target::Time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_lowered_by_voap_with_the_options_of_the_head() {
        let millis = Duration::from_millis;
        let (alpha, beta, period) = (millis(3), millis(7), millis(40));
        let of_both = BothConfig { alpha, beta, period }.windows();
        assert_eq!(of_both, WindowsConfig { alpha, beta, period, target: Target::Time });
        let expected = VoapConfig {
            alpha,
            beta,
            period,
            memory: Duration::from_secs(2),
            step: Step::Fill,
            fairness: Fairness::Rates,
            newcomers: Newcomers::Admitted,
            ..VoapConfig::default()
        };
        assert_eq!(of_both.voap(), expected);
    }

    #[test]
    fn beta_below_alpha_is_refused() {
        let beta = Duration::from_millis(4);
        assert!(WindowsConfig { beta, ..WindowsConfig::default() }.check().is_err());
        assert!(WindowsConfig::default().check().is_ok());
        assert!(BothConfig { beta, ..BothConfig::default() }.check().is_err());
        assert!(BothConfig::default().check().is_ok());
    }
}
