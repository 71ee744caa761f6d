//! A stream whose sender is a browser: what is said of it.

use gameway_units::declared::{MAX, MIN, QUANTITY};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

/// Who sends a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKind {
    /// A sender of this project.
    #[default]
    Gameway,
    /// A page in Chromium, by its own libwebrtc with its own GCC; live runs have it.
    Chromium,
}

/// The greatest rate at which a browser without a screen draws.
pub const MAX_DRAWN_RATE: u32 = 60;

/// Width and height of a picture, as "640x360".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureSize {
    /// Pixels of a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
}

impl PictureSize {
    /// Two cores encode and decode it 30 times a second beside a link.
    pub const DEFAULT: Self = Self { width: 640, height: 360 };
    const MIN_EDGE: u32 = 64;
    const MAX_EDGE: u32 = 1920;
}

impl Default for PictureSize {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Display for PictureSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}x{}", self.width, self.height)
    }
}

impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Colours have half the lines and columns of what is bright or dark.
        let is_fit =
            |edge: &u32| (Self::MIN_EDGE..=Self::MAX_EDGE).contains(edge) && edge.is_multiple_of(2);
        let edge = |text: &str| text.parse::<u32>().ok().filter(is_fit);
        let found = text
            .split_once('x')
            .and_then(|(width, height)| Some(Self { width: edge(width)?, height: edge(height)? }));
        found.ok_or_else(|| {
            format!(
                "\"{text}\" is no size of a picture; write even numbers from {} to {}, as \"640x360\"",
                Self::MIN_EDGE,
                Self::MAX_EDGE
            )
        })
    }
}

/// Field trials of Chromium: names and groups by turns, each with a slash behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTrials(String);

impl FieldTrials {
    const MAX_TEXT: usize = 2_000;
}

impl Display for FieldTrials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for FieldTrials {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Option<Vec<&str>> = text.strip_suffix('/').map(|text| text.split('/').collect());
        let is_word =
            |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        match parts {
            Some(parts)
                if text.len() <= Self::MAX_TEXT
                    && parts.len() % 2 == 0
                    && parts.iter().all(is_word) =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => Err(format!(
                "\"{text}\" is no list of field trials; write names and groups by turns, each with a slash behind it, as \
                 \"WebRTC-Bwe-LossBasedBweV2/Enabled/\", at most {} letters",
                Self::MAX_TEXT
            )),
        }
    }
}

/// How a value that is one text is read, written and declared.
macro_rules! as_text {
    ($name:ident, $schema:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(Error::custom)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

as_text!(
    PictureSize,
    json_schema!({
        "type": "string",
        QUANTITY: "picture size",
        MIN: Self { width: Self::MIN_EDGE, height: Self::MIN_EDGE }.to_string(),
        MAX: Self { width: Self::MAX_EDGE, height: Self::MAX_EDGE }.to_string(),
        "pattern": "^[0-9]+x[0-9]+$",
        "examples": [Self::DEFAULT.to_string()],
    })
);
as_text!(
    FieldTrials,
    json_schema!({ "type": "string", "maxLength": Self::MAX_TEXT, "pattern": "^([^/ ]+/[^/ ]+/)+$", "examples": ["WebRTC-Bwe-LossBasedBweV2/Enabled/"] })
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_trials_are_read_as_they_are_written() {
        for text in ["64x64", "640x360", "1920x1080"] {
            assert_eq!(text.parse::<PictureSize>().unwrap().to_string(), text);
        }
        for text in ["", "640", "640x", "641x360", "62x360", "640x1922", "640x360x2", "-640x360"] {
            assert!(text.parse::<PictureSize>().unwrap_err().contains("640x360"), "{text}");
        }
        for text in ["A/B/", "A/B,c:1/D/E/"] {
            assert_eq!(text.parse::<FieldTrials>().unwrap().to_string(), text);
        }
        let long = "A/B/".repeat(501);
        for text in ["", "/", "A", "A/B", "A/B/C/", "A//", "A b/C/", "A/B/\u{1f}/D/", &long] {
            assert!(text.parse::<FieldTrials>().is_err(), "{text}");
        }
    }
}
