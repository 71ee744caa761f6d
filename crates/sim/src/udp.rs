//! Packets at a constant rate, which nothing answers.

use crate::flow::FlowEnds;
use crate::packet::{Content, Packet};
use crate::recorder::Recorder;
use gameway_events::TableError;
use gameway_path::FlowId;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// 20 IPv4 + 8 UDP.
const HEADER: Bytes = Bytes::new(28);

/// See the module's head.
pub struct Udp {
    flow: FlowId,
    packet_size: Bytes,
    interval: Duration,
    next: Instant,
    stop: Instant,
    number: u64,
}

impl Udp {
    /// A flow of `rate` on the wire, in packets of `packet_size`, from `start` to `stop`.
    pub fn new(
        flow: FlowId,
        rate: Rate,
        packet_size: Bytes,
        start: Instant,
        stop: Option<Instant>,
    ) -> Self {
        let stop = stop.unwrap_or(Instant::MAX);
        let interval = rate.time_for(packet_size).max(Duration::from_nanos(1));
        Self { flow, packet_size, interval, next: start, stop, number: 0 }
    }
}

impl FlowEnds for Udp {
    fn server_deadline(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    fn on_server_deadline(&mut self, _now: Instant, _log: &mut Recorder) -> Result<(), TableError> {
        Ok(())
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.next > now || self.next >= self.stop {
            return None;
        }
        let packet = Packet::new(self.flow, self.packet_size, Content::Udp(self.number));
        self.number += 1;
        self.next += self.interval;
        Some(packet)
    }

    fn on_arrival(
        &mut self,
        _now: Instant,
        packet: &Packet,
        log: &mut Recorder,
    ) -> Result<(), TableError> {
        log.payload(self.flow, packet.size.saturating_sub(HEADER));
        Ok(())
    }

    fn client_deadline(&self) -> Option<Instant> {
        None
    }

    fn on_client_deadline(&mut self, _now: Instant, _log: &mut Recorder) -> Result<(), TableError> {
        Ok(())
    }

    fn poll_return(&mut self, _now: Instant) -> Option<Packet> {
        None
    }

    fn on_return(
        &mut self,
        _now: Instant,
        _packet: &Packet,
        _log: &mut Recorder,
    ) -> Result<(), TableError> {
        Ok(())
    }
}
