//! What an ACK changes: scoreboard, round-trip time, recovery, congestion control.

use super::timers::MIN_TIMER;
use super::{Sender, State, TailProbe};
use crate::congestion::{AckEvent, LostSegment, Phase};
use crate::ecn::Marks;
use crate::prr::{ProportionalRateReduction, RecoveryAck};
use crate::rack::Evidence;
use crate::scoreboard::AckOutcome;
use crate::segment::Segment;
use gameway_units::{Bytes, Duration, Instant};

impl Sender {
    pub(super) fn on_ack(&mut self, now: Instant, segment: &Segment) {
        // RFC 9293 section 3.10.7.4: an acknowledgment of what was never sent is dropped.
        if segment.acknowledgment > self.next {
            return;
        }
        let newer = segment.timestamp_value > self.peer_timestamp;
        self.peer_timestamp = self.peer_timestamp.max(segment.timestamp_value);
        self.update_receive_window(segment);
        let prior_in_flight = self.board.in_flight();
        let mut outcome = self.update_scoreboard(now, segment);
        self.rate.on_delivered(now, outcome.delivered);
        let rtt = self.update_rtt(now, segment, &outcome);
        self.judge_losses(now, &mut outcome);
        let marks = self.ecn.read(segment, &outcome, newer, self.config.segment_size);
        self.stats.marked_packets += marks.packets;
        self.update_phase(now, segment, &outcome, marks);
        self.notify_congestion_control(now, &outcome, marks, prior_in_flight, rtt);
        self.update_timers(now, &outcome);
        if self.fin_is_acknowledged() {
            self.state = State::Finished;
            self.timers = super::Timers::default();
        }
    }

    /// As Linux `tcp_may_update_window`: a window may shrink only with progress.
    fn update_receive_window(&mut self, segment: &Segment) {
        let edge =
            segment.acknowledgment.saturating_add(u64::from(segment.window) << self.peer_scale);
        let progress = segment.acknowledgment > self.acknowledged;
        let current = segment.acknowledgment == self.acknowledged;
        if progress || (current && edge > self.right_edge) {
            self.right_edge = edge;
        }
    }

    fn update_scoreboard(&mut self, now: Instant, segment: &Segment) -> AckOutcome {
        let evidence = Evidence::new(now, self.rtt.minimum(), segment.timestamp_echo);
        let mut outcome = AckOutcome { evidence, ..AckOutcome::default() };
        if segment.acknowledgment > self.acknowledged {
            self.acknowledged = segment.acknowledgment;
            self.board.acknowledge(segment.acknowledgment, &mut outcome);
        }
        for block in segment.sack.as_slice() {
            self.board.selectively_acknowledge((block.start, block.end), &mut outcome);
        }
        outcome
    }

    /// Takes the sample for the time-out; returns the one for the congestion control: of the newest
    /// segment, so that the receiver's delay of ACKs is not in it.
    fn update_rtt(
        &mut self,
        now: Instant,
        segment: &Segment,
        outcome: &AckOutcome,
    ) -> Option<Duration> {
        let since = |sent: Instant| now.saturating_since(sent);
        let echo = segment.timestamp_echo;
        let echoed =
            (outcome.advanced > 0 && echo > Instant::ZERO && echo <= now).then(|| since(echo));
        if let Some(rtt) = outcome.oldest_sent.map(since).or(echoed) {
            self.rtt.on_sample(rtt);
        }
        if outcome.advanced > 0 {
            self.rtt.on_progress();
            self.timeouts_in_a_row = 0;
        }
        outcome.newest_sent.map(since)
    }

    fn judge_losses(&mut self, now: Instant, outcome: &mut AckOutcome) {
        let advanced = self.rack.advance(now, &outcome.evidence);
        if self.board.sacked() > 0 {
            self.board.detect_losses(outcome);
        }
        if advanced {
            self.judge_by_age(now, outcome);
        }
        self.report_losses(now);
    }

    /// RACK, and its timer for what may yet come.
    fn judge_by_age(&mut self, now: Instant, outcome: &mut AckOutcome) {
        let age = self.rack.round_trip.saturating_add(self.reordering_window());
        let newest = self.rack.newest;
        let mut due = self.board.detect_lost_retransmissions(newest, age, now, outcome);
        if self.has_sent_all() || !self.board.has_seen_reordering() {
            let next = self.board.detect_overtaken(newest, age, now, outcome);
            due = due.into_iter().chain(next).min();
        }
        self.timers.reordering = due.map(|due| due.saturating_add(MIN_TIMER));
    }

    fn reordering_window(&self) -> Duration {
        let proven = self.phase != Phase::Open || self.board.has_reached_threshold();
        if proven && !self.board.has_seen_reordering() {
            return Duration::ZERO;
        }
        let min_rtt = self.rtt.minimum().unwrap_or_default();
        (min_rtt / 4).min(self.rtt.smoothed().unwrap_or_default())
    }

