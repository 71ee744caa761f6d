//! Packets of sound in the order of their numbers, and what is to be concealed between them. Sans-IO.
//!
//! A packet is played as soon as all before it were, or are given up: nothing is held back to smooth the delay, since
//! what is measured is when a packet can be heard, not when a listener's clock asks for it.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | wait for a missing packet | 20 ms after one that follows it | two packets: what is later than that would be heard as a gap anyway |
//! | concealed in a row | 5 packets, 50 ms | libopus fades what it conceals within that; the rest of a longer gap is left out |
//! | kept | 64 packets | 640 ms, more than can come within the wait unless a peer lies |

use gameway_units::{Duration, Instant};
use gameway_webrtc::{Negotiated, RtpHeader, red, unwrap_number};
use std::collections::BTreeMap;

/// How long a missing packet is waited for.
pub const WAIT: Duration = Duration::from_millis(20);
const MAX_CONCEALED: u32 = 5;
/// Packets that are kept at most.
pub const MAX_KEPT: usize = 64;
/// Numbers have 16 bits.
const BITS: u32 = 16;

/// A packet of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundPacket {
    /// Its RTP time stamp.
    pub timestamp: u32,
    /// When it arrived.
    pub arrived: Instant,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// What is to be played next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Play {
    /// This packet.
    Packet(SoundPacket),
    /// Something in place of a packet that is missing.
    Concealment,
}

/// What became of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SoundCounts {
    /// Arrived, copies and late ones included.
    pub received: u64,
    /// Given to be played.
    pub played: u64,
    /// Missing, and concealed.
    pub concealed: u64,
    /// Missing in longer gaps, and left out.
    pub left_out: u64,
    /// Came after they were given up, or twice.
    pub late: u64,
    /// Lost, and played of a copy that a later one had of them.
    pub repaired: u64,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct SoundInbox {
    /// The number that is played next; unknown before the first packet.
    next: Option<u64>,
    newest: u64,
    waiting: BTreeMap<u64, SoundPacket>,
    concealed_in_a_row: u32,
    counts: SoundCounts,
}

impl SoundInbox {
    /// An RTP packet arrived; whether it is one of sound. Its older blocks are those of the packets before it (RFC 2198).
    pub fn take(
        &mut self,
        terms: &Negotiated,
        header: &RtpHeader,
        payload: &[u8],
        arrived: Instant,
    ) -> bool {
        if header.ssrc != terms.audio_ssrc {
            return false;
        }
        let (number, timestamp) = (header.sequence_number, header.timestamp);
        let of_type = Some(header.payload_type);
        if terms.audio == of_type {
            self.put(number, SoundPacket { timestamp, arrived, payload: payload.to_vec() });
            return true;
        }
        if terms.red != of_type {
            return false;
        }
        let blocks = red::parse(payload).unwrap_or_default();
        for (back, block) in (0_u16..).zip(blocks.iter().rev()) {
            let timestamp = timestamp.wrapping_sub(block.offset);
            let packet = SoundPacket { timestamp, arrived, payload: block.payload.to_vec() };
            match back {
                0 => self.put(number, packet),
                _ => self.put_copy(number.wrapping_sub(back), packet),
            }
        }
        true
    }

    /// A packet arrived with this RTP sequence number.
    pub fn put(&mut self, sequence_number: u16, packet: SoundPacket) {
        self.counts.received += 1;
        if !self.insert(sequence_number, packet) {
            self.counts.late += 1;
        }
    }

    /// A copy arrived of a packet with this number, behind the packet that had it.
    fn put_copy(&mut self, sequence_number: u16, packet: SoundPacket) {
        if self.insert(sequence_number, packet) {
            self.counts.repaired += 1;
        }
    }

    /// Whether it is of use.
    fn insert(&mut self, sequence_number: u16, packet: SoundPacket) -> bool {
        let low = u64::from(sequence_number);
        // Room below the first, so that none is below zero.
        let near = if self.next.is_some() { self.newest } else { low + (1 << BITS) };
        let number = unwrap_number(near, low, BITS);
        let next = *self.next.get_or_insert(number);
        self.newest = self.newest.max(number);
        if number < next || self.waiting.contains_key(&number) {
            return false;
        }
        self.waiting.insert(number, packet);
        if self.waiting.len() > MAX_KEPT {
            self.leave_out();
        }
        true
    }

    /// What is to be played now, if anything; ask until there is nothing.
    pub fn poll(&mut self, now: Instant) -> Option<Play> {
        let (&first, _) = self.waiting.first_key_value()?;
        let next = self.next?;
        if first > next {
            if self.next_deadline()? > now {
                return None;
            }
            if self.concealed_in_a_row < MAX_CONCEALED {
                self.next = Some(next + 1);
                self.concealed_in_a_row += 1;
                self.counts.concealed += 1;
                return Some(Play::Concealment);
            }
            self.leave_out();
        }
        let (number, packet) = self.waiting.pop_first()?;
        self.next = Some(number + 1);
        self.concealed_in_a_row = 0;
        self.counts.played += 1;
        Some(Play::Packet(packet))
    }

