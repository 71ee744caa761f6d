//! Amounts of data.

use crate::parse::{UnitError, UnitTable, format_scaled, parse_scaled};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

const UNITS: UnitTable = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const PRINT_UNITS: UnitTable = &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
/// For amounts that are whole in powers of two only.
const BINARY_UNITS: UnitTable = &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A difference of amounts of data, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SignedBytes(i64);

impl SignedBytes {
    /// None.
    pub const ZERO: Self = Self(0);

    /// From a count of bytes.
    #[must_use]
    pub const fn new(bytes: i64) -> Self {
        Self(bytes)
    }
    /// The count of bytes.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);
    /// No bound.
    pub const MAX: Self = Self(u64::MAX);

    /// From a count of bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// The count of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// From an estimator's bytes; truncates, saturates, and NaN is zero.
    #[must_use]
    pub fn from_f64(bytes: f64) -> Self {
        Self(bytes as u64)
    }
    /// As a float, for estimators.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Difference, zero where it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// With a difference, zero where it would be negative; stays at the end.
    #[must_use]
    pub const fn saturating_add_signed(self, difference: SignedBytes) -> Self {
        Self(self.0.saturating_add_signed(difference.0))
    }
    /// Sum that stays at the end.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Parses "64 KiB", "10 kB", "1500 B".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bytes = parse_scaled(text, UNITS, "B, kB, MB, GB, KiB, MiB, GiB", "64 KiB")?;
        let why = if bytes < 0 {
            "an amount of data is not negative"
        } else {
            "an amount of data is below 2^64 bytes"
        };
        u64::try_from(bytes).map(Self).map_err(|_| UnitError::Range { text: text.to_owned(), why })
    }
}

impl FromStr for SignedBytes {
    type Err = UnitError;

    /// Parses "44 B", "-14 B".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bytes = parse_scaled(text, UNITS, "B, kB, MB, GB, KiB, MiB, GiB", "-14 B")?;
        i64::try_from(bytes).map(Self).map_err(|_| UnitError::Range {
            text: text.to_owned(),
            why: "a difference of data is within 2^63 bytes",
        })
    }
}

impl fmt::Display for SignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format_scaled(i128::from(self.0), PRINT_UNITS))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = self.0.is_multiple_of(1 << 10) && !self.0.is_multiple_of(1_000);
        let units = if binary { BINARY_UNITS } else { PRINT_UNITS };
        f.write_str(&format_scaled(i128::from(self.0), units))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}
impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}
