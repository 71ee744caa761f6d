//! The path of a run.

use super::{GatewaySpec, QueueSpec, Unit, WifiSpec};
use gameway_units::{Duration, Rate, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::borrow::Cow;
use std::path::PathBuf;

/// The path.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// rate of the bottleneck towards the client; or { steps = ... }, { trace = "file" }, or { wifi = "802.11g" }
    pub capacity: CapacitySpec,
    /// round-trip time of the empty path
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub base_rtt: Duration,
    /// What it was drawn around: queues that are sized in BDP are sized by this; `base_rtt` if not given.
    #[schemars(skip)]
    pub nominal_rtt: Option<Duration>,
    /// its part towards the client, at most base_rtt
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "x-none" = "half of it"))]
    pub forward_delay: Option<Duration>,
    /// discipline and size of the queue
    pub queue: QueueSpec,
    /// behaviour: a gateway in front of this queue tells games from other flows by sizes and times of their packets
    #[serde(default)]
    pub classifier: ClassifierSpec,
    /// variation of the delay towards the client
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// loss behind the bottlenecks
    pub loss: Option<LossSpec>,
    /// packets that come twice, of those that are not lost
    pub duplicate: Option<ChanceSpec>,
    /// packets that change their place, likewise
    pub reorder: Option<ReorderSpec>,
    /// Times in which nothing arrives, neither way: what the twin of a live run is given. Experiment files have
    /// none.
    #[schemars(skip)]
    pub stalls: Option<StallsSpec>,
    /// further bottlenecks, in order towards the clients
    #[serde(default)]
    pub hop: Vec<HopSpec>,
    /// the way from the clients to the servers; uncongested if not given
    pub back: Option<BackSpec>,
    /// what the home gateway at this bottleneck does
    pub gateway: Option<GatewaySpec>,
}

impl PathSpec {
    /// The round-trip time of "bdp".
    #[must_use]
    pub fn nominal_rtt(&self) -> Duration {
        self.nominal_rtt.unwrap_or(self.base_rtt)
    }
}

/// How a gateway in front of the path's queue tells games from other flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassifierSpec {
    /// Not at all.
    #[default]
    None,
    /// By sizes and times of packets: [`gameway_gateway::classifier`].
    Behaviour,
}

/// A further bottleneck.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
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
    /// As that of the path.
    pub duplicate: Option<ChanceSpec>,
    /// As that of the path.
    pub reorder: Option<ReorderSpec>,
}

/// Capacity over time.
#[derive(Debug, Clone, PartialEq)]
pub enum CapacitySpec {
    /// Always the same.
    Constant(Rate),
    /// Each from its time on.
    Steps(StepsSpec),
    /// A trace in Mahimahi's format, or a table of rates.
    Trace(TraceSpec),
    /// A medium that both ways share.
    Wifi(Box<WifiSpec>),
}

impl CapacitySpec {
    /// The medium, if it is one.
    #[must_use]
    pub fn wifi(&self) -> Option<&WifiSpec> {
        if let Self::Wifi(wifi) = self { Some(wifi) } else { None }
    }
}

impl<'de> Deserialize<'de> for CapacitySpec {
    /// The keys of a table say what it is, so that its errors are told as such.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let has = |key| value.get(key).is_some();
        let capacity = if has("wifi") {
            WifiSpec::deserialize(value).map(|wifi| Self::Wifi(Box::new(wifi)))
        } else if has("steps") {
            StepsSpec::deserialize(value).map(Self::Steps)
        } else if value.is_object() {
            TraceSpec::deserialize(value).map(Self::Trace)
        } else {
            Rate::deserialize(value).map(Self::Constant)
        };
        capacity.map_err(Error::custom)
    }
}

impl JsonSchema for CapacitySpec {
    fn schema_name() -> Cow<'static, str> {
        "Capacity".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, steps) = (Rate::json_schema(generator), StepsSpec::json_schema(generator));
        let (trace, wifi) = (TraceSpec::json_schema(generator), WifiSpec::json_schema(generator));
        json_schema!({ "anyOf": [rate, steps, trace, wifi] })
    }
}

/// See [`CapacitySpec::Steps`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsSpec {
    /// Times and capacities.
    pub steps: Vec<(Duration, Rate)>,
}

/// See [`CapacitySpec::Trace`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The file.
    pub trace: PathBuf,
    /// Name of the column of times, of a table.
    pub time: Option<String>,
    /// Name of the column of rates, of a table.
    pub rate: Option<String>,
    /// What a time of 1 is in a table; a second if not given.
    pub time_unit: Option<Unit<Duration>>,
    /// What a rate of 1 is in a table; 1 Mb/s if not given.
    pub rate_unit: Option<Unit<Rate>>,
}

/// Measured delays: low and high edge of each bucket, and how many are in it.
pub type Buckets = Vec<(Duration, Duration, u64)>;

/// See [`gameway_path::Jitter`]; a table without `kind` is of kind "normal".
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterSpec {
    /// Normal, cut at zero.
    Normal {
        /// Mean.
        #[serde(default = "zero")]
        mean: Duration,
        /// Standard deviation.
        deviation: Duration,
    },
    /// The absolute value of a normal, truncated at three deviations.
    HalfNormal {
        /// Standard deviation of the normal.
        deviation: Duration,
    },
    /// Held for a while, again and again.
    Periodic {
        /// How long.
        delay: Duration,
        /// How often.
        interval: Duration,
    },
    /// Measured: what the twin of a live run is given. Experiment files have no such kind.
    #[schemars(skip)]
    Histogram {
        /// Low and high edge, and count.
        buckets: Buckets,
        /// How many such delays a packet meets, at most 10.
        times: u32,
    },
}

/// See [`gameway_path::Stalls`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StallsSpec {
    /// Mean time from the end of one to the start of the next.
    pub interval: Duration,
    /// How long they are.
    pub lengths: Buckets,
    /// Chance that a connection of TCP stalls, too: that its timers run on the processor that does.
    pub connections: Ratio,
}

const fn zero() -> Duration {
    Duration::ZERO
}

fn jitter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JitterSpec>, D::Error> {
    let Some(mut table) = Option::<serde_json::Map<_, _>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    table.entry("kind").or_insert_with(|| "normal".into());
    JitterSpec::deserialize(serde_json::Value::Object(table)).map(Some).map_err(Error::custom)
}

/// See [`gameway_path::Chance`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChanceSpec {
    /// How often.
    pub probability: Ratio,
    /// How much of a draw is the one before.
    #[serde(default)]
    pub correlation: Option<Ratio>,
}

/// See [`gameway_path::ReorderModel`]; without `earlier` and `later` a packet is not delayed at all.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// How often, of the packets that may be displaced.
    pub probability: Ratio,
    /// How much of a draw is the one before.
    #[serde(default)]
    pub correlation: Option<Ratio>,
    /// Each so many packets one may be.
    #[serde(default = "one")]
    pub gap: u32,
    /// By how much it arrives earlier.
    #[serde(default)]
    pub earlier: Option<Duration>,
    /// By how much it arrives later.
    #[serde(default)]
    pub later: Option<Duration>,
}

const fn one() -> u32 {
    1
}

/// See [`gameway_path::LossModel`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossSpec {
    /// Each packet by itself.
    Random {
        /// Share of packets.
        probability: Ratio,
    },
    /// In bursts.
    Bursty {
        /// Share of packets.
        probability: Ratio,
        /// Mean packets lost in a row.
        burst_length: f64,
    },
}
