//! The path of a run.

use super::{ChangeSpec, GatewaySpec, QueueSpec, Unit, WifiSpec, queue};
use gameway_units::{Duration, Rate, Ratio, declared};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;

/// The path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// rate of the bottleneck towards the client; or { steps = ... }, { trace = "file" }, or { wifi = "802.11g" }
    pub capacity: CapacitySpec,
    /// round-trip time of the empty path
    #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h"))]
    pub base_rtt: Duration,
    /// What it was drawn around: queues that are sized in BDP are sized by this; `base_rtt` if not given.
    #[schemars(skip)]
    pub nominal_rtt: Option<Duration>,
    /// its part towards the client, at most base_rtt
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "x-none" = "half of it"))]
    pub forward_delay: Option<Duration>,
    /// discipline and size of the queue
    #[serde(default = "QueueSpec::of_path", deserialize_with = "queue::of_path")]
    pub queue: QueueSpec,
    /// behaviour: a gateway in front of this queue tells games from other flows by sizes and times of their packets
    #[serde(default)]
    pub classifier: ClassifierSpec,
    /// variation of the delay towards the client
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// loss behind the bottlenecks
    #[serde(default, deserialize_with = "loss")]
    pub loss: Option<LossSpec>,
    /// packets that come twice, of those that are not lost
    pub duplicate: Option<ChanceSpec>,
    /// packets that change their place, likewise
    pub reorder: Option<ReorderSpec>,
    /// Times in which nothing arrives, neither way: what the twin of a live run is given. Experiment files have
    /// none.
    #[schemars(skip)]
    pub stalls: Option<StallsSpec>,
    /// further bottlenecks, of each place in order towards the clients
    #[serde(default)]
    pub hop: Vec<HopSpec>,
    /// the way from the clients to the servers; uncongested if not given
    pub back: Option<BackSpec>,
    /// what the home gateway at this bottleneck does
    #[schemars(extend("default" = GatewaySpec::none()))]
    pub gateway: Option<GatewaySpec>,
    /// keys that change while packets are in the path, in the order of their times
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<ChangeSpec>,
}

/// JSON, as of a whole run.
impl FromStr for PathSpec {
    type Err = serde_json::Error;

    fn from_str(json: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(json)
    }
}

impl TryFrom<serde_json::Value> for PathSpec {
    type Error = serde_json::Error;

    fn try_from(json: serde_json::Value) -> Result<Self, Self::Error> {
        serde_json::from_value(json)
    }
}

impl PathSpec {
    /// The round-trip time of "bdp".
    #[must_use]
    pub fn nominal_rtt(&self) -> Duration {
        self.nominal_rtt.unwrap_or(self.base_rtt)
    }

    /// Where one of its hops is: the clients are on a Wi-Fi medium, and so nothing is behind it.
    #[must_use]
    pub fn place(&self, hop: &HopSpec) -> PlaceSpec {
        let otherwise = match self.capacity.wifi() {
            Some(_) => PlaceSpec::InFront,
            None => PlaceSpec::Behind,
        };
        hop.place.unwrap_or(otherwise)
    }
}

/// How a gateway in front of the path's queue tells games from other flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassifierSpec {
    /// Not at all.
    #[default]
    None,
    /// By sizes and times of packets: [`gameway_gateway::classifier`].
    Behaviour,
}

/// A further bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopSpec {
    /// its name in tables, and for flows that pass only this one
    pub name: String,
    /// as that of the path; no Wi-Fi medium
    pub capacity: CapacitySpec,
    /// its queue
    #[serde(default = "QueueSpec::of_path", deserialize_with = "queue::of_path")]
    pub queue: QueueSpec,
    /// in-front: between the servers and the path's own bottleneck; behind: between that and the clients; out: between the clients and the bottleneck of the way back, where the home gateway has what the home sends wait
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-none" = "behind, or in front of a Wi-Fi medium"))]
    pub place: Option<PlaceSpec>,
}

/// Where a further bottleneck is, seen from the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum PlaceSpec {
    /// Between the servers and the path's own bottleneck.
    InFront,
    /// Between that and the clients.
    Behind,
    /// Between the clients and the bottleneck of the way back.
    Out,
}

impl PlaceSpec {
    /// As a file names it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::InFront => "\"in-front\"",
            Self::Behind => "\"behind\"",
            Self::Out => "\"out\"",
        }
    }
}

/// The way back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackSpec {
    /// capacity of its bottleneck
    #[schemars(extend("x-none" = "it has none"))]
    pub capacity: Option<CapacitySpec>,
    /// the queue at that bottleneck (RFC 8867 section 4)
    #[serde(default, deserialize_with = "queue::of_back")]
    #[schemars(extend("default" = QueueSpec::of_back()))]
    pub queue: Option<QueueSpec>,
    /// variation of the delay towards the servers
    #[serde(default, deserialize_with = "jitter")]
    pub jitter: Option<JitterSpec>,
    /// loss towards the servers, behind the bottleneck
    #[serde(default, deserialize_with = "loss")]
    pub loss: Option<LossSpec>,
    /// packets that come twice, of those that are not lost
    pub duplicate: Option<ChanceSpec>,
    /// packets that change their place, likewise
    pub reorder: Option<ReorderSpec>,
}

