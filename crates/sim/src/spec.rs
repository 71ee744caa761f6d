//! A run's specification: one point of an experiment's matrix, every axis resolved.
//!
//! It is JSON with the keys of an experiment file; quantities are text with a unit. The experiment
//! loader checks files with messages for people; here unknown keys and wrong units are refused as well,
//! so that nothing is ever silently ignored.

use gameway_units::{Bytes, Duration, QueueSize, Rate, Ratio};
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// A quantity that stands as text with a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(Error::custom)
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
    pub jitter: Option<JitterSpec>,
    /// Loss towards the client, behind the bottleneck.
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

/// The queue discipline and its size.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueSpec {
    /// First in, first out.
    DropTail {
        /// How much may wait.
        size: Text<QueueSize>,
    },
}

/// See [`gameway_path::Jitter`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// Mean.
    pub mean: Text<Duration>,
    /// Standard deviation.
    pub deviation: Text<Duration>,
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

/// A game stream.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// Its name in tables.
    pub name: String,
    /// Its rate controller.
    pub controller: ControllerSpec,
    /// Where frame sizes come from.
    #[serde(default)]
    pub video: VideoSpec,
    /// Frames per second.
    #[serde(default = "default_frame_rate")]
    pub frame_rate: u32,
    /// Bounds of the target, on the wire.
    #[serde(default = "default_min_bitrate")]
    pub min_bitrate: Text<Rate>,
    /// See `min_bitrate`.
    #[serde(default = "default_max_bitrate")]
    pub max_bitrate: Text<Rate>,
    /// The target before any feedback.
    #[serde(default = "default_start_bitrate")]
    pub start_bitrate: Text<Rate>,
    /// Repair packets as a share of media packets.
    #[serde(default)]
    pub fec: Option<Text<Ratio>>,
    /// When and how often the receiver reports.
    #[serde(default)]
    pub feedback: FeedbackSpec,
    /// When it starts.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When it stops; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
}

const fn default_frame_rate() -> u32 {
    60
}
const fn default_min_bitrate() -> Text<Rate> {
    Text(Rate::from_mbps(2))
}
const fn default_max_bitrate() -> Text<Rate> {
    Text(Rate::from_mbps(50))
}
const fn default_start_bitrate() -> Text<Rate> {
    Text(Rate::from_mbps(5))
}

/// A controller by name, perhaps with options.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum ControllerSpec {
    /// With its defaults.
    Name(String),
    /// With options, which the controller checks.
    Options {
        /// Its name.
        kind: String,
        /// Options by name.
        #[serde(flatten)]
        options: BTreeMap<String, serde_json::Value>,
    },
}

impl ControllerSpec {
    /// The controller's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Options { kind: name, .. } => name,
        }
    }

    /// Its options as text.
    #[must_use]
    pub fn options(&self) -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match self {
            Self::Name(_) => Vec::new(),
            Self::Options { options, .. } => {
                options.iter().map(|(name, value)| (name.clone(), text(value))).collect()
            }
        }
    }
}

/// Frame sizes.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VideoSpec {
    /// The recorded game that is part of Gameway.
    #[default]
    Doom,
    /// Every frame exactly at its target.
    Steady,
    /// A frame table of the user's.
    #[serde(untagged)]
    File {
        /// The file.
        file: PathBuf,
    },
}

/// When the receiver reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FeedbackSpec {
    /// As the controller was made for.
    #[default]
    Native,
    /// When a frame's last packet arrives.
    PerFrame,
    /// At this interval.
    Interval(Duration),
}

impl<'de> Deserialize<'de> for FeedbackSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "native" => Ok(Self::Native),
            "per-frame" => Ok(Self::PerFrame),
            other => match other.parse::<Duration>() {
                Ok(interval) if interval > Duration::ZERO => Ok(Self::Interval(interval)),
                _ => Err(Error::custom(format!(
                    "\"{other}\" is no feedback; allowed are \"native\", \"per-frame\" or an interval \
                     like \"50 ms\""
                ))),
            },
        }
    }
}

/// A competing flow.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CompetitorSpec {
    /// A TCP download.
    Tcp {
        /// Its name in tables.
        name: String,
        /// "newreno", "cubic" or "bbr".
        congestion_control: String,
        /// When the connection is opened.
        #[serde(default)]
        start: Option<Text<Duration>>,
        /// When the application stops sending; at the end of the run if not given.
        #[serde(default)]
        stop: Option<Text<Duration>>,
        /// Stop after so much.
        #[serde(default)]
        bytes: Option<Text<Bytes>>,
        /// The application writes no faster than this.
        #[serde(default)]
        rate_limit: Option<Text<Rate>>,
    },
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
    /// Whether each packet is written: about 100 bytes for each.
    #[serde(default)]
    pub packets: bool,
}
