//! Data rates.

use crate::parse::{UnitError, UnitTable, format_scaled, parse_scaled};
use crate::{Bytes, Duration};
use std::fmt;
use std::ops::{Add, Div, Mul, Sub};
use std::str::FromStr;

const UNITS: UnitTable = &[
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
];
const PRINT_UNITS: UnitTable =
    &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)];

/// A data rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);
    /// No bound.
    pub const MAX: Self = Self(u64::MAX);

    /// From bits per second.
    #[must_use]
    pub const fn from_bps(bits_per_sec: u64) -> Self {
        Self(bits_per_sec)
    }
    /// From kilobits per second.
    #[must_use]
    pub const fn from_kbps(kilobits_per_sec: u64) -> Self {
        Self(kilobits_per_sec * 1_000)
    }
    /// From megabits per second.
    #[must_use]
    pub const fn from_mbps(megabits_per_sec: u64) -> Self {
        Self(megabits_per_sec * 1_000_000)
    }
    /// From an estimator's bits per second; rounds, saturates, and NaN or a negative is zero.
    #[must_use]
    pub fn from_bps_f64(bits_per_sec: f64) -> Self {
        Self(bits_per_sec.round() as u64)
    }
    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bits per second, for estimators.
    #[must_use]
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }
    /// Megabits per second, for estimators and tables.
    #[must_use]
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// This rate times a float factor; rounds and saturates.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_bps_f64(self.0 as f64 * factor)
    }
    /// Difference, zero where it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Time to send `amount`, rounded up to the nanosecond; [`Duration::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, amount: Bytes) -> Duration {
        const NANOBITS_PER_BYTE: u64 = 8_000_000_000;
        if self.0 == 0 {
            return Duration::MAX;
        }
        // A 64-bit division is several times faster than a 128-bit one, and every packet needs one.
        if amount.get() <= u64::MAX / NANOBITS_PER_BYTE {
            let nanos = (amount.get() * NANOBITS_PER_BYTE).div_ceil(self.0);
            return Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
        }
        let nanos =
            (u128::from(amount.get()) * u128::from(NANOBITS_PER_BYTE)).div_ceil(u128::from(self.0));
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// Parses "25 Mb/s", "150 kb/s", "1.5 Gb/s".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bits = parse_scaled(text, UNITS, "b/s, kb/s, Mb/s, Gb/s", "25 Mb/s")?;
        let why = if bits < 0 { "a rate is not negative" } else { "a rate is below 2^64 b/s" };
        u64::try_from(bits).map(Self).map_err(|_| UnitError::Range { text: text.to_owned(), why })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_scaled(i128::from(self.0), PRINT_UNITS))
    }
}

impl Add for Rate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sub for Rate {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Mul<Duration> for Rate {
    /// The data that this rate carries in that span, rounded down; zero if the span is negative.
    type Output = Bytes;
    fn mul(self, span: Duration) -> Bytes {
        const NANOBITS_PER_BYTE: u64 = 8_000_000_000;
        let nanos = span.as_nanos().max(0).unsigned_abs();
        // As above: most products fit into 64 bits.
        if let Some(nanobits) = self.0.checked_mul(nanos) {
            return Bytes::new(nanobits / NANOBITS_PER_BYTE);
        }
        let bytes = u128::from(self.0) * u128::from(nanos) / u128::from(NANOBITS_PER_BYTE);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}
impl Div<Duration> for Bytes {
    /// The rate that carries this amount in that span, rounded down; zero if the span is not positive.
    type Output = Rate;
    fn div(self, span: Duration) -> Rate {
        let nanos = span.as_nanos();
        if nanos <= 0 {
            return Rate::ZERO;
        }
        let bits_per_sec = u128::from(self.get()) * 8_000_000_000 / nanos as u128;
        Rate::from_bps(u64::try_from(bits_per_sec).unwrap_or(u64::MAX))
    }
}
impl Div<Rate> for Bytes {
    /// Serialization time at that rate, rounded up to the nanosecond; [`Duration::MAX`] at rate zero.
    type Output = Duration;
    fn div(self, rate: Rate) -> Duration {
        rate.time_for(self)
    }
}
impl std::iter::Sum for Rate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        rates.fold(Self::ZERO, Add::add)
    }
}
