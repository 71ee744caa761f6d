//! The two ends of a flow as the simulator sees them, and the line from client back to server.

use crate::packet::Packet;
use crate::recorder::Recorder;
use gameway_events::TableError;
use gameway_units::{Duration, Instant};

/// Both ends of a flow. The server sends through the bottleneck; what the client sends back takes the
/// flow's own return line, which is never congested.
///
/// After any call, the simulator polls [`Self::poll_transmit`] and reads the deadlines again.
pub trait FlowEnds {
    /// When the server wants to act.
    fn server_deadline(&self) -> Option<Instant>;

    /// That time has come.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError>;

    /// The next packet that the server sends now.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// A packet reached the client.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn on_arrival(
        &mut self,
        now: Instant,
        packet: &Packet,
        log: &mut Recorder,
    ) -> Result<(), TableError>;

    /// When the client wants to act.
    fn client_deadline(&self) -> Option<Instant>;

    /// That time has come.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError>;

    /// When something of the client reaches the server.
    fn return_deadline(&self) -> Option<Instant>;

    /// That time has come.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn on_return(&mut self, now: Instant, log: &mut Recorder) -> Result<(), TableError>;

    /// For the log: a packet of this flow left the bottleneck after waiting so long.
    fn on_forwarded(&mut self, _packet: &Packet, _queueing: Duration) {}

    /// For the log: a packet of this flow will never arrive.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn on_gone(&mut self, _packet: &Packet, _log: &mut Recorder) -> Result<(), TableError> {
        Ok(())
    }

    /// The run is over: write what is still open.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn finish(&mut self, _log: &mut Recorder) -> Result<(), TableError> {
        Ok(())
    }
}