/// Capacity over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
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
        let (mut rate, steps) = (Rate::json_schema(generator), StepsSpec::json_schema(generator));
        let (trace, wifi) = (TraceSpec::json_schema(generator), WifiSpec::json_schema(generator));
        rate.insert(declared::MIN.to_owned(), "1 b/s".into());
        rate.insert(declared::MAX.to_owned(), "1000 Gb/s".into());
        json_schema!({ "anyOf": [rate, steps, trace, wifi] })
    }
}

/// See [`CapacitySpec::Steps`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepsSpec {
    /// pairs of a time, the first of 0 s, and the capacity from then on
    pub steps: Vec<StepSpec>,
}

/// A time, and the capacity from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSpec(
    #[schemars(extend("x-min" = "0 s", "x-max" = "8784 h"))] pub Duration,
    #[schemars(extend("x-min" = "0 b/s", "x-max" = "1000 Gb/s"))] pub Rate,
);

/// See [`CapacitySpec::Trace`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// the file: a trace in Mahimahi's format, or a table of rates
    pub trace: PathBuf,
    /// of a table: the column of times
    pub time: Option<String>,
    /// of a table: the column of rates
    pub rate: Option<String>,
    /// of a table: what a time of 1 is
    #[schemars(extend("enum" = ["ns", "us", "ms", "s", "min", "h"], "x-none" = "s"))]
    pub time_unit: Option<Unit<Duration>>,
    /// of a table: what a rate of 1 is
    #[schemars(extend("enum" = ["b/s", "kb/s", "Mb/s", "Gb/s", "bps", "kbps", "Mbps", "Gbps"], "x-none" = "Mb/s"))]
    pub rate_unit: Option<Unit<Rate>>,
}

/// Measured delays: low and high edge of each bucket, and how many are in it.
pub type Buckets = Vec<(Duration, Duration, u64)>;

/// See [`gameway_path::Jitter`]; a table without `kind` is of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterSpec {
    /// a normal variable, cut at zero
    Normal {
        /// its mean
        #[serde(default)]
        #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
        mean: Duration,
        /// its standard deviation
        #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "examples" = ["2 ms"]))]
        deviation: Duration,
    },
    /// the absolute value of a normal variable, truncated at three deviations
    HalfNormal {
        /// standard deviation of that variable
        #[schemars(extend("x-min" = "0 s", "x-max" = "1 h", "examples" = ["5 ms"]))]
        deviation: Duration,
    },
    /// packets are held for a while, again and again
    Periodic {
        /// how long, less than the interval
        #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h", "examples" = ["40 ms"]))]
        delay: Duration,
        /// from one time to the next
        #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h", "examples" = ["500 ms"]))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StallsSpec {
    /// Mean time from the end of one to the start of the next.
    pub interval: Duration,
    /// How long they are.
    pub lengths: Buckets,
    /// Chance that a connection of TCP stalls, too: that its timers run on the processor that does.
    pub connections: Ratio,
}

pub(super) fn jitter<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<JitterSpec>, D::Error> {
    of_a_kind(deserializer, "normal")
}

pub(super) fn loss<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<LossSpec>, D::Error> {
    of_a_kind(deserializer, "random")
}

/// A table of one of several kinds; one without `kind` is of the first.
fn of_a_kind<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
    first: &str,
) -> Result<Option<T>, D::Error> {
    let Some(mut table) = Option::<declared::Options>::deserialize(deserializer)? else {
        return Ok(None);
    };
    table.entry("kind").or_insert_with(|| first.into());
    T::deserialize(serde_json::Value::Object(table)).map(Some).map_err(Error::custom)
}

/// See [`gameway_path::Chance`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChanceSpec {
    /// share of packets
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %", "examples" = ["1 %"]))]
    pub probability: Ratio,
    /// how much of a draw is the one before
    #[serde(default)]
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub correlation: Ratio,
}

/// See [`gameway_path::ReorderModel`]; without `earlier` and `later` a packet is not delayed at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// share of the packets that may be displaced
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %", "examples" = ["25 %"]))]
    pub probability: Ratio,
    /// how much of a draw is the one before
    #[serde(default)]
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
    pub correlation: Ratio,
    /// one in so many packets may be displaced
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub gap: u32,
    /// by how much it arrives earlier
    #[serde(default)]
    #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h"))]
    pub earlier: Option<Duration>,
    /// by how much it arrives later; without both it is not delayed at all
    #[serde(default)]
    #[schemars(extend("x-min" = "1 ns", "x-max" = "1 h"))]
    pub later: Option<Duration>,
}

const fn one() -> u32 {
    1
}

/// See [`gameway_path::LossModel`]; a table without `kind` is of the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossSpec {
    /// each packet by itself
    Random {
        /// share of packets
        #[schemars(extend("x-min" = "0 %", "x-max" = "100 %", "examples" = ["0.1 %"]))]
        probability: Ratio,
    },
    /// several packets in a row
    Bursty {
        /// share of packets, at most what bursts of this length lose with one packet between two
        #[schemars(extend("x-min" = "0 %", "x-max" = "100 %", "examples" = ["0.1 %"]))]
        probability: Ratio,
        /// mean of the packets that are lost in a row
        #[schemars(range(min = 1.0, max = 1e6), extend("examples" = [3.0]))]
        burst_length: f64,
    },
}
