//! What of a stream's picture follows its bitrate, and how hard the picture is to encode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes less where the bitrate does not do for all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Ladder {
    /// Nothing.
    #[default]
    None,
    /// The size of the picture.
    Size,
    /// The frame rate.
    FrameRate,
    /// Both.
    Both,
}

impl Ladder {
    /// Whether the size of the picture follows the bitrate.
    #[must_use]
    pub const fn changes_size(self) -> bool {
        matches!(self, Self::Size | Self::Both)
    }

    /// Whether the frame rate does.
    #[must_use]
    pub const fn changes_frame_rate(self) -> bool {
        matches!(self, Self::FrameRate | Self::Both)
    }
}

impl std::str::FromStr for Ladder {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "none" => Ok(Self::None),
            "size" => Ok(Self::Size),
            "frame-rate" => Ok(Self::FrameRate),
            "both" => Ok(Self::Both),
            _ => {
                Err(format!("\"{word}\" is no ladder; allowed are none, size, frame-rate and both"))
            }
        }
    }
}

/// How hard pictures are to encode, as ITU-T G.1072 has classes of games.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Content {
    /// Flat surfaces, sharp edges: what is better for it is better for all.
    #[default]
    Low,
    /// Smooth surfaces in motion.
    Medium,
    /// Fine textures and noise everywhere, in motion.
    High,
}

impl std::str::FromStr for Content {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            _ => Err(format!("\"{word}\" is no content; allowed are low, medium and high")),
        }
    }
}
