//! A video over HTTP that adapts to the network.

use gameway_units::{Duration, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Quality levels: size of the picture, as "1280x720", and bitrate of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LadderSpec {
    /// In a list; levels may be of one size.
    Levels {
        /// The levels.
        levels: Vec<(String, Rate)>,
    },
    /// By size.
    BySize(BTreeMap<String, Rate>),
}

impl LadderSpec {
    /// Size and bitrate of each level, in no order.
    pub fn levels(&self) -> Box<dyn Iterator<Item = (&str, Rate)> + '_> {
        match self {
            Self::Levels { levels } => {
                Box::new(levels.iter().map(|(size, bitrate)| (size.as_str(), *bitrate)))
            }
            Self::BySize(table) => {
                Box::new(table.iter().map(|(size, bitrate)| (size.as_str(), *bitrate)))
            }
        }
    }
}

tcp_flow_spec! {
    /// A video player and its server; what is not given is as of dash.js 5.
    DashSpec {
        /// its quality levels, a bitrate for each size of the picture
        #[serde(default)]
        #[schemars(extend("x-none" = "the five of Xu and Claypool"))]
        pub ladder: Option<LadderSpec>,
        /// length of each segment
        #[serde(default = "segment_length")]
        #[schemars(extend("x-min" = "100 ms", "x-max" = "1 min"))]
        pub segment_length: Duration,
        /// sizes of segments are uniform within this share of their mean
        #[serde(default)]
        #[schemars(extend("x-min" = "0 %", "x-max" = "50 %", "x-none" = "all the same"))]
        pub size_spread: Option<Ratio>,
        /// sizes of a real ladder's segments: CSV with the columns level,segment,bytes; begins again after its last
        #[serde(default)]
        pub segment_sizes: Option<SizesFile>,
        /// the video's, in whole segments
        #[serde(default)]
        #[schemars(extend("x-min" = "100 ms", "x-max" = "8784 h", "x-none" = "endless"))]
        pub video_length: Option<Duration>,
        /// what chooses the levels: throughput, bola, or dynamic, the latter while the buffer is large
        #[serde(default)]
        pub adaptation: AdaptationSpec,
        /// how much shall be buffered below the highest level
        #[serde(default)]
        #[schemars(extend("x-min" = "100 ms", "x-max" = "1 h", "x-none" = "18 s"))]
        pub buffer: Option<Duration>,
        /// and at the highest level
        #[serde(default)]
        #[schemars(extend("x-min" = "100 ms", "x-max" = "1 h", "x-none" = "60 s, and 30 s if the video is shorter than 10 min"))]
        pub top_buffer: Option<Duration>,
    }
}

/// A table of segments' sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizesFile {
    /// The file.
    pub file: PathBuf,
}

/// Which rules choose the level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

const fn segment_length() -> Duration {
    gameway_dash::SEGMENT_LENGTH
}
