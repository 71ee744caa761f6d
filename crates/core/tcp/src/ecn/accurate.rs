//! The counters of accurate ECN, and how they travel: the ACE field and the AccECN option.
//!
//! Source: RFC 9768 sections 3.2.1 to 3.2.3, appendices A.1 to A.3 (its draft -34 was at hand).
//! Model: the receiver counts CE-marked packets and the payload of marked packets by codepoint. Each
//! ACK carries the packets modulo 8 in the three ECN flags and, if there is something new and room,
//! the bytes modulo 2^24 in an option. The sender adds the least increase that fits; where the
//! packets may have wrapped, the option tells, or else the worst case counts.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | initial values | 5 packets; 1 B of ECT(0) and of ECT(1), 0 B of CE | RFC 9768 section 3.2.1 |
//! | modulus of ACE | 8 packets | RFC 9768 section 3.2.2 |
//! | modulus of the option | 2^24 B | RFC 9768 section 3.2.3 |
//!
//! | Deviation | Why |
//! |---|---|
//! | with the option, wraps are counted as the marked bytes need at least, in place of appendix A.2.2 | the same in all of its examples; exact for full segments, and right beyond one wrap |
//! | the worst case is no worse for ACKs that are always thinned (A.2.1 would allow it) | only without the option, which every receiver of this crate sends |
//! | a byte counter of the sender that an estimate has put too high waits for the receiver's | RFC 9768 leaves it open; Linux `tcp_update_ecn_bytes` |

use crate::segment::AccurateEcnOption;
use gameway_units::Ecn;

const FIRST_PACKETS: u64 = 5;
const FIRST_ECT_BYTES: u64 = 1;
const ACE_MODULUS: u64 = 8;
const OPTION_MODULUS: u64 = 1 << 24;

/// What a receiver counts: `r.cep`, `r.ceb`, `r.e0b` and `r.e1b`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedCounters {
    packets: u64,
    ce: u64,
    ect0: u64,
    ect1: u64,
    /// Of all three byte counters when the latest option left.
    told: u64,
}

impl Default for ReceivedCounters {
    fn default() -> Self {
        let ect = FIRST_ECT_BYTES;
        Self { packets: FIRST_PACKETS, ce: 0, ect0: ect, ect1: ect, told: 2 * ect }
    }
}

impl ReceivedCounters {
    pub(super) fn on_packet(&mut self, ecn: Ecn, payload: u64) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += payload,
            Ecn::Ect1 => self.ect1 += payload,
            Ecn::Ce => {
                self.packets += 1;
                self.ce += payload;
            }
        }
    }

    pub(super) fn ace(&self) -> u8 {
        (self.packets % ACE_MODULUS) as u8
    }

    /// The option of the next ACK: none if no counter has moved since the last one, else every
    /// counter that ever moved (section 3.2.3.3).
    pub(super) fn take_option(&mut self) -> AccurateEcnOption {
        let all = self.ce + self.ect0 + self.ect1;
        if all == self.told {
            return AccurateEcnOption::default();
        }
        self.told = all;
        let both = self.ect0 > FIRST_ECT_BYTES && self.ect1 > FIRST_ECT_BYTES;
        let low = |bytes: u64| (bytes % OPTION_MODULUS) as u32;
        AccurateEcnOption {
            fields: if both { 3 } else { 1 + u8::from(self.ce > 0) },
            ect0: low(self.ect0),
            ect1: low(self.ect1),
            ce: low(self.ce),
        }
    }
}

/// What an ACK newly tells about marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks {
    /// Packets that arrived marked.
    pub(crate) packets: u64,
    /// Their payload.
    pub(crate) bytes: u64,
}

/// What the same ACK newly acknowledges, and the largest payload of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledged {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) segment_size: u64,
}

/// What a sender counts: `s.cep` and `s.ceb`.
#[derive(Debug, Clone, Copy)]
pub(super) struct FedBackCounters {
    packets: u64,
    bytes: u64,
    option_seen: bool,
}

impl Default for FedBackCounters {
    fn default() -> Self {
        Self { packets: FIRST_PACKETS, bytes: 0, option_seen: false }
    }
}

impl FedBackCounters {
    /// The SYN-ACK arrived marked (table 4).
    pub(super) fn count_syn_ack(&mut self) {
        self.packets += 1;
    }

