//! The home gateway of a run. What is not given is as in the algorithm's own defaults.

use super::{Switch, Text};
use gameway_units::{Duration, Rate};

/// A gateway with its options; `gameway list gateways` says what each does.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GatewaySpec {
    /// It only forwards.
    None(ForwardSpec),
    /// Bujari et al.
    Voap(VoapSpec),
    /// Palazzi et al.
    SapLaw(SapLawSpec),
}

/// A gateway that only forwards has no options.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwardSpec {}

/// See [`gameway_gateway::VoapConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the algorithm")]
pub struct VoapSpec {
    pub alpha: Option<Text<Duration>>,
    pub beta: Option<Text<Duration>>,
    pub period: Option<Text<Duration>>,
    pub memory: Option<Text<Duration>>,
    pub step: Option<StepSpec>,
    pub fairness: Option<FairnessSpec>,
    pub redistribution: Option<Switch>,
    pub leftover: Option<LeftoverSpec>,
}

/// See [`gameway_gateway::SapLawConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the algorithm")]
pub struct SapLawSpec {
    pub capacity: Text<Rate>,
    pub rtt: Option<Text<Duration>>,
    pub period: Option<Text<Duration>>,
}

/// See [`gameway_gateway::Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the algorithm")]
pub enum StepSpec {
    Segment,
    Backlog,
}

/// See [`gameway_gateway::Fairness`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the algorithm")]
pub enum FairnessSpec {
    Windows,
    Rates,
}

/// See [`gameway_gateway::Leftover`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the algorithm")]
pub enum LeftoverSpec {
    HandedOn,
    Lost,
}
