//! How long it takes from the gateway to one end of a connection and back.
//!
//! Source: the handshake (Jiang and Dovrolis, "Passive Estimation of TCP Round-Trip Times", 2002, section
//! 3); timestamps as their echo comes by (RFC 7323 section 3); acknowledged data, not while something is
//! sent again (Karn's rule, RFC 6298 section 3).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory of the smallest | 10 to 20 s | as BBR's smallest RTT (draft-ietf-ccwg-bbr: 10 s) |
//!
//! The smallest, because what is longer was waiting: in a queue elsewhere, at an end that had nothing to
//! send, for a delayed acknowledgment. A loop that is really longer shows after the memory has ended.

use crate::segment::ahead;
use gameway_units::{Duration, Instant};

const MEMORY: Duration = Duration::from_secs(10);

/// Which loop answers an acknowledgment with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loops {
    /// The smallest: no queue between the gateway and the senders.
    #[default]
    Smallest,
    /// The last: with the queue that stands between them.
    Last,
}

/// The smallest of the last samples, within one to two spans.
#[derive(Debug, Clone, Copy, Default)]
pub struct Smallest {
    current: Option<Duration>,
    before: Option<Duration>,
    until: Instant,
}

impl Smallest {
    /// A sample; the memory is `span`.
    pub fn add(&mut self, now: Instant, span: Duration, sample: Duration) {
        if now >= self.until {
            self.before = self.current.take();
            self.until = now.saturating_add(span);
        }
        self.current = self.current.into_iter().chain([sample]).min();
    }

    /// Remembered times become longer by `by`.
    pub fn raise(&mut self, by: Duration) {
        for known in [&mut self.current, &mut self.before].into_iter().flatten() {
            *known = known.saturating_add(by);
        }
    }

    /// What is remembered; it changes with samples, and where it is raised.
    pub fn get(&self) -> Option<Duration> {
        self.current.into_iter().chain(self.before).min()
    }
}

/// The smallest of the last samples, and the very last.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopTime {
    smallest: Smallest,
    last: Option<Duration>,
}

impl LoopTime {
    /// A sample.
    pub fn add(&mut self, now: Instant, sample: Duration) {
        self.smallest.add(now, MEMORY, sample);
        self.last = Some(sample);
    }

    /// The loop; `None` if it was never seen.
    pub fn get(&self) -> Option<Duration> {
        self.smallest.get()
    }

    /// The loop of this kind; `None` if it was never seen.
    pub fn of(&self, loops: Loops) -> Option<Duration> {
        match loops {
            Loops::Smallest => self.smallest.get(),
            Loops::Last => self.last,
        }
    }
}

/// One number on its way to an end and back: a time stamp, or the end of new data.
#[derive(Debug, Clone, Copy, Default)]
pub struct Probe {
    under_way: Option<(u32, Instant)>,
}

impl Probe {
    /// `number` passes for the first time; kept if no other is under way or the other seems lost.
    pub fn start(&mut self, now: Instant, number: u32) {
        let lost = |(_, at): (u32, Instant)| now.saturating_since(at) > MEMORY;
        if self.under_way.is_none_or(lost) {
            self.under_way = Some((number, now));
        }
    }

    /// Forgets what is under way.
    pub fn cancel(&mut self) {
        self.under_way = None;
    }

    /// Everything before `number` is answered: how long that took, if it was the probe.
    pub fn reached(&mut self, now: Instant, number: u32) -> Option<Duration> {
        let (_, at) = self.under_way.take_if(|(probe, _)| ahead(number, *probe) >= 0)?;
        Some(now.saturating_since(at))
    }

