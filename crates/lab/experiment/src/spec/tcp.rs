//! Flows over TCP, and what they have in common.

use gameway_tcp::{MAXIMUM_SEGMENT_SIZE, ReceiveWindow};
use gameway_units::declared::{self, Options, QUANTITY};
use gameway_units::{Bytes, Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// Of each segment, what the MSS counts and the payload lacks: the timestamps (RFC 6691, RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;

/// Declares a flow over TCP by what is its own.
macro_rules! tcp_flow_spec {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        flow_spec! {
            $(#[$about])*
            $name {
                /// the sender's congestion control, by name or as a table with options
                #[serde(default)]
                pub congestion_control: super::CongestionControlSpec,
                /// how marks of queues are fed back: off, classic (RFC 3168) or accurate (RFC 9768)
                #[serde(default)]
                #[schemars(extend("x-none" = "as the congestion control needs"))]
                pub ecn: Option<super::TcpEcnSpec>,
                /// the largest window that the receiver announces (RFC 7323); auto: tuned as Linux does, up to 20 MiB
                #[serde(default)]
                #[schemars(extend("x-min" = "4 KiB", "x-max" = "1048560 KiB"))]
                pub receive_window: super::ReceiveWindowSpec,
                /// the MSS that both ends announce; a full packet has 40 B more on the wire, and 12 B less payload for timestamps
                #[serde(default)]
                #[schemars(extend("x-min" = "88 B", "x-max" = "1460 B", "x-unit" = "B"))]
                pub mss: super::Mss,
                $($own)*
            }
        }
    };
}

tcp_flow_spec! {
    /// One transfer over TCP.
    TcpSpec {
        /// data after which it ends
        #[serde(default)]
        #[schemars(extend("x-min" = "1 B", "x-none" = "endless"))]
        pub bytes: Option<Bytes>,
        /// average rate at which the sender writes at most, in blocks, as iperf3 -b does
        #[serde(default)]
        #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "x-none" = "unlimited"))]
        pub rate_limit: Option<Rate>,
        /// with rate_limit: what it writes at once, as iperf3 -l
        #[serde(default)]
        #[schemars(extend("x-min" = "1 B", "x-max" = "1 MiB", "x-none" = "128 KiB"))]
        pub block: Option<Bytes>,
        /// a video over one connection, fetched segment by segment, each as fast as TCP can
        #[serde(default)]
        pub on_off: Option<OnOffSpec>,
    }
}

/// A video that is fetched segment by segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// how long a segment plays: the next is due after so long
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h", "examples" = ["4 s"]))]
    pub segment: Duration,
    /// its bitrate
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "examples" = ["5 Mb/s"]))]
    pub bitrate: Rate,
}

tcp_flow_spec! {
    /// Short transfers over TCP, one after the other with gaps (RFC 8868 section 5.1).
    ShortTcpSpec {
        /// the size of each transfer is uniform between this
        #[serde(default = "min_size")]
        #[schemars(extend("x-min" = "1 B"))]
        pub min_size: Bytes,
        /// and this
        #[serde(default = "max_size")]
        #[schemars(extend("x-min" = "1 B"))]
        pub max_size: Bytes,
        /// how many transfers begin at once, each in a connection of its own, as for a page; the gap begins when all are done
        #[serde(default = "one")]
        #[schemars(range(min = 1, max = 100))]
        pub connections: u32,
        /// mean of the exponential time from the end of one transfer to the next
        #[serde(default = "mean_gap")]
        #[schemars(extend("x-min" = "1 ms", "x-max" = "8784 h"))]
        pub mean_gap: Duration,
        /// with such a gap (off) or with a transfer (on)
        #[serde(default)]
        pub begins: Begin,
    }
}

const fn min_size() -> Bytes {
    Bytes::new(30_000)
}
const fn max_size() -> Bytes {
    Bytes::new(50_000)
}
const fn one() -> u32 {
    1
}
const fn mean_gap() -> Duration {
    Duration::from_secs(10)
}

/// With what a sequence of transfers and gaps begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// A transfer.
    On,
    /// A gap.
    #[default]
    Off,
}

/// Which ECN the ends of a transfer agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpEcnSpec {
    /// None.
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// A congestion control by name, perhaps with options; `gameway list competitors` says what each does.
#[derive(Debug, Clone, PartialEq)]
pub struct CongestionControlSpec {
    /// The name of the algorithm.
    pub kind: String,
    /// Its options, which the algorithm reads.
    pub options: Options,
}

impl Default for CongestionControlSpec {
    /// That of most systems.
    fn default() -> Self {
        Self { kind: "cubic".to_owned(), options: Options::new() }
    }
}

/// How a congestion control stands in a specification.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AlgorithmForm {
    Name(String),
    Table {
        kind: String,
        #[serde(flatten)]
        options: Options,
    },
}

impl<'de> Deserialize<'de> for CongestionControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match AlgorithmForm::deserialize(deserializer)? {
            AlgorithmForm::Name(kind) => Self { kind, options: Options::new() },
            AlgorithmForm::Table { kind, options } => Self { kind, options },
        })
    }
}

impl Serialize for CongestionControlSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, options } = self.clone();
        let form = if options.is_empty() {
            AlgorithmForm::Name(kind)
        } else {
            AlgorithmForm::Table { kind, options }
        };
        form.serialize(serializer)
    }
}

impl JsonSchema for CongestionControlSpec {
    fn schema_name() -> Cow<'static, str> {
        "CongestionControl".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ super::CATALOGUE: "competitors", "type": ["string", "object"] })
    }
}

/// The largest window that a receiver announces: "auto", or a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveWindowSpec(pub ReceiveWindow);

impl ReceiveWindowSpec {
    const AUTO: &'static str = "auto";
}

impl<'de> Deserialize<'de> for ReceiveWindowSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        if text == Self::AUTO {
            return Ok(Self(ReceiveWindow::Auto));
        }
        text.parse().map(|size| Self(ReceiveWindow::Fixed(size))).map_err(Error::custom)
    }
}

impl Serialize for ReceiveWindowSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ReceiveWindow::Auto => serializer.serialize_str(Self::AUTO),
            ReceiveWindow::Fixed(size) => size.serialize(serializer),
        }
    }
}

impl JsonSchema for ReceiveWindowSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ReceiveWindow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", QUANTITY: "bytes", declared::WORDS: [Self::AUTO], "examples": ["1 MiB"] })
    }
}

/// The MSS that both ends announce (RFC 9293 section 3.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Mss(pub Bytes);

impl Mss {
    /// Payload of a full segment.
    #[must_use]
    pub fn segment_size(self) -> u32 {
        let payload = self.0.get().saturating_sub(TIMESTAMPS);
        u32::try_from(payload).unwrap_or(u32::MAX)
    }
}

impl Default for Mss {
    /// That of packets of 1500 B.
    fn default() -> Self {
        Self(Bytes::new(u64::from(MAXIMUM_SEGMENT_SIZE) + TIMESTAMPS))
    }
}
