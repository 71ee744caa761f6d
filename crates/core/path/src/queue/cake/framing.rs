//! How long a packet is on the link below, which the bandwidth is of.
//!
//! Model: a packet's length with the IP header and `overhead`, at least `mpu`, and what cells or blocks add (Linux,
//! `sch_cake.c`, `cake_calc_overhead`). The words are those of tc-cake(8) (iproute2, `tc/q_cake.c`):
//!
//! | word | overhead | mpu | cells | origin |
//! |---|---:|---:|---|---|
//! | `raw` | 0 B | | none | |
//! | `conservative` | 48 B | | ATM | more than any link in use |
//! | `ipoa-vcmux`, `ipoa-llcsnap` | 8, 16 B | | ATM | RFC 2684 |
//! | `bridged-vcmux`, `bridged-llcsnap` | 24, 32 B | | ATM | RFC 2684 |
//! | `pppoa-vcmux`, `pppoa-llc` | 10, 14 B | | ATM | RFC 2364 |
//! | `pppoe-vcmux`, `pppoe-llcsnap` | 32, 40 B | | ATM | RFC 2516 |
//! | `pppoe-ptm`, `bridged-ptm` | 30, 22 B | | PTM | IEEE 802.3 section 61.3 |
//! | `docsis` | 18 B | 64 B | none | a frame with its check sequence |
//! | `ethernet` | 38 B | 84 B | | with preamble and gap |
//! | `ether-vlan` | 4 B | | | IEEE 802.1Q |
//! | `via-ethernet` | | | | nothing any more, in tc either |
//!
//! Overheads of several words add up; `raw` and `conservative` put theirs in place of what stood before.
//!
//! | deviation | why |
//! |---|---|
//! | a packet is never below 0 B | Linux: a length below zero wraps to 4 GB |

use gameway_units::{Bytes, SignedBytes};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Cells or blocks in which the link below carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// Neither.
    #[default]
    None,
    /// ATM: 48 B of payload in each cell of 53 B, the last one filled up.
    Atm,
    /// PTM (64b/65b): a byte for every 64 B or part of it.
    Ptm,
}

/// See the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes that each packet is longer there, or shorter.
    pub overhead: SignedBytes,
    /// The least length of a frame.
    pub min: Bytes,
    /// What frames are cut into.
    pub cells: Cells,
}

/// ATM: 48 B of each cell of 53 B are of the packet (ITU-T I.361).
pub const fn in_cells(frame: Bytes) -> Bytes {
    Bytes::new(frame.get().div_ceil(48).saturating_mul(53))
}

impl Framing {
    pub(super) const fn length(&self, size: Bytes) -> Bytes {
        let frame = size.saturating_add_signed(self.overhead);
        let frame = if frame.get() < self.min.get() { self.min } else { frame };
        match self.cells {
            Cells::None => frame,
            Cells::Atm => in_cells(frame),
            Cells::Ptm => frame.saturating_add(Bytes::new(frame.get().div_ceil(64))),
        }
    }

    /// What a word adds to it; `None` if there is no such word.
    fn with(self, word: &str) -> Option<Self> {
        let (overhead, min, cells) = match word {
            "raw" => return Some(Self { overhead: SignedBytes::ZERO, cells: Cells::None, ..self }),
            "conservative" => {
                return Some(Self { overhead: SignedBytes::new(48), cells: Cells::Atm, ..self });
            }
            "ipoa-vcmux" => (8, 0, Some(Cells::Atm)),
            "ipoa-llcsnap" => (16, 0, Some(Cells::Atm)),
            "bridged-vcmux" => (24, 0, Some(Cells::Atm)),
            "bridged-llcsnap" | "pppoe-vcmux" => (32, 0, Some(Cells::Atm)),
            "pppoa-vcmux" => (10, 0, Some(Cells::Atm)),
            "pppoa-llc" => (14, 0, Some(Cells::Atm)),
            "pppoe-llcsnap" => (40, 0, Some(Cells::Atm)),
            "pppoe-ptm" => (30, 0, Some(Cells::Ptm)),
            "bridged-ptm" => (22, 0, Some(Cells::Ptm)),
            "docsis" => (18, 64, Some(Cells::None)),
            "ethernet" => (38, 84, None),
            "ether-vlan" => (4, 0, None),
            "via-ethernet" => (0, 0, None),
            _ => return None,
        };
        Some(Self {
            overhead: SignedBytes::new(self.overhead.get() + overhead),
            min: if min > 0 { Bytes::new(min) } else { self.min },
            cells: cells.unwrap_or(self.cells),
        })
    }
}

