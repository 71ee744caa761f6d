//! When pictures are captured: a slot for each frame interval, which a drawing may use early. Sans-IO.
//!
//! Source: the virtual scheduling algorithm of ITU-T I.371, Annex A (GCRA), with a tolerance of one interval: a slot is used at its own
//! time at the latest, drawn or not, and up to an interval early if something was drawn since the last capture. Slots stay where they are,
//! so that any span has at most one capture more than it has slots. Of a source that tells of no drawing the captures are
//! the slots.
//!
//! A program that draws as often as there are slots is captured behind each drawing from the second one on. One that draws more often
//! runs ahead of its slots: a drawing that finds none in reach waits for its slot, or leaves it to the next drawing if that is
//! nearer to the slot and expected, since the program draws steadily.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | quiet | 0.5 ms | Crispy Doom draws a picture by one request, xterm a page by several at most 1 ms and mostly 0.1 to 0.5 ms apart (measured, Xvfb) |
//! | longest drawing | 2 ms | what never ends is captured amid it, as at a slot |
//! | intervals that tell a period | 4 | steady: none differs from their mean by more than a quarter |
//! | patience | 1/8 of a period | a drawing that does not come then is not waited for |

use gameway_units::{Duration, Instant};

const QUIET: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(2);
const INTERVALS: usize = 4;

/// What was drawn since the last capture, its last part: requests close behind one another.
#[derive(Debug, Clone, Copy)]
struct Drawing {
    first: Instant,
    last: Instant,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct CaptureSlots {
    interval: Duration,
    /// `None` while nothing is captured.
    next: Option<Instant>,
    waiting: Option<Drawing>,
    /// The newest drawing, captured or not.
    newest: Option<Drawing>,
    /// From drawing to drawing, the newest first.
    intervals: [Duration; INTERVALS],
}

impl CaptureSlots {
    pub(crate) fn new(start: Instant, interval: Duration) -> Self {
        Self {
            interval: interval.max(Duration::from_nanos(1)),
            next: Some(start),
            waiting: None,
            newest: None,
            intervals: [Duration::ZERO; INTERVALS],
        }
    }

    /// Slots come at this interval behind the next one.
    pub(crate) fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.max(Duration::from_nanos(1));
    }

    pub(crate) fn stop(&mut self) {
        self.next = None;
    }

    pub(crate) fn resume(&mut self, now: Instant) {
        self.next = Some(now);
    }

    /// The next slot; none while nothing is captured.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Something was drawn.
    pub(crate) fn on_drawn(&mut self, at: Instant) {
        let newest = match self.newest {
            Some(Drawing { first, last })
                if at <= last.saturating_add(QUIET) && at <= first.saturating_add(LONGEST) =>
            {
                Drawing { first, last: at.max(last) }
            }
            before => {
                if let Some(before) = before {
                    self.intervals.rotate_right(1);
                    self.intervals[0] = at.saturating_since(before.first);
                }
                Drawing { first: at, last: at }
            }
        };
        self.newest = Some(newest);
        self.waiting = Some(newest);
    }

    /// A picture is captured now: it has all that was drawn.
    pub(crate) fn on_captured(&mut self) {
        self.waiting = None;
    }

    /// When the next picture is to be captured, if nothing is drawn meanwhile; at its slot if the encoder is busy.
    pub(crate) fn due(&self, is_busy: bool) -> Option<Instant> {
        let slot = self.next?;
        let Some(drawing) = self.waiting.filter(|_| !is_busy) else { return Some(slot) };
        let ended = drawing.last.saturating_add(QUIET).min(drawing.first.saturating_add(LONGEST));
        let earliest = slot.saturating_sub(self.interval);
        if earliest <= ended {
            return Some(ended.min(slot));
        }
        let better = self.expected(drawing, ended, earliest);
        Some(better.unwrap_or(earliest).min(slot))
    }

    /// How long to wait for the first drawing from `earliest` on, if one is expected that is worth more than the one that ended then.
    fn expected(&self, drawing: Drawing, ended: Instant, earliest: Instant) -> Option<Instant> {
        let period = self.period()?;
        if earliest.saturating_since(ended) <= period / 4 {
            return None;
        }
        let from = earliest.saturating_since(drawing.first);
        let periods = (from.as_nanos() + period.as_nanos() - 1) / period.as_nanos();
        let next = drawing.first.saturating_add(period * periods);
        Some(next.saturating_add(QUIET + period / 8))
    }

    /// From drawing to drawing, if the program draws steadily and at least once for each slot.
    fn period(&self) -> Option<Duration> {
        let mean = self.intervals.iter().fold(Duration::ZERO, |sum, one| sum.saturating_add(*one))
            / INTERVALS as i64;
        let is_near =
            |one: &Duration| one.saturating_sub(mean).max(mean.saturating_sub(*one)) <= mean / 4;
        let is_steady = mean > Duration::ZERO && self.intervals.iter().all(is_near);
        (is_steady && mean <= self.interval).then_some(mean)
    }

    /// The next slot is used, by then or earlier. Gives those that are missed as well, since a late driver must not make up for them with a
    /// burst of captures.
    pub(crate) fn advance(&mut self, now: Instant) -> impl Iterator<Item = Instant> + use<> {
        let interval = self.interval;
        let behind = self.next.map(|slot| slot.saturating_add(interval));
        let missed = behind
            .filter(|slot| *slot <= now)
            .map_or(0, |slot| now.saturating_since(slot).as_nanos() / interval.as_nanos() + 1);
        self.next = behind.map(|slot| slot.saturating_add(interval * missed));
        (0..missed).filter_map(move |number| Some(behind?.saturating_add(interval * number)))
    }
}

#[cfg(test)]
mod tests;
