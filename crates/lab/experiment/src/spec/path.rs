//! The path of a run.

use super::{GatewaySpec, QueueSpec, Text, Unit, WifiSpec};
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
    /// What it was drawn around: queues that are sized in BDP are sized by this; `base_rtt` if not given.
    pub nominal_rtt: Option<Text<Duration>>,
    /// The part of it towards the client; half if not given.
    pub forward_delay: Option<Text<Duration>>,
    /// The queue at the bottleneck.
    pub queue: QueueSpec,
    /// What tells games from other flows in front of that queue.
    #[serde(default)]
    pub classifier: ClassifierSpec,
    /// Jitter towards the client.
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// Loss towards the client, behind the bottlenecks.
    pub loss: Option<LossSpec>,
    /// Packets that come twice, of those that are not lost.
    pub duplicate: Option<ChanceSpec>,
    /// Packets that change their place, likewise.
    pub reorder: Option<ReorderSpec>,
    /// Times in which nothing arrives, neither way: what the twin of a live run is given. Experiment files have
    /// none.
    pub stalls: Option<StallsSpec>,
    /// Bottlenecks behind the path's own, in order towards the clients.
    #[serde(default)]
    pub hop: Vec<HopSpec>,
    /// The way from the clients to the servers; never congested and without loss if not given.
    pub back: Option<BackSpec>,
    /// The home gateway at the path's own bottleneck; it only forwards if not given.
    pub gateway: Option<GatewaySpec>,
}

impl PathSpec {
    /// The round-trip time of "bdp".
    #[must_use]
    pub fn nominal_rtt(&self) -> Duration {
        self.nominal_rtt.unwrap_or(self.base_rtt).0
    }
}

/// How a gateway in front of the path's queue tells games from other flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassifierSpec {
    /// Not at all.
    #[default]
    None,
    /// By sizes and times of packets: [`gameway_gateway::classifier`].
    Behaviour,
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
    /// As that of the path.
    pub duplicate: Option<ChanceSpec>,
    /// As that of the path.
    pub reorder: Option<ReorderSpec>,
}

/// Capacity over time.
#[derive(Debug, Clone, PartialEq)]
pub enum CapacitySpec {
    /// Always the same.
    Constant(Text<Rate>),
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
    /// A table with the key `wifi` is a medium, and its errors are told as such.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Capacity {
            Constant(Text<Rate>),
            Steps(StepsSpec),
            Trace(TraceSpec),
        }
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.get("wifi").is_some() {
            let wifi = WifiSpec::deserialize(value).map_err(Error::custom)?;
            return Ok(Self::Wifi(Box::new(wifi)));
        }
        Ok(match Capacity::deserialize(value).map_err(Error::custom)? {
            Capacity::Constant(rate) => Self::Constant(rate),
            Capacity::Steps(steps) => Self::Steps(steps),
            Capacity::Trace(trace) => Self::Trace(trace),
        })
    }
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
pub type Buckets = Vec<(Text<Duration>, Text<Duration>, u64)>;

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
    /// Measured: what the twin of a live run is given. Experiment files have no such kind.
    Histogram {
        /// Low and high edge, and count.
        buckets: Buckets,
        /// How many such delays a packet meets, at most 10.
        times: u32,
    },
}

/// See [`gameway_path::Stalls`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StallsSpec {
    /// Mean time from the end of one to the start of the next.
    pub interval: Text<Duration>,
    /// How long they are.
    pub lengths: Buckets,
    /// Chance that a connection of TCP stalls, too: that its timers run on the processor that does.
    pub connections: Text<Ratio>,
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

/// See [`gameway_path::Chance`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChanceSpec {
    /// How often.
    pub probability: Text<Ratio>,
    /// How much of a draw is the one before.
    #[serde(default)]
    pub correlation: Option<Text<Ratio>>,
}

/// See [`gameway_path::ReorderModel`]; without `earlier` and `later` a packet is not delayed at all.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// How often, of the packets that may be displaced.
    pub probability: Text<Ratio>,
    /// How much of a draw is the one before.
    #[serde(default)]
    pub correlation: Option<Text<Ratio>>,
    /// Each so many packets one may be.
    #[serde(default = "one")]
    pub gap: u32,
    /// By how much it arrives earlier.
    #[serde(default)]
    pub earlier: Option<Text<Duration>>,
    /// By how much it arrives later.
    #[serde(default)]
    pub later: Option<Text<Duration>>,
}

const fn one() -> u32 {
    1
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
