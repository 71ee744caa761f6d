//! Recorded capacity as a table of times and rates: each rate holds until the next time, the last one as
//! long as the one before it did, and then the table begins anew.
//!
//! Columns stand between commas, semicolons, tabs or spaces. A first line that holds no numbers names
//! them. Times count from the first one, so that they may be seconds of a clock. Lines that are empty or begin
//! with `#` are passed over.

use crate::segments::Segments;
use gameway_units::{Duration, Instant, Rate};
use std::sync::Arc;

/// The most columns that a line may have.
const MAX_COLUMNS: usize = 1000;
/// Ten years: times of a clock since 1970 are taken from the first, and a longer span is a mistake.
const MAX_SECS: f64 = 3.2e8;
/// A packet of 1500 B leaves within 12 s of rates, so within 12 000 repetitions.
const MIN_MEAN: Rate = Rate::from_kbps(1);
const MIN_PERIOD: Duration = Duration::from_millis(1);
/// Characters of a line that an error quotes.
const QUOTED: usize = 40;

/// Which columns a table has time and rate in, and what they count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Name of the column of times; the first if not given.
    pub time: Option<String>,
    /// Name of the column of rates; the second if not given.
    pub rate: Option<String>,
    /// What a time of 1 is.
    pub time_unit: Duration,
    /// What a rate of 1 is.
    pub rate_unit: Rate,
}

impl Default for Columns {
    /// The first two columns, in seconds and Mb/s.
    fn default() -> Self {
        let (time_unit, rate_unit) = (Duration::from_secs(1), Rate::from_mbps(1));
        Self { time: None, rate: None, time_unit, rate_unit }
    }
}

/// Why a file is no such table; the message names the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThroughputError {
    /// Nothing in it, or a single time.
    #[error("the table has {0} rows; it needs two or more, each with a time and a rate")]
    TooShort(usize),
    /// A column that the first line does not have.
    #[error("no column is called \"{name}\"; the first line has {}", known.join(", "))]
    NoColumn {
        /// The name asked for.
        name: String,
        /// What is there.
        known: Vec<String>,
    },
    /// Columns are named, and the file names none.
    #[error(
        "line {line}: the first line must name the columns, as one of them is asked for by name"
    )]
    NoNames {
        /// Counting from one.
        line: usize,
    },
    /// Without a second column.
    #[error("line {line}: has {columns} columns; a time and a rate are needed")]
    TooNarrow {
        /// Counting from one.
        line: usize,
        /// How many it has.
        columns: usize,
    },
    /// Not a number, below zero or beyond all bounds.
    #[error("line {line}: {what} \"{text}\" is not a number of 0 or more that can be")]
    NoNumber {
        /// Counting from one.
        line: usize,
        /// "time" or "rate".
        what: &'static str,
        /// What stands there (cut where it is long).
        text: String,
    },
    /// A time that does not come after the one before.
    #[error("line {line}: time \"{text}\" does not come after the one of the row above")]
    Order {
        /// Counting from one.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// Rates of next to nothing.
    #[error("the mean rate of the table is {0}, below 1 kb/s: next to nothing would leave")]
    NothingLeaves(Rate),
    /// Times so near each other that they must be in another unit.
    #[error("the table lasts {0}, less than 1 ms: its times are in another unit")]
    TooShortATime(Duration),
}

/// A recorded capacity; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThroughputTable {
    steps: Arc<[(Instant, Rate)]>,
    period: Duration,
}

impl ThroughputTable {
    /// Reads a table.
    ///
    /// # Errors
    /// [`ThroughputError`], with the line where it is about one.
    pub fn parse(text: &str, columns: &Columns) -> Result<Self, ThroughputError> {
        let mut lines = rows(text).peekable();
        let Some(&(line, first)) = lines.peek() else { return Err(ThroughputError::TooShort(0)) };
        let names: Option<Vec<String>> =
            (!is_numeric(first)).then(|| fields(first).map(str::to_owned).collect());
        if names.is_some() {
            lines.next();
        }
        let places = places(columns, names.as_deref(), line)?;
        let mut steps: Vec<(Instant, Rate)> = Vec::new();
        let mut start = None;
        for (line, row) in lines {
            let (time, rate) = values(row, places, line)?;
            let (secs, bps) = scaled(time, rate, columns, line)?;
            let since = secs - *start.get_or_insert(secs);
            let at = Instant::ZERO + Duration::from_secs_f64(since);
            if since > MAX_SECS || steps.last().is_some_and(|(before, _)| at <= *before) {
                return Err(ThroughputError::Order { line, text: quoted(time) });
            }
            steps.push((at, Rate::from_bps_f64(bps)));
        }
        Self::of(steps)
    }

