//! By which of the segments that arrived RACK judges those that did not.
//!
//! Source: RFC 8985 section 6.2, step 2; Linux 6.18 `tcp_rack_advance` and its two callers.
//! Model: an ACK tells of segments one by one, first those of its SACK blocks, then those that its cumulative part
//! covers, each in ascending order. What was sent before the one sent last may be lost; how long that has to be ago
//! follows from the round trip of the one told of last, whenever that was sent. So an ACK that moves forward and
//! selectively acknowledges at once leaves the round trip of the older segment, which is longer.
//!
//! | Deviation | Why |
//! |---|---|
//! | a segment sent again must have been out for the least RTT before this ACK, not with it | as Linux, whose minimum has this ACK's sample later |
//! | that an echo older than the segment proves nothing holds for the cumulative part only | as Linux; RFC 8985 has it for both |

use crate::record::Record;
use gameway_units::{Duration, Instant};

/// Ticks of Linux's timestamps.
const TIMESTAMP_TICK: i64 = 1_000_000;

/// What RACK keeps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rack {
    /// Send time and place of the segment sent last among those that arrived.
    pub(crate) newest: (Instant, u64),
    pub(crate) round_trip: Duration,
}

impl Rack {
    /// Takes up what an ACK told. Whether that was anything: else nothing is to be judged anew.
    pub(crate) fn advance(&mut self, now: Instant, evidence: &Evidence) -> bool {
        let Some((_, sent)) = evidence.last_acknowledged.or(evidence.last_sacked) else {
            return false;
        };
        self.round_trip = now.saturating_since(sent);
        self.newest = self.newest.max(evidence.newest);
        true
    }
}

/// What one ACK tells of segments that it is an answer to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Evidence {
    /// A segment sent again after these may have arrived as it was sent before: by the least RTT, and by the echo.
    too_soon_after: Instant,
    echoed_until: Instant,
    newest: (Instant, u64),
    /// Place and send time of the furthest in each part.
    last_sacked: Option<(u64, Instant)>,
    last_acknowledged: Option<(u64, Instant)>,
}

impl Evidence {
    /// Of an ACK with this echo (zero: none) that came `now`.
    pub(crate) fn new(now: Instant, min_rtt: Option<Duration>, echo: Instant) -> Self {
        let tick = echo.as_nanos() / TIMESTAMP_TICK;
        let has_echo = echo > Instant::ZERO;
        Self {
            // Without an RTT there is nothing to tell by.
            too_soon_after: min_rtt.map_or(Instant::ZERO, |rtt| now.saturating_sub(rtt)),
            echoed_until: if has_echo {
                Instant::from_nanos((tick + 1) * TIMESTAMP_TICK - 1)
            } else {
                Instant::MAX
            },
            ..Self::default()
        }
    }

    pub(crate) fn on_sacked(&mut self, record: &Record) {
        if self.is_answered(record, Instant::MAX) {
            self.last_sacked = self.last_sacked.max(Some((record.sequence, record.sent)));
        }
    }

    pub(crate) fn on_acknowledged(&mut self, record: &Record) {
        if self.is_answered(record, self.echoed_until) {
            self.last_acknowledged = Some((record.sequence, record.sent));
        }
    }

    fn is_answered(&mut self, record: &Record, echoed_until: Instant) -> bool {
        let answered =
            !record.ever_retransmitted || record.sent <= self.too_soon_after.min(echoed_until);
        if answered {
            self.newest = self.newest.max((record.sent, record.sequence));
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery_rate::Snapshot;

    const fn at(millis: i64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn record(sequence: u64, sent: Instant, again: bool) -> Record {
        let mut record = Record::new(sequence, 1000, false, sent, Snapshot::default());
        record.ever_retransmitted = again;
        record
    }

    /// An ACK at 100 ms, the least RTT being 20 ms, that echoes 70 ms.
    fn evidence() -> Evidence {
        Evidence::new(at(100), Some(Duration::from_millis(20)), at(70))
    }

    fn advanced(evidence: &Evidence) -> (bool, i64, (Instant, u64)) {
        let mut rack = Rack { newest: (at(60), 0), round_trip: Duration::from_millis(1) };
        let any = rack.advance(at(100), evidence);
        (any, rack.round_trip.as_nanos() / 1_000_000, rack.newest)
    }

    #[test]
    fn the_last_segment_told_of_has_the_round_trip_and_the_newest_the_place() {
        let mut both = evidence();
        both.on_sacked(&record(5000, at(70), false));
        assert_eq!(advanced(&both), (true, 30, (at(70), 5000)));
        both.on_sacked(&record(3000, at(65), false));
        assert_eq!(advanced(&both).1, 30, "blocks are told of in ascending order");
        both.on_acknowledged(&record(1000, at(40), false));
        assert_eq!(advanced(&both), (true, 60, (at(70), 5000)));
        // What was sent before the newest of before moves no place, but leaves its round trip.
        let mut old = evidence();
        old.on_acknowledged(&record(1000, at(40), false));
        assert_eq!(advanced(&old), (true, 60, (at(60), 0)));
    }

    #[test]
    fn only_a_segment_that_was_sent_again_may_be_answered_too_soon() {
        for (again, sent, taken) in
            [(false, 90, true), (true, 90, false), (true, 81, false), (true, 80, true)]
        {
            let mut sacked = evidence();
            sacked.on_sacked(&record(1000, at(sent), again));
            assert_eq!(advanced(&sacked).0, taken, "{again}, {sent}");
        }
        let mut unmeasured = Evidence::new(at(100), None, at(70));
        unmeasured.on_sacked(&record(1000, at(1), true));
        assert!(!advanced(&unmeasured).0);
    }

    /// Linux's timestamps are whole milliseconds.
    #[test]
    fn an_echo_from_before_it_was_sent_again_is_none_to_it() {
        let nearly = at(71) + Duration::from_nanos(-1);
        for (echo, sent, taken) in
            [(at(70), nearly, true), (at(70), at(71), false), (Instant::ZERO, at(71), true)]
        {
            let mut acknowledged = Evidence::new(at(100), Some(Duration::from_millis(20)), echo);
            let mut sacked = acknowledged;
            acknowledged.on_acknowledged(&record(1000, sent, true));
            sacked.on_sacked(&record(1000, sent, true));
            assert_eq!((advanced(&acknowledged).0, advanced(&sacked).0), (taken, true));
        }
    }
}
