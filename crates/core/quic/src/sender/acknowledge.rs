//! What an ACK changes: packets, round-trip time, losses, marks, congestion control.
//!
//! Source: RFC 9002 appendices A.7, B.5 to B.8; RFC 9000 section 13.4.2.1 (whether ECN can be believed).

use super::Sender;
use crate::ack::{AckFrame, EcnCounts};
use crate::persistent::THRESHOLD;
use crate::sent::{Acknowledged, SentPacket};
use gameway_tcp::{AckEvent, LostSegment, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant};

/// For how long losses are remembered, in durations of persistent congestion.
const REMEMBERED: i64 = 2;

/// What an ACK told so far.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    prior_in_flight: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
    /// The newest packet that it newly acknowledges.
    newest: Option<SentPacket>,
    rtt: Option<Duration>,
}

impl Sender {
    pub(super) fn on_ack(&mut self, now: Instant, frame: &AckFrame) {
        // RFC 9000 section 13.1: what was never sent cannot be acknowledged.
        let Some(largest) = frame.largest().filter(|one| *one < self.packets.next_number()) else {
            return;
        };
        let prior_in_flight = self.packets.in_flight();
        let acknowledged = self.packets.acknowledge(&frame.ranges);
        let Some(newest) = acknowledged.packets.last().copied() else { return };
        self.stats.spurious += u64::from(acknowledged.spurious);
        let mut outcome = Outcome { prior_in_flight, newest: Some(newest), ..Outcome::default() };
        outcome.delivered = self.on_delivered(now, &acknowledged);
        if newest.number == largest {
            let latest = now.saturating_since(newest.sent);
            outcome.rtt = Some(self.rtt.on_sample(latest, frame.delay));
            self.persistent.on_sample(now);
        }
        self.acknowledged_bytes = self.acknowledged_bytes.max(newest.sent_bytes);
        if newest.number >= self.recovery_until {
            self.phase = Phase::Open;
        }
        outcome.marked = self.read_marks(now, frame, &acknowledged, largest);
        outcome.lost = self.detect_losses(now);
        self.notify_congestion_control(now, &outcome);
        self.timers.in_a_row = 0;
        self.arm(now);
        self.packets.forget(now, self.rtt.persistent(THRESHOLD) * REMEMBERED);
        if self.stream.is_done() {
            self.state = super::State::Finished;
            self.timers = super::Timers::default();
        }
    }

    /// Counts what has arrived, in bytes of datagrams.
    fn on_delivered(&mut self, now: Instant, acknowledged: &Acknowledged) -> u64 {
        let mut delivered = 0;
        for packet in &acknowledged.packets {
            delivered += u64::from(packet.size);
            self.stream.on_arrived(&packet.frame);
        }
        self.rate.on_delivered(now, delivered);
        delivered
    }

    pub(super) fn on_loss_timer(&mut self, now: Instant) {
        self.detect_losses(now);
    }

    /// Finds what is lost, and answers it; how many bytes that is.
    fn detect_losses(&mut self, now: Instant) -> u64 {
        let (lost, due) = self.packets.detect_losses(now, self.rtt.loss_delay());
        self.timers.loss = due;
        let (Some(first), Some(last)) = (lost.first(), lost.last()) else { return 0 };
        let bytes = lost.iter().map(|packet| self.on_packet_lost(now, packet)).sum();
        self.on_congestion(now, last.number);
        let span = self.rtt.persistent(THRESHOLD);
        if self.persistent.is_reached(self.packets.all(), first.number, span) {
            self.on_persistent_congestion(now, bytes);
        }
        bytes
    }

    fn on_packet_lost(&mut self, now: Instant, packet: &SentPacket) -> u64 {
        let size = u64::from(packet.size);
        self.lost_bytes += size;
        self.stats.lost_packets += 1;
        self.stream.lost.push_back(packet.frame);
        let mut lost = LostSegment::default();
        lost.now = now;
        lost.sequence = packet.sent_bytes - size;
        lost.size = Bytes::new(size);
        lost.tx_in_flight = Bytes::new(packet.snapshot.tx_in_flight);
        lost.lost = Bytes::new(self.lost_bytes.saturating_sub(packet.snapshot.lost));
        lost.app_limited = packet.snapshot.app_limited;
        lost.total_delivered = Bytes::new(self.rate.delivered());
        self.congestion.on_segment_lost(&lost);
        size
    }

