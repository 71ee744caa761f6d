//! The size of a bottleneck queue, in any of the units that the field uses.

use crate::parse::{UnitError, UnitTable, format_scaled, parse_scaled};
use crate::{Bytes, Duration, Rate, Ratio};
use std::fmt;
use std::str::FromStr;

/// How large a queue is: "64 KiB", "100 packets", "300 ms" or "2 bdp".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueSize {
    /// A number of bytes on the wire.
    Bytes(Bytes),
    /// A number of packets of any size.
    Packets(u64),
    /// The time that a full queue takes to drain; follows the capacity where that varies.
    Time(Duration),
    /// A multiple of capacity times base RTT.
    Bdp(Ratio),
}

const UNITS: &str = "B, kB, KiB, MB, MiB (bytes), packets, ms or s (time), bdp";

impl QueueSize {
    /// The size in bytes at `capacity` and `base_rtt`; `None` where it counts packets.
    #[must_use]
    pub fn in_bytes(self, capacity: Rate, base_rtt: Duration) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Packets(_) => None,
            Self::Time(span) => Some(capacity * span),
            Self::Bdp(multiple) => {
                let bdp = u128::from((capacity * base_rtt).get());
                let scaled = bdp * u128::from(multiple.as_ppm()) / 1_000_000;
                Some(Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX)))
            }
        }
    }
}

impl FromStr for QueueSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const COUNT: UnitTable = &[("packets", 1), ("packet", 1)];
        const MULTIPLE: UnitTable = &[("bdp", 1_000_000), ("BDP", 1_000_000)];
        let range = |why| UnitError::Range { text: text.to_owned(), why };
        let unit = text.trim().trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let size = match unit {
            "packets" | "packet" => {
                let count = parse_scaled(text, COUNT, UNITS, "100 packets")?;
                Self::Packets(u64::try_from(count).map_err(|_| range("it cannot be negative"))?)
            }
            "bdp" | "BDP" => {
                let ppm = parse_scaled(text, MULTIPLE, UNITS, "2 bdp")?;
                let ppm = u64::try_from(ppm).map_err(|_| range("it cannot be negative"))?;
                Self::Bdp(Ratio::from_ppm(ppm))
            }
            "ns" | "us" | "ms" | "s" => Self::Time(text.parse()?),
            _ => match text.parse::<Bytes>() {
                Ok(bytes) => Self::Bytes(bytes),
                Err(UnitError::Unit { text, unit, .. }) => {
                    return Err(UnitError::Unit { text, unit, allowed: UNITS });
                }
                Err(other) => return Err(other),
            },
        };
        let empty = match size {
            Self::Bytes(bytes) => bytes == Bytes::ZERO,
            Self::Packets(count) => count == 0,
            Self::Time(span) => span <= Duration::ZERO,
            Self::Bdp(multiple) => multiple == Ratio::ZERO,
        };
        if empty { Err(range("a queue must hold something")) } else { Ok(size) }
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(count) => write!(f, "{count} packets"),
            Self::Time(span) => span.fmt(f),
            Self::Bdp(multiple) => {
                f.write_str(&format_scaled(i128::from(multiple.as_ppm()), &[("bdp", 1_000_000)]))
            }
        }
    }
}
