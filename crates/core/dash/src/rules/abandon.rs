//! Whether to give up a download that takes too long.
//!
//! Source: dash.js 5.2.1 `AbandonRequestsRule` and `HTTPLoader` (progress); XMLHttpRequest (WHATWG Living
//! Standard), section 3.5.6, for how often progress is told.
//! Model: from the progress of a segment its rate, without the first report, which has the latency in it. A report tells
//! of more than the one before: while TCP waits for what was lost, and what follows lies behind the gap, there is none.
//! If at that rate it would take 1.8 of its length or more, and what is left is more than the segment has
//! at the level that the rate carries, take that level instead. Once per segment, never from the lowest
//! level, and not with more buffer than the target.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | least time since the first byte | above 500 ms | `minSegmentDownloadTimeThresholdInMs` |
//! | least reports | 6 | `minThroughputSamplesThreshold` |
//! | too long | 1.8 segments | `abandonDurationMultiplier` |
//! | from report to report | 50 ms or more | XMLHttpRequest |
//!
//! | Deviation | Why |
//! |---|---|
//! | a report comes with the first data after 50 ms, not with a timer | a packet later at most |

use crate::throughput::kbps;
use crate::{Ladder, Presentation};
use gameway_units::{Bytes, Duration, Instant};

const MIN_TIME: Duration = Duration::from_millis(500);
const MIN_REPORTS: u32 = 6;
const TOO_LONG: f64 = 1.8;
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// Progress of a download as a script hears of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    reports: u32,
    first: Option<(Instant, Bytes)>,
    last: Option<(Instant, Bytes)>,
}

impl Progress {
    /// `body` bytes of the body have arrived. Gives whether the script is told now.
    pub(crate) fn on_received(&mut self, now: Instant, body: Bytes) -> bool {
        let is_news = self.last.is_none_or(|(told, before)| {
            body > before && now.saturating_since(told) >= REPORT_INTERVAL
        });
        if body == Bytes::ZERO || !is_news {
            return false;
        }
        self.reports += 1;
        self.first.get_or_insert((now, body));
        self.last = Some((now, body));
        true
    }

    /// What came after the first report, and in which time.
    pub(crate) fn sample(&self) -> Option<(Bytes, Duration)> {
        let ((begin, before), (end, after)) = (self.first?, self.last?);
        Some((after.saturating_sub(before), end.saturating_since(begin)))
    }
}

/// The segment that is being loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loading {
    pub level: usize,
    pub size: Bytes,
    pub progress: Progress,
}

/// The level to take instead, just after a report.
pub(crate) fn decide(
    loading: &Loading,
    presentation: &Presentation,
    current: usize,
) -> Option<usize> {
    let Loading { level, size, progress } = *loading;
    let (_, received) = progress.last?;
    let (amount, time) = progress.sample()?;
    if progress.reports < MIN_REPORTS || time <= MIN_TIME || received >= size || current == 0 {
        return None;
    }
    let rate = kbps(amount, time)?;
    let takes = 8.0 * size.as_f64() / 1e3 / rate;
    if takes < TOO_LONG * presentation.segment().as_secs_f64() {
        return None;
    }
    let instead = presentation.ladder().max_within(rate);
    let smaller = size.as_f64() * ratio(presentation.ladder(), instead, level);
    (size.saturating_sub(received).as_f64() > smaller).then_some(instead)
}

fn ratio(ladder: &Ladder, instead: usize, level: usize) -> f64 {
    ladder.kbps(instead) / ladder.kbps(level)
}
