//! Deadlines of the sender: losses by time, probes, the handshake, pacing.
//!
//! Source: RFC 9002 sections 6.1.2 and 6.2, appendices A.8 and A.9.

use super::{Sender, State};
use gameway_units::Instant;

/// What is due when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timers {
    /// A packet is then too old not to be lost.
    pub(super) loss: Option<Instant>,
    /// Nothing has been heard for a probe time-out, or of the handshake.
    pub(super) probe: Option<Instant>,
    /// Time-outs in a row.
    pub(super) in_a_row: u32,
    /// The last poll found a packet that the pacer holds until then.
    pub(super) paced: Option<Instant>,
}

/// Packets that a probe time-out sends (section 6.2.4: one or two).
const PROBES: u32 = 2;

impl Sender {
    /// When [`Self::on_deadline`] is due; valid after [`Self::poll_transmit`] returned `None`.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let Timers { loss, probe, paced, .. } = self.timers;
        Instant::first_of([loss.or(probe), paced])
    }

    /// Time has passed; harmless when nothing is due. Then poll.
    pub fn on_deadline(&mut self, now: Instant) {
        let due = |deadline: Option<Instant>| deadline.is_some_and(|due| now >= due);
        // Appendix A.8: while a loss by time is expected, no probe is.
        if self.timers.loss.is_some() {
            if due(self.timers.loss) {
                self.on_loss_timer(now);
                self.arm(now);
            }
        } else if due(self.timers.probe) {
            self.timers.probe = None;
            self.timers.in_a_row += 1;
            if self.state == State::Established {
                self.stats.probe_timeouts += 1;
                self.pending_probes = PROBES;
                self.arm(now);
            } else {
                self.pending_handshake = true;
            }
        }
    }

    /// SetLossDetectionTimer of appendix A.8.
    pub(super) fn arm(&mut self, now: Instant) {
        self.timers.probe = (self.packets.in_flight() > 0).then(|| {
            let timeout = self.rtt.probe_timeout(self.timers.in_a_row);
            self.last_sent.saturating_add(timeout).max(now)
        });
    }
}
