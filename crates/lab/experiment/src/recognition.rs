//! The gateway's classifier at work: it stands in front of the path's own bottleneck,
//! sees what comes to that queue and what goes back, and says of each packet what its flow is taken for.

use crate::recorder::Recorder;
use gameway_events::Name;
use gameway_gateway::classifier::Classifier;
use gameway_path::{Direction, PathPacket, Traffic};
use gameway_units::Instant;

/// See the module's head.
#[derive(Debug)]
pub struct Recognition {
    classifier: Classifier,
    event: Name,
}

impl Recognition {
    /// One that has seen nothing; `seed` is that of its table.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { classifier: Classifier::new(seed), event: "recognised".into() }
    }

    /// A packet with its header comes by; gives what its flow is taken for.
    pub fn see(
        &mut self,
        now: Instant,
        packet: &impl PathPacket,
        direction: Direction,
        log: &mut Recorder,
    ) -> Option<Traffic> {
        let judged =
            self.classifier.on_packet(now, &packet.header(), packet.wire_size(), direction);
        if judged.changed {
            let game = judged.traffic == Some(Traffic::Game);
            log.event(now, packet.flow(), &self.event, f64::from(u8::from(game)));
        }
        judged.traffic
    }
}
