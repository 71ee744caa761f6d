//! A TCP segment as the simulator carries it: a small `Copy` value without payload bytes.
//!
//! Source: RFC 9293 (header, flags), RFC 2018 section 3 (SACK option), RFC 7323 sections 2 and 3
//! (window scale, timestamps), RFC 3168 section 6.1 and RFC 9768 section 3.2 (ECN flags and option).
//! Model: the stream is numbered from 0 in 64 bits and never wraps. SYN lies before offset 0 and has
//! no number; FIN occupies the offset that follows the last byte. The window is as on the wire: 16 bits,
//! to be scaled by the shift that its sender's SYN carried, but for those of SYNs themselves.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | IPv4 + TCP header | 20 + 20 B | RFC 791, RFC 9293 section 3.1 |
//! | timestamps option | 12 B with padding | RFC 7323 appendix A |
//! | SACK option | 4 + 8n B with padding | RFC 2018 section 3 |
//! | AccECN option | 2 + 3n B; beside it, all options are padded once | RFC 9768 section 3.2.3; Linux `tcp_options_fit_accecn` |
//! | SYN options | 20 B: MSS, SACK permitted, timestamps, window scale | what Linux sends |
//! | MSS | 1448 B | 1500 B MTU less headers and timestamps |
//!
//! | Deviation | Why |
//! |---|---|
//! | Timestamps are in nanoseconds, on one clock | Linux ticks in ms, but takes RTTs from µs send times |
//! | SACK blocks are whole stream offsets | no wrap to resolve |

use gameway_units::{Bytes, Ecn, Instant};

/// Payload of a full segment at an MTU of 1500 B with timestamps.
pub const MAXIMUM_SEGMENT_SIZE: u32 = 1448;

/// Largest shift of the window-scale option (RFC 7323 section 2.3).
pub(crate) const MAX_SCALE: u8 = 14;

const FIXED_HEADERS: u64 = 40;
const TIMESTAMP_OPTION: u64 = 12;
const SYN_OPTIONS: u64 = 20;
const SACK_OPTION_HEAD: u64 = 4;
const SACK_BLOCK: u64 = 8;
const ACCURATE_ECN_OPTION_HEAD: u64 = 2;
const ACCURATE_ECN_FIELD: u64 = 3;
/// What padding the timestamps and the SACK option have each.
const PADDING: u64 = 2;

/// The flags of the header that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Opens the connection.
    pub syn: bool,
    /// The acknowledgment field is valid.
    pub ack: bool,
    /// The sender of this segment has no more data.
    pub fin: bool,
    /// The connection is no more: what comes of it is answered so.
    pub rst: bool,
    /// The sender does not send more at once: the last segment of a burst.
    pub psh: bool,
    /// ECN echo: a marked segment has arrived (on SYN and SYN-ACK: ECN is wanted).
    pub ece: bool,
    /// The congestion window was reduced because of an echo.
    pub cwr: bool,
    /// Accurate ECN is wanted; later, with the two others, a counter of marks (RFC 9768).
    pub ae: bool,
}

impl Flags {
    /// AE, CWR and ECE as one number, AE highest: the ACE field.
    #[must_use]
    pub const fn ecn(self) -> u8 {
        (self.ae as u8) << 2 | (self.cwr as u8) << 1 | self.ece as u8
    }

    /// The same flags with these three, the lowest bits of `code`.
    #[must_use]
    pub const fn with_ecn(self, code: u8) -> Self {
        Self { ae: code & 4 != 0, cwr: code & 2 != 0, ece: code & 1 != 0, ..self }
    }
}

/// A run of received bytes above the cumulative acknowledgment: `start` up to but without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// First byte after it.
    pub end: u64,
}

/// Up to three SACK blocks, as many as fit beside timestamps; the first is the most recent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::CAPACITY],
    count: u8,
}

impl SackBlocks {
    /// How many blocks fit.
    pub const CAPACITY: usize = 3;

    /// Adds a block; a fourth is ignored.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    /// Keeps the first `count` blocks.
    pub fn truncate(&mut self, count: u8) {
        self.count = self.count.min(count);
    }

