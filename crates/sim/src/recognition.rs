//! The gateway's classifier in the simulated network: it stands in front of the path's own bottleneck,
//! sees what comes to that queue and what goes back, and writes on each packet what its flow is taken for.

use crate::packet::Packet;
use crate::recorder::Recorder;
use gameway_events::{Name, TableError};
use gameway_gateway::classifier::{Classifier, Direction};
use gameway_path::Traffic;
use gameway_units::Instant;

/// See the module's head.
pub struct Recognition {
    classifier: Classifier,
    event: Name,
}

impl Recognition {
    /// One that has seen nothing; `seed` is that of its table.
    pub fn new(seed: u64) -> Self {
        Self { classifier: Classifier::new(seed), event: "recognised".into() }
    }

    /// A packet with its header comes by.
    ///
    /// # Errors
    /// If a record cannot be written.
    pub fn see(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        direction: Direction,
        log: &mut Recorder,
    ) -> Result<(), TableError> {
        let judged = self.classifier.on_packet(now, &packet.header, packet.size, direction);
        packet.traffic = judged.traffic;
        if !judged.changed {
            return Ok(());
        }
        let game = judged.traffic == Some(Traffic::Game);
        log.event(now, packet.flow, &self.event, f64::from(u8::from(game)))
    }
}
