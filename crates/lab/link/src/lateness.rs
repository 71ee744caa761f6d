//! How late a part was: the time from when something was due to when it was handed to the kernel.
//!
//! A machine that does other things wakes a driver late; what is measured through it is then in doubt by as
//! much. So each packet's lateness is counted, in a histogram per window, and a run whose 99th percentile exceeds
//! [`BOUND`] says so.

use gameway_events::{DelayHistogram, LatenessRecord, Name, QUEUE_DELAY_WINDOW, Table, TableError};
use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest 99th percentile of lateness of a run that is not in doubt: a sixteenth of a frame at 60 frames/s, and the
/// serialization of two full packets at 25 Mb/s.
pub const BOUND: Duration = Duration::from_millis(1);

/// Lateness over all of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatenessSummary {
    /// Packets.
    pub packets: u64,
    /// Its mean.
    pub mean: Duration,
    /// Its median.
    pub median: Duration,
    /// Its 99th percentile.
    pub p99: Duration,
    /// The latest.
    pub most: Duration,
}

/// Counts lateness and writes it.
#[derive(Debug)]
pub struct Lateness {
    part: Name,
    table: Table<LatenessRecord>,
    window: DelayHistogram,
    window_start: Instant,
    /// Of the window, the first packets after a wake-up.
    first: DelayHistogram,
    woken: bool,
    all: DelayHistogram,
    most: Duration,
}

impl Lateness {
    /// That of this part, with its table in `folder`.
    ///
    /// # Errors
    /// If the table cannot be created.
    pub fn create(folder: &Path, part: &str) -> Result<Self, TableError> {
        Ok(Self {
            part: part.into(),
            table: Table::create(folder)?,
            window: DelayHistogram::default(),
            window_start: Instant::ZERO,
            first: DelayHistogram::default(),
            woken: false,
            all: DelayHistogram::default(),
            most: Duration::ZERO,
        })
    }

    /// The part begins to do all that is due.
    pub fn wake_up(&mut self) {
        self.woken = true;
    }

    /// What was due then was done now.
    pub fn add(&mut self, due: Instant, now: Instant) {
        let late = (now - due).max(Duration::ZERO);
        self.window.add(late);
        if std::mem::take(&mut self.woken) {
            self.first.add(late);
        }
        self.most = self.most.max(late);
    }

    /// Writes the window if it has ended.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn tick(&mut self, now: Instant) -> Result<(), TableError> {
        if now < self.window_start + QUEUE_DELAY_WINDOW {
            return Ok(());
        }
        self.write()?;
        while self.window_start + QUEUE_DELAY_WINDOW <= now {
            self.window_start += QUEUE_DELAY_WINDOW;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), TableError> {
        let first: BTreeMap<i64, u64> =
            self.first.buckets().map(|(low, _, packets, _)| (low, packets)).collect();
        for (lateness_low_ns, lateness_high_ns, packets, sum_ns) in self.window.buckets() {
            self.table.push(&LatenessRecord {
                window_start_ns: self.window_start.as_nanos(),
                part: self.part.clone(),
                lateness_low_ns,
                lateness_high_ns,
                packets,
                sum_ns,
                wake_ups: first.get(&lateness_low_ns).copied().unwrap_or(0),
            })?;
        }
        self.all.merge(&self.window);
        self.window.clear();
        self.first.clear();
        Ok(())
    }

    /// Writes what is left, closes the table and says what it was over all.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn finish(mut self) -> Result<LatenessSummary, TableError> {
        self.write()?;
        self.table.finish()?;
        let quantile = |share| self.all.quantile(share).unwrap_or(Duration::ZERO).min(self.most);
        let (packets, sum) = self
            .all
            .buckets()
            .fold((0, 0), |(packets, sum), bucket| (packets + bucket.2, sum + bucket.3));
        Ok(LatenessSummary {
            packets,
            mean: Duration::from_nanos(sum / (packets.max(1) as i64)),
            median: quantile(0.5),
            p99: quantile(0.99),
            most: self.most,
        })
    }
}
