//! What the sender remembers of packets under way, and what the receiver's reports make of it.
//!
//! # Model
//! Each packet is in flight until it is resolved: *received*, once a report says when it arrived; or
//! *lost*, once it is still missing although three packets sent later have arrived, or once nothing has
//! been heard of it for a second. A lost packet of which a later report says that it arrived is reported
//! once more, as received. Packets that no report ever covers, because three reports in a row were lost,
//! are resolved by the same rules, as lost.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | reordering threshold | 3 packets | RFC 9002 section 6.1.1 |
//! | silence | 1 s | RFC 6298 section 2.4: the least retransmission timeout; without it a congestion window full of lost packets would stay closed |
//! | late arrivals | kept for 1 s after departure | what comes later is of no use to any controller |
//! | packets kept | 32768 | twice a report's range; the oldest goes when a peer is silent and the rate is high |

use crate::feedback::FeedbackPacket;
use gameway_control::{PacketReport, SentPacket, SequenceNumber};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use std::collections::VecDeque;

/// Packets sent later that must arrive before a missing one is taken for lost.
const REORDERING_THRESHOLD: usize = 3;
const SILENCE: Duration = Duration::from_secs(1);
const LATE_ARRIVALS: Duration = Duration::from_secs(1);
pub(crate) const MAX_PACKETS: usize = 2 * FeedbackPacket::MAX_PACKETS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InFlight,
    Received,
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    packet: SentPacket,
    fate: Fate,
}

/// Packets sent, by transport-wide number without gaps.
#[derive(Debug, Default)]
pub(crate) struct SentHistory {
    /// The number of the first entry.
    base: u64,
    entries: VecDeque<Entry>,
    in_flight: Bytes,
    /// Every packet before this one is resolved.
    unresolved_from: u64,
    /// One past the numbers of the newest packets that arrived, newest first; zero for none.
    newest_received: [u64; REORDERING_THRESHOLD],
}

impl SentHistory {
    /// Bytes sent and not resolved.
    pub(crate) fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// One past the newest packet.
    pub(crate) fn end(&self) -> SequenceNumber {
        SequenceNumber(self.base + self.entries.len() as u64)
    }

    /// When [`Self::expire`] will find something.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        let oldest = self.entries.get((self.unresolved_from - self.base) as usize)?;
        Some(oldest.packet.sent.saturating_add(SILENCE))
    }

    /// Notes a departure; the packet's number must be [`Self::end`].
    pub(crate) fn on_sent(&mut self, packet: SentPacket) {
        assert_eq!(packet.sequence, self.end());
        if self.entries.len() >= MAX_PACKETS {
            self.drop_oldest();
        }
        self.in_flight += packet.size;
        self.entries.push_back(Entry { packet, fate: Fate::InFlight });
    }

    /// Resolves packets by a report of the receiver; appends what is news to `reports`.
    pub(crate) fn on_feedback(
        &mut self,
        now: Instant,
        feedback: &FeedbackPacket,
        reports: &mut Vec<PacketReport>,
    ) {
        let covered_end =
            feedback.base.0.saturating_add(feedback.packets.len() as u64).min(self.end().0);
        self.note_newest(feedback, covered_end);
        let start = self.unresolved_from.min(feedback.base.0).max(self.base);
        for number in start..covered_end {
            let told = number.checked_sub(feedback.base.0);
            let received = told.and_then(|index| feedback.packets[index as usize]);
            let overtaken = number + 1 < self.newest_received[REORDERING_THRESHOLD - 1];
            let entry = &mut self.entries[(number - self.base) as usize];
            let (fate, arrival, ecn) = match (entry.fate, received) {
                (Fate::InFlight | Fate::Lost, Some(received)) => {
                    (Fate::Received, Some(received.arrival), received.ecn)
                }
                (Fate::InFlight, None) if overtaken => (Fate::Lost, None, Ecn::NotEct),
                _ => continue,
            };
            if entry.fate == Fate::InFlight {
                self.in_flight -= entry.packet.size;
            }
            entry.fate = fate;
            reports.push(PacketReport::new(entry.packet, arrival).with_ecn(ecn));
        }
        self.tidy(now);
    }

    /// Gives up on packets of which nothing has been heard for too long; appends them to `reports`.
    pub(crate) fn expire(&mut self, now: Instant, reports: &mut Vec<PacketReport>) {
        while self.expiry().is_some_and(|expiry| expiry <= now) {
            let entry = &mut self.entries[(self.unresolved_from - self.base) as usize];
            if entry.fate == Fate::InFlight {
                entry.fate = Fate::Lost;
                self.in_flight -= entry.packet.size;
                reports.push(PacketReport::new(entry.packet, None));
            }
            self.unresolved_from += 1;
        }
        self.tidy(now);
    }

    /// Keeps the numbers of the newest packets that arrived up to date.
    fn note_newest(&mut self, feedback: &FeedbackPacket, covered_end: u64) {
        let covered = covered_end.saturating_sub(feedback.base.0) as usize;
        let newest = feedback.packets[..covered].iter().enumerate().rev();
        let newest = newest.filter(|(_, received)| received.is_some());
        for (index, _) in newest.take(REORDERING_THRESHOLD) {
            let number = feedback.base.0 + index as u64 + 1;
            let rank = self.newest_received.partition_point(|&known| known > number);
            if rank < REORDERING_THRESHOLD && self.newest_received[rank] != number {
                self.newest_received[rank..].rotate_right(1);
                self.newest_received[rank] = number;
            }
        }
    }

    /// Moves past what is resolved and forgets what no report can change.
    fn tidy(&mut self, now: Instant) {
        let resolved = |entry: &Entry| entry.fate != Fate::InFlight;
        while self.entries.get((self.unresolved_from - self.base) as usize).is_some_and(resolved) {
            self.unresolved_from += 1;
        }
        while let Some(oldest) = self.entries.front() {
            let done = match oldest.fate {
                Fate::InFlight => false,
                Fate::Received => true,
                Fate::Lost => oldest.packet.sent.saturating_add(LATE_ARRIVALS) < now,
            };
            if !done {
                break;
            }
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.entries.pop_front() {
            if oldest.fate == Fate::InFlight {
                self.in_flight -= oldest.packet.size;
            }
            self.base += 1;
            self.unresolved_from = self.unresolved_from.max(self.base);
        }
    }
}

#[cfg(test)]
mod tests;
