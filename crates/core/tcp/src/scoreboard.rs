//! What is outstanding, and what became of it.
//!
//! Source: RFC 6675 sections 3 and 4 (IsLost, pipe, NextSeg rules 1 and 2); RFC 8985 section 6.2 for
//! lost retransmissions and for losses behind which too few segments arrived.
//! Model: one record per segment sent, in a deque; four byte counters give
//! `pipe = outstanding - sacked - lost + retransmitted`. The received runs give the offset below
//! which whatever is missing counts as lost; a cursor marks each record once, so that the work per
//! ACK is amortised constant.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | DupThresh | 3, doubled by a proven reordering, at most 300 | RFC 6675 section 2; Linux `tcp_max_reordering` |
//!
//! | Deviation | Why |
//! |---|---|
//! | NextSeg rules 3 and 4 are left out | the tail-loss probe does their work, as in Linux |
//! | a retransmission counts as lost by RACK's rule | RFC 6675 leaves that to the time-out, which stalls in a full drop-tail queue |
//! | the peer must support SACK | every stack of interest does |

use crate::delivery_rate::Snapshot;
use crate::rack::Evidence;
use crate::ranges::{RangeSet, Run};
use crate::record::Record;
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const DUPLICATE_THRESHOLD: u32 = 3;
const MAX_THRESHOLD: u32 = 300;

/// What one ACK told about the records.
#[derive(Debug, Clone, Default)]
pub(crate) struct AckOutcome {
    /// Bytes by which the cumulative acknowledgment moved.
    pub(crate) advanced: u64,
    /// Bytes newly known to have arrived.
    pub(crate) delivered: u64,
    /// Bytes newly selectively acknowledged.
    pub(crate) newly_sacked: u64,
    /// Bytes newly judged lost, retransmissions included.
    pub(crate) newly_lost: u64,
    /// When the oldest and newest never-retransmitted records that newly arrived were sent.
    pub(crate) oldest_sent: Option<Instant>,
    pub(crate) newest_sent: Option<Instant>,
    /// The record sent last of those that newly arrived.
    pub(crate) newest: Option<Record>,
    /// When the earliest of the records that the cumulative part covered was first sent again.
    pub(crate) first_retransmission: Option<Instant>,
    /// Records that newly arrived, and whether the only one was short: its ACK may have been delayed.
    pub(crate) records: u32,
    /// What RACK takes from it.
    pub(crate) evidence: Evidence,
}

impl AckOutcome {
    fn deliver(&mut self, record: &Record, bytes: u64) {
        self.delivered += bytes;
        self.records += 1;
        if !record.ever_retransmitted {
            self.oldest_sent = Some(self.oldest_sent.map_or(record.sent, |t| t.min(record.sent)));
            self.newest_sent = Some(self.newest_sent.map_or(record.sent, |t| t.max(record.sent)));
        }
        let key = |r: &Record| (r.sent, r.sequence);
        if self.newest.as_ref().is_none_or(|newest| key(newest) < key(record)) {
            self.newest = Some(*record);
        }
    }
}

/// Records of everything between the cumulative acknowledgment and the next new offset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    records: VecDeque<Record>,
    front_number: u64,
    segment_size: u32,
    threshold: u32,
    received: RangeSet,
    outstanding: u64,
    sacked: u64,
    lost: u64,
    retransmitted: u64,
    judged_below: u64,
    to_retransmit: VecDeque<u64>,
    to_retransmit_again: VecDeque<u64>,
    retransmissions: VecDeque<(u64, Instant)>,
    gaps: Vec<Run>,
    /// Numbers of the records newly judged lost, until they are reported.
    losses: VecDeque<u64>,
}

impl Scoreboard {
    pub(crate) fn new(segment_size: u32) -> Self {
        Self { segment_size, threshold: DUPLICATE_THRESHOLD, ..Self::default() }
    }

    /// RFC 6675's pipe: bytes thought to be in the network.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.outstanding + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Bytes neither cumulatively nor selectively acknowledged are somewhere: not empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// When the oldest record that is not acknowledged was last sent.
    pub(crate) fn oldest_sent(&self) -> Option<Instant> {
        self.records.front().map(|record| record.sent)
    }

    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    pub(crate) fn push(&mut self, record: Record) {
        self.outstanding += u64::from(record.length);
        self.records.push_back(record);
    }

