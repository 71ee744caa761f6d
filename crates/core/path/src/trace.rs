//! Recorded capacity in Mahimahi's format: one delivery opportunity a line, as whole milliseconds since
//! the start, in order; each lets 1500 bytes leave; the trace repeats after its last line.
//!
//! Source: Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, section
//! 3.2; behaviour of `mm-link`. An opportunity that finds nothing to send is lost, one that is not used
//! up carries on with the next waiting packet, and a packet larger than what is left finishes at the
//! next opportunity.

use gameway_units::{Bytes, Duration, Instant, Rate};
use std::sync::Arc;

/// Bytes that one opportunity lets leave (Mahimahi's MTU-sized unit).
const OPPORTUNITY_BYTES: u64 = 1500;
const NANOS_PER_MILLI: i64 = 1_000_000;
/// One day: a longer period is a mistake in the file.
const MAX_MILLIS: u64 = 86_400_000;

/// Why a file is not a trace; the message names the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No opportunity at all.
    #[error("the trace has no delivery opportunity; each line must be one, in whole milliseconds")]
    Empty,
    /// A line that is not a number.
    #[error("line {line}: \"{text}\" is not a whole number of milliseconds from 0 to 86400000")]
    NotMilliseconds {
        /// Counting from one.
        line: usize,
        /// What stands there (cut where it is long).
        text: String,
    },
    /// A line that goes back in time.
    #[error("line {line}: {millis} ms comes before the {before} ms of the line above")]
    Order {
        /// Counting from one.
        line: usize,
        /// Its time.
        millis: u64,
        /// The time above it.
        before: u64,
    },
    /// All opportunities at zero: the period has no length.
    #[error("the last opportunity is at 0 ms, so the trace has no length; it must end later")]
    NoLength,
}

/// A recorded capacity; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    millis: Arc<[u32]>,
}

impl Trace {
    /// Reads Mahimahi's format. Empty lines at the end are allowed, `\r\n` too.
    ///
    /// # Errors
    /// [`TraceError`] with the line for anything else.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        let mut millis: Vec<u32> = Vec::with_capacity(text.len() / 6);
        let trimmed = text.trim_ascii_end();
        if trimmed.is_empty() {
            return Err(TraceError::Empty);
        }
        for (index, raw) in trimmed.split(|byte| *byte == b'\n').enumerate() {
            let value = parse_millis(raw).ok_or_else(|| TraceError::NotMilliseconds {
                line: index + 1,
                text: String::from_utf8_lossy(&raw[..raw.len().min(40)]).trim().to_owned(),
            })?;
            let before = millis.last().copied().unwrap_or(0);
            if value < before {
                let (millis, before) = (u64::from(value), u64::from(before));
                return Err(TraceError::Order { line: index + 1, millis, before });
            }
            millis.push(value);
        }
        if millis.last() == Some(&0) {
            return Err(TraceError::NoLength);
        }
        Ok(Self { millis: millis.into() })
    }

    /// How long until it repeats.
    #[must_use]
    pub fn period(&self) -> Duration {
        Duration::from_millis(i64::from(self.millis[self.millis.len() - 1]))
    }

    /// How many opportunities one period has.
    #[must_use]
    pub fn opportunities(&self) -> usize {
        self.millis.len()
    }

    /// Mean capacity over one period.
    #[must_use]
    pub fn mean_capacity(&self) -> Rate {
        Bytes::new(self.millis.len() as u64 * OPPORTUNITY_BYTES) / self.period()
    }

    /// What opportunities from `from` on and before `to` could carry: one at the edge of two spans is of the
    /// later one, as is the packet that it lets leave.
    pub(crate) fn capacity_between(&self, from: Instant, to: Instant) -> Bytes {
        let opportunities = self.count_before(to).saturating_sub(self.count_before(from));
        Bytes::new(opportunities * OPPORTUNITY_BYTES)
    }

    /// Opportunities before `at`.
    fn count_before(&self, at: Instant) -> u64 {
        let Some(last) = at.as_nanos().checked_sub(1).filter(|last| *last >= 0) else { return 0 };
        let period = self.period().as_nanos();
        let (rounds, rest) = (last / period, last % period + 1);
        let within =
            self.millis.partition_point(|&millis| i64::from(millis) * NANOS_PER_MILLI < rest);
        rounds as u64 * self.millis.len() as u64 + within as u64
    }

    /// The time of opportunity `number`, counting from zero through all repetitions.
    fn time_of(&self, number: u64) -> Instant {
        let length = self.millis.len() as u64;
        let (round, index) = (number / length, (number % length) as usize);
        let within = i64::from(self.millis[index]) * NANOS_PER_MILLI;
        Instant::from_nanos(round as i64 * self.period().as_nanos() + within)
    }
}

fn parse_millis(raw: &[u8]) -> Option<u32> {
    let digits = raw.trim_ascii();
    if digits.is_empty() || digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    (value <= MAX_MILLIS).then_some(value as u32)
}

/// A place in a trace that is being played.
#[derive(Debug, Clone)]
pub(crate) struct TraceCursor {
    trace: Trace,
    /// The opportunity in use.
    number: u64,
    /// Its time.
    at: Instant,
    /// What it can still carry; only while `at` is now.
    left: u64,
}

impl TraceCursor {
    pub(crate) fn new(trace: Trace) -> Self {
        let at = trace.time_of(0);
        Self { trace, number: 0, at, left: OPPORTUNITY_BYTES }
    }

    pub(crate) const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// As [`crate::Link::transmit`].
    pub(crate) fn transmit(&mut self, start: Instant, size: Bytes) -> Instant {
        while self.at < start {
            self.advance();
        }
        let mut unsent = size.get();
        while unsent > self.left {
            unsent -= self.left;
            self.advance();
        }
        self.left -= unsent;
        self.at
    }

    /// What of the packet of `size` that was transmitted last leaves before `until`. Only its last opportunity
    /// can be shared with later packets, so what it has from `until` on is counted back from there.
    pub(crate) fn sent_before(&self, until: Instant, size: Bytes) -> Bytes {
        let later = (self.number + 1).saturating_sub(self.trace.count_before(until));
        let open = if later == 0 { 0 } else { later * OPPORTUNITY_BYTES - self.left };
        size.saturating_sub(Bytes::new(open))
    }

    fn advance(&mut self) {
        self.number += 1;
        self.at = self.trace.time_of(self.number);
        self.left = OPPORTUNITY_BYTES;
    }
}
