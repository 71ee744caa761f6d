//! What flows over TCP have in common beside their congestion control.

use super::Text;
use gameway_tcp::{MAXIMUM_SEGMENT_SIZE, ReceiveWindow};
use gameway_units::Bytes;
use gameway_units::declared::Options;
use serde::de::{Deserialize, Deserializer, Error};

/// Of each segment, what the MSS counts and the payload lacks: the timestamps (RFC 6691, RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

/// The largest window that a receiver announces: "auto", or a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveWindowSpec(pub ReceiveWindow);

impl<'de> Deserialize<'de> for ReceiveWindowSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        if text == "auto" {
            return Ok(Self(ReceiveWindow::Auto));
        }
        text.parse().map(|size| Self(ReceiveWindow::Fixed(size))).map_err(Error::custom)
    }
}

/// A congestion control by name, perhaps with options; `gameway list competitors` says what each does.
#[derive(Debug, Clone, PartialEq)]
pub struct CongestionControlSpec {
    /// The name of the algorithm.
    pub kind: String,
    /// Its options, which the algorithm reads.
    pub options: Options,
}

impl<'de> Deserialize<'de> for CongestionControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Form {
            Name(String),
            Table {
                kind: String,
                #[serde(flatten)]
                options: Options,
            },
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Name(kind) => Self { kind, options: Options::new() },
            Form::Table { kind, options } => Self { kind, options },
        })
    }
}

/// The MSS that both ends announce (RFC 9293 section 3.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub struct Mss(pub Text<Bytes>);

impl Mss {
    /// Payload of a full segment.
    #[must_use]
    pub fn segment_size(self) -> u32 {
        let payload = self.0.0.get().saturating_sub(TIMESTAMPS);
        u32::try_from(payload).unwrap_or(u32::MAX)
    }
}

impl Default for Mss {
    /// That of packets of 1500 B.
    fn default() -> Self {
        Self(Text(Bytes::new(u64::from(MAXIMUM_SEGMENT_SIZE) + TIMESTAMPS)))
    }
}
