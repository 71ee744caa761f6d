//! A video over HTTP that adapts to the network.

use super::{
    CongestionControlSpec, Direction, HeaderSpec, Mss, ReceiveWindowSpec, TcpEcnSpec, Text, all,
};
use gameway_units::{Duration, Rate, Ratio};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Quality levels: size of the picture, as "1280x720", and bitrate of each.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum LadderSpec {
    /// In a list; levels may be of one size.
    Levels {
        /// The levels.
        levels: Vec<(String, Text<Rate>)>,
    },
    /// By size.
    BySize(BTreeMap<String, Text<Rate>>),
}

impl LadderSpec {
    /// Size and bitrate of each level, in no order.
    pub fn levels(&self) -> Box<dyn Iterator<Item = (&str, Rate)> + '_> {
        match self {
            Self::Levels { levels } => {
                Box::new(levels.iter().map(|(size, bitrate)| (size.as_str(), bitrate.0)))
            }
            Self::BySize(table) => {
                Box::new(table.iter().map(|(size, bitrate)| (size.as_str(), bitrate.0)))
            }
        }
    }
}

/// A video player and its server; what is not given is as of dash.js 5.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DashSpec {
    /// Its name in tables.
    pub name: String,
    /// The server's.
    pub congestion_control: CongestionControlSpec,
    /// Which ECN both ends agree on: what the congestion control needs if not given.
    #[serde(default)]
    pub ecn: Option<TcpEcnSpec>,
    /// What its receiver announces.
    #[serde(default)]
    pub receive_window: ReceiveWindowSpec,
    /// Its MSS.
    #[serde(default)]
    pub mss: Mss,
    /// Its quality levels; those of Xu and Claypool's Table I if not given.
    #[serde(default)]
    pub ladder: Option<LadderSpec>,
    /// Length of each segment.
    #[serde(default = "segment_length")]
    pub segment_length: Text<Duration>,
    /// Sizes of segments are uniform within this share of their mean; all the same if not given.
    #[serde(default)]
    pub size_spread: Option<Text<Ratio>>,
    /// Sizes of segments as they are: a table of `gameway_dash::parse_sizes`; begins again after its last.
    #[serde(default)]
    pub segment_sizes: Option<SizesFile>,
    /// How long the video is; endless if not given.
    #[serde(default)]
    pub video_length: Option<Text<Duration>>,
    /// Which rules choose the level.
    #[serde(default)]
    pub adaptation: AdaptationSpec,
    /// How much shall be buffered below the highest level.
    #[serde(default)]
    pub buffer: Option<Text<Duration>>,
    /// And at the highest level.
    #[serde(default)]
    pub top_buffer: Option<Text<Duration>>,
    /// When the player opens the video.
    #[serde(default)]
    pub start: Option<Text<Duration>>,
    /// When it is closed; at the end of the run if not given.
    #[serde(default)]
    pub stop: Option<Text<Duration>>,
    /// Its own round-trip time; the path's if not given.
    #[serde(default)]
    pub base_rtt: Option<Text<Duration>>,
    /// Which bottlenecks it passes: "all", "path" or the name of a hop.
    #[serde(default = "all")]
    pub via: String,
    /// Where its data goes.
    #[serde(default)]
    pub direction: Direction,
    /// Addresses, port and DSCP of its packets.
    #[serde(default)]
    pub header: HeaderSpec,
}

/// A table of segments' sizes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizesFile {
    /// The file.
    pub file: PathBuf,
}

/// Which rules choose the level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdaptationSpec {
    /// Throughput while the buffer is small, BOLA while it is large.
    #[default]
    Dynamic,
    /// Throughput.
    Throughput,
    /// BOLA.
    Bola,
}

const fn segment_length() -> Text<Duration> {
    Text(gameway_dash::SEGMENT_LENGTH)
}
