//! The receiver's report to the sender.
//!
//! It says of each packet in a range of transport-wide numbers when it arrived and with which ECN field,
//! or that it is missing: the content of an RFC 8888 report. The range begins with the news of the
//! report two before, so that losing two in a row does no harm, and ends at the newest packet that
//! arrived.
//!
//! | deviation from RFC 8888 | why |
//! |---|---|
//! | arrival times are as fine as the receiver's clock, unless it is configured coarser | a 13-bit offset in 1/1024 s is a sixteenth of a frame interval; what that does to an algorithm is a question for an experiment, not a premise |
//! | the requests for a key frame and for packets travel inside | saves a second packet; their size is counted as the picture loss indication, the generic NACK and the reference picture selection indication that they stand for |

use gameway_control::{FrameId, SequenceNumber};
use gameway_units::{Bytes, Ecn, ReceiverInstant};

/// That a packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedPacket {
    /// When, on the receiver's clock.
    pub arrival: ReceiverInstant,
    /// With which ECN field.
    pub ecn: Ecn,
}

/// A report. Keep one and let it be filled again: it holds on to its memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedbackPacket {
    /// The packet that `packets` begins with.
    pub base: SequenceNumber,
    /// What became of each packet from `base` on; `None` if it has not arrived. The last one did, unless
    /// there are none.
    pub packets: Vec<Option<ReceivedPacket>>,
    /// When the report was made.
    pub generated: ReceiverInstant,
    /// Whether the receiver asks for a key frame.
    pub key_frame_request: bool,
    /// The newest frame that the receiver has shown, if it lacks packets or asks for a frame that it can show: that can refer to
    /// this one.
    pub newest_shown: Option<FrameId>,
    /// Packets that the receiver asks for, in the order of their numbers (RFC 4585 section 6.2.1).
    pub asked: Vec<SequenceNumber>,
}

impl FeedbackPacket {
    /// The most packets that one report covers (RFC 8888 section 3.1).
    pub const MAX_PACKETS: usize = 16_384;
    /// The most that are asked for at once (libwebrtc's NACK requester, `kMaxNackPackets`).
    pub const MAX_ASKED: usize = 1000;

    /// Its size on the wire over IPv4 and UDP, as a reduced-size RTCP packet (RFC 5506).
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        const IP_UDP: u64 = 20 + 8;
        // RFC 8888 section 3.1: RTCP header and sender SSRC 8, stream SSRC and range 8, timestamp 4.
        const FIXED: u64 = 8 + 8 + 4;
        // RFC 4585 section 6.3.1: picture loss indication.
        const KEY_FRAME_REQUEST: u64 = 12;
        // RFC 4585 section 6.3.3: reference picture selection indication, with a frame's number of 32 bits.
        const NEWEST_SHOWN: u64 = 20;
        // Two bytes each, padded to a 32-bit word.
        let packets = self.packets.len().div_ceil(2) as u64 * 4;
        let report = if self.only_asks() { 0 } else { FIXED + packets };
        let request = if self.key_frame_request { KEY_FRAME_REQUEST } else { 0 };
        let shown = if self.newest_shown.is_some() { NEWEST_SHOWN } else { 0 };
        Bytes::new(IP_UDP + report + request + shown + self.asked_size())
    }

    /// Whether it reports nothing, and asks for packets alone.
    #[must_use]
    pub fn only_asks(&self) -> bool {
        self.packets.is_empty() && !self.key_frame_request && !self.asked.is_empty()
    }

    /// What a generic NACK takes: RTCP header and both SSRCs 12, and 4 for each entry.
    fn asked_size(&self) -> u64 {
        let entries = nack_entries(&self.asked).count() as u64;
        if entries == 0 { 0 } else { 12 + 4 * entries }
    }
}

/// The entries of a generic NACK (RFC 4585 section 6.2.1), as few as cover numbers that ascend: each a number, and a bit for
/// each of the sixteen behind it that is asked for, too.
pub fn nack_entries(asked: &[SequenceNumber]) -> impl Iterator<Item = (SequenceNumber, u16)> {
    const BEHIND: u64 = 16;
    let mut rest = asked;
    std::iter::from_fn(move || {
        let (&first, behind) = rest.split_first()?;
        let covered = |number: &SequenceNumber| {
            let bit = number.0.checked_sub(first.0)?.checked_sub(1)?;
            (bit < BEHIND).then_some(bit)
        };
        let bits = behind.iter().map_while(covered);
        let (count, bitmask) = bits.fold((0, 0), |(count, mask), bit| (count + 1, mask | 1 << bit));
        rest = &behind[count..];
        Some((first, bitmask))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[u64]) -> Vec<SequenceNumber> {
        numbers.iter().copied().map(SequenceNumber).collect()
    }

    #[test]
    fn an_entry_of_a_nack_asks_for_a_number_and_any_of_the_sixteen_behind_it() {
        let entries = |asked: &[u64]| {
            let asked = numbers(asked);
            nack_entries(&asked).map(|(first, bits)| (first.0, bits)).collect::<Vec<_>>()
        };
        assert_eq!(entries(&[]), []);
        assert_eq!(entries(&[7]), [(7, 0)]);
        assert_eq!(entries(&[10, 11, 13, 26]), [(10, 0b1000_0000_0000_0101)]);
        assert_eq!(entries(&[10, 27, 28, 43]), [(10, 0), (27, 0b1000_0000_0000_0001)]);
        assert_eq!(entries(&[10, 10, 11]), [(10, 0), (10, 1)], "twice is two entries");
        assert_eq!(entries(&[u64::MAX - 1, u64::MAX]), [(u64::MAX - 1, 1)]);
    }

    /// IP and UDP headers 28; RFC 8888's report 20 and 2 for each packet; picture loss indication 12; generic NACK 12 and 4
    /// for each entry.
    #[test]
    fn a_report_has_the_size_of_the_rtcp_packets_that_it_stands_for() {
        let size = |packets: usize, key_frame_request, asked: &[u64]| {
            let (packets, asked) = (vec![None; packets], numbers(asked));
            let report =
                FeedbackPacket { packets, key_frame_request, asked, ..FeedbackPacket::default() };
            (report.only_asks(), report.wire_size().get())
        };
        assert_eq!(size(0, false, &[]), (false, 28 + 20));
        assert_eq!(size(3, false, &[]), (false, 28 + 20 + 8));
        assert_eq!(size(0, true, &[]), (false, 28 + 20 + 12));
        assert_eq!(size(0, false, &[5]), (true, 28 + 12 + 4));
        assert_eq!(size(0, false, &[5, 6, 40]), (true, 28 + 12 + 8));
        assert_eq!(size(0, true, &[5]), (false, 28 + 20 + 12 + 16));
        assert_eq!(size(4, true, &[5]), (false, 28 + 20 + 8 + 12 + 16));
    }
}