    /// When the packet that is missing is given up, if one is.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let (&first, _) = self.waiting.first_key_value()?;
        let missing = self.next.is_some_and(|next| first > next);
        let oldest = self.waiting.values().map(|packet| packet.arrived).min()?;
        missing.then(|| oldest.saturating_add(WAIT))
    }

    /// What became of packets so far.
    #[must_use]
    pub fn counts(&self) -> SoundCounts {
        self.counts
    }

    /// Packets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Goes on with the first packet that is there.
    fn leave_out(&mut self) {
        if let (Some(next), Some((&first, _))) = (self.next, self.waiting.first_key_value()) {
            self.counts.left_out += first.saturating_sub(next);
            self.next = Some(first.max(next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn put(inbox: &mut SoundInbox, number: u16, millis: i64) {
        let packet = SoundPacket {
            timestamp: u32::from(number) * 480,
            arrived: at(millis),
            payload: number.to_be_bytes().to_vec(),
        };
        inbox.put(number, packet);
    }

    /// The numbers played until now; `None` for a concealment.
    fn played(inbox: &mut SoundInbox, millis: i64) -> Vec<Option<u16>> {
        let number = |play| match play {
            Play::Packet(packet) => Some((packet.timestamp / 480) as u16),
            Play::Concealment => None,
        };
        std::iter::from_fn(|| inbox.poll(at(millis))).map(number).collect()
    }

    #[test]
    fn what_is_in_order_is_played_at_once_and_across_the_wrap() {
        let mut inbox = SoundInbox::default();
        for (millis, number) in [(0, 65_534), (10, 65_535), (20, 0), (30, 1)] {
            put(&mut inbox, number, millis);
            assert_eq!(played(&mut inbox, millis), [Some(number)]);
        }
        let counts = SoundCounts { received: 4, played: 4, ..SoundCounts::default() };
        assert_eq!((inbox.counts(), inbox.next_deadline()), (counts, None));
    }

    #[test]
    fn a_missing_packet_is_waited_for_and_then_concealed_once() {
        let mut inbox = SoundInbox::default();
        put(&mut inbox, 7, 0);
        put(&mut inbox, 9, 20);
        assert_eq!(played(&mut inbox, 20), [Some(7)]);
        put(&mut inbox, 10, 30);
        assert_eq!((played(&mut inbox, 39), inbox.next_deadline()), (vec![], Some(at(40))));
        let mut patient = SoundInbox::default();
        for (number, millis) in [(7, 0), (9, 20), (8, 39)] {
            put(&mut patient, number, millis);
        }
        assert_eq!(played(&mut patient, 39), [Some(7), Some(8), Some(9)], "it came in time");
        assert_eq!(played(&mut inbox, 40), [None, Some(9), Some(10)]);
        put(&mut inbox, 8, 41);
        assert_eq!(played(&mut inbox, 100), []);
        let counts =
            SoundCounts { received: 4, played: 3, concealed: 1, late: 1, ..SoundCounts::default() };
        assert_eq!(inbox.counts(), counts);
    }

    #[test]
    fn a_copy_stands_in_for_a_lost_packet_and_for_no_other() {
        let copy = |inbox: &mut SoundInbox, number: u16, millis| {
            let (timestamp, payload) = (u32::from(number) * 480, number.to_be_bytes().to_vec());
            inbox.put_copy(number, SoundPacket { timestamp, arrived: at(millis), payload });
        };
        let mut inbox = SoundInbox::default();
        put(&mut inbox, 7, 0);
        copy(&mut inbox, 6, 0);
        assert_eq!(played(&mut inbox, 0), [Some(7)], "nobody missed what was before the first");
        copy(&mut inbox, 7, 20);
        copy(&mut inbox, 8, 20);
        put(&mut inbox, 9, 20);
        assert_eq!(played(&mut inbox, 20), [Some(8), Some(9)]);
        put(&mut inbox, 8, 21);
        let counts = inbox.counts();
        assert_eq!((counts.received, counts.repaired, counts.late), (3, 1, 1));
    }

    #[test]
    fn a_long_gap_is_concealed_at_its_beginning_only() {
        let mut inbox = SoundInbox::default();
        put(&mut inbox, 0, 0);
        put(&mut inbox, 300, 3_000);
        let expected = [Some(0), None, None, None, None, None, Some(300)];
        assert_eq!(played(&mut inbox, 3_020), expected);
        let counts = inbox.counts();
        assert_eq!((counts.concealed, counts.left_out), (5, 294));
    }

    proptest! {
        #[test]
        fn each_packet_is_played_once_in_order_or_counted(
            arrivals in prop::collection::vec((0..400_u16, 0..15_i64), 1..300)
        ) {
            let (mut inbox, mut millis, mut all) = (SoundInbox::default(), 0, Vec::new());
            for (number, pause) in arrivals {
                millis += pause;
                put(&mut inbox, number, millis);
                all.extend(played(&mut inbox, millis));
                prop_assert!(inbox.len() <= MAX_KEPT);
            }
            all.extend(played(&mut inbox, millis + 20));
            prop_assert!(inbox.is_empty());
            let numbers: Vec<u16> = all.iter().flatten().copied().collect();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
            let counts = inbox.counts();
            prop_assert_eq!(counts.received, counts.played + counts.late);
            prop_assert_eq!(counts.concealed as usize, all.len() - numbers.len());
            // Between the first and the last each number has one fate.
            let span = u64::from(numbers[numbers.len() - 1] - numbers[0]) + 1;
            prop_assert_eq!(counts.played + counts.concealed + counts.left_out, span);
        }
    }
}
