//! How a stream goes on when a frame is lost for good.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the frame is that follows one which the receiver has given up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[non_exhaustive]
pub enum Recovery {
    /// A key frame.
    #[default]
    KeyFrame,
    /// One that refers to a frame which the receiver has, if the encoder still keeps one; else a key frame.
    Reference,
}

impl std::str::FromStr for Recovery {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "key-frame" => Ok(Self::KeyFrame),
            "reference" => Ok(Self::Reference),
            _ => Err(format!("\"{word}\" is no recovery; allowed are key-frame and reference")),
        }
    }
}
