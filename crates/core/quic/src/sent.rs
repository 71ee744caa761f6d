//! Packets that were sent, and which of them are lost.
//!
//! Source: RFC 9002 section 6.1, appendices A.1, A.7 and A.10.
//! Model: packets by number. One is lost as soon as one that was sent later has arrived, and it is three numbers
//! behind the largest that arrived or was sent 9/8 RTTs ago. What is lost stays known for a while: it may arrive, and
//! persistent congestion is found by what is lost in a row.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | kPacketThreshold | 3 | RFC 9002 section 6.1.1 |

use crate::datagram::StreamFrame;
use gameway_tcp::shared::{Run, Snapshot};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const PACKET_THRESHOLD: u64 = 3;

/// What became of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Outstanding,
    Acknowledged,
    Lost,
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentPacket {
    pub(crate) number: u64,
    pub(crate) sent: Instant,
    /// What it counts in flight.
    pub(crate) size: u32,
    pub(crate) frame: StreamFrame,
    pub(crate) snapshot: Snapshot,
    /// All bytes that were sent until then, this packet's included.
    pub(crate) sent_bytes: u64,
    pub(crate) is_ecn_capable: bool,
    pub(crate) fate: Fate,
}

/// What an ACK frame newly acknowledges.
#[derive(Debug, Clone, Default)]
pub(crate) struct Acknowledged {
    /// Of packets that had not been judged lost, and of those that had.
    pub(crate) packets: Vec<SentPacket>,
    pub(crate) spurious: u32,
}

/// The packets that are not done with, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentPackets {
    packets: VecDeque<SentPacket>,
    next: u64,
    largest_acknowledged: Option<u64>,
    /// Below it nothing is outstanding.
    first_outstanding: u64,
    in_flight: u64,
}

impl SentPackets {
    /// The number of the next packet.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Bytes that are neither acknowledged nor lost.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Takes a packet, which has the next number.
    pub(crate) fn push(&mut self, packet: SentPacket) {
        debug_assert_eq!(packet.number, self.next);
        self.in_flight += u64::from(packet.size);
        self.next += 1;
        self.packets.push_back(packet);
    }

