//! Proportional Rate Reduction: how much may be sent on each ACK of a recovery.
//!
//! Source: RFC 9937 section 6 (which obsoletes RFC 6937).
//! Model: while more is in flight than the new target, send in the ratio of target to former flight
//! per byte delivered; below it, send what was delivered and, if the ACK moved forward without new
//! loss, one segment more until the target is met.
//!
//! No constants and no deviations.

/// The counters of one recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProportionalRateReduction {
    delivered: u64,
    sent: u64,
    flight_at_start: u64,
    window: u64,
}

/// What an ACK of the recovery said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveryAck {
    pub(crate) delivered: u64,
    pub(crate) in_flight: u64,
    pub(crate) target: u64,
    /// The cumulative acknowledgment moved and nothing more was judged lost.
    pub(crate) safe: bool,
    pub(crate) segment_size: u64,
}

impl ProportionalRateReduction {
    /// Starts with `flight` bytes that this recovery will still see delivered or lost.
    pub(crate) fn start(flight: u64) -> Self {
        Self { flight_at_start: flight.max(1), ..Self::default() }
    }

    pub(crate) fn on_ack(&mut self, ack: RecoveryAck) {
        if ack.delivered == 0 && self.sent > 0 {
            return;
        }
        self.delivered += ack.delivered;
        let mut allowed = if ack.in_flight > ack.target {
            let share = u128::from(self.delivered) * u128::from(ack.target);
            let share = share.div_ceil(u128::from(self.flight_at_start)) as u64;
            share.saturating_sub(self.sent)
        } else {
            let conserved = self.delivered.saturating_sub(self.sent).max(ack.delivered);
            let extra = if ack.safe { ack.segment_size } else { 0 };
            (conserved + extra).min(ack.target - ack.in_flight)
        };
        if self.sent == 0 {
            allowed = allowed.max(ack.segment_size);
        }
        self.window = ack.in_flight + allowed;
    }

    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// What may be in flight until the next ACK.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(in_flight: u64, target: u64, safe: bool) -> RecoveryAck {
        RecoveryAck { delivered: 1, in_flight, target, safe, segment_size: 1 }
    }

    /// One loss of 20 segments in flight, target half: after the fast retransmit a segment leaves on
    /// every second of the 19 ACKs, and 10 are in flight at the end, without a burst.
    #[test]
    fn one_loss_halves_the_rate_smoothly() {
        let mut prr = ProportionalRateReduction::start(20);
        let (mut in_flight, mut sent) = (19u64, Vec::new());
        for _ in 0..19 {
            in_flight -= 1;
            prr.on_ack(ack(in_flight, 10, true));
            let now = prr.window() - in_flight;
            prr.on_sent(now);
            in_flight += now;
            sent.push(now);
        }
        assert!(sent.iter().all(|now| *now <= 1), "{sent:?}");
        assert_eq!((sent.iter().sum::<u64>(), in_flight), (10, 10));
        assert_eq!(&sent[..6], &[1, 0, 1, 0, 1, 0]);
    }

    /// Section 6: room for the fast retransmit in any case, and then nothing for an ACK that delivers nothing.
    #[test]
    fn an_ack_that_delivers_nothing_lets_the_first_segment_leave_and_no_other() {
        let nothing = |in_flight| RecoveryAck { delivered: 0, ..ack(in_flight, 10, true) };
        for in_flight in [10, 15] {
            let mut prr = ProportionalRateReduction::start(20);
            prr.on_ack(nothing(in_flight));
            assert_eq!(prr.window(), in_flight + 1);
            prr.on_sent(1);
            prr.on_ack(nothing(in_flight - 5));
            assert_eq!(prr.window(), in_flight + 1, "as it was");
        }
        // With as much in flight as is wanted, nothing more leaves, however much was delivered.
        let mut prr = ProportionalRateReduction::start(20);
        prr.on_sent(1);
        prr.on_ack(RecoveryAck { delivered: 9, ..ack(10, 10, true) });
        assert_eq!(prr.window(), 10);
    }

    /// The losses are so many that the flight is below target: conserve packets, grow only on safe ACKs.
    #[test]
    fn heavy_loss_conserves_packets_unless_acks_are_safe() {
        let mut prr = ProportionalRateReduction::start(20);
        prr.on_ack(ack(3, 10, false));
        assert_eq!(prr.window(), 4);
        prr.on_sent(1);
        prr.on_ack(ack(3, 10, false));
        assert_eq!(prr.window(), 4);
        prr.on_sent(1);
        prr.on_ack(ack(3, 10, true));
        assert_eq!(prr.window(), 5);
        prr.on_sent(2);
        prr.on_ack(ack(9, 10, true));
        assert_eq!(prr.window(), 10);
    }
}
