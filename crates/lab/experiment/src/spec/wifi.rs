//! A Wi-Fi medium. What is not given is as in the defaults of its generation.

use super::{QueueSpec, Text};
use gameway_units::{Bytes, Duration, Rate, Ratio};
use std::str::FromStr;

/// Which generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
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
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WifiSpec {
    /// Which generation.
    pub wifi: WifiName,
    /// Of 802.11g: the data rate, 54 Mb/s if not given.
    pub rate: Option<Text<Rate>>,
    /// Of 802.11n and ac: modulation and coding, 7 if not given.
    pub mcs: Option<u32>,
    /// Of 802.11n and ac: spatial streams, 2 if not given.
    pub streams: Option<u32>,
    /// Of 802.11n and ac: channel width, 20 or 80 MHz if not given.
    pub width: Option<Text<Megahertz>>,
    /// Of 802.11n and ac: 800 ns or 400 ns, the former if not given.
    pub guard_interval: Option<Text<Duration>>,
    /// Rate of acknowledgements.
    pub basic_rate: Option<Text<Rate>>,
    /// A slot.
    pub slot: Option<Text<Duration>>,
    /// Share of packets on the air that the channel damages.
    pub error_rate: Option<Text<Ratio>>,
    /// How often a packet is sent at most.
    pub attempts: Option<u32>,
    /// The least contention window.
    pub cw_min: Option<u32>,
    /// The greatest.
    pub cw_max: Option<u32>,
    /// Longer frames are sent after RTS and CTS.
    pub rts_above: Option<Text<Bytes>>,
    /// The most packets in a frame.
    pub aggregate: Option<u32>,
    /// The longest time of a frame on the air.
    pub aggregate_time: Option<Text<Duration>>,
    /// The queue of each station.
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