    /// OnCongestionEvent of appendix B.6, for a loss or a mark of this packet.
    fn on_congestion(&mut self, now: Instant, number: u64) {
        if number < self.recovery_until {
            return;
        }
        self.phase = Phase::Recovery;
        self.recovery_until = self.packets.next_number();
        self.stats.recoveries += 1;
        self.congestion.on_congestion_event(now, Bytes::new(self.packets.in_flight()));
    }

    /// The window falls to its least; the threshold has fallen already. It ends a recovery (appendix B.8 sets its start
    /// to 0), so the next loss begins another one whenever its packet was sent.
    fn on_persistent_congestion(&mut self, now: Instant, newly_lost: u64) {
        self.stats.persistent_congestions += 1;
        self.phase = Phase::Loss;
        self.recovery_until = 0;
        let mut timeout = TimeoutEvent::default();
        timeout.now = now;
        timeout.next_sequence = self.sent_bytes;
        timeout.prior_in_flight = Bytes::new(self.packets.in_flight() + newly_lost);
        timeout.first = false;
        timeout.newly_lost = Bytes::new(newly_lost);
        timeout.total_delivered = Bytes::new(self.rate.delivered());
        timeout.total_lost = Bytes::new(self.lost_bytes);
        self.congestion.on_timeout(&timeout);
    }

    /// ProcessECN of appendix B.7, and whether the counts can be believed; bytes newly marked.
    fn read_marks(
        &mut self,
        now: Instant,
        frame: &AckFrame,
        acknowledged: &Acknowledged,
        largest: u64,
    ) -> u64 {
        if !self.stats.ecn {
            return 0;
        }
        let counts = frame.ecn.unwrap_or_default();
        self.ecn_arrived +=
            acknowledged.packets.iter().filter(|packet| packet.is_ecn_capable).count() as u64;
        // Section 13.4.2.1: whoever tells of fewer than have arrived does not count them, or the path clears them.
        if counts.total() < self.ecn_arrived {
            self.stats.ecn = false;
            return 0;
        }
        let marked = counts.ce.saturating_sub(self.ecn.ce);
        let EcnCounts { ect0, ect1, ce } = self.ecn;
        self.ecn = EcnCounts {
            ect0: ect0.max(counts.ect0),
            ect1: ect1.max(counts.ect1),
            ce: ce.max(counts.ce),
        };
        // No more than there was to mark.
        let marked = marked.min(acknowledged.packets.len() as u64);
        self.stats.marked_packets += marked;
        if marked > 0 && !self.congestion.answers_marks() {
            self.on_congestion(now, largest);
        }
        marked * u64::from(self.config.max_datagram_size)
    }

    fn notify_congestion_control(&mut self, now: Instant, outcome: &Outcome) {
        let min_rtt = self.rtt.minimum().unwrap_or_default();
        let newest = outcome.newest;
        let rate = newest
            .and_then(|one| self.rate.sample(one.snapshot, one.sent, min_rtt, self.lost_bytes));
        let (cwnd, threshold) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let mut event = AckEvent::default();
        event.now = now;
        event.phase = self.phase;
        event.acknowledged = self.acknowledged_bytes;
        event.next_sequence = self.sent_bytes;
        event.newly_delivered = Bytes::new(outcome.delivered);
        // Whatever arrives is progress: there are no duplicate ACKs.
        event.newly_acknowledged = Bytes::new(outcome.delivered);
        event.newly_lost = Bytes::new(outcome.lost);
        event.newly_marked = Bytes::new(outcome.marked);
        event.prior_in_flight = Bytes::new(outcome.prior_in_flight);
        event.in_flight = Bytes::new(self.packets.in_flight());
        event.total_delivered = Bytes::new(self.rate.delivered());
        event.total_lost = Bytes::new(self.lost_bytes);
        event.rtt = outcome.rtt;
        event.smoothed_rtt = self.rtt.smoothed();
        event.cwnd_limited = self.usage.is_limited(cwnd.get(), cwnd < threshold);
        event.rate = rate;
        event.until_departure = self.pacer.next().saturating_since(now).max(Duration::ZERO);
        self.congestion.on_ack(&event);
        if self.congestion.samples_are_app_limited() {
            self.rate.on_app_limited(self.packets.in_flight());
        }
    }
}
