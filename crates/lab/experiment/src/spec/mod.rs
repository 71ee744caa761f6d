//! A run's specification: one point of an experiment's matrix, every axis resolved.
//!
//! It is JSON with the keys of an experiment file; quantities are text with a unit. The experiment
//! loader checks files with messages for people; here unknown keys and wrong units are refused as well,
//! so that nothing is ever silently ignored.

#[macro_use]
mod flow;
#[macro_use]
mod tcp;

mod change;
mod chromium;
mod competitor;
mod dash;
mod gateway;
mod header;
mod htb;
mod path;
mod queue;
mod quic;
mod stream;
mod wifi;

pub use change::ChangeSpec;
pub use chromium::{FieldTrials, MAX_DRAWN_RATE, PictureSize, StreamKind};
pub use competitor::{CompetitorSpec, OnliveSpec, Spacing, UdpEcnSpec, UdpSpec, VideoChatSpec};
pub use dash::{AdaptationSpec, DashSpec, LadderSpec};
pub use flow::Common;
pub use gateway::GatewaySpec;
pub use header::{HeaderSpec, Word};
pub use htb::{ClassSpec, EcnWord, HtbSpec, LinkLayerSpec, MatchSpec, RuleSpec};
pub use path::{
    BackSpec, CapacitySpec, ChanceSpec, ClassifierSpec, HopSpec, JitterSpec, LossSpec, PathSpec,
    PlaceSpec, ReorderSpec, StallsSpec, StepSpec, StepsSpec, TraceSpec,
};
pub use queue::QueueSpec;
pub use quic::{QuicEcnSpec, QuicSpec, QuicSpinSpec};
pub use stream::{
    CircuitBreakerSpec, ControllerSpec, Drift, EcnSpec, EncodeTimeSpec, FeedbackSpec, PauseSpec,
    StreamSpec, VideoSpec,
};
pub use tcp::{
    Begin, CongestionControlSpec, Mss, OnOffSpec, ReceiveWindowSpec, ShortTcpSpec, TcpEcnSpec,
    TcpSpec,
};
pub use wifi::{Megahertz, WifiName, WifiSpec};

use gameway_units::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

/// A unit that stands as its name alone: "ms".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Unit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        format!("1 {name}").parse().map(Self).map_err(Error::custom)
    }
}

impl<T: Display> Serialize for Unit<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0.to_string().trim_start_matches("1 "))
    }
}

impl<T> JsonSchema for Unit<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Keyword of a schema: the part of the catalogue that this can be one of, by name or as a table with options.
pub const CATALOGUE: &str = "x-catalogue";

/// The pattern of a number with this unit.
fn number_of(unit: &str) -> String {
    format!("^[+-]?[0-9]+ ?{unit}$")
}

/// One run.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// whole number that all random numbers derive from
    pub seed: u64,
    /// time that a run simulates
    #[schemars(extend("x-min" = "1 ns", "x-max" = "8784 h", "examples" = ["60 s"]))]
    pub duration: Duration,
    /// The path that all flows share.
    pub path: PathSpec,
    /// Game streams.
    #[serde(default)]
    pub stream: Vec<StreamSpec>,
    /// Competing flows.
    #[serde(default)]
    pub competitor: Vec<CompetitorSpec>,
    /// A ping through the same queue.
    pub ping: Option<PingSpec>,
    /// What is recorded.
    #[serde(default)]
    pub record: RecordSpec,
}

/// JSON. Compiled here once: whoever calls serde for a whole run compiles a minute of code.
impl FromStr for RunSpec {
    type Err = serde_json::Error;

    fn from_str(json: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(json)
    }
}

impl TryFrom<serde_json::Value> for RunSpec {
    type Error = serde_json::Error;

    fn try_from(json: serde_json::Value) -> Result<Self, Self::Error> {
        serde_json::from_value(json)
    }
}

/// A ping from the client to the server; its reply meets the bottleneck queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingSpec {
    /// from request to request
    #[schemars(extend("x-min" = "1 ms", "x-max" = "8784 h", "default" = "1 s"))]
    pub interval: Duration,
}

/// What is recorded beyond the standard tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// how often a controller's state is written
    #[serde(default)]
    #[schemars(extend("x-min" = "1 ms", "x-max" = "8784 h", "default" = "500 ms"))]
    pub controller_interval: Option<Duration>,
    /// length of the windows of the histograms of queueing delay, in whole bins of 0.5 s
    #[serde(default)]
    #[schemars(extend("x-min" = "500 ms", "x-none" = "5 s"))]
    pub delay_window: Option<Duration>,
    /// whether each packet is written: about 100 bytes for each
    #[serde(default)]
    pub packets: bool,
}

/// From where to where the data of a flow goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From server to client, through the path's bottlenecks.
    #[default]
    Down,
    /// From client to server, through the way back.
    Up,
}

impl From<Direction> for gameway_path::Direction {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Down => Self::Down,
            Direction::Up => Self::Up,
        }
    }
}

/// A flow's own way, where it is not the path's.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    /// Its round-trip time, half each way.
    pub base_rtt: Option<Duration>,
    /// "all", "path" or the name of a hop.
    pub via: &'a str,
    /// Where its data goes.
    pub direction: Direction,
}

impl Way<'_> {
    /// Through all bottlenecks towards the client.
    pub const ALL: &'static str = "all";
    /// Through the path's own bottleneck only.
    pub const PATH: &'static str = "path";
    /// That of a flow of which nothing is said.
    pub const DEFAULT: Way<'static> =
        Way { base_rtt: None, via: Way::ALL, direction: Direction::Down };
}

fn all() -> String {
    Way::ALL.to_owned()
}