    /// Those that are outstanding, the oldest first.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &SentPacket> {
        let from = self.index(self.first_outstanding);
        self.packets.range(from..).filter(|packet| packet.fate == Fate::Outstanding)
    }

    /// All that are known, the oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &SentPacket> {
        self.packets.iter()
    }

    /// The place of a number, or of the nearest that is known.
    fn index(&self, number: u64) -> usize {
        let first = self.next - self.packets.len() as u64;
        (number.max(first) - first).min(self.packets.len() as u64) as usize
    }

    /// Marks what these ranges cover as arrived; the newest packet comes last.
    pub(crate) fn acknowledge(&mut self, ranges: &[Run]) -> Acknowledged {
        let mut newly = Acknowledged::default();
        for &(start, end) in ranges.iter().rev() {
            let (from, to) = (self.index(start), self.index(end));
            for packet in self.packets.range_mut(from..to.max(from)) {
                match packet.fate {
                    Fate::Acknowledged => continue,
                    Fate::Outstanding => self.in_flight -= u64::from(packet.size),
                    Fate::Lost => newly.spurious += 1,
                }
                newly.packets.push(*packet);
                packet.fate = Fate::Acknowledged;
            }
        }
        let largest = newly.packets.last().map(|packet| packet.number);
        self.largest_acknowledged = self.largest_acknowledged.max(largest);
        self.advance();
        newly
    }

    /// Judges which packets are lost now, and when the next may be (appendix A.10).
    pub(crate) fn detect_losses(
        &mut self,
        now: Instant,
        loss_delay: Duration,
    ) -> (Vec<SentPacket>, Option<Instant>) {
        let (mut lost, mut due) = (Vec::new(), None::<Instant>);
        let Some(largest) = self.largest_acknowledged else { return (lost, due) };
        let (from, to) = (self.index(self.first_outstanding), self.index(largest));
        for packet in self.packets.range_mut(from..to.max(from)) {
            if packet.fate != Fate::Outstanding {
                continue;
            }
            let too_old = packet.sent.saturating_add(loss_delay);
            if too_old <= now || largest - packet.number >= PACKET_THRESHOLD {
                packet.fate = Fate::Lost;
                self.in_flight -= u64::from(packet.size);
                lost.push(*packet);
            } else {
                due = Some(due.map_or(too_old, |due| due.min(too_old)));
            }
        }
        self.advance();
        (lost, due)
    }

    fn advance(&mut self) {
        let from = self.index(self.first_outstanding);
        let rest = self.packets.range(from..);
        let done = rest.take_while(|packet| packet.fate != Fate::Outstanding).count();
        self.first_outstanding = self.next - (self.packets.len() - from - done) as u64;
    }

    /// Forgets what has arrived, and what was lost so long ago, as far as nothing older is kept. Losses in a row that an
    /// outstanding packet ends stay known: it may be the loss that makes them persistent congestion.
    pub(crate) fn forget(&mut self, now: Instant, age: Duration) {
        while let Some(front) = self.packets.front() {
            let is_done = match front.fate {
                Fate::Acknowledged => true,
                Fate::Lost => now.saturating_since(front.sent) > age && self.is_run_over(),
                Fate::Outstanding => false,
            };
            if !is_done {
                break;
            }
            self.packets.pop_front();
        }
    }

    /// Whether what ends the oldest losses in a row has arrived.
    fn is_run_over(&self) -> bool {
        let end = self.packets.iter().find(|packet| packet.fate != Fate::Lost);
        end.is_none_or(|packet| packet.fate == Fate::Acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn at(millis: i64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn sent(number: u64, at: Instant) -> SentPacket {
        SentPacket {
            number,
            sent: at,
            size: 1000,
            frame: StreamFrame::default(),
            snapshot: Snapshot::default(),
            sent_bytes: 1000 * (number + 1),
            is_ecn_capable: false,
            fate: Fate::Outstanding,
        }
    }

    /// One packet each millisecond.
    fn ten() -> SentPackets {
        let mut packets = SentPackets::default();
        (0..10).for_each(|number| packets.push(sent(number, at(number as i64))));
        packets
    }

    fn numbers(packets: &[SentPacket]) -> Vec<u64> {
        packets.iter().map(|packet| packet.number).collect()
    }

    const LONG: Duration = Duration::from_secs(1);

    #[test]
    fn three_numbers_behind_are_lost() {
        let mut packets = ten();
        packets.acknowledge(&[(3, 4), (1, 2)]);
        let (lost, due) = packets.detect_losses(at(20), LONG);
        // 0 is three behind 3; 2 is one behind, and lost when it is too old.
        assert_eq!((numbers(&lost), due), (vec![0], Some(at(2) + LONG)));
        assert_eq!(packets.in_flight(), 7_000);
        assert!(packets.detect_losses(at(20), LONG).0.is_empty(), "once");
        assert_eq!(packets.outstanding().next().map(|packet| packet.number), Some(2));
    }

    #[test]
    fn what_was_sent_too_long_ago_is_lost_if_something_later_has_arrived() {
        let mut packets = ten();
        assert!(packets.detect_losses(at(9_000), LONG).0.is_empty(), "nothing arrived");
        packets.acknowledge(&[(2, 3)]);
        let (lost, due) = packets.detect_losses(at(1_000), LONG);
        assert_eq!((numbers(&lost), due), (vec![0], Some(at(1_001))));
        let (lost, due) = packets.detect_losses(at(1_001), LONG);
        assert_eq!((numbers(&lost), due), (vec![1], None));
    }

    #[test]
    fn what_was_lost_and_comes_is_spurious() {
        let mut packets = ten();
        packets.acknowledge(&[(5, 10)]);
        assert_eq!(numbers(&packets.detect_losses(at(20), LONG).0), [0, 1, 2, 3, 4]);
        let late = packets.acknowledge(&[(5, 10), (2, 4)]);
        assert_eq!((numbers(&late.packets), late.spurious), (vec![2, 3], 2));
        assert_eq!(packets.in_flight(), 0);
        packets.forget(at(100), Duration::from_millis(96));
        assert_eq!(
            packets.all().next().map(|packet| packet.number),
            Some(4),
            "0 and 1 by their age; 4 is as old as may be"
        );
        packets.forget(at(101), Duration::from_millis(96));
        assert_eq!(packets.all().count(), 0);
        assert_eq!(packets.next_number(), 10);
    }

    proptest! {
        /// The RFC's pseudo-code over a plain list finds the same.
        #[test]
        fn agrees_with_the_appendix(
            steps in prop::collection::vec((0u64..60, 1u64..6, 0i64..30), 1..40)
        ) {
            let (mut packets, mut model) = (SentPackets::default(), Vec::new());
            let (mut now, mut largest) = (0, None::<u64>);
            let delay = Duration::from_millis(40);
            for (start, length, later) in steps {
                for _ in 0..3 {
                    let packet = sent(packets.next_number(), at(now));
                    packets.push(packet);
                    model.push(packet);
                }
                now += later;
                let end = (start + length).min(packets.next_number());
                if start < end {
                    packets.acknowledge(&[(start, end)]);
                    model.retain(|packet| !(start..end).contains(&packet.number));
                    largest = largest.max(Some(end - 1));
                }
                let (lost, due) = packets.detect_losses(at(now), delay);
                let is_behind = |packet: &SentPacket| largest.is_some_and(|l| packet.number <= l);
                let is_lost = |packet: &SentPacket| {
                    is_behind(packet)
                        && (packet.sent + delay <= at(now)
                            || largest.is_some_and(|l| l >= packet.number + PACKET_THRESHOLD))
                };
                let expected: Vec<_> = model.iter().copied().filter(is_lost).collect();
                prop_assert_eq!(numbers(&lost), numbers(&expected));
                model.retain(|packet| !is_lost(packet));
                let waits = model.iter().filter(|p| is_behind(p)).map(|p| p.sent + delay).min();
                prop_assert_eq!(due, waits);
                prop_assert_eq!(packets.in_flight(), 1000 * model.len() as u64);
                prop_assert_eq!(packets.outstanding().count(), model.len());
                packets.forget(at(now), delay);
            }
        }
    }
}
