//! What is in flight, its maxima per round trip, and the way out when everything in flight is gone.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Status Update When Sending Data" (read in the editors'
//! copy at 00d8f51); Ericsson's `ScreamV2Tx.cpp` at 0208f59 for the time-out.
//!
//! Model: the largest number of bytes in flight is kept for the present and for the previous round trip.
//! If a window's worth is lost with no report to tell, nothing may leave any more: half a second after
//! the last departure, whatever is in flight is written off and no longer counts against the window.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | time-out | 0.5 s since the last departure | C++ (32768 in units of 2^-16 s) |
//! | maxima kept | 20 rounds | C++ (`kMaxBytesInFlightHistSize`: a second of rounds of 50 ms) |
//!
//! | Deviation | Why |
//! |---|---|
//! | What the session holds for lost is not in flight, even above the highest acknowledged packet | the session's count; it differs for a few packets while reordering is awaited |
//! | Draft: a round trip lasts at least the virtual RTT | a round shorter than a frame interval may see no frame; libwebrtc's `scream_v2` does the same |

use super::VIRTUAL_RTT;
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

const TIME_OUT: Duration = Duration::from_millis(500);
/// Of how many rounds the maxima are kept.
const ROUNDS: usize = 20;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight {
    bytes: Bytes,
    written_off: Bytes,
    /// How long a round is; if not given, a round trip.
    round: Option<Duration>,
    max: Bytes,
    /// Those of rounds before, newest first.
    max_before: VecDeque<Bytes>,
    round_began: Option<Instant>,
    last_sent: Option<Instant>,
    check: Option<Instant>,
}

impl InFlight {
    pub(super) fn new(round: Option<Duration>) -> Self {
        Self { round, max_before: VecDeque::with_capacity(ROUNDS), ..Self::default() }
    }

    fn before(&self) -> Bytes {
        self.max_before.front().copied().unwrap_or(Bytes::ZERO)
    }

    /// Of the present round and all that are kept.
    pub(super) fn max_of_late(&self) -> Bytes {
        self.max_before.iter().copied().fold(self.max, Bytes::max)
    }

    /// Bytes in flight that count against the window.
    pub(super) fn bytes(&self) -> Bytes {
        self.bytes.saturating_sub(self.written_off)
    }

    /// Bytes in flight that no longer count.
    pub(super) fn written_off(&self) -> Bytes {
        self.written_off
    }

    /// `None` if nothing was in flight then, as in the first round.
    pub(super) fn max_of_previous_round(&self) -> Option<Bytes> {
        Some(self.before()).filter(|max| *max > Bytes::ZERO)
    }

    pub(super) fn max_of_two_rounds(&self) -> Bytes {
        self.max.max(self.before())
    }

    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes) {
        self.bytes = self.bytes.saturating_add(size);
        self.max = self.max.max(self.bytes());
        self.last_sent = Some(now);
        self.check.get_or_insert(now.saturating_add(TIME_OUT));
    }

    /// A report left this in flight.
    pub(super) fn on_report(&mut self, now: Instant, in_flight: Bytes, smoothed_rtt: Duration) {
        // What was written off is older than anything else, so it is reported first.
        let gone = self.bytes.saturating_sub(in_flight);
        self.written_off = self.written_off.saturating_sub(gone).min(in_flight);
        self.bytes = in_flight;
        let began = *self.round_began.get_or_insert(now);
        if now.saturating_since(began) >= self.round.unwrap_or(smoothed_rtt.max(VIRTUAL_RTT)) {
            self.round_began = Some(now);
            self.max_before.truncate(ROUNDS - 1);
            self.max_before.push_front(self.max);
            self.max = self.bytes();
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        if self.check.is_none_or(|check| check > now) {
            return;
        }
        let due = self.last_sent.map(|last| last.saturating_add(TIME_OUT));
        self.check = due.filter(|due| *due > now);
        if self.check.is_none() {
            self.written_off = self.bytes;
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.check
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn maxima_are_kept_for_two_round_trips() {
        let mut flight = InFlight::new(None);
        flight.on_report(at(0), Bytes::ZERO, RTT);
        flight.on_sent(at(1), Bytes::new(9_000));
        flight.on_report(at(24), Bytes::new(1_000), RTT);
        assert_eq!(flight.max_of_previous_round(), None);
        flight.on_report(at(25), Bytes::new(1_000), RTT);
        assert_eq!(flight.max_of_previous_round(), Some(Bytes::new(9_000)));
        flight.on_sent(at(30), Bytes::new(2_000));
        assert_eq!(flight.max_of_two_rounds(), Bytes::new(9_000));
        flight.on_report(at(50), Bytes::new(500), RTT);
        assert_eq!(flight.max_of_previous_round(), Some(Bytes::new(3_000)));
        assert_eq!(flight.max_of_two_rounds(), Bytes::new(3_000));
    }

    #[test]
    fn what_is_in_flight_is_written_off_after_half_a_second_without_departures() {
        let mut flight = InFlight::new(None);
        assert_eq!(flight.next_timer(), None);
        flight.on_sent(at(0), Bytes::new(1_000));
        flight.on_sent(at(400), Bytes::new(1_000));
        assert_eq!(flight.next_timer(), Some(at(500)));
        flight.on_timer(at(499));
        assert_eq!(flight.next_timer(), Some(at(500)));
        flight.on_timer(at(500));
        assert_eq!(flight.written_off(), Bytes::ZERO);
        assert_eq!(flight.next_timer(), Some(at(900)));
        flight.on_timer(at(900));
        assert_eq!(flight.written_off(), Bytes::new(2_000));
        assert_eq!(flight.bytes(), Bytes::ZERO);
        assert_eq!(flight.next_timer(), None);
        flight.on_sent(at(901), Bytes::new(700));
        assert_eq!(flight.bytes(), Bytes::new(700));
        flight.on_report(at(950), Bytes::new(1_700), RTT); // 1000 of the old ones resolved
        assert_eq!(flight.written_off(), Bytes::new(1_000));
        assert_eq!(flight.bytes(), Bytes::new(700));
    }

    #[test]
    fn the_reference_keeps_the_maxima_of_twenty_rounds() {
        let mut flight = InFlight::new(Some(Duration::from_millis(50)));
        flight.on_report(at(0), Bytes::ZERO, RTT);
        flight.on_sent(at(1), Bytes::new(9_000));
        assert_eq!(flight.max_of_late(), Bytes::new(9_000));
        flight.on_report(at(49), Bytes::ZERO, RTT);
        assert_eq!(flight.max_of_previous_round(), None);
        for round in 1..=21 {
            flight.on_report(at(50 * round), Bytes::ZERO, RTT);
            let max = if round <= 20 { 9_000 } else { 0 };
            assert_eq!(flight.max_of_late(), Bytes::new(max), "{round}");
        }
    }
}