    fn end_number(&self) -> u64 {
        self.front_number + self.records.len() as u64
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Record> {
        let index = usize::try_from(number.checked_sub(self.front_number)?).ok()?;
        self.records.get_mut(index)
    }

    /// Takes `bytes` of a record out of the counters that its state put it in.
    fn discount(&mut self, record: &Record, bytes: u64) {
        self.outstanding -= bytes;
        self.sacked -= if record.sacked { bytes } else { 0 };
        self.lost -= if record.lost { bytes } else { 0 };
        self.retransmitted -= if record.retransmitted { bytes } else { 0 };
    }

    /// Everything below `offset` has arrived.
    pub(crate) fn acknowledge(&mut self, offset: u64, outcome: &mut AckOutcome) {
        while let Some(front) = self.records.front().copied().filter(|r| r.sequence < offset) {
            let bytes = front.end().min(offset) - front.sequence;
            self.discount(&front, bytes);
            outcome.advanced += bytes;
            let first = outcome.first_retransmission;
            outcome.first_retransmission = match front.first_retransmission {
                Some(again) => Some(first.map_or(again, |first| first.min(again))),
                None => first,
            };
            if !front.sacked {
                outcome.deliver(&front, bytes);
            }
            if front.end() > offset {
                let record = &mut self.records[0];
                record.sequence = offset;
                record.length -= bytes as u32;
                break;
            }
            if !front.sacked {
                outcome.evidence.on_acknowledged(&front);
            }
            self.records.pop_front();
            self.front_number += 1;
        }
        self.received.remove_below(offset);
    }

    /// The run `start..end` has arrived; parts outside what is outstanding are ignored.
    pub(crate) fn selectively_acknowledge(&mut self, block: Run, outcome: &mut AckOutcome) {
        let (Some(front), Some(back)) = (self.records.front(), self.records.back()) else { return };
        let (start, end) = (block.0.max(front.sequence), block.1);
        if start >= end || end > back.end() {
            return;
        }
        let mut gaps = std::mem::take(&mut self.gaps);
        gaps.clear();
        let merged = self.received.insert(start, end, |gap| gaps.push(gap));
        for gap in &gaps {
            self.mark_sacked(*gap, merged, outcome);
        }
        self.gaps = gaps;
    }

    /// Marks the records that touch `gap` and lie whole within `merged`.
    fn mark_sacked(&mut self, gap: Run, merged: Run, outcome: &mut AckOutcome) {
        let mut index = self.locate(gap.0);
        while let Some(record) = self.records.get_mut(index).filter(|r| r.sequence < gap.1) {
            index += 1;
            if record.sacked || record.sequence < merged.0 || record.end() > merged.1 {
                continue;
            }
            let (before, bytes) = (*record, u64::from(record.length));
            (record.sacked, record.lost, record.retransmitted) = (true, false, false);
            self.lost -= if before.lost { bytes } else { 0 };
            self.retransmitted -= if before.retransmitted { bytes } else { 0 };
            self.sacked += bytes;
            outcome.newly_sacked += bytes;
            outcome.deliver(&before, bytes);
            outcome.evidence.on_sacked(&before);
        }
    }

    /// Index of the record that holds `offset`: guessed from equal sizes, else searched.
    fn locate(&self, offset: u64) -> usize {
        let first = self.records.front().map_or(0, |front| front.sequence);
        let guess = (offset.saturating_sub(first) / u64::from(self.segment_size.max(1))) as usize;
        match self.records.get(guess) {
            Some(record) if record.sequence <= offset && offset < record.end() => guess,
            _ => self.records.partition_point(|record| record.end() <= offset),
        }
    }

    /// IsLost for all at once: what is missing below the returned offset is lost.
    fn lost_below(&self) -> Option<u64> {
        let (mut runs, mut bytes) = (0, 0);
        let enough_bytes = u64::from(self.threshold - 1) * u64::from(self.segment_size);
        for (start, end) in self.received.iter().rev() {
            runs += 1;
            bytes += end - start;
            if runs >= self.threshold || bytes > enough_bytes {
                return Some(start);
            }
        }
        None
    }

    /// Judges the records that the received runs prove lost.
    pub(crate) fn detect_losses(&mut self, outcome: &mut AckOutcome) {
        let Some(below) = self.lost_below() else { return };
        let mut number = self.judged_below.max(self.front_number);
        while let Some(record) = self.get_mut(number).filter(|record| record.end() <= below) {
            let record = *record;
            if !record.sacked && !record.lost {
                outcome.newly_lost += self.mark_lost(number, record);
            }
            number += 1;
        }
        self.judged_below = number;
    }

    /// Judges what was sent before `newest`, a record that arrived, and so long ago (RACK), though too few came behind
    /// it for [`Self::detect_losses`]. When the next would be judged.
    pub(crate) fn detect_overtaken(
        &mut self,
        newest: (Instant, u64),
        age: Duration,
        now: Instant,
        outcome: &mut AckOutcome,
    ) -> Option<Instant> {
        let (below, _) = self.received.iter().next_back()?;
        let mut next: Option<Instant> = None;
        let mut number = self.judged_below.max(self.front_number);
        while let Some(record) = self.get_mut(number).filter(|record| record.end() <= below) {
            let (record, due) = (*record, record.sent.saturating_add(age));
            let missing = !record.sacked && !record.lost && !record.retransmitted;
            if missing && (record.sent, record.sequence) < newest {
                if due <= now {
                    outcome.newly_lost += self.mark_lost(number, record);
                } else {
                    next = Some(next.map_or(due, |next| next.min(due)));
                }
            }
            number += 1;
        }
        next
    }

    /// Whether a proven reordering raised DupThresh.
    pub(crate) fn has_seen_reordering(&self) -> bool {
        self.threshold > DUPLICATE_THRESHOLD
    }

    /// Whether as many have arrived behind a gap as prove a loss.
    pub(crate) fn has_reached_threshold(&self) -> bool {
        self.sacked >= u64::from(self.threshold) * u64::from(self.segment_size)
    }

    fn mark_lost(&mut self, number: u64, record: Record) -> u64 {
        self.losses.push_back(number);
        if let Some(record) = self.get_mut(number) {
            record.lost = true;
        }
        self.lost += u64::from(record.length);
        if !record.retransmitted {
            self.to_retransmit.push_back(number);
        }
        u64::from(record.length)
    }

    /// Judges retransmissions by the same rule: RFC 6675 leaves them to the time-out. When the next would be judged.
    pub(crate) fn detect_lost_retransmissions(
        &mut self,
        newest: (Instant, u64),
        age: Duration,
        now: Instant,
        outcome: &mut AckOutcome,
    ) -> Option<Instant> {
        while let Some(&(number, sent)) = self.retransmissions.front() {
            let retransmission = |record: &&mut Record| record.retransmitted && record.sent == sent;
            let Some(record) = self.get_mut(number).filter(retransmission) else {
                self.retransmissions.pop_front();
                continue;
            };
            if (sent, record.sequence) >= newest {
                return None;
            }
            let due = sent.saturating_add(age);
            if due > now {
                return Some(due);
            }
            let (bytes, known) = (u64::from(record.length), record.lost);
            (record.retransmitted, record.lost) = (false, true);
            self.retransmissions.pop_front();
            self.retransmitted -= bytes;
            self.lost += if known { 0 } else { bytes };
            self.to_retransmit_again.push_back(number);
            self.losses.push_back(number);
            outcome.newly_lost += bytes;
        }
        None
    }

    /// A time-out: whatever has not arrived is to be sent again (RFC 6675 section 5.1, SACK kept).
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let already = self.lost;
        self.to_retransmit.clear();
        self.to_retransmit_again.clear();
        self.retransmissions.clear();
        (self.lost, self.retransmitted) = (0, 0);
        for (index, record) in self.records.iter_mut().enumerate().filter(|(_, r)| !r.sacked) {
            let number = self.front_number + index as u64;
            if !record.lost {
                self.losses.push_back(number);
            }
            (record.lost, record.retransmitted) = (true, false);
            record.first_retransmission = None;
            self.lost += u64::from(record.length);
            self.to_retransmit.push_back(number);
        }
        self.judged_below = self.end_number();
        self.lost.saturating_sub(already)
    }

