//! A game stream of a run.

use super::{CATALOGUE, FieldTrials, MAX_DRAWN_RATE, PictureSize, StreamKind, Way, number_of};
use gameway_units::declared::{MAX, MIN, Options, QUANTITY};
use gameway_units::{Bytes, Content, Duration, Ecn, Ladder, Rate, Ratio, Recovery, Repair};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::path::PathBuf;

/// How long frames took to encode from some time of the run on: that time; from capture until the first slice was made;
/// and until all were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EncodeTimeSpec(pub Duration, pub Duration, pub Duration);

flow_spec! {
    /// A game stream. Bitrates count bytes on the wire, headers and repair included.
    StreamSpec {
        /// who sends it: gameway, a sender of this project; chromium, a page in a browser by its own libwebrtc, in live runs alone
        #[serde(default)]
        pub kind: StreamKind,
        /// its rate controller, by name or as a table with options
        pub controller: ControllerSpec,
        /// where frame sizes come from: doom, a recorded game; steady, every frame as large as its target; scene, as a live host
        /// makes them of the built-in scene; or a frame table of your own
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub video: VideoSpec,
        /// How long its frames take to encode: what the twin of a live run is given. Experiment files have no such key.
        #[serde(default)]
        #[schemars(skip)]
        pub encode_times: Option<Vec<EncodeTimeSpec>>,
        /// The same of its key frames, for which an encoder does not search the picture before; as other frames if not
        /// given.
        #[serde(default)]
        #[schemars(skip)]
        pub key_frame_encode_times: Option<Vec<EncodeTimeSpec>>,
        /// frames per second
        #[serde(default = "default_frame_rate")]
        #[schemars(range(min = 1, max = 1000), extend("x-max-drawn" = MAX_DRAWN_RATE))]
        pub frame_rate: u32,
        /// least target
        #[serde(default = "default_min_bitrate")]
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s"))]
        pub min_bitrate: Rate,
        /// greatest target
        #[serde(default = "default_max_bitrate")]
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s"))]
        pub max_bitrate: Rate,
        /// target before any feedback, between these two
        #[serde(default = "default_start_bitrate")]
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s"))]
        pub start_bitrate: Rate,
        /// repair packets as a share of a frame's packets
        #[serde(default)]
        #[schemars(extend("x-min" = "0 %", "x-max" = "100 %"))]
        #[schemars(extend("x-kind" = "gameway"))]
        pub fec: Ratio,
        /// what is done about losses: none; nack: the client asks for what is missing, and it is sent again while that is in time;
        /// libwebrtc: the same, taken from the frames as a browser does it; fec: repair packets by the measured losses; or adaptive: the
        /// cheapest mix of both
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub repair: Repair,
        /// what follows a frame that the client has given up: key-frame; or reference, a frame that refers to one which the client
        /// has, if the encoder keeps one that is new enough
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub recovery: Recovery,
        /// what of the picture becomes less where the bitrate does not do for all of it: none, size, frame-rate, or both
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub ladder: Ladder,
        /// how hard its pictures are to encode, for the ladder: low, medium or high
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub content: Content,
        /// the most that a packet of it has on the wire
        #[serde(default)]
        #[schemars(extend("x-min" = "256 B", "x-max" = "1500 B", "x-unit" = "B", "x-none" = "1200 B of payload and headers"))]
        #[schemars(extend("x-kind" = "gameway"))]
        pub mtu: Option<Bytes>,
        /// when and how the client reports: native, as the controller was made for; per-frame; at an interval; or in a format
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub feedback: FeedbackSpec,
        /// what bounds a stream that mostly loses, whatever its controller does: none, or rfc8083
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub circuit_breaker: CircuitBreakerSpec,
        /// width and height of the picture that a browser sends
        #[serde(default)]
        #[schemars(extend("x-kind" = "chromium"))]
        pub picture_size: PictureSize,
        /// field trials with which the browsers start: names and groups by turns, each with a slash behind
        #[serde(default)]
        #[schemars(extend("x-kind" = "chromium"))]
        pub field_trials: Option<FieldTrials>,
        /// a span in which no frames are captured
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub pause: Option<PauseSpec>,
        /// ECN field of its packets: native, as the controller wants it; none, ect0 or ect1
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub ecn: EcnSpec,
        /// by how many millionths the client's clock is fast
        #[serde(default)]
        #[schemars(extend("x-kind" = "gameway"))]
        pub clock_drift: Drift,
    }
}

impl StreamSpec {
    /// Its way through the network.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        self.common().way
    }
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// when it begins
    #[schemars(extend("x-min" = "0 s", "x-max" = "8784 h"))]
    pub from: Duration,
    /// when it ends
    #[schemars(extend("x-min" = "0 s", "x-max" = "8784 h"))]
    pub to: Duration,
}