    /// As Linux `tcp_rack_reo_timeout`: what is missing is too old, so it is lost; one segment leaves.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) {
        let mut outcome = AckOutcome::default();
        self.judge_by_age(now, &mut outcome);
        self.report_losses(now);
        if outcome.newly_lost == 0 || self.phase != Phase::Open {
            return;
        }
        self.recovery_on_mark = false;
        self.enter_recovery(now, &outcome);
        let one = u64::from(self.config.segment_size);
        self.reduce(&AckOutcome { delivered: one, ..outcome });
    }

    fn reduce(&mut self, outcome: &AckOutcome) {
        self.prr.on_ack(RecoveryAck {
            delivered: outcome.delivered,
            in_flight: self.board.in_flight(),
            target: self.congestion.cwnd().get(),
            safe: outcome.advanced > 0 && outcome.newly_lost == 0,
            segment_size: u64::from(self.config.segment_size),
        });
    }

    /// Tells the congestion control of each segment newly judged lost, with what had been lost by then.
    pub(super) fn report_losses(&mut self, now: Instant) {
        while let Some(record) = self.board.take_lost() {
            self.total_lost += u64::from(record.length);
            let lost = self.total_lost.saturating_sub(record.snapshot.lost);
            self.congestion.on_segment_lost(&LostSegment {
                now,
                sequence: record.sequence,
                size: Bytes::new(u64::from(record.length)),
                tx_in_flight: Bytes::new(record.snapshot.tx_in_flight),
                lost: Bytes::new(lost),
                app_limited: record.snapshot.app_limited,
                total_delivered: Bytes::new(self.rate.delivered()),
            });
        }
    }

    fn update_phase(
        &mut self,
        now: Instant,
        segment: &Segment,
        outcome: &AckOutcome,
        marks: Marks,
    ) {
        if self.is_spurious(segment, outcome) {
            self.undo(now);
        }
        if self.phase != Phase::Open && self.acknowledged >= self.recovery_point {
            self.phase = Phase::Open;
        }
        let probe_repaired = self.settle_tail_probe(segment);
        let marked = self.is_answered_mark(segment, marks);
        let lost = self.board.lost() > 0 || probe_repaired;
        if self.phase == Phase::Open && (lost || marked) {
            self.recovery_on_mark = !lost;
            self.enter_recovery(now, outcome);
        }
        if self.phase == Phase::Recovery {
            self.reduce(outcome);
        }
    }

    /// Eifel (RFC 3522): the ACK that covers a segment sent again echoes what left before that. Each
    /// segment has its own time: one that an earlier recovery sent again proves nothing of this one.
    fn is_spurious(&self, segment: &Segment, outcome: &AckOutcome) -> bool {
        let echo = segment.timestamp_echo;
        self.phase != Phase::Open
            && echo > Instant::ZERO
            && outcome.first_retransmission.is_some_and(|first| echo < first)
    }

    fn undo(&mut self, now: Instant) {
        self.board.forget_losses();
        if !self.recovery_on_mark {
            self.congestion.on_spurious_loss(now);
        }
        self.phase = Phase::Open;
        self.stats.spurious += 1;
    }

    /// Whether the tail-loss probe repaired a loss that nothing else has seen (RFC 8985 section
    /// 7.4, with timestamps in place of D-SACK).
    fn settle_tail_probe(&mut self, segment: &Segment) -> bool {
        let answered = |probe: &TailProbe| segment.acknowledgment >= probe.end;
        let Some(probe) = self.tail_probe.filter(answered) else { return false };
        self.tail_probe = None;
        probe.retransmission
            && segment.timestamp_echo >= probe.sent
            && !self.congestion.regulates_recovery()
    }

    /// Whether a mark is to be answered as a loss: once per window, and unless the congestion control
    /// answers itself. The receiver hears of an answer in either case.
    fn is_answered_mark(&mut self, segment: &Segment, marks: Marks) -> bool {
        let new = self.phase == Phase::Open
            && self.ecn.is_new_congestion(segment, marks, self.acknowledged);
        if new {
            self.ecn.on_reduced(self.next);
        }
        new && !self.congestion.answers_marks()
    }

    fn enter_recovery(&mut self, now: Instant, outcome: &AckOutcome) {
        self.phase = Phase::Recovery;
        self.recovery_point = self.next;
        self.stats.recoveries += 1;
        self.ecn.on_reduced(self.next);
        self.congestion.on_congestion_event(now, Bytes::new(self.board.in_flight()));
        let missing = self.board.outstanding() - self.board.sacked();
        self.prr = ProportionalRateReduction::start(missing + outcome.delivered);
    }

    fn notify_congestion_control(
        &mut self,
        now: Instant,
        outcome: &AckOutcome,
        marks: Marks,
        prior_in_flight: u64,
        rtt: Option<Duration>,
    ) {
        let min_rtt = self.rtt.minimum().unwrap_or_default();
        let newest = outcome.newest.as_ref();
        let rate =
            newest.and_then(|r| self.rate.sample(r.snapshot, r.sent, min_rtt, self.total_lost));
        let (cwnd, slow_start_below) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let short = |record: &crate::record::Record| record.length < self.config.segment_size;
        let event = AckEvent {
            now,
            phase: self.phase,
            acknowledged: self.acknowledged,
            next_sequence: self.next,
            newly_delivered: Bytes::new(outcome.delivered),
            newly_acknowledged: Bytes::new(outcome.advanced),
            newly_lost: Bytes::new(outcome.newly_lost),
            newly_marked: Bytes::new(marks.bytes),
            prior_in_flight: Bytes::new(prior_in_flight),
            in_flight: Bytes::new(self.board.in_flight()),
            total_delivered: Bytes::new(self.rate.delivered()),
            total_lost: Bytes::new(self.total_lost),
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            cwnd_limited: self.usage.is_limited(cwnd.get(), cwnd < slow_start_below),
            ack_delayed: outcome.records == 1 && newest.is_some_and(short),
            rate,
            until_departure: self.pacer.next().saturating_since(now).max(Duration::ZERO),
        };
        self.congestion.on_ack(&event);
        if self.congestion.samples_are_app_limited() {
            self.rate.on_app_limited(self.board.in_flight());
        }
    }
}