    /// Decodes an ACK that no other has superseded.
    pub(super) fn on_ack(
        &mut self,
        ace: u8,
        option: &AccurateEcnOption,
        acknowledged: Acknowledged,
    ) -> Marks {
        self.option_seen |= option.fields > 0;
        let min = (u64::from(ace) + ACE_MODULUS - self.packets % ACE_MODULUS) % ACE_MODULUS;
        let told = option.marked().map(|low| self.advance_bytes(low));
        let packets = match told {
            Some(bytes) => at_least(min, bytes.div_ceil(acknowledged.segment_size.max(1))),
            // An option that is not there although others were: no byte counter has moved.
            None if self.option_seen => min,
            None => safest(min, acknowledged.packets),
        };
        self.packets += packets;
        let bytes = told.unwrap_or_else(|| {
            let each = acknowledged.bytes.checked_div(acknowledged.packets);
            let estimate = packets * each.unwrap_or(acknowledged.segment_size);
            self.bytes += estimate;
            estimate
        });
        Marks { packets, bytes }
    }

    /// Moves the counter to the value that ends in `low` and is nearest (appendix A.1); gives by how
    /// much it rose.
    fn advance_bytes(&mut self, low: u64) -> u64 {
        let ahead = (low + OPTION_MODULUS - self.bytes % OPTION_MODULUS) % OPTION_MODULUS;
        if ahead < OPTION_MODULUS / 2 {
            self.bytes += ahead;
            return ahead;
        }
        self.bytes = self.bytes.saturating_sub(OPTION_MODULUS - ahead);
        0
    }
}

/// The least number of marked packets that is `min` modulo 8 and not below `needed`.
const fn at_least(min: u64, needed: u64) -> u64 {
    min + needed.saturating_sub(min).div_ceil(ACE_MODULUS) * ACE_MODULUS
}