/// Reads words.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Framing, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(D::Error::custom)
}

/// Words that are none, or too many.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{word}\" is no framing: known are raw, conservative, ethernet, ether-vlan, docsis, pppoe-ptm, bridged-ptm, \
     pppoa-vcmux, pppoa-llc, pppoe-vcmux, pppoe-llcsnap, bridged-vcmux, bridged-llcsnap, ipoa-vcmux, ipoa-llcsnap, \
     via-ethernet, and several with spaces between them"
)]
#[non_exhaustive]
pub struct FramingError {
    word: String,
}

impl FromStr for Framing {
    type Err = FramingError;

    fn from_str(text: &str) -> Result<Self, FramingError> {
        let unknown = |word: &str| FramingError { word: word.to_owned() };
        if text.trim().is_empty() {
            return Err(unknown(text));
        }
        let mut words = text.split_ascii_whitespace();
        words.try_fold(Self::default(), |framing, word| {
            framing.with(word).ok_or_else(|| unknown(word))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overhead, least length and cells of a word, as tc-cake(8) has them.
    #[test]
    fn words_are_those_of_tc() {
        use Cells::{Atm, None, Ptm};
        for (word, overhead, min, cells) in [
            ("raw", 0, 0, None),
            ("conservative", 48, 0, Atm),
            ("ipoa-vcmux", 8, 0, Atm),
            ("ipoa-llcsnap", 16, 0, Atm),
            ("bridged-vcmux", 24, 0, Atm),
            ("bridged-llcsnap", 32, 0, Atm),
            ("pppoa-vcmux", 10, 0, Atm),
            ("pppoa-llc", 14, 0, Atm),
            ("pppoe-vcmux", 32, 0, Atm),
            ("pppoe-llcsnap", 40, 0, Atm),
            ("pppoe-ptm", 30, 0, Ptm),
            ("bridged-ptm", 22, 0, Ptm),
            ("docsis", 18, 64, None),
            ("ethernet", 38, 84, None),
            ("ether-vlan", 4, 0, None),
            ("via-ethernet", 0, 0, None),
            ("pppoe-ptm ether-vlan ether-vlan", 38, 0, Ptm),
            ("docsis conservative", 48, 64, Atm),
            ("docsis ether-vlan", 22, 64, None),
            ("pppoe-ptm  raw", 0, 0, None),
        ] {
            let expected =
                Framing { overhead: SignedBytes::new(overhead), min: Bytes::new(min), cells };
            assert_eq!(word.parse(), Ok(expected), "{word}");
        }
        for wrong in ["", "pppoe", "docsis, ether-vlan"] {
            assert!(wrong.parse::<Framing>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn lengths_are_closed_forms() {
        let length = |overhead, min, cells, size| {
            let min = Bytes::new(min);
            let framing = Framing { overhead: SignedBytes::new(overhead), min, cells };
            framing.length(Bytes::new(size)).get()
        };
        for size in [0, 1, 40, 47, 48, 49, 64, 65, 1452, 1500, 9000] {
            for overhead in [-64, -14, 0, 8, 40, 256] {
                let frame = (size as i64 + overhead).max(0) as u64;
                assert_eq!(length(overhead, 0, Cells::None, size), frame);
                assert_eq!(length(overhead, 0, Cells::Atm, size), frame.div_ceil(48) * 53);
                // 64b/65b: 65 octets carry 64, to the whole octet above.
                let ptm = length(overhead, 0, Cells::Ptm, size);
                assert!(
                    (frame * 65).div_ceil(64) <= ptm && ptm <= frame * 65 / 64 + 1,
                    "{frame} {ptm}"
                );
                assert_eq!(length(overhead, 84, Cells::None, size), frame.max(84));
            }
        }
    }
}
