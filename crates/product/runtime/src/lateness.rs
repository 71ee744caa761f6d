//! How late a part was: the time from when something was due to when it was handed to the kernel.
//!
//! A machine that does other things wakes a driver late; what is measured through it is then in doubt by as
//! much. So each packet's lateness is counted, in a histogram per window, and a run whose 99th percentile exceeds
//! [`BOUND`] says so.

use gameway_events::{DelayHistogram, LatenessRecord, Name, QUEUE_DELAY_WINDOW};
use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;

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
    pub max: Duration,
}

/// Counts lateness, window by window.
#[derive(Debug)]
pub struct Lateness {
    part: Name,
    window: DelayHistogram,
    window_start: Instant,
    /// Of the window, the first packets after a wake-up.
    first: DelayHistogram,
    woken: bool,
    all: DelayHistogram,
    max: Duration,
}

impl Lateness {
    /// That of this part.
    #[must_use]
    pub fn new(part: &str) -> Self {
        Self {
            part: part.into(),
            window: DelayHistogram::default(),
            window_start: Instant::ZERO,
            first: DelayHistogram::default(),
            woken: false,
            all: DelayHistogram::default(),
            max: Duration::ZERO,
        }
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
        self.max = self.max.max(late);
    }

    /// Tells of the window if it has ended.
    pub fn tick(&mut self, now: Instant, tell: &mut dyn FnMut(LatenessRecord)) {
        if now < self.window_start + QUEUE_DELAY_WINDOW {
            return;
        }
        self.end_window(tell);
        while self.window_start + QUEUE_DELAY_WINDOW <= now {
            self.window_start += QUEUE_DELAY_WINDOW;
        }
    }

    fn end_window(&mut self, tell: &mut dyn FnMut(LatenessRecord)) {
        let first: BTreeMap<i64, u64> =
            self.first.buckets().map(|(low, _, packets, _)| (low, packets)).collect();
        for (lateness_low_ns, lateness_high_ns, packets, sum_ns) in self.window.buckets() {
            tell(LatenessRecord {
                window_start_ns: self.window_start.as_nanos(),
                part: self.part.clone(),
                lateness_low_ns,
                lateness_high_ns,
                packets,
                sum_ns,
                wake_ups: first.get(&lateness_low_ns).copied().unwrap_or(0),
            });
        }
        self.all.merge(&self.window);
        self.window.clear();
        self.first.clear();
    }

    /// Tells of the window that is left; what lateness was over all.
    pub fn finish(mut self, tell: &mut dyn FnMut(LatenessRecord)) -> LatenessSummary {
        self.end_window(tell);
        let quantile = |share| self.all.quantile(share).unwrap_or(Duration::ZERO).min(self.max);
        let (packets, sum) = self
            .all
            .buckets()
            .fold((0, 0), |(packets, sum), bucket| (packets + bucket.2, sum + bucket.3));
        LatenessSummary {
            packets,
            mean: Duration::from_nanos(sum / (packets.max(1) as i64)),
            median: quantile(0.5),
            p99: quantile(0.99),
            max: self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn windows_are_told_when_they_have_ended_and_the_rest_at_the_end() {
        let mut lateness = Lateness::new("link");
        let mut told = Vec::new();
        lateness.wake_up();
        for late in [1, 1, 3] {
            lateness.add(at(100), at(100 + late));
        }
        lateness.tick(at(4_999), &mut |record| told.push(record));
        assert_eq!(told, []);
        lateness.tick(at(12_000), &mut |record| told.push(record));
        let counts: Vec<_> = told.iter().map(|one| (one.packets, one.wake_ups)).collect();
        assert_eq!(counts, [(2, 1), (1, 0)]);
        assert!(told.iter().all(|one| one.window_start_ns == 0 && &*one.part == "link"));
        // Nobody is early: what was done before it was due is not late.
        lateness.add(at(12_002), at(12_000));
        let summary = lateness.finish(&mut |record| told.push(record));
        assert_eq!(told[2].window_start_ns, at(10_000).as_nanos());
        assert_eq!((summary.packets, summary.max), (4, Duration::from_millis(3)));
        assert_eq!(summary.mean, Duration::from_micros(1_250));
    }
}
