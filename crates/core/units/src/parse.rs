//! Parsing of "number unit" and the exact decimal arithmetic behind it.

use std::str::FromStr;

/// Why a text is not a value of a unit; the message names the text and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No number in front.
    #[error("\"{text}\" has no number in front; write for example \"{example}\"")]
    NoNumber {
        /// What was given.
        text: String,
        /// A valid value.
        example: &'static str,
    },
    /// The unit is missing or not one of this quantity.
    #[error("\"{text}\" has {} as unit; allowed are {allowed}", describe_unit(unit))]
    Unit {
        /// What was given.
        text: String,
        /// The unit that was found, perhaps empty.
        unit: String,
        /// The units of this quantity.
        allowed: &'static str,
    },
    /// Finer than the integer that keeps it, negative where that has no meaning, or too large.
    #[error("\"{text}\" is out of range: {why}")]
    Range {
        /// What was given.
        text: String,
        /// The bound that it breaks.
        why: &'static str,
    },
}

fn describe_unit(unit: &str) -> String {
    if unit.is_empty() { "nothing".to_owned() } else { format!("\"{unit}\"") }
}

/// A unit and how many base units it holds.
pub(crate) type UnitTable = &'static [(&'static str, i128)];

/// Parses `text` into base units, exactly: "0.5 ms" is 500 000 ns, with no float between.
pub(crate) fn parse_scaled(
    text: &str,
    units: UnitTable,
    allowed: &'static str,
    example: &'static str,
) -> Result<i128, UnitError> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    let scale = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let number_error = || UnitError::NoNumber { text: text.to_owned(), example };
    let decimal = Decimal::from_str(&number).map_err(|()| number_error())?;
    let scale = scale.ok_or_else(|| UnitError::Unit {
        text: text.to_owned(),
        unit: unit.to_owned(),
        allowed,
    })?;
    decimal.times(scale).ok_or_else(|| UnitError::Range {
        text: text.to_owned(),
        why: "finer than the smallest step of this quantity, or too many digits",
    })
}

/// A decimal number kept as digits and the count of digits after the point.
struct Decimal {
    digits: i128,
    places: u32,
}

impl FromStr for Decimal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (negative, body) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || all.len() > 30 || !all.bytes().all(|b| b.is_ascii_digit()) {
            return Err(());
        }
        let digits: i128 = all.parse().map_err(|_| ())?;
        Ok(Self { digits: if negative { -digits } else { digits }, places: fraction.len() as u32 })
    }
}

impl Decimal {
    /// `self * scale` if that is a whole number.
    fn times(&self, scale: i128) -> Option<i128> {
        let product = self.digits.checked_mul(scale)?;
        let divisor = 10i128.checked_pow(self.places)?;
        (product % divisor == 0).then_some(product / divisor)
    }
}

/// Prints `value` base units in the largest unit that keeps at most three decimals exact.
pub(crate) fn format_scaled(value: i128, units: UnitTable) -> String {
    let magnitude = value.unsigned_abs() as i128;
    let fits = |scale: i128| magnitude >= scale && (magnitude * 1000) % scale == 0;
    let (name, scale) = units
        .iter()
        .copied()
        .filter(|(_, scale)| fits(*scale))
        .max_by_key(|(_, scale)| *scale)
        .unwrap_or_else(|| units.iter().copied().min_by_key(|(_, s)| *s).unwrap_or(("", 1)));
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}{} {name}", magnitude / scale, fraction_text(magnitude % scale, scale))
}

/// `rest / scale` as decimals, to the last one: at most three if the unit was chosen for it, and as many
/// as a quantity needs that has only one unit.
fn fraction_text(mut rest: i128, scale: i128) -> String {
    const MAX_DIGITS: usize = 18;
    let mut text = String::from(".");
    while rest > 0 && text.len() <= MAX_DIGITS {
        text.push((b'0' + (rest * 10 / scale) as u8) as char);
        rest = rest * 10 % scale;
    }
    if text == "." { String::new() } else { text }
}

/// A share or multiple as parts per million: FEC share, loss probability, BDP multiple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(u64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// From parts per million.
    #[must_use]
    pub const fn from_ppm(ppm: u64) -> Self {
        Self(ppm)
    }

    /// Parts per million.
    #[must_use]
    pub const fn as_ppm(self) -> u64 {
        self.0
    }

    /// As a float, for estimators and tables.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl FromStr for Ratio {
    type Err = UnitError;

    /// Parses "2 %" or "0.02".
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const UNITS: UnitTable = &[("", 1_000_000), ("%", 10_000)];
        let ppm = parse_scaled(text, UNITS, "\"%\" or none", "2 %")?;
        u64::try_from(ppm).map(Self).map_err(|_| UnitError::Range {
            text: text.to_owned(),
            why: "a share cannot be negative",
        })
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format_scaled(i128::from(self.0), &[("%", 10_000)]))
    }
}
