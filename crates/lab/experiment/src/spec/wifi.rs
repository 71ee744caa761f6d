//! A Wi-Fi medium. What is not given is as in the defaults of its generation.

use super::{QueueSpec, Word, queue};
use gameway_units::{Bytes, Duration, Rate, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum WifiName {
    #[serde(rename = "802.11g")]
    G,
    #[serde(rename = "802.11n")]
    N,
    #[serde(rename = "802.11ac")]
    Ac,
}

/// See [`gameway_path::WifiConfig`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// the generation
    pub wifi: WifiName,
    /// of 802.11g: the data rate, in whole Mb/s
    #[schemars(extend("x-min" = "1 Mb/s", "x-max" = "1000 Gb/s", "x-none" = "54 Mb/s"))]
    pub rate: Option<Rate>,
    /// of 802.11n and ac: modulation and coding
    #[schemars(range(min = 0, max = 9), extend("x-none" = "7"))]
    pub mcs: Option<u32>,
    /// of 802.11n and ac: spatial streams
    #[schemars(range(min = 1, max = 4), extend("x-none" = "2"))]
    pub streams: Option<u32>,
    /// of 802.11n and ac: width of the channel
    #[schemars(extend("x-none" = "20 MHz, of ac 80 MHz"))]
    pub width: Option<Word<Megahertz>>,
    /// of 802.11n and ac: 800 ns or 400 ns
    #[schemars(extend("x-min" = "400 ns", "x-max" = "800 ns", "x-none" = "800 ns"))]
    pub guard_interval: Option<Duration>,
    /// rate of acknowledgements
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "x-none" = "24 Mb/s"))]
    pub basic_rate: Option<Rate>,
    /// a slot
    #[schemars(extend("x-min" = "1 us", "x-max" = "10 ms", "x-none" = "9 us"))]
    pub slot: Option<Duration>,
    /// share of packets on the air that the channel damages
    #[schemars(extend("x-min" = "0 %", "x-max" = "100 %", "x-none" = "0 %"))]
    pub error_rate: Option<Ratio>,
    /// how often a packet is sent at most
    #[schemars(range(min = 1, max = 255), extend("x-none" = "7"))]
    pub attempts: Option<u32>,
    /// the least contention window
    #[schemars(range(min = 0, max = 32767), extend("x-none" = "15"))]
    pub cw_min: Option<u32>,
    /// the greatest contention window
    #[schemars(range(min = 0, max = 32767), extend("x-none" = "1023"))]
    pub cw_max: Option<u32>,
    /// longer frames are sent after RTS and CTS
    #[schemars(extend("x-min" = "1 B", "x-none" = "never"))]
    pub rts_above: Option<Bytes>,
    /// the most packets in a frame
    #[schemars(range(min = 1, max = 64), extend("x-none" = "64, of g 1"))]
    pub aggregate: Option<u32>,
    /// the longest time of a frame on the air
    #[schemars(extend("x-min" = "1 us", "x-max" = "10 ms", "x-none" = "5.484 ms"))]
    pub aggregate_time: Option<Duration>,
    /// the queue of each station
    #[serde(default, deserialize_with = "queue::of_leaf")]
    #[schemars(extend("default" = QueueSpec::of_leaf()))]
    pub station_queue: Option<QueueSpec>,
}

/// Width of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Megahertz(pub u32);

impl FromStr for Megahertz {
    type Err = String;

    /// Parses "20 MHz".
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix("MHz").map(str::trim);
        let width = number.and_then(|number| number.parse().ok());
        width
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is no width; write for example \"20 MHz\""))
    }
}

impl fmt::Display for Megahertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.0)
    }
}