    /// The blocks in the order of the option.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// The AccECN option: payload that arrived by ECN codepoint, modulo 2^24 (RFC 9768 section 3.2.3).
///
/// Without fields it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccurateEcnOption {
    /// How many fields it has, at most 3: that of the ECT codepoint in use, CE, the other ECT.
    pub fields: u8,
    /// Bytes that arrived with ECT(0), plus 1.
    pub ect0: u32,
    /// Bytes that arrived with ECT(1), plus 1.
    pub ect1: u32,
    /// Bytes that arrived with CE.
    pub ce: u32,
}

impl AccurateEcnOption {
    /// Its length without padding; 0 if it is not there.
    #[must_use]
    pub const fn length(&self) -> u64 {
        match self.fields {
            0 => 0,
            fields => ACCURATE_ECN_OPTION_HEAD + ACCURATE_ECN_FIELD * fields as u64,
        }
    }

    /// Marked bytes modulo 2^24, if the option has that field.
    pub(crate) fn marked(&self) -> Option<u64> {
        (self.fields >= 2).then_some(self.ce.into())
    }
}

/// A segment in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Flags.
    pub flags: Flags,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Shift of the window-scale option; only on SYN and SYN-ACK.
    pub window_scale: u8,
    /// Bytes of payload.
    pub length: u32,
    /// Offset of the first byte of payload.
    pub sequence: u64,
    /// Next offset that the sender of this segment expects.
    pub acknowledgment: u64,
    /// Receive window as on the wire: in units of two to the power of its sender's shift, and in bytes on a
    /// SYN and SYN-ACK.
    pub window: u16,
    /// Selective acknowledgments.
    pub sack: SackBlocks,
    /// Accurate feedback of marks.
    pub accurate_ecn: AccurateEcnOption,
    /// When this segment was sent, on the clock of its sender.
    pub timestamp_value: Instant,
    /// The timestamp that is echoed.
    pub timestamp_echo: Instant,
}

impl Segment {
    /// Size on the wire: IP and TCP header, the options really present, payload.
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        let options = if self.flags.syn { SYN_OPTIONS } else { TIMESTAMP_OPTION };
        let blocks = u64::from(self.sack.count);
        let sack = if blocks == 0 { 0 } else { SACK_OPTION_HEAD + SACK_BLOCK * blocks };
        let marks = match self.accurate_ecn.length() {
            0 => 0,
            // It fills the padding of the others first.
            length => {
                let padding = if blocks == 0 { PADDING } else { 2 * PADDING };
                length.saturating_sub(padding).next_multiple_of(4)
            }
        };
        Bytes::new(FIXED_HEADERS + options + sack + marks + u64::from(self.length))
    }

    /// First offset after this segment, a FIN counted as one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(u64::from(self.length)).saturating_add(self.flags.fin.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_segment_fills_the_mtu_and_acks_grow_with_blocks() {
        let data = Segment { length: MAXIMUM_SEGMENT_SIZE, ..Segment::default() };
        assert_eq!(data.wire_size(), Bytes::new(1500));
        let mut ack = Segment::default();
        assert_eq!(ack.wire_size(), Bytes::new(52));
        for expected in [64, 72, 80, 80] {
            ack.sack.push(SackBlock { start: 1, end: 2 });
            assert_eq!(ack.wire_size(), Bytes::new(expected));
        }
        // With marks of one to three codepoints: 10 + 5, 8 or 11, and 10 + 26 + 11 with two blocks.
        for (fields, blocks, expected) in
            [(1, 0, 56), (2, 0, 60), (3, 0, 64), (2, 1, 68), (2, 2, 76), (3, 2, 80)]
        {
            let accurate_ecn = AccurateEcnOption { fields, ..AccurateEcnOption::default() };
            let mut ack = Segment { accurate_ecn, ..Segment::default() };
            (0..blocks).for_each(|_| ack.sack.push(SackBlock { start: 1, end: 2 }));
            assert_eq!(ack.wire_size(), Bytes::new(expected), "{fields} fields, {blocks} blocks");
        }
        let syn = Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() };
        assert_eq!(syn.wire_size(), Bytes::new(60));
    }
}