/// The largest number of marked packets that is `min` modulo 8 and not above what was
/// acknowledged (appendix A.2.1).
const fn safest(min: u64, acknowledged: u64) -> u64 {
    match acknowledged.checked_sub(min) {
        Some(room) => acknowledged - room % ACE_MODULUS,
        // Section 3.2.2.5.2: the field is right, the count of packets is not.
        None => min,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 1460;

    fn acknowledged(packets: u64) -> Acknowledged {
        Acknowledged { packets, bytes: packets * SIZE, segment_size: SIZE }
    }

    /// Appendix A.2.1: of 9 packets 2 were marked, of 10 it may have been 10.
    #[test]
    fn worst_case_without_the_option() {
        for (packets, expected) in [(3, 2), (9, 2), (10, 10), (17, 10), (18, 18), (1, 2)] {
            let mut counters = FedBackCounters::default();
            let marks = counters.on_ack(7, &AccurateEcnOption::default(), acknowledged(packets));
            assert_eq!((marks.packets, marks.bytes), (expected, expected * SIZE));
        }
    }

    /// The examples of appendix A.2.2: `d.cep`, `d.ceb`, and what is likely.
    #[test]
    fn the_option_tells_whether_the_field_has_wrapped() {
        for (min, ce, expected) in [(0, 1460, 8), (2, 1460, 2), (7, 10_200, 7), (2, 14_600, 10)] {
            let option = AccurateEcnOption { fields: 2, ect0: 1, ect1: 1, ce };
            let ace = ((FIRST_PACKETS + min) % ACE_MODULUS) as u8;
            let marks = FedBackCounters::default().on_ack(ace, &option, acknowledged(20));
            assert_eq!((marks.packets, marks.bytes), (expected, u64::from(ce)));
        }
    }

    #[test]
    fn byte_counters_wrap_and_estimates_are_taken_back() {
        let mut counters = FedBackCounters { bytes: 33_554_433, ..Default::default() };
        // Appendix A.1's example.
        assert_eq!((counters.advance_bytes(1461), counters.bytes), (1460, 33_555_893));
        assert_eq!((counters.advance_bytes(461), counters.bytes), (0, 33_554_893));
        assert_eq!(counters.advance_bytes(1461), 1000);
    }

    #[test]
    fn the_option_is_there_when_a_counter_moved_with_every_counter_that_ever_did() {
        let mut counters = ReceivedCounters::default();
        assert_eq!(counters.take_option(), AccurateEcnOption::default());
        counters.on_packet(Ecn::Ect1, SIZE);
        let option = counters.take_option();
        assert_eq!((option.fields, option.ect1, option.length()), (1, 1461, 5));
        counters.on_packet(Ecn::NotEct, SIZE);
        assert_eq!(counters.take_option().length(), 0);
        counters.on_packet(Ecn::Ce, SIZE);
        assert_eq!((counters.ace(), counters.take_option().length()), (6, 8));
        counters.on_packet(Ecn::Ect0, SIZE);
        assert_eq!(counters.take_option().length(), 11);
        counters.on_packet(Ecn::Ce, 0);
        assert_eq!((counters.ace(), counters.take_option().length()), (7, 0));
        let mut classic = ReceivedCounters::default();
        classic.on_packet(Ecn::Ect0, SIZE);
        let option = classic.take_option();
        assert_eq!((option.fields, option.ect0, option.length()), (1, 1461, 5));
    }

    /// Data arrives, each packet marked or not; ACKs leave after some packets each, and some are lost.
    #[derive(Debug, Clone)]
    struct Path {
        marks: Vec<bool>,
        packets_per_ack: Vec<usize>,
        acks_lost: Vec<bool>,
    }

    fn path(packets_per_ack: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Path> {
        let share = prop_oneof![Just(0.02), Just(0.5), Just(1.0)];
        let marks =
            share.prop_flat_map(|share| prop::collection::vec(prop::bool::weighted(share), 1..400));
        let acks = prop::collection::vec(packets_per_ack, 1..50);
        let lost = prop::collection::vec(prop::bool::weighted(0.3), 1..50);
        (marks, acks, lost).prop_map(|(marks, packets_per_ack, acks_lost)| Path {
            marks,
            packets_per_ack,
            acks_lost,
        })
    }

    /// Sends the path's packets; calls `check` after each ACK that arrives, with the packets that it
    /// newly acknowledged.
    fn transfer(
        path: &Path,
        options: bool,
        mut check: impl FnMut(&ReceivedCounters, &FedBackCounters, Marks),
    ) {
        let (mut received, mut fed_back) =
            (ReceivedCounters::default(), FedBackCounters::default());
        let (mut rest, mut unheard) = (&path.marks[..], 0);
        let mut acks = path.packets_per_ack.iter().cycle().zip(path.acks_lost.iter().cycle());
        while let Some((packets, lost)) = acks.next().filter(|_| !rest.is_empty()) {
            let (arriving, later) = rest.split_at((*packets).min(rest.len()));
            rest = later;
            for marked in arriving {
                received.on_packet(if *marked { Ecn::Ce } else { Ecn::Ect1 }, SIZE);
            }
            unheard += arriving.len() as u64;
            let option = received.take_option();
            if *lost {
                continue;
            }
            let option = if options { option } else { AccurateEcnOption::default() };
            let marks = fed_back.on_ack(received.ace(), &option, acknowledged(unheard));
            unheard = 0;
            check(&received, &fed_back, marks);
        }
    }

    proptest! {
        /// With the option, whatever is lost or gathered: packets and bytes are those that arrived.
        #[test]
        fn with_the_option_both_ends_count_the_same(path in path(1..=40)) {
            let mut bytes = 0;
            transfer(&path, true, |received, fed_back, marks| {
                bytes += marks.bytes;
                assert_eq!((fed_back.packets, fed_back.bytes), (received.packets, received.ce));
                assert_eq!(bytes, received.ce);
            });
        }

        /// Without it, the same as long as no ACK covers 8 packets: here at most 2 lost in a row.
        #[test]
        fn without_the_option_the_field_suffices_for_seven_packets(mut path in path(1..=2)) {
            path.acks_lost = vec![false, true, true];
            transfer(&path, false, |received, fed_back, _| {
                assert_eq!((fed_back.packets, fed_back.bytes), (received.packets, received.ce));
            });
        }

        /// Beyond, the sender never counts too few, and never more than arrived.
        #[test]
        fn without_the_option_no_mark_is_missed(path in path(1..=40)) {
            transfer(&path, false, |received, fed_back, marks| {
                assert!(fed_back.packets >= received.packets);
                assert_eq!(fed_back.packets % 8, received.packets % 8);
                assert!(marks.packets <= path.marks.len() as u64);
            });
        }
    }
}