/// What bounds a stream above its controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitBreakerSpec {
    /// Nothing.
    #[default]
    None,
    /// The RTP circuit breaker of RFC 8083.
    Rfc8083,
}

impl CircuitBreakerSpec {
    /// The rate to which it lets a stream fall, if there is one.
    #[must_use]
    pub fn min(self, min_bitrate: Rate) -> Option<Rate> {
        (self == Self::Rfc8083).then_some(min_bitrate)
    }
}

/// The ECN field with which packets leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    pub const MAX_PPM: i32 = 1_000;
}

impl<'de> Deserialize<'de> for Drift {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text.strip_suffix("ppm").map(str::trim_end).and_then(|n| n.parse().ok());
        match number {
            Some(ppm) if (-Self::MAX_PPM..=Self::MAX_PPM).contains(&ppm) => Ok(Self(ppm)),
            _ => Err(Error::custom(format!(
                "\"{text}\" is no drift of a clock; write whole millionths from -1000 to 1000, as \"50 ppm\""
            ))),
        }
    }
}

impl Serialize for Drift {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} ppm", self.0))
    }
}

impl JsonSchema for Drift {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Drift".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", QUANTITY: "drift", MIN: "-1000 ppm", MAX: "1000 ppm", "pattern": number_of("ppm") })
    }
}

const fn default_frame_rate() -> u32 {
    60
}
const fn default_min_bitrate() -> Rate {
    Rate::from_mbps(2)
}
const fn default_max_bitrate() -> Rate {
    Rate::from_mbps(50)
}
const fn default_start_bitrate() -> Rate {
    Rate::from_mbps(5)
}

/// A controller by name, perhaps with options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

impl JsonSchema for ControllerSpec {
    fn schema_name() -> Cow<'static, str> {
        "Controller".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ CATALOGUE: "controllers", "type": ["string", "object"] })
    }
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VideoSpec {
    /// The recorded game that is part of Gameway.
    #[default]
    Doom,
    /// Every frame exactly at its target.
    Steady,
    /// As a live host makes them of the built-in scene: libx264 and the rate control that asks it.
    Scene,
    /// A frame table of your own.
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
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FeedbackForm {
    Word(String),
    Kind(FeedbackKind),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum FeedbackKind {
    /// arrival times in 1/1024 s, as RFC 8888 has them
    Rfc8888 {
        /// from report to report
        #[serde(default = "rfc8888_interval")]
        #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
        interval: Duration,
    },
    /// arrival times in 250 us, as browsers send them
    TransportWide {
        /// from report to report
        #[serde(default = "transport_wide_interval")]
        #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
        interval: Duration,
    },
}

impl From<FeedbackSpec> for FeedbackForm {
    fn from(spec: FeedbackSpec) -> Self {
        match spec {
            FeedbackSpec::Native => Self::Word("native".to_owned()),
            FeedbackSpec::PerFrame => Self::Word("per-frame".to_owned()),
            FeedbackSpec::Interval(interval) => Self::Word(interval.to_string()),
            FeedbackSpec::Rfc8888(interval) => Self::Kind(FeedbackKind::Rfc8888 { interval }),
            FeedbackSpec::TransportWide(interval) => {
                Self::Kind(FeedbackKind::TransportWide { interval })
            }
        }
    }
}

impl Serialize for FeedbackSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FeedbackForm::from(*self).serialize(serializer)
    }
}

impl JsonSchema for FeedbackSpec {
    fn schema_name() -> Cow<'static, str> {
        "Feedback".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (interval, kinds) =
            (Duration::json_schema(generator), FeedbackKind::json_schema(generator));
        json_schema!({ "anyOf": [{ "type": "string", "enum": ["native", "per-frame"] }, interval, kinds] })
    }
}

/// Draft SCReAM v2 asks for at least one report per frame, and more often at high rates.
const fn rfc8888_interval() -> Duration {
    Duration::from_millis(10)
}

/// What libwebrtc sends at the rates of a game: its interval is 50 to 250 ms by the share of bandwidth.
const fn transport_wide_interval() -> Duration {
    Duration::from_millis(60)
}

impl<'de> Deserialize<'de> for FeedbackSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = match FeedbackForm::deserialize(deserializer)? {
            FeedbackForm::Word(word) => word,
            FeedbackForm::Kind(FeedbackKind::Rfc8888 { interval }) => {
                return Ok(Self::Rfc8888(interval));
            }
            FeedbackForm::Kind(FeedbackKind::TransportWide { interval }) => {
                return Ok(Self::TransportWide(interval));
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
