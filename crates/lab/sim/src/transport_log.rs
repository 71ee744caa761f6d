//! What is written of the state of a connection's sender, over TCP or QUIC: by the same names where they mean the same.

use gameway_events::Name;
use gameway_experiment::Recorder;
use gameway_path::FlowId;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// Where a sender stands.
pub struct SenderState {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// In flight.
    pub in_flight: Bytes,
    /// At which rate packets leave.
    pub pacing_rate: Option<Rate>,
}

/// Names of what is written, made once.
struct Names {
    cwnd: Name,
    ssthresh: Name,
    rtt: Name,
    in_flight: Name,
    pacing: Name,
}

/// What is written of one connection, at an interval, with `N` kinds of events that are counted.
pub struct TransportLog<const N: usize> {
    flow: FlowId,
    interval: Duration,
    next: Instant,
    names: Names,
    events: [Name; N],
    /// Events at the last observation.
    seen: [u64; N],
}

impl<const N: usize> TransportLog<N> {
    /// A log from `start` on, with events of these names.
    pub fn new(flow: FlowId, start: Instant, interval: Duration, events: [&str; N]) -> Self {
        let names = Names {
            cwnd: "cwnd_bytes".into(),
            ssthresh: "ssthresh_bytes".into(),
            rtt: "smoothed_rtt_ms".into(),
            in_flight: "in_flight_bytes".into(),
            pacing: "pacing_rate_bps".into(),
        };
        let events = events.map(Name::from);
        Self { flow, interval, next: start, names, events, seen: [0; N] }
    }

    /// When the next observation is due.
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Whether one is due; the next is so much later.
    pub fn take_due(&mut self, now: Instant) -> bool {
        let due = self.next <= now;
        if due {
            self.next = now + self.interval;
        }
        due
    }

    /// Writes the state, and an event for each that happened since the last observation; `counts` are those so far.
    pub fn write(
        &mut self,
        now: Instant,
        state: &SenderState,
        counts: [u64; N],
        log: &mut Recorder,
    ) {
        for ((name, before), count) in self.events.iter().zip(self.seen).zip(counts) {
            (before..count).for_each(|_| log.event(now, self.flow, name, count as f64));
        }
        self.seen = counts;
        let values = [
            (&self.names.cwnd, Some(state.cwnd.as_f64())),
            // No threshold yet is not a number worth plotting.
            (&self.names.ssthresh, Some(state.ssthresh.as_f64()).filter(|bytes| *bytes < 1e12)),
            (&self.names.rtt, state.smoothed_rtt.map(Duration::as_millis_f64)),
            (&self.names.in_flight, Some(state.in_flight.as_f64())),
            (&self.names.pacing, state.pacing_rate.map(Rate::as_bps_f64)),
        ];
        for (variable, value) in values {
            if let Some(value) = value {
                log.state(now, self.flow, variable, value);
            }
        }
    }
}
