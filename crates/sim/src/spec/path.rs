//! The path of a run.

use super::{GatewaySpec, QueueSpec, Text};
use gameway_units::{Duration, Rate, Ratio};
use serde::de::{Deserialize, Deserializer, Error};
use std::path::PathBuf;

/// The path.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// Capacity of the bottleneck towards the client.
    pub capacity: CapacitySpec,
    /// Round-trip time of an empty path, without serialization.
    pub base_rtt: Text<Duration>,
    /// The part of it towards the client; half if not given.
    pub forward_delay: Option<Text<Duration>>,
    /// The queue at the bottleneck.
    pub queue: QueueSpec,
    /// Jitter towards the client.
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// Loss towards the client, behind the bottlenecks.
    pub loss: Option<LossSpec>,
    /// Bottlenecks behind the path's own, in order towards the clients.
    #[serde(default)]
    pub hop: Vec<HopSpec>,
    /// The way from the clients to the servers; never congested and without loss if not given.
    pub back: Option<BackSpec>,
    /// The home gateway at the path's own bottleneck; it only forwards if not given.
    pub gateway: Option<GatewaySpec>,
}

/// A further bottleneck.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopSpec {
    /// Its name in tables, and for flows that pass only this one.
    pub name: String,
    /// Its capacity.
    pub capacity: CapacitySpec,
    /// Its queue.
    pub queue: QueueSpec,
}

/// The way back.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackSpec {
    /// Capacity of its bottleneck; it has none if not given.
    pub capacity: Option<CapacitySpec>,
    /// The queue at that bottleneck; 300 ms of drop-tail if not given (RFC 8867 section 4).
    pub queue: Option<QueueSpec>,
    /// Jitter towards the servers.
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// Loss towards the servers.
    pub loss: Option<LossSpec>,
}

/// Capacity over time.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum CapacitySpec {
    /// Always the same.
    Constant(Text<Rate>),
    /// Each from its time on.
    Steps(StepsSpec),
    /// A trace in Mahimahi's format.
    Trace(TraceSpec),
}

/// See [`CapacitySpec::Steps`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsSpec {
    /// Times and capacities.
    pub steps: Vec<(Text<Duration>, Text<Rate>)>,
}

/// See [`CapacitySpec::Trace`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The file.
    pub trace: PathBuf,
}

/// See [`gameway_path::Jitter`]; a table without `kind` is of kind "normal".
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterSpec {
    /// Normal, cut at zero.
    Normal {
        /// Mean.
        #[serde(default = "zero")]
        mean: Text<Duration>,
        /// Standard deviation.
        deviation: Text<Duration>,
    },
    /// The absolute value of a normal, truncated at three deviations.
    HalfNormal {
        /// Standard deviation of the normal.
        deviation: Text<Duration>,
    },
    /// Held for a while, again and again.
    Periodic {
        /// How long.
        delay: Text<Duration>,
        /// How often.
        interval: Text<Duration>,
    },
}

const fn zero() -> Text<Duration> {
    Text(Duration::ZERO)
}

fn jitter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JitterSpec>, D::Error> {
    let Some(mut table) = Option::<serde_json::Map<_, _>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    table.entry("kind").or_insert_with(|| "normal".into());
    JitterSpec::deserialize(serde_json::Value::Object(table)).map(Some).map_err(Error::custom)
}

/// See [`gameway_path::LossModel`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossSpec {
    /// Each packet by itself.
    Random {
        /// Share of packets.
        probability: Text<Ratio>,
    },
    /// In bursts.
    Bursty {
        /// Share of packets.
        probability: Text<Ratio>,
        /// Mean packets lost in a row.
        burst_length: f64,
    },
}
