//! A run's specification: one point of an experiment's matrix, every axis resolved.
//!
//! It is JSON with the keys of an experiment file; quantities are text with a unit. The experiment
//! loader checks files with messages for people; here unknown keys and wrong units are refused as well,
//! so that nothing is ever silently ignored.

mod competitor;
mod dash;
mod gateway;
mod header;
mod htb;
mod path;
mod queue;
mod stream;
mod transport;
mod wifi;

pub use competitor::{
    Begin, CompetitorSpec, OnOffSpec, OnliveSpec, ShortTcpSpec, Spacing, TcpEcnSpec, TcpSpec,
    UdpEcnSpec, UdpSpec, VideoChatSpec,
};
pub use dash::{AdaptationSpec, DashSpec, LadderSpec};
pub use gateway::GatewaySpec;
pub use header::{HeaderSpec, Word};
pub use htb::{ClassSpec, EcnWord, HtbSpec, LinkLayerSpec, MatchSpec, RuleSpec};
pub use path::{
    BackSpec, CapacitySpec, ChanceSpec, ClassifierSpec, HopSpec, JitterSpec, LossSpec, PathSpec,
    ReorderSpec, StallsSpec, StepsSpec, TraceSpec,
};
pub use queue::QueueSpec;
pub use stream::{
    ControllerSpec, Drift, EcnSpec, EncodeTimeSpec, FeedbackSpec, PauseSpec, StreamSpec, VideoSpec,
};
pub use transport::{CongestionControlSpec, Mss, ReceiveWindowSpec};
pub use wifi::{Megahertz, WifiName, WifiSpec};

use gameway_units::Duration;
use serde::de::{Deserialize, Deserializer, Error};
use std::fmt::Display;
use std::str::FromStr;

/// A quantity that stands as text with a unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(Error::custom)
    }
}

/// A unit that stands as its name alone: "ms".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Unit<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        format!("1 {name}").parse().map(Self).map_err(Error::custom)
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Seed of everything random in the run.
    pub seed: u64,
    /// How long it lasts.
    pub duration: Text<Duration>,
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

/// A ping from the client to the server; its reply meets the bottleneck queue.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PingSpec {
    /// From request to request.
    pub interval: Text<Duration>,
}

/// What is recorded beyond the standard tables.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// How often a controller's state is written; 0.5 s if not given.
    #[serde(default)]
    pub controller_interval: Option<Text<Duration>>,
    /// Length of the windows of the histograms of queueing delay, in whole bins; 5 s if not given.
    #[serde(default)]
    pub delay_window: Option<Text<Duration>>,
    /// Whether each packet is written: about 100 bytes for each.
    #[serde(default)]
    pub packets: bool,
}

/// From where to where the data of a flow goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
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
