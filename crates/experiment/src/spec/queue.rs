//! The queue of a bottleneck. What is not given is as in the discipline's own defaults.

use super::{HtbSpec, Text};
use gameway_path::{Framing, RoundTrip};
use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio, SignedBytes};

/// A queue discipline with its options; `gameway list queues` says what each does.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueueSpec {
    /// First in, first out.
    DropTail(DropTailSpec),
    /// RFC 8289.
    Codel(CodelSpec),
    /// RFC 8290.
    FqCodel(FqCodelSpec),
    /// RFC 8033.
    Pie(PieSpec),
    /// RFC 9332.
    DualPi2(DualPi2Spec),
    /// Linux's sch_htb.
    Htb(HtbSpec),
    /// Linux's CAKE.
    Cake(CakeSpec),
}

impl QueueSpec {
    /// How much may wait; `None` where that follows from the rest.
    #[must_use]
    pub fn size(&self) -> Option<QueueSize> {
        match self {
            Self::Cake(CakeSpec { size, .. }) => size.map(|text| text.0),
            Self::DropTail(DropTailSpec { size, .. })
            | Self::Codel(CodelSpec { size, .. })
            | Self::FqCodel(FqCodelSpec { size, .. })
            | Self::Pie(PieSpec { size, .. })
            | Self::DualPi2(DualPi2Spec { size, .. })
            | Self::Htb(HtbSpec { size, .. }) => Some(size.0),
        }
    }
}

/// See [`gameway_path::DropTail`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct DropTailSpec {
    pub size: Text<QueueSize>,
    pub mark_above: Option<Text<Duration>>,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum Switch {
    On,
    Off,
}

/// See [`gameway_path::CodelConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct CodelSpec {
    pub size: Text<QueueSize>,
    pub target: Option<Text<Duration>>,
    pub interval: Option<Text<Duration>>,
    pub ecn: Option<Switch>,
}

/// See [`gameway_path::FqCodelConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct FqCodelSpec {
    pub size: Text<QueueSize>,
    pub target: Option<Text<Duration>>,
    pub interval: Option<Text<Duration>>,
    pub ecn: Option<Switch>,
    pub flows: Option<u32>,
    pub quantum: Option<Text<Bytes>>,
}

/// See [`gameway_path::PieConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct PieSpec {
    pub size: Text<QueueSize>,
    pub target: Option<Text<Duration>>,
    pub update_interval: Option<Text<Duration>>,
    pub alpha: Option<f64>,
    pub beta: Option<f64>,
    pub burst_allowance: Option<Text<Duration>>,
    pub mark_below: Option<Text<Ratio>>,
}

/// See [`gameway_path::DualPi2Config`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct DualPi2Spec {
    pub size: Text<QueueSize>,
    pub target: Option<Text<Duration>>,
    pub update_interval: Option<Text<Duration>>,
    pub alpha: Option<f64>,
    pub beta: Option<f64>,
    pub coupling: Option<f64>,
    pub most_classic: Option<Text<Ratio>>,
    pub marking: Option<MarkingSpec>,
    pub step_above: Option<Text<Duration>>,
    pub ramp_from: Option<Text<Duration>>,
    pub ramp_range: Option<Text<Duration>>,
    pub delay_input: Option<DelayInputSpec>,
    pub scheduler: Option<SchedulerSpec>,
    pub classic_weight: Option<Text<Ratio>>,
    pub time_shift: Option<Text<Duration>>,
    pub decision: Option<DecisionSpec>,
}

/// See [`gameway_path::LowLatencyMarking`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum MarkingSpec {
    Ramp,
    Step,
}

/// See [`gameway_path::DelayInput`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum DelayInputSpec {
    Both,
    Classic,
}

/// See [`gameway_path::Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum SchedulerSpec {
    Weighted,
    TimeShifted,
}

/// See [`gameway_path::Decision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum DecisionSpec {
    Recurring,
    Random,
}

/// See [`gameway_path::CakeConfig`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "options are described by the discipline")]
pub struct CakeSpec {
    pub size: Option<Text<QueueSize>>,
    pub bandwidth: Option<Text<Rate>>,
    pub rtt: Option<Text<RoundTrip>>,
    pub isolation: Option<IsolationSpec>,
    pub diffserv: Option<DiffservSpec>,
    pub framing: Option<Text<Framing>>,
    pub overhead: Option<Text<SignedBytes>>,
    pub mpu: Option<Text<Bytes>>,
    pub cells: Option<CellsSpec>,
    pub ack_filter: Option<AckFilterSpec>,
    pub ingress: Option<Switch>,
    pub wash: Option<Switch>,
    pub ecn: Option<Switch>,
}

/// See [`gameway_path::Isolation`]; named as tc does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum IsolationSpec {
    TripleIsolate,
    DualSrchost,
    DualDsthost,
    Flows,
    Hosts,
    Srchost,
    Dsthost,
    Flowblind,
}

/// See [`gameway_path::Diffserv`]; named as tc does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum DiffservSpec {
    Diffserv3,
    Diffserv4,
    Diffserv8,
    Precedence,
    Besteffort,
}

/// See [`gameway_path::AckFilter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum AckFilterSpec {
    Off,
    On,
    Aggressive,
}

/// See [`gameway_path::Cells`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "described by the discipline")]
pub enum CellsSpec {
    None,
    Atm,
    Ptm,
}