    /// The next of the records that were judged lost and are not yet reported, in that order.
    pub(crate) fn take_lost(&mut self) -> Option<Record> {
        loop {
            let number = self.losses.pop_front()?;
            if let Some(record) = self.get_mut(number) {
                return Some(*record);
            }
        }
    }

    /// The losses were none: takes the marks back, and asks for more proof from now on.
    pub(crate) fn forget_losses(&mut self) {
        self.to_retransmit.clear();
        self.to_retransmit_again.clear();
        self.records.iter_mut().for_each(|record| record.lost = false);
        self.lost = 0;
        self.judged_below = self.front_number;
        self.threshold = (self.threshold * 2).min(MAX_THRESHOLD);
    }

    /// The number of the record to retransmit first, if any (NextSeg rule 1).
    pub(crate) fn next_retransmission(&mut self) -> Option<(u64, u32)> {
        let mut first_valid = |again: bool| loop {
            let queue = if again { &self.to_retransmit_again } else { &self.to_retransmit };
            let number = *queue.front()?;
            let waiting = self.get_mut(number).filter(|r| r.lost && !r.retransmitted && !r.sacked);
            if let Some(record) = waiting {
                return Some((number, record.length));
            }
            let queue = if again { &mut self.to_retransmit_again } else { &mut self.to_retransmit };
            queue.pop_front();
        };
        first_valid(true).or_else(|| first_valid(false))
    }