    fn of(steps: Vec<(Instant, Rate)>) -> Result<Self, ThroughputError> {
        let [.., (before, _), (last, _)] = steps[..] else {
            return Err(ThroughputError::TooShort(steps.len()));
        };
        let period = (last - Instant::ZERO) + (last - before);
        if period < MIN_PERIOD {
            return Err(ThroughputError::TooShortATime(period));
        }
        let table = Self { steps: steps.into(), period };
        let mean = table.mean_capacity();
        if mean < MIN_MEAN { Err(ThroughputError::NothingLeaves(mean)) } else { Ok(table) }
    }

    /// How long until it repeats.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// How many rows it has.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.steps.len()
    }

    /// Mean capacity over one period.
    #[must_use]
    pub fn mean_capacity(&self) -> Rate {
        self.segments(Instant::ZERO).carried_until(Instant::ZERO + self.period) / self.period
    }

    /// The rates from `at` on.
    pub(crate) fn segments(&self, at: Instant) -> Segments<'_> {
        Segments::repeating(&self.steps, self.period, at)
    }
}

/// Lines with something in them, counted from one.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The columns of a line. Where commas, semicolons or tabs stand, spaces are part of a name.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let separator = [',', ';', '\t'].into_iter().find(|separator| line.contains(*separator));
    let parts: Vec<&str> = match separator {
        Some(separator) => line.split(separator).take(MAX_COLUMNS).collect(),
        None => line.split_whitespace().take(MAX_COLUMNS).collect(),
    };
    parts.into_iter().map(|part| part.trim().trim_matches('"'))
}

/// Whether a line has a number in it: names of columns are none.
fn is_numeric(line: &str) -> bool {
    fields(line).any(|field| field.parse::<f64>().is_ok())
}

/// The places of time and rate.
fn places(
    columns: &Columns,
    names: Option<&[String]>,
    line: usize,
) -> Result<(usize, usize), ThroughputError> {
    let place = |wanted: &Option<String>, default: usize| match (wanted, names) {
        (None, _) => Ok(default),
        (Some(_), None) => Err(ThroughputError::NoNames { line }),
        (Some(name), Some(names)) => {
            names.iter().position(|known| known == name).ok_or_else(|| ThroughputError::NoColumn {
                name: name.clone(),
                known: names.iter().map(|known| format!("\"{}\"", quoted(known))).collect(),
            })
        }
    };
    Ok((place(&columns.time, 0)?, place(&columns.rate, 1)?))
}

/// Time and rate of a row as they stand there.
fn values(row: &str, places: (usize, usize), line: usize) -> Result<(&str, &str), ThroughputError> {
    let found: Vec<&str> = fields(row).collect();
    let needed = places.0.max(places.1) + 1;
    if found.len() < needed {
        return Err(ThroughputError::TooNarrow { line, columns: found.len() });
    }
    Ok((found[places.0], found[places.1]))
}

/// Time in seconds and rate in bit/s.
fn scaled(
    time: &str,
    rate: &str,
    columns: &Columns,
    line: usize,
) -> Result<(f64, f64), ThroughputError> {
    let number =
        |what: &'static str, text: &str, unit: f64| {
            let value = text.parse::<f64>().ok().map(|value| value * unit);
            let max = if what == "rate" { Rate::MAX.as_bps_f64() / 2.0 } else { f64::MAX };
            value
                .filter(|value| (0.0..max).contains(value))
                .ok_or_else(|| ThroughputError::NoNumber { line, what, text: quoted(text) })
        };
    let secs = number("time", time, columns.time_unit.as_secs_f64())?;
    Ok((secs, number("rate", rate, columns.rate_unit.as_bps_f64())?))
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}