    /// `number` is echoed: how long that took, if it was the probe and not a later number.
    pub fn echoed(&mut self, now: Instant, number: u32) -> Option<Duration> {
        let (probe, at) = self.under_way.take_if(|(probe, _)| ahead(number, *probe) >= 0)?;
        (probe == number).then(|| now.saturating_since(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_smallest_is_kept_for_a_while() {
        let mut looped = LoopTime::default();
        let sample = Duration::from_millis;
        looped.add(at(0), sample(40));
        looped.add(at(5), sample(90));
        assert_eq!(looped.get(), Some(sample(40)));
        looped.add(at(10), sample(90));
        assert_eq!(looped.get(), Some(sample(40)));
        looped.add(at(20), sample(80));
        assert_eq!(looped.get(), Some(sample(80)));
    }

    #[test]
    fn only_the_first_answer_counts() {
        let mut probe = Probe::default();
        probe.start(at(1), 7);
        probe.start(at(2), 9);
        assert_eq!(probe.echoed(at(2), 6), None);
        assert_eq!(probe.echoed(at(3), 7), Some(Duration::from_secs(2)));
        assert_eq!(probe.echoed(at(4), 7), None);
        probe.start(at(5), 10);
        assert_eq!(
            probe.echoed(at(6), 11),
            None,
            "the echo of a later stamp says nothing of the first"
        );
        probe.start(at(6), 20);
        assert_eq!(probe.reached(at(7), 25), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_probe_without_an_answer_is_given_up_after_ten_seconds_or_when_it_is_cancelled() {
        let answered = |second: i64| {
            let mut probe = Probe::default();
            probe.start(at(0), 7);
            probe.start(at(second), 9);
            probe.reached(at(30), 9)
        };
        assert_eq!(answered(10), Some(Duration::from_secs(30)), "the first is still under way");
        assert_eq!(answered(11), Some(Duration::from_secs(19)));
        let mut probe = Probe::default();
        probe.start(at(0), 7);
        probe.cancel();
        assert_eq!(probe.reached(at(1), 7), None);
        probe.start(at(2), 9);
        assert_eq!(probe.reached(at(3), 9), Some(Duration::from_secs(1)));
    }

    #[test]
    fn the_smallest_is_of_one_to_two_spans() {
        let (span, sample) = (Duration::from_secs(10), Duration::from_millis);
        // The first of a span, and one within it that is larger.
        let smallest_at = |second: i64| {
            let mut smallest = Smallest::default();
            smallest.add(at(1), span, sample(40));
            smallest.add(at(10), span, sample(90));
            smallest.add(at(11), span, sample(90));
            smallest.add(at(second), span, sample(90));
            smallest.get()
        };
        assert_eq!(smallest_at(20), Some(sample(40)), "of the span before, which ended at 11 s");
        assert_eq!(smallest_at(21), Some(sample(90)));
    }

    #[test]
    fn what_is_raised_is_what_is_remembered_of_both_spans() {
        let (span, sample) = (Duration::from_secs(10), Duration::from_millis);
        let mut smallest = Smallest::default();
        smallest.raise(sample(5));
        assert_eq!(smallest.get(), None);
        smallest.add(at(0), span, sample(40));
        smallest.add(at(10), span, sample(50));
        smallest.raise(sample(5));
        assert_eq!(smallest.get(), Some(sample(45)));
        smallest.add(at(20), span, sample(70));
        assert_eq!(smallest.get(), Some(sample(55)));
    }

    #[test]
    fn the_last_loop_may_be_longer_than_the_smallest() {
        let mut looped = LoopTime::default();
        assert_eq!((looped.of(Loops::Smallest), looped.of(Loops::Last)), (None, None));
        for millis in [60, 40, 90] {
            looped.add(at(0), Duration::from_millis(millis));
        }
        assert_eq!(looped.of(Loops::Smallest), Some(Duration::from_millis(40)));
        assert_eq!(looped.of(Loops::Last), Some(Duration::from_millis(90)));
    }

    #[test]
    fn numbers_of_probes_may_wrap() {
        let passed = |answer: fn(&mut Probe, u32) -> Option<Duration>, number| {
            let mut probe = Probe::default();
            probe.start(at(0), u32::MAX);
            answer(&mut probe, number)
        };
        let second = Some(Duration::from_secs(1));
        assert_eq!(passed(|probe, number| probe.reached(at(1), number), 3), second);
        assert_eq!(passed(|probe, number| probe.reached(at(1), number), u32::MAX), second);
        assert_eq!(passed(|probe, number| probe.reached(at(1), number), u32::MAX - 1), None);
        assert_eq!(passed(|probe, number| probe.echoed(at(1), number), u32::MAX), second);
        assert_eq!(passed(|probe, number| probe.echoed(at(1), number), 3), None);
    }
}
