//! The coding of pictures and how it travels: no quantities, but the words that encoders, wire and sessions must share.

use std::fmt;
use std::str::FromStr;

/// How pictures are coded.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum VideoCodec {
    /// ITU-T H.264, which every browser takes.
    #[default]
    H264,
    /// ITU-T H.265.
    H265,
}

impl FromStr for VideoCodec {
    type Err = String;

    /// Parses "h264" and "h265".
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "h264" => Ok(Self::H264),
            "h265" => Ok(Self::H265),
            _ => Err(format!("{text:?} is no codec; write h264 or h265")),
        }
    }
}

impl fmt::Display for VideoCodec {
    /// As the wire and people name it: "H264", "H265".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H264 => "H264",
            Self::H265 => "H265",
        })
    }
}

/// The RTP payload format in which coded pictures travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PayloadFormat {
    /// The codec's own.
    #[default]
    Own,
    /// That of VP8 (RFC 7741), whatever it carries: a browser whose WebRTC lacks the codec hands such frames to its page.
    Vp8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_read_and_others_are_named() {
        assert_eq!(["h264", "h265"].map(str::parse), [Ok(VideoCodec::H264), Ok(VideoCodec::H265)]);
        assert_eq!(
            [VideoCodec::H264, VideoCodec::H265].map(|one| one.to_string()),
            ["H264", "H265"]
        );
        let error = "vp9".parse::<VideoCodec>().unwrap_err();
        assert!(error.contains("\"vp9\"") && error.contains("h265"), "{error}");
    }
}
