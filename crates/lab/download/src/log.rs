//! What is written of a download: the sender's state at an interval by the names that the simulator has, what happened to
//! it, and the bytes that the receiver's application read in each bin.

use crate::DownloadError;
use gameway_events::{BIN, ControllerRecord, EventRecord, Name, ResultTables, RunEvent, Sink};
use gameway_units::Instant;
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an end has to tell when a run is over.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Bytes that the receiver's application read in each bin of 0.5 s since the run's start; empty at the sender.
    pub received_bytes: Vec<u64>,
    /// Packets that the sender declared lost.
    pub lost_packets: u64,
}

/// Bytes read, by bin.
#[derive(Debug, Default)]
pub struct Received(Mutex<Vec<u64>>);

impl Received {
    /// So many were read now.
    pub fn add(&self, now: Instant, bytes: u64) {
        let bin = (now.as_nanos().max(0) / BIN.as_nanos()) as usize;
        let mut bins = lock(&self.0);
        if bins.len() <= bin {
            bins.resize(bin + 1, 0);
        }
        bins[bin] += bytes;
    }

    /// All of it.
    pub fn bins(&self) -> Vec<u64> {
        lock(&self.0).clone()
    }
}

/// Where a sender stands, and what has happened to it so far.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    cwnd: u32,
    in_flight: u32,
    smoothed_rtt_ms: f64,
    pacing_bps: Option<f64>,
    measured: bool,
    finished: bool,
    lost_packets: u64,
    recoveries: u64,
    probe_timeouts: u64,
    /// Probe time-outs since the last acknowledgement.
    backoff: u32,
    largest_sent: u64,
    largest_acked: u64,
    /// The largest number sent when the last recovery began (RFC 9002 section 7.3.2).
    recovery_began: u64,
}

impl State {
    /// A packet of this number was lost or marked: once in a round trip that begins a recovery.
    fn on_congestion(&mut self, number: u64) {
        if number > self.recovery_began || self.recoveries == 0 {
            self.recoveries += 1;
            self.recovery_began = self.largest_sent;
        }
    }
}

/// What is known of a sender, shared with the connection that tells it.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<State>>);

impl Progress {
    /// All is sent, or no more will be.
    pub fn finish(&self) {
        lock(&self.0).finished = true;
    }

    /// Packets that were declared lost so far.
    pub fn lost_packets(&self) -> u64 {
        lock(&self.0).lost_packets
    }

    fn state(&self) -> State {
        *lock(&self.0)
    }
}

impl Subscriber for Progress {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_packet_sent(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::PacketSent) {
        if let events::PacketHeader::OneRtt { number, .. } = event.packet_header {
            lock(&self.0).largest_sent = number;
        }
    }

    fn on_ack_range_received(
        &mut self,
        (): &mut (),
        _: &ConnectionMeta,
        event: &events::AckRangeReceived<'_>,
    ) {
        if let events::PacketHeader::OneRtt { .. } = event.packet_header {
            let mut state = lock(&self.0);
            state.largest_acked = state.largest_acked.max(*event.ack_range.end());
        }
    }

    fn on_packet_lost(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::PacketLost<'_>) {
        if let events::PacketHeader::OneRtt { number, .. } = event.packet_header {
            let mut state = lock(&self.0);
            state.lost_packets += 1;
            state.on_congestion(number);
        }
    }

    fn on_congestion(&mut self, (): &mut (), _: &ConnectionMeta, event: &events::Congestion<'_>) {
        if let events::CongestionSource::Ecn { .. } = event.source {
            let mut state = lock(&self.0);
            let number = state.largest_acked;
            state.on_congestion(number);
        }
    }

    fn on_recovery_metrics(
        &mut self,
        (): &mut (),
        _: &ConnectionMeta,
        event: &events::RecoveryMetrics<'_>,
    ) {
        let mut state = lock(&self.0);
        state.cwnd = event.congestion_window;
        state.in_flight = event.bytes_in_flight;
        state.smoothed_rtt_ms = event.smoothed_rtt.as_secs_f64() * 1e3;
        state.probe_timeouts += u64::from(event.pto_count.saturating_sub(state.backoff));
        state.backoff = event.pto_count;
        state.measured = true;
    }

    fn on_pacing_rate_updated(
        &mut self,
        (): &mut (),
        _: &ConnectionMeta,
        event: &events::PacingRateUpdated,
    ) {
        lock(&self.0).pacing_bps = Some(event.bytes_per_second as f64 * 8.0);
    }
}

/// The tables of a sender.
#[derive(Debug)]
pub struct Log {
    flow: Name,
    sink: Box<dyn Sink>,
    seen: State,
}

impl Log {
    /// Begins them in `folder`.
    pub fn begin(flow: &str, folder: &Path) -> Result<Self, DownloadError> {
        let sink = Box::new(ResultTables::of_download(folder)?);
        Ok(Self { flow: flow.into(), sink, seen: State::default() })
    }

    /// Writes where the sender stands, and what has happened since the last time.
    pub fn observe(&mut self, now: Instant, progress: &Progress) {
        let state = progress.state();
        let before = std::mem::replace(&mut self.seen, state);
        for (event, before, after) in [
            ("pto", before.probe_timeouts, state.probe_timeouts),
            ("fast-recovery", before.recoveries, state.recoveries),
        ] {
            (before..after).for_each(|_| self.event(now, event, after as f64));
        }
        if state.lost_packets > before.lost_packets {
            self.event(now, "retransmits", (state.lost_packets - before.lost_packets) as f64);
        }
        if !state.measured || before.finished {
            return;
        }
        let values = [
            ("cwnd_bytes", Some(f64::from(state.cwnd))),
            ("smoothed_rtt_ms", Some(state.smoothed_rtt_ms)),
            ("in_flight_bytes", Some(f64::from(state.in_flight))),
            ("pacing_rate_bps", state.pacing_bps),
        ];
        for (variable, value) in values {
            if let Some(value) = value {
                self.state(now, variable, value);
            }
        }
    }

    /// Writes what is left.
    pub fn finish(self) -> Result<(), DownloadError> {
        Ok(self.sink.finish()?)
    }

    fn event(&mut self, now: Instant, event: &str, value: f64) {
        let (flow, event) = (self.flow.clone(), event.into());
        self.sink.take(RunEvent::Flow(EventRecord { time_ns: now.as_nanos(), flow, event, value }));
    }

    fn state(&mut self, now: Instant, variable: &str, value: f64) {
        let (stream, variable) = (self.flow.clone(), variable.into());
        let record = ControllerRecord { stream, time_ns: now.as_nanos(), variable, value };
        self.sink.take(RunEvent::Controller(record));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
