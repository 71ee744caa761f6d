//! The two ends of a flow as the simulator sees them.
//!
//! The server is the end that sends the flow's data and the client the one that receives it, also where
//! the data of a stream goes up: then the server stands where the other flows' clients are.

use crate::packet::Packet;
use gameway_experiment::Recorder;
use gameway_units::{Duration, Instant};

/// Both ends of a flow.
///
/// After any call, the simulator polls [`Self::poll_transmit`] and [`Self::poll_return`] and reads the
/// deadlines again.
pub trait FlowEnds {
    /// When the server wants to act.
    fn server_deadline(&self) -> Option<Instant>;

    /// That time has come.
    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder);

    /// The next packet that the server sends now.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// A packet reached the client.
    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder);

    /// When the client wants to act.
    fn client_deadline(&self) -> Option<Instant>;

    /// That time has come.
    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder);

    /// The next packet that the client sends back now.
    fn poll_return(&mut self, now: Instant) -> Option<Packet>;

    /// A packet of the client reached the server.
    fn on_return(&mut self, now: Instant, packet: &Packet, log: &mut Recorder);

    /// For the log: data of this flow has passed its bottlenecks after waiting so long.
    fn on_forwarded(&mut self, _packet: &Packet, _queueing: Duration) {}

    /// A packet of this flow, either way, will never arrive.
    fn on_gone(&mut self, _packet: &Packet, _log: &mut Recorder) {}

    /// The run is over: write what is still open.
    fn finish(&mut self, _log: &mut Recorder) {}
}
