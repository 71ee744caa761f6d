//! The data rates of IEEE 802.11g, n and ac.
//!
//! Model: an OFDM symbol carries N_DBPS = N_SD x N_BPSCS x R x N_SS data bits: data subcarriers, coded bits
//! on each, code rate, spatial streams. A symbol lasts 4 us, or 3.6 us with the short guard interval.
//!
//! Sources: IEEE 802.11-2016, Table 17-4 (rates of 802.11a and g), Table 19-6 (N_SD of 802.11n), Table 21-5
//! (N_SD of 802.11ac), sections 19.5 and 21.5 (modulation and coding schemes). The standard was read through
//! the sources of ns-3 and INET, which cite it; table numbers are theirs or from memory.
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | N_SD of 802.11g | 48 | subcarriers | 17.3.2.3 |
//! | N_SD of 20, 40, 80, 160 MHz | 52, 108, 234, 468 | subcarriers | Tables 19-6 and 21-5 |
//! | symbol | 4, 3.6 | us | the same |
//!
//! | deviation | why |
//! |---|---|
//! | equal modulation of all streams, at most four of them | what homes have |
//! | encoders N_ES = N_DBPS / 1296 (n) or / 2160 (ac), rounded up; the tables differ for few combinations | 6 bits of tail |

use super::error::WifiError;
use gameway_units::{Duration, Rate};

/// A generation of Wi-Fi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// 802.11g: ERP-OFDM at 2.4 GHz.
    G,
    /// 802.11n: HT, aggregation.
    N,
    /// 802.11ac: VHT, wider channels, 256-QAM.
    Ac,
}

/// The pause before each symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuardInterval {
    /// 800 ns: a symbol lasts 4 us.
    #[default]
    Long,
    /// 400 ns: a symbol lasts 3.6 us.
    Short,
}

/// A data rate of 802.11n or ac.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spatial {
    /// Modulation and coding of each stream: 0 to 7 (n) or 9 (ac).
    pub mcs: u32,
    /// Spatial streams, 1 to 4.
    pub streams: u32,
    /// Channel width in MHz: 20 or 40, of ac also 80 or 160.
    pub width_mhz: u32,
    /// The guard interval.
    pub guard_interval: GuardInterval,
}

/// How data frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataRate {
    /// 802.11g at this rate in Mb/s: 6, 9, 12, 18, 24, 36, 48 or 54.
    Ofdm(u32),
    /// 802.11n, mixed format.
    Ht(Spatial),
    /// 802.11ac to one receiver.
    Vht(Spatial),
}

/// Of 802.11a and g, in Mb/s.
pub(super) const OFDM_RATES: [u32; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

/// Coded bits for each subcarrier, and the code rate as a fraction.
const SCHEMES: [(u32, u32, u32); 10] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
];

/// What an encoder may carry in a symbol: 324 Mb/s of 802.11n, 540 Mb/s of 802.11ac.
const BITS_PER_ENCODER: (u32, u32) = (1296, 2160);

impl Spatial {
    const fn subcarriers(self) -> Option<u32> {
        match self.width_mhz {
            20 => Some(52),
            40 => Some(108),
            80 => Some(234),
            160 => Some(468),
            _ => None,
        }
    }

    /// Combinations that the tables of 21.5 leave out.
    const fn is_left_out(self) -> bool {
        match (self.width_mhz, self.mcs) {
            (20, 9) => self.streams != 3,
            (80, 6) | (160, 9) => self.streams == 3,
            _ => false,
        }
    }

    const fn bits_per_symbol(self) -> u32 {
        let Some(subcarriers) = self.subcarriers() else { return 0 };
        let (bits, numerator, denominator) = SCHEMES[self.mcs as usize];
        subcarriers * bits * self.streams * numerator / denominator
    }
}

impl DataRate {
    /// Which generation has it.
    #[must_use]
    pub const fn generation(self) -> Generation {
        match self {
            Self::Ofdm(_) => Generation::G,
            Self::Ht(_) => Generation::N,
            Self::Vht(_) => Generation::Ac,
        }
    }

    /// Data bits of a symbol; of a rate that [`Self::check`] lets pass.
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        match self {
            Self::Ofdm(mbps) => mbps * 4,
            Self::Ht(spatial) | Self::Vht(spatial) => spatial.bits_per_symbol(),
        }
    }

    /// Encoders, each with six bits of tail.
    pub(super) const fn encoders(self) -> u32 {
        match self {
            Self::Ofdm(_) => 1,
            Self::Ht(_) => self.bits_per_symbol().div_ceil(BITS_PER_ENCODER.0),
            Self::Vht(_) => self.bits_per_symbol().div_ceil(BITS_PER_ENCODER.1),
        }
    }

    /// How long a symbol lasts.
    pub(super) const fn symbol(self) -> Duration {
        let short = matches!(
            self,
            Self::Ht(Spatial { guard_interval: GuardInterval::Short, .. })
                | Self::Vht(Spatial { guard_interval: GuardInterval::Short, .. })
        );
        Duration::from_nanos(if short { 3_600 } else { 4_000 })
    }

    /// Bits per second while data symbols are sent.
    #[must_use]
    pub fn rate(self) -> Rate {
        let bits = u64::from(self.bits_per_symbol()) * 1_000_000_000;
        Rate::from_bps(bits / self.symbol().as_nanos().unsigned_abs())
    }

    /// Whether the standard has it.
    ///
    /// # Errors
    /// What is wrong, and what is allowed.
    pub fn check(self) -> Result<(), WifiError> {
        match self {
            Self::Ofdm(mbps) if OFDM_RATES.contains(&mbps) => Ok(()),
            Self::Ofdm(mbps) => Err(WifiError::Rate(mbps)),
            Self::Ht(spatial) => check_spatial(spatial, 7, &[20, 40]),
            Self::Vht(spatial) => check_spatial(spatial, 9, &[20, 40, 80, 160]),
        }
    }
}

fn check_spatial(spatial: Spatial, highest: u32, widths: &[u32]) -> Result<(), WifiError> {
    let Spatial { mcs, streams, width_mhz, .. } = spatial;
    if mcs > highest {
        return Err(WifiError::Mcs { mcs, highest });
    }
    if !(1..=4).contains(&streams) {
        return Err(WifiError::Streams(streams));
    }
    if !widths.contains(&width_mhz) {
        return Err(WifiError::Width { width_mhz, highest: widths[widths.len() - 1] });
    }
    if spatial.is_left_out() {
        return Err(WifiError::LeftOut { mcs, streams, width_mhz });
    }
    Ok(())
}
