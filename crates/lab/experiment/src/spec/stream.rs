//! A game stream of a run.

use super::{Direction, HeaderSpec, Text, Way, all};
use gameway_units::declared::Options;
use gameway_units::{Bytes, Duration, Ecn, Rate, Ratio};
use serde::de::{Deserialize, Deserializer, Error};
use std::path::PathBuf;

/// How long frames took to encode from some time of the run on: that time; from capture until the first slice was made;
/// and until all were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct EncodeTimeSpec(pub Text<Duration>, pub Text<Duration>, pub Text<Duration>);

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
    /// How long its frames take to encode: what the twin of a live run is given. Experiment files have no such key.
    #[serde(default)]
    pub encode_times: Option<Vec<EncodeTimeSpec>>,
    /// The same of its key frames, for which an encoder does not search the picture before; as other frames if not
    /// given.
    #[serde(default)]
    pub key_frame_encode_times: Option<Vec<EncodeTimeSpec>>,
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
    /// The most that a packet has on the wire; payloads of 1200 B if not given.
    #[serde(default)]
    pub mtu: Option<Text<Bytes>>,
    /// When and how often the receiver reports.
    #[serde(default)]
    pub feedback: FeedbackSpec,
    /// When it starts.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When it stops; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// When it captures nothing for a while.
    #[serde(default)]
    pub pause: Option<PauseSpec>,
    /// The ECN field with which its packets leave.
    #[serde(default)]
    pub ecn: EcnSpec,
    /// By how many millionths the receiver's clock is fast.
    #[serde(default)]
    pub clock_drift: Drift,
    /// Its own round-trip time; the path's if not given.
    #[serde(default)]
    pub base_rtt: Option<Text<Duration>>,
    /// Which bottlenecks it passes: "all", "path" or the name of a hop.
    #[serde(default = "all")]
    pub via: String,
    /// Where its media goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

impl StreamSpec {
    /// Its way through the network.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        let base_rtt = self.base_rtt.map(|text| text.0);
        Way { base_rtt, via: &self.via, direction: self.direction }
    }
}

/// A pause.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// When it begins.
    pub from: Text<Duration>,
    /// When it ends.
    pub to: Text<Duration>,
}

/// The ECN field with which packets leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnSpec {
    /// As the controller asks.
    #[default]
    Native,
    /// Not ECN-capable.
    None,
    /// ECN-capable, classic.
    Ect0,
    /// ECN-capable, L4S.
    Ect1,
}

impl EcnSpec {
    /// The field, if a controller asks for `native`.
    #[must_use]
    pub const fn or_native(self, native: Ecn) -> Ecn {
        match self {
            Self::Native => native,
            Self::None => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

/// By how many millionths a clock is fast, as "50 ppm".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drift(pub i32);

impl Drift {
    /// No clock worth the name is off by more.
    pub const MOST: i32 = 1_000;
}

impl<'de> Deserialize<'de> for Drift {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.strip_suffix("ppm").map(str::trim_end).and_then(|n| n.parse().ok());
        match number {
            Some(ppm) if (-Self::MOST..=Self::MOST).contains(&ppm) => Ok(Self(ppm)),
            _ => Err(Error::custom(format!(
                "\"{text}\" is no drift of a clock; write whole millionths from -1000 to 1000, as \"50 ppm\""
            ))),
        }
    }
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
        options: Options,
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

    /// Its options.
    #[must_use]
    pub fn options(&self) -> Options {
        match self {
            Self::Name(_) => Options::new(),
            Self::Options { options, .. } => options.clone(),
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
    /// As a live host makes them of the built-in scene: libx264 and the rate control that asks it.
    Scene,
    /// A frame table of the user's.
    #[serde(untagged)]
    File {
        /// The file.
        file: PathBuf,
    },
}

/// When the receiver reports, and how fine arrival times are in the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FeedbackSpec {
    /// As the controller was made for; exact.
    #[default]
    Native,
    /// When a frame's last packet arrives; exact.
    PerFrame,
    /// At this interval; exact.
    Interval(Duration),
    /// At this interval; in 1/1024 s (RFC 8888 section 3.1, arrival time offset).
    Rfc8888(Duration),
    /// At this interval; in 250 us (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).
    TransportWide(Duration),
}

impl FeedbackSpec {
    /// How fine arrival times are.
    #[must_use]
    pub const fn resolution(self) -> Duration {
        match self {
            Self::Native | Self::PerFrame | Self::Interval(_) => Duration::from_nanos(1),
            Self::Rfc8888(_) => Duration::from_nanos(1_000_000_000 / 1_024),
            Self::TransportWide(_) => Duration::from_micros(250),
        }
    }
}

/// How feedback stands in a specification.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum FeedbackForm {
    Word(String),
    Kind(FeedbackKind),
}

#[derive(serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum FeedbackKind {
    Rfc8888 {
        #[serde(default = "rfc8888_interval")]
        interval: Text<Duration>,
    },
    TransportWide {
        #[serde(default = "transport_wide_interval")]
        interval: Text<Duration>,
    },
}

/// Draft SCReAM v2 asks for at least one report per frame, and more often at high rates.
const fn rfc8888_interval() -> Text<Duration> {
    Text(Duration::from_millis(10))
}

/// What libwebrtc sends at the rates of a game: its interval is 50 to 250 ms by the share of bandwidth.
const fn transport_wide_interval() -> Text<Duration> {
    Text(Duration::from_millis(60))
}

impl<'de> Deserialize<'de> for FeedbackSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = match FeedbackForm::deserialize(deserializer)? {
            FeedbackForm::Word(word) => word,
            FeedbackForm::Kind(FeedbackKind::Rfc8888 { interval }) => {
                return Ok(Self::Rfc8888(interval.0));
            }
            FeedbackForm::Kind(FeedbackKind::TransportWide { interval }) => {
                return Ok(Self::TransportWide(interval.0));
            }
        };
        match (word.as_str(), word.parse::<Duration>()) {
            ("native", _) => Ok(Self::Native),
            ("per-frame", _) => Ok(Self::PerFrame),
            (_, Ok(interval)) if interval > Duration::ZERO => Ok(Self::Interval(interval)),
            _ => Err(Error::custom(format!(
                "\"{word}\" is no feedback; allowed are \"native\", \"per-frame\", an interval like \
                 \"50 ms\", or a table of kind \"rfc8888\" or \"transport-wide\""
            ))),
        }
    }
}
