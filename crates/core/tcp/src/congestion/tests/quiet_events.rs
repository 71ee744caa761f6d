//! Events for the tests of congestion controls: what a test does not say is zero or unknown.

use crate::congestion::{AckEvent, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant};

/// An ACK of `bytes` with the window in full use, in an open state.
pub(in crate::congestion) fn ack(bytes: Bytes) -> AckEvent {
    AckEvent {
        now: Instant::ZERO,
        phase: Phase::Open,
        acknowledged: 0,
        next_sequence: 0,
        newly_delivered: bytes,
        newly_acknowledged: bytes,
        newly_lost: Bytes::ZERO,
        newly_marked: Bytes::ZERO,
        prior_in_flight: Bytes::ZERO,
        in_flight: Bytes::ZERO,
        total_delivered: Bytes::ZERO,
        total_lost: Bytes::ZERO,
        rtt: None,
        smoothed_rtt: None,
        cwnd_limited: true,
        ack_delayed: false,
        until_departure: Duration::ZERO,
        rate: None,
    }
}

/// A timeout that finds nothing in flight; `first` as in [`TimeoutEvent`].
pub(in crate::congestion) fn timeout(first: bool) -> TimeoutEvent {
    TimeoutEvent {
        now: Instant::ZERO,
        next_sequence: 0,
        prior_in_flight: Bytes::ZERO,
        first,
        newly_lost: Bytes::ZERO,
        total_delivered: Bytes::ZERO,
        total_lost: Bytes::ZERO,
    }
}
