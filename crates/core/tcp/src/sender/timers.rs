//! Deadlines of the sender: retransmission, tail-loss probe, persist, pacing.

use super::{Sender, State};
use crate::congestion::{Phase, TimeoutEvent};
use crate::scoreboard::AckOutcome;
use gameway_units::{Bytes, Duration, Instant};

/// Linux `TCP_TIMEOUT_MIN_US`: what is added to the shortest time-outs.
pub(super) const MIN_TIMER: Duration = Duration::from_millis(2);
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// What is due when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timers {
    pub(super) retransmission: Option<Instant>,
    pub(super) tail_probe: Option<Instant>,
    /// What is missing counts as lost then, if it has not come.
    pub(super) reordering: Option<Instant>,
    pub(super) persist: Option<Instant>,
    /// The last poll found a segment that the pacer holds until then.
    pub(super) paced: Option<Instant>,
}

impl Sender {
    /// When [`Self::on_deadline`] is due; valid after [`Self::poll_transmit`] returned `None`.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let timers = &self.timers;
        let write = match self.state {
            State::Established => self.writer.next_write(self.acknowledged),
            _ => None,
        };
        // Called after every event: without an iterator over options it costs a third.
        let never = |deadline: Option<Instant>| deadline.unwrap_or(Instant::MAX);
        let repair = never(timers.retransmission).min(never(timers.tail_probe));
        let repair = repair.min(never(timers.reordering));
        let other = never(timers.persist).min(never(timers.paced)).min(never(write));
        let earliest = repair.min(other);
        (earliest < Instant::MAX).then_some(earliest)
    }

    /// Time has passed; harmless when nothing is due. Then poll.
    pub fn on_deadline(&mut self, now: Instant) {
        let due = |deadline: Option<Instant>| deadline.is_some_and(|due| now >= due);
        if due(self.timers.reordering) {
            self.timers.reordering = None;
            self.on_reordering_timer(now);
        }
        if due(self.timers.tail_probe) {
            self.timers.tail_probe = None;
            self.pending.tail_probe = true;
            self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
        } else if due(self.timers.retransmission) {
            self.timers.retransmission = None;
            match self.state {
                State::SynReceived => self.pending.syn_ack = true,
                _ => self.on_timeout(now),
            }
        }
        if due(self.timers.persist) {
            self.rtt.back_off();
            self.timers.persist = Some(now.saturating_add(self.rtt.timeout()));
            self.pending.window_probe = true;
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.board.is_empty() {
            return;
        }
        // RFC 5681 section 3.1: the threshold falls once for the same data.
        let first = match self.phase {
            Phase::Open => true,
            Phase::Recovery => false,
            Phase::Loss => self.timeouts_in_a_row == 0,
        };
        let prior_in_flight = Bytes::new(self.board.in_flight());
        let newly_lost = self.board.mark_all_lost();
        self.report_losses(now);
        self.phase = Phase::Loss;
        self.recovery_point = self.next;
        self.recovery_on_mark = false;
        self.ecn.on_reduced(self.next);
        self.tail_probe = None;
        self.timeouts_in_a_row += 1;
        self.stats.timeouts += 1;
        self.rtt.back_off();
        self.timers.tail_probe = None;
        self.timers.reordering = None;
        self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
        self.congestion.on_timeout(&TimeoutEvent {
            now,
            next_sequence: self.next,
            prior_in_flight,
            first,
            newly_lost: Bytes::new(newly_lost),
            total_delivered: Bytes::new(self.rate.delivered()),
            total_lost: Bytes::new(self.total_lost),
        });
    }

    /// RFC 6298 section 5.2 and 5.3: progress restarts the timer, nothing outstanding stops it.
    pub(super) fn update_timers(&mut self, now: Instant, outcome: &AckOutcome) {
        if self.board.is_empty() {
            self.timers.retransmission = None;
            self.timers.tail_probe = None;
            self.timers.reordering = None;
        } else if outcome.delivered > 0 {
            self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
            self.arm_tail_probe(now);
        }
        if self.right_edge > self.next && self.timers.persist.take().is_some() {
            // As Linux `tcp_ack_probe`: what leaves now has not waited yet.
            self.rtt.on_progress();
        }
    }

    /// RFC 8985 section 7.2.
    pub(super) fn arm_tail_probe(&mut self, now: Instant) {
        self.timers.tail_probe = None;
        let wanted = self.config.tail_loss_probe
            && self.phase == Phase::Open
            && self.board.sacked() == 0
            && self.tail_probe.is_none();
        let Some(rtt) = self.rtt.smoothed().filter(|_| wanted) else { return };
        let alone = self.board.outstanding() <= u64::from(self.config.segment_size);
        let slack = if alone { MAX_ACK_DELAY } else { MIN_TIMER };
        let due = now.saturating_add(rtt * 2 + slack);
        self.timers.tail_probe = Some(self.timers.retransmission.map_or(due, |rto| due.min(rto)));
    }
}
