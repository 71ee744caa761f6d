//! When the packets of a frame are due, all at once or as the parts of it come.

use crate::FrameId;
use gameway_units::{Duration, Instant};

/// A frame of which packets wait or are to come. Times are those before the pacer's shift.
pub(super) struct FrameInQueue {
    pub frame: FrameId,
    pub packets_left: usize,
    pub probes: u32,
    pub probe_gap: Duration,
    /// When its first packet was to leave.
    pub start: Instant,
    /// Time from its first packet to its last, or to the next frame's first if it follows on another.
    pub span: Duration,
    pub follows: bool,
    /// Packets of it that were queued so far.
    pub queued: usize,
    /// Whether more are to come.
    pub open: bool,
}

impl FrameInQueue {
    /// The places of the packets that wait, if it will have `expected` packets and the first that waits has a place
    /// already, `head`, or is to leave at the earliest then.
    pub(super) fn places(
        &self,
        head: Option<Instant>,
        earliest: Instant,
        expected: usize,
    ) -> Places {
        let sent = (self.queued - self.packets_left) as i64;
        let packets = if self.open { expected.max(self.queued) } else { self.queued } as i64;
        let steps = if self.follows { packets } else { (packets - 1).max(1) };
        let on_time = |index| self.start.saturating_add(fraction(self.span, index, steps));
        let begin = head.unwrap_or_else(|| on_time(sent).max(earliest));
        let left = packets - sent;
        // Half of the gap that it would have if it came at once.
        let min_gap = fraction(self.span, 1, 2 * packets);
        let until_end = on_time(packets - 1).saturating_since(begin);
        let (span, steps) = match sent == 0 && begin == self.start {
            true => (self.span, steps),
            false => (until_end.max(min_gap * (left - 1)), (left - 1).max(1)),
        };
        Places { begin, span, steps, left, gap_behind: fraction(self.span, 1, packets) }
    }
}

/// Where packets go.
pub(super) struct Places {
    begin: Instant,
    span: Duration,
    steps: i64,
    left: i64,
    gap_behind: Duration,
}

impl Places {
    /// Of the packet at `index` among those that wait.
    pub(super) fn of(&self, index: usize) -> Instant {
        self.begin.saturating_add(fraction(self.span, index as i64, self.steps))
    }

    /// Where the next frame begins.
    pub(super) fn end(&self) -> Instant {
        self.of((self.left - 1).max(0) as usize).saturating_add(self.gap_behind)
    }
}

/// `span * part / whole` without drift and without overflow.
fn fraction(span: Duration, part: i64, whole: i64) -> Duration {
    // A 64-bit division is several times faster than a 128-bit one, and every packet needs one.
    if let Some(product) = span.as_nanos().checked_mul(part) {
        return Duration::from_nanos(product / whole);
    }
    let nanos = i128::from(span.as_nanos()) * i128::from(part) / i128::from(whole);
    Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_any_span_is_exact() {
        let (long, short) = (Duration::MAX, Duration::from_nanos(700));
        assert_eq!(fraction(short, 3, 7), Duration::from_nanos(300));
        assert_eq!(fraction(long, 3, 6), Duration::from_nanos(i64::MAX / 2));
        assert_eq!(fraction(long, 6, 3), Duration::MAX);
    }
}
