//! A look at the empty queue before the minimum round trip is forgotten.
//!
//! Source: ours, after mvfst's `Copa2`; Copa, NSDI 2018, section 2.1, for what it changes.
//!
//! Section 2.1 takes the least round trip of 10 s, since Copa's own queue empties within 5 round trips. Where something
//! else keeps a queue (a least bitrate near the capacity, a flow that fills the buffer, a queue shorter than 2.5/delta
//! packets), that least expires, the full queue passes for the path, and the rate wanted is without bound: the law then
//! sends its greatest rate for good. mvfst's `Copa` does the same; its successor `Copa2` (facebook/mvfst,
//! `quic/congestion_control/Copa2.cpp`) holds its least window for a round trip every 8 s.
//!
//! Here that happens only where the queue was not nearly empty for 8 s.

use super::round_trip::RoundTrips;
use gameway_units::{Duration, Instant};

/// `kCopa2ProbeRttInterval` of mvfst; below the 10 s after which the least round trip is forgotten.
const INTERVAL: Duration = Duration::from_secs(8);

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct ProbeRtt {
    enabled: bool,
    last_empty: Option<Instant>,
    until: Option<Instant>,
}

impl ProbeRtt {
    pub(super) fn new(enabled: bool) -> Self {
        Self { enabled, last_empty: None, until: None }
    }

    /// Whether nothing but the least window may be in flight.
    pub(super) fn is_draining(&self) -> bool {
        self.until.is_some()
    }

    /// After each sample of the round-trip time. A drain lasts for a smoothed round trip, queue included: then all that
    /// was in flight has arrived.
    pub(super) fn on_sample(&mut self, at: Instant, trips: &RoundTrips) {
        let Some(smoothed) = trips.smoothed().filter(|_| self.enabled) else { return };
        if self.until.is_some_and(|until| at < until) {
            return;
        }
        let last = *self.last_empty.get_or_insert(at);
        if self.until.take().is_some() || trips.is_nearly_empty() {
            self.last_empty = self.last_empty.max(Some(at));
        } else if at.saturating_since(last) >= INTERVAL {
            self.until = Some(at.saturating_add(smoothed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// When it drains and for how long, on a path of 20 ms whose queuing delay is `queue` milliseconds from 100 ms on.
    fn drains(enabled: bool, queue: i64) -> Vec<(i64, usize)> {
        let (mut probe, mut trips) = (ProbeRtt::new(enabled), RoundTrips::new());
        let step = |millis: i64| {
            let more = if millis < 100 { 0 } else { queue };
            trips.insert(at(millis), Duration::from_millis(20 + more));
            probe.on_sample(at(millis), &trips);
            probe.is_draining()
        };
        let all: Vec<bool> = (0..20_000).map(step).collect();
        let begins = (1..20_000).filter(|now| all[*now] && !all[now - 1]);
        begins
            .map(|at| (at as i64, all[at..].iter().take_while(|drains| **drains).count()))
            .collect()
    }

    #[test]
    fn a_queue_that_stands_for_8_s_is_drained_and_an_empty_one_is_not() {
        let found = drains(true, 80);
        let [(first, length)] = found[..] else { panic!("{found:?}") };
        // For a round trip of 100 ms. Here the queue does not go, and after 10 s it passes for the path.
        assert!((8_100..8_200).contains(&first) && length == 100, "{found:?}");
        assert_eq!((drains(true, 0), drains(false, 80)), (vec![], vec![]));
    }
}
