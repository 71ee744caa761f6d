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

    /// A time-out: whatever has not arrived is to be sent again (RFC 6675 section 5.1, SACK kept). Gives the bytes that were under
    /// way until now, retransmissions too, as Linux counts them (`tcp_mark_skb_lost`).
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let mut newly_lost = 0;
        self.to_retransmit.clear();
        self.to_retransmit_again.clear();
        self.retransmissions.clear();
        (self.lost, self.retransmitted) = (0, 0);
        for (index, record) in self.records.iter_mut().enumerate().filter(|(_, r)| !r.sacked) {
            let number = self.front_number + index as u64;
            if !record.lost || record.retransmitted {
                self.losses.push_back(number);
                newly_lost += u64::from(record.length);
            }
            (record.lost, record.retransmitted) = (true, false);
            record.first_retransmission = None;
            self.lost += u64::from(record.length);
            self.to_retransmit.push_back(number);
        }
        self.judged_below = self.end_number();
        newly_lost
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
mod tests;