    /// The number of the last record, for a tail-loss probe.
    pub(crate) fn last(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.end_number() - 1)
    }

    /// What sending the record again adds to the flight.
    pub(crate) fn missing(&mut self, number: u64) -> u64 {
        let record = self.get_mut(number).filter(|record| !record.retransmitted);
        record.map_or(0, |record| u64::from(record.length))
    }

    /// Accounts for sending a record again.
    pub(crate) fn retransmit(
        &mut self,
        number: u64,
        now: Instant,
        snapshot: Snapshot,
    ) -> Option<Record> {
        let record = self.get_mut(number)?;
        let added = if record.retransmitted { 0 } else { u64::from(record.length) };
        (record.retransmitted, record.ever_retransmitted) = (true, true);
        (record.sent, record.snapshot) = (now, snapshot);
        record.first_retransmission.get_or_insert(now);
        let record = *record;
        self.retransmitted += added;
        self.retransmissions.push_back((number, now));
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u32 = 1000;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(SIZE);
        for index in 0..segments {
            let sent = Instant::from_nanos(index as i64);
            let sequence = index * u64::from(SIZE);
            board.push(Record { sequence, length: SIZE, sent, ..Record::default() });
        }
        board
    }

    /// Segments `first..last` arrive.
    fn sack(board: &mut Scoreboard, first: u64, last: u64) -> AckOutcome {
        let mut outcome = AckOutcome::default();
        let size = u64::from(SIZE);
        board.selectively_acknowledge((first * size, last * size), &mut outcome);
        board.detect_losses(&mut outcome);
        outcome
    }

    /// By hand after RFC 6675: ten segments, 0 and 4 missing.
    #[test]
    fn is_lost_needs_three_segments_above() {
        let mut board = board(10);
        assert_eq!(sack(&mut board, 1, 2).newly_lost, 0);
        assert_eq!(sack(&mut board, 1, 3).newly_lost, 0);
        assert_eq!(board.in_flight(), 8000);
        let third = sack(&mut board, 1, 4);
        assert_eq!((third.newly_lost, third.delivered), (1000, 1000));
        assert_eq!(board.in_flight(), 6000);
        assert_eq!(board.next_retransmission(), Some((0, SIZE)));
        assert_eq!(sack(&mut board, 5, 7).newly_lost, 0);
        assert_eq!(sack(&mut board, 5, 8).newly_lost, 1000);
        board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
        assert_eq!(board.next_retransmission(), Some((4, SIZE)));
        // 8 and 9 and the retransmission of 0.
        assert_eq!(board.in_flight(), 3000);
    }

    /// Each loss once, in the order judged; a time-out reports only what was not known.
    #[test]
    fn losses_are_reported_one_by_one() {
        let mut board = board(10);
        sack(&mut board, 2, 5);
        let mut reported = || board.take_lost().map(|record| record.sequence / u64::from(SIZE));
        assert_eq!([reported(), reported(), reported()], [Some(0), Some(1), None]);
        board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
        let mut outcome = AckOutcome::default();
        let overtaken = Instant::from_nanos(101);
        board.detect_lost_retransmissions((overtaken, 0), Duration::ZERO, overtaken, &mut outcome);
        assert_eq!(board.take_lost().map(|record| record.sequence), Some(0));
        board.mark_all_lost();
        let rest = std::iter::from_fn(|| board.take_lost()).map(|record| record.sequence / 1000);
        assert_eq!(rest.collect::<Vec<_>>(), [5, 6, 7, 8, 9]);
    }

    #[test]
    fn three_separate_runs_prove_a_loss_without_the_bytes() {
        let mut board = board(10);
        let mut outcome = AckOutcome::default();
        for start in [3000, 5000, 7000] {
            assert_eq!(outcome.newly_lost, 0);
            board.selectively_acknowledge((start, start + 100), &mut outcome);
            board.detect_losses(&mut outcome);
        }
        // Below the lowest of the three runs lie segments 0, 1, 2; none of the runs fills a record.
        assert_eq!((outcome.newly_lost, outcome.newly_sacked), (3000, 0));
    }

    #[test]
    fn an_overtaken_retransmission_is_lost_again() {
        let mut board = board(10);
        sack(&mut board, 1, 4);
        let sent = Instant::from_nanos(100);
        board.retransmit(0, sent, Snapshot::default());
        let mut outcome = AckOutcome::default();
        let age = Duration::from_nanos(10);
        let due = sent + age;
        // What arrived left before it; then one that left after it, but too soon; then late enough.
        for (newest, now, next) in [((sent, 0), 120, None), ((sent, 4000), 109, Some(due))] {
            let now = Instant::from_nanos(now);
            let judged = board.detect_lost_retransmissions(newest, age, now, &mut outcome);
            assert_eq!(judged, next);
            assert_eq!((outcome.newly_lost, board.next_retransmission()), (0, None));
        }
        let judged = board.detect_lost_retransmissions((sent, 4000), age, due, &mut outcome);
        assert_eq!(judged, None);
        assert_eq!((outcome.newly_lost, board.next_retransmission()), (1000, Some((0, SIZE))));
    }

    #[test]
    fn time_out_keeps_what_was_selectively_acknowledged() {
        let mut board = board(6);
        sack(&mut board, 2, 4);
        assert_eq!(board.mark_all_lost(), 4000);
        assert_eq!(board.in_flight(), 0);
        let mut order = Vec::new();
        while let Some((number, _)) = board.next_retransmission() {
            board.retransmit(number, Instant::ZERO, Snapshot::default());
            order.push(number);
        }
        assert_eq!(order, [0, 1, 4, 5]);
        let mut outcome = AckOutcome::default();
        board.acknowledge(5500, &mut outcome);
        assert_eq!((outcome.advanced, outcome.delivered), (5500, 3500));
        assert_eq!(board.in_flight(), 500);
    }

    #[test]
    fn reneged_or_foreign_blocks_are_ignored() {
        let mut board = board(3);
        for block in [(0, 0), (5, 2), (0, 3001), (u64::MAX - 1, u64::MAX)] {
            let mut outcome = AckOutcome::default();
            board.selectively_acknowledge(block, &mut outcome);
            assert_eq!((outcome.delivered, board.in_flight()), (0, 3000));
        }
    }

    /// The segment that was sent last of those that arrived, and the first and last of those sent once, of which a
    /// round trip can be known (RFC 6298 section 3).
    #[test]
    fn an_ack_tells_which_of_its_segments_were_sent_first_and_last() {
        let mut board = board(6);
        sack(&mut board, 1, 4);
        board.retransmit(0, Instant::from_nanos(100), Snapshot::default());
        let mut outcome = AckOutcome::default();
        board.acknowledge(6000, &mut outcome);
        let nanos = |at: Option<Instant>| at.map(Instant::as_nanos);
        assert_eq!((nanos(outcome.oldest_sent), nanos(outcome.newest_sent)), (Some(4), Some(5)));
        assert_eq!(outcome.newest.map(|record| record.sequence), Some(0), "sent again at 100 ns");
        assert_eq!(nanos(outcome.first_retransmission), Some(100));
        assert_eq!((outcome.records, outcome.delivered, outcome.advanced), (3, 3000, 6000));
        let mut outcome = AckOutcome::default();
        self::board(3).acknowledge(3000, &mut outcome);
        assert_eq!(outcome.newest.map(|record| record.sequence), Some(2000));
    }

    #[test]
    fn a_retransmission_on_its_way_adds_nothing_when_it_is_sent_once_more() {
        let mut board = board(6);
        sack(&mut board, 1, 4);
        assert_eq!((board.in_flight(), board.missing(0)), (2000, 1000));
        for at in [100, 200] {
            board.retransmit(0, Instant::from_nanos(at), Snapshot::default());
            assert_eq!((board.in_flight(), board.missing(0)), (3000, 0));
        }
    }

    /// A loss that was none doubles DupThresh (Linux: up to `tcp_max_reordering`).
    #[test]
    fn each_loss_that_was_none_asks_for_more_proof() {
        let mut board = board(40);
        assert_eq!(sack(&mut board, 1, 4).newly_lost, 1000);
        assert!(board.has_reached_threshold() && !board.has_seen_reordering());
        board.forget_losses();
        assert!(!board.has_reached_threshold() && board.has_seen_reordering());
        assert_eq!((board.lost(), sack(&mut board, 1, 6).newly_lost), (0, 0));
        assert_eq!(sack(&mut board, 1, 7).newly_lost, 1000);
        board.forget_losses();
        assert_eq!(
            (sack(&mut board, 1, 12).newly_lost, sack(&mut board, 1, 13).newly_lost),
            (0, 1000)
        );
        (0..10).for_each(|_| board.forget_losses());
        assert_eq!(board.threshold, MAX_THRESHOLD);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Send(u32),
        Acknowledge(u64),
        Sack(u64, u64),
        Retransmit,
        OvertakeRetransmissions,
        TimeOut,
        ForgetLosses,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (1u32..=SIZE).prop_map(Step::Send),
            3 => (0u64..3000).prop_map(Step::Acknowledge),
            6 => (0u64..20_000, 1u64..4000).prop_map(|(start, length)| Step::Sack(start, length)),
            4 => Just(Step::Retransmit),
            1 => Just(Step::OvertakeRetransmissions),
            1 => Just(Step::TimeOut),
            1 => Just(Step::ForgetLosses),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        /// The counters are sums over the records, and what ACKs told of is what has moved, whatever comes.
        #[test]
        fn counters_are_sums_over_records(steps in steps()) {
            let mut board = Scoreboard::new(SIZE);
            let (mut acknowledged, mut next, mut now) = (0, 0, Instant::ZERO);
            let (mut delivered, mut newly_sacked, mut arrived) = (0, 0, 0);
            for step in steps {
                now += Duration::from_nanos(1);
                let mut outcome = AckOutcome::default();
                match step {
                    Step::Send(length) => {
                        board.push(Record { sequence: next, length, sent: now, ..Record::default() });
                        next += u64::from(length);
                    }
                    Step::Acknowledge(more) => {
                        let offset = (acknowledged + more).min(next);
                        board.acknowledge(offset, &mut outcome);
                        prop_assert_eq!(outcome.advanced, offset - acknowledged);
                        acknowledged = offset;
                    }
                    Step::Sack(start, length) => {
                        let start = acknowledged + start;
                        board.selectively_acknowledge((start, start + length), &mut outcome);
                        prop_assert_eq!(outcome.newly_sacked, outcome.delivered);
                        board.detect_losses(&mut outcome);
                    }
                    Step::Retransmit => {
                        if let Some((number, _)) = board.next_retransmission() {
                            let in_flight = board.in_flight();
                            let added = board.missing(number);
                            board.retransmit(number, now, Snapshot::default());
                            prop_assert_eq!(board.in_flight(), in_flight + added);
                        }
                    }
                    Step::OvertakeRetransmissions => {
                        let newest = (now, u64::MAX);
                        board.detect_lost_retransmissions(newest, Duration::ZERO, now, &mut outcome);
                        prop_assert_eq!(board.retransmitted, 0);
                    }
                    Step::TimeOut => {
                        board.mark_all_lost();
                        prop_assert_eq!(board.in_flight(), 0);
                    }
                    Step::ForgetLosses => board.forget_losses(),
                }
                (delivered, newly_sacked) =
                    (delivered + outcome.delivered, newly_sacked + outcome.newly_sacked);
                arrived += u64::from(outcome.records);
                let sum = |of: fn(&Record) -> bool| -> u64 {
                    board.records.iter().filter(|r| of(r)).map(|r| u64::from(r.length)).sum()
                };
                prop_assert_eq!(board.outstanding, next - acknowledged);
                prop_assert_eq!(board.outstanding, sum(|_| true));
                prop_assert_eq!(board.sacked, sum(|record| record.sacked));
                prop_assert_eq!(board.lost, sum(|record| record.lost));
                prop_assert_eq!(board.retransmitted, sum(|record| record.retransmitted));
                prop_assert_eq!(delivered, acknowledged + board.sacked);
                prop_assert!(newly_sacked <= delivered && arrived <= delivered);
            }
        }
    }
}
