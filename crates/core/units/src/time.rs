//! Points in time and spans, in whole nanoseconds.

use crate::parse::{UnitError, UnitTable, format_scaled, parse_scaled};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::str::FromStr;

const UNITS: UnitTable = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const PRINT_UNITS: UnitTable = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const ALLOWED: &str = "ns, us, ms, s, min, h";

/// A span of time, signed: differences between clocks can be negative. Nanoseconds, about ±292 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i64);

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest span; as a deadline, never.
    pub const MAX: Self = Self(i64::MAX);

    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }
    /// From microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros * 1_000)
    }
    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }
    /// From seconds.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// From an estimator's seconds; rounds to nearest, saturates, and NaN is zero.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as i64)
    }
    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
    /// Seconds, for estimators.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Milliseconds, for estimators.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Sum that stays at the ends; for values from a peer.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    /// Difference that stays at the ends; for values from a peer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// This span times a float factor; rounds to nearest and saturates.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as i64)
    }
    /// Whether it is below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl FromStr for Duration {
    type Err = UnitError;

    /// Parses "16 ms", "0.5 s", "9 min".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanos = parse_scaled(text, UNITS, ALLOWED, "16 ms")?;
        i64::try_from(nanos)
            .map(Self)
            .map_err(|_| UnitError::Range { text: text.to_owned(), why: "longer than 292 years" })
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 s");
        }
        f.write_str(&format_scaled(i128::from(self.0), PRINT_UNITS))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Neg for Duration {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Mul<i64> for Duration {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div<i64> for Duration {
    type Output = Self;
    fn div(self, divisor: i64) -> Self {
        Self(self.0 / divisor)
    }
}
impl Div for Duration {
    /// A ratio of spans, for estimators.
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}
impl std::iter::Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

macro_rules! point_in_time {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(i64);

        impl $name {
            /// The clock's zero.
            pub const ZERO: Self = Self(0);
            /// Never, as a deadline.
            pub const MAX: Self = Self(i64::MAX);

            /// From nanoseconds since the clock's zero.
            #[must_use]
            pub const fn from_nanos(nanos: i64) -> Self {
                Self(nanos)
            }
            /// Nanoseconds since the clock's zero.
            #[must_use]
            pub const fn as_nanos(self) -> i64 {
                self.0
            }
            /// Seconds since the clock's zero, for tables.
            #[must_use]
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 / 1e9
            }
            /// The first of these deadlines; `None` if nothing is due, as at [`Self::MAX`]. It is asked for after every
            /// event, and an iterator over options takes several times as long.
            #[inline]
            #[must_use]
            pub fn first_of<const COUNT: usize>(deadlines: [Option<Self>; COUNT]) -> Option<Self> {
                let mut first = Self::MAX;
                for deadline in deadlines {
                    first = first.min(deadline.unwrap_or(Self::MAX));
                }
                (first < Self::MAX).then_some(first)
            }
            /// Time from `earlier`, staying at the ends; for values from a peer.
            #[must_use]
            pub const fn saturating_since(self, earlier: Self) -> Duration {
                Duration::from_nanos(self.0.saturating_sub(earlier.0))
            }
            /// A later time, staying at the ends.
            #[must_use]
            pub const fn saturating_add(self, span: Duration) -> Self {
                Self(self.0.saturating_add(span.as_nanos()))
            }
            /// An earlier time, staying at the ends.
            #[must_use]
            pub const fn saturating_sub(self, span: Duration) -> Self {
                Self(self.0.saturating_sub(span.as_nanos()))
            }
        }
        impl Add<Duration> for $name {
            type Output = Self;
            fn add(self, span: Duration) -> Self {
                Self(self.0 + span.0)
            }
        }
        impl AddAssign<Duration> for $name {
            fn add_assign(&mut self, span: Duration) {
                self.0 += span.0;
            }
        }
        impl Sub<Duration> for $name {
            type Output = Self;
            fn sub(self, span: Duration) -> Self {
                Self(self.0 - span.0)
            }
        }
        impl Sub for $name {
            type Output = Duration;
            fn sub(self, earlier: Self) -> Duration {
                Duration(self.0 - earlier.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Duration(self.0).fmt(f)
            }
        }
    };
}

point_in_time! {
    /// A point on the local clock: nanoseconds since the start of the run.
    Instant
}
point_in_time! {
    /// A point on the receiver's clock, whose offset and drift the sender does not know. Only
    /// differences of one-way delays mean something; see [`ReceiverInstant::one_way_delay_since`].
    ReceiverInstant
}

impl ReceiverInstant {
    /// One-way delay plus the unknown clock offset, saturating: it comes from a peer.
    #[must_use]
    pub const fn one_way_delay_since(self, sent: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(sent.as_nanos()))
    }
}
