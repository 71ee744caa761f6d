//! What can be chosen in Pudica (Wang et al. 2024): variants of the paper's microbenchmarks, and readings of
//! what the paper leaves open. The tables at the head of the algorithm tell which is which.
//!
//! What they do on our test network (`tests/all/pudica_variants.rs`): three streams that begin 20 s apart share
//! 30 Mb/s at 20 ms; Jain's index, utilization and the 95th percentile of the frame delay of seconds 45 to
//! 60, each the mean of four runs with other offsets between the frames.
//!
//! | Option | Jain | utilization | delay | |
//! |---|---:|---:|---:|---|
//! | (default) | 0.992 | 0.960 | 31 ms | |
//! | `bur = sqp` | 0.974 | 0.992 | 48 ms | the short least delay takes others' queue for the path |
//! | `bur = salsify` | 0.806 | 1.000 | 213 ms | blind to others: the buffer of 200 ms is full |
//! | `bur = salsify`, `trigger = own` | 0.966 | 0.996 | 91 ms | blind, but drains |
//! | `additive_only = on` | 0.743 | 0.991 | 26 ms | latecomers stay small |
//! | `trigger = corrected` | 0.560 | 0.934 | 26 ms | a latecomer drains when it waits behind another's frame |
//! | `above_one = hold` | 0.780 | 0.991 | 27 ms | nothing takes from the large when the link is full |
//! | `a_cap_share = 0.02` | 0.774 | 0.965 | 29 ms | a bound in proportion makes the additive part proportional |
//! | `a_cap = 500 kb/s` | 0.975 | 0.960 | 30 ms | |
//! | `ai_cadence = every-frame` | 0.995 | 0.962 | 42 ms | several steps before the first is felt |
//! | `drain_volume = above-bdp` | 0.956 | 0.981 | 31 ms | |
//! | `fallback = off` | 0.997 | 0.963 | 36 ms | |
//! | `b_max = 20 Mb/s` | 0.999 | 0.993 | 27 ms | B_max / 2 is the fair share here: the step is zero there |
//! | `pace = 2`, `probes = 0` | 0.983 | 0.981 | 35 ms | |
//! | `pace = burst`, `probes = 0` | 0.999 | 1.000 | 43 ms | |
//!
//! `ai_term = exponential`, `log_base`, `tau_reset`, `scale`, `frame_bitrate`, `min_delay`, `pace_ratio`,
//! `drain_target`, `recovery` and `next_delay_margin` change the index by less than 0.01 and the delay by
//! less than 1 ms there. Above B_max / 2 the term counts: alone on 45 Mb/s, linear uses 0.89 of the link,
//! exponential 0.96, and exponential without a bound on the step 0.93 with 5 ms more delay. After a
//! halving, `drain_target = once` empties the queue 50 ms sooner and uses 3 % less of the next second; in
//! two of eight runs of `experiments/pudica-readings` it never empties it, because the rate was measured too
//! early.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose estimate gives the utilization ratio (section 5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bur {
    /// Pudica's own: how long a frame keeps the link busy, and what its probes meet.
    #[default]
    Pudica,
    /// The frame's bitrate over the bandwidth that SQP estimates from the frame.
    Sqp,
    /// The frame's bitrate over the capacity that Salsify estimates from the gaps between packets.
    Salsify,
}

/// How packets are spread, and so what a frame can tell of the path.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "is neither native nor adaptive nor burst nor a number"
)]
pub enum Pace {
    /// As the estimate was made for: adaptive for Pudica, twice the bitrate for SQP, a fifth of the mean
    /// gap apart for Salsify.
    #[default]
    Native,
    /// Eq. 2: a little faster than the link.
    Adaptive,
    /// Each frame at once.
    Burst,
    /// Each frame over the frame interval divided by this.
    #[serde(untagged)]
    Multiplier(f64),
}

/// Which utilization ratio pulls fallback, draining and recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// That of the frame alone. With the correction, a latecomer that merely waits behind another flow's
    /// frame takes it for congestion and starves.
    #[default]
    Uncorrected,
    /// With what the probes found.
    Corrected,
    /// As the first, and Pudica's own even if `bur` is another's estimate.
    Own,
}

/// How the additive term grows with the count of frames tau.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdditiveTerm {
    /// `2 tau / log B`.
    #[default]
    Linear,
    /// `2^tau / log B`, the letter of the extracted text.
    Exponential,
}

/// Base of the logarithm in the additive term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogBase {
    /// e.
    #[default]
    #[serde(rename = "e")]
    Natural,
    /// 2.
    #[serde(rename = "2")]
    Two,
    /// 10.
    #[serde(rename = "10")]
    Ten,
}

/// How often AI-MD may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// After feedback of a frame encoded with the last change, as MI.
    #[default]
    Gated,
    /// At each frame's feedback.
    EveryFrame,
}

/// What AI-MD does while the smoothed ratio is above one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveOne {
    /// Go on, with tau held at zero (section 4.2).
    #[default]
    Continue,
    /// Wait until it is at most one (overview of section 4).
    Hold,
}

/// What the period of five seconds that clears tau is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TauReset {
    /// The stream's own start.
    #[default]
    Own,
    /// The clock's zero, so that all flows of a clock clear it together.
    Aligned,
}

/// What stands for the bitrate of a past frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameBitrate {
    /// The target with which it was encoded.
    #[default]
    Target,
    /// Its size over the frame interval.
    Actual,
}

/// What counts as queued data to be drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrainVolume {
    /// Everything in flight.
    #[default]
    InFlight,
    /// What exceeds the receiving rate times the least round-trip time.
    AboveBdp,
}

/// Which utilization ratio drives the pace multiplier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PaceRatio {
    /// With what the probes found: the paper says that they guide the pace.
    #[default]
    Corrected,
    /// That of the frame alone, the letter of eq. 2.
    Uncorrected,
}

/// Which packets tell the least one-way delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MinDelay {
    /// All, also the probes: being small, they are through the link sooner than a frame's packets.
    #[default]
    #[serde(rename = "any")]
    AnyPacket,
    /// Those of frames only.
    #[serde(rename = "frame")]
    FramePackets,
}

/// How often the bitrate of a drain is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrainTarget {
    /// Anew at each congested frame.
    #[default]
    EveryFrame,
    /// When the drain begins.
    Once,
}

/// The bitrate after a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// The receiving rate, but not more than before the drain.
    #[default]
    Bounded,
    /// The receiving rate.
    Unbounded,
}
