//! What the circuit breaker does to the sender: it bounds what the controller asks for.

use super::Sender;
use crate::circuit_breaker::{BreakerAction, CircuitBreaker};
use crate::sender_event::SenderEvent;
use gameway_control::{Pacing, Target};
use gameway_units::Instant;

impl Sender {
    /// What the controller wants, as far as the circuit breaker allows.
    pub(super) fn target(&self) -> Target {
        let mut target = self.controller.target();
        let Some(limit) = self.breaker.as_ref().and_then(CircuitBreaker::limit) else {
            return target;
        };
        target.bitrate = target.bitrate.min(limit);
        target.pacing = match target.pacing {
            Pacing::Rate(rate) => Pacing::Rate(rate.min(limit)),
            Pacing::Bursts { rate, interval } => Pacing::Bursts { rate: rate.min(limit), interval },
            pacing => pacing,
        };
        // Probes and padding are sent to learn whether more is possible.
        target.requests.probes_per_frame = 0;
        target.requests.probe_cluster = None;
        target
    }

    pub(super) fn breaker_deadline(&self) -> Option<Instant> {
        // A stopped stream sends nothing that could be too much.
        self.slots.next().and(self.breaker.as_ref()?.next_deadline())
    }

    pub(super) fn check_breaker(&mut self, now: Instant) {
        let Some(action) = self.breaker.as_mut().and_then(|breaker| breaker.on_deadline(now))
        else {
            return;
        };
        if matches!(action, BreakerAction::End(_)) {
            self.stop(now);
        }
        self.retarget(now);
        let limit = self.breaker.as_ref().and_then(CircuitBreaker::limit);
        self.events.push_back(SenderEvent::CircuitBreaker { at: now, action, limit });
    }

    /// Whether the circuit breaker has ended the stream for good.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.breaker.as_ref().is_some_and(CircuitBreaker::has_ended)
    }
}
